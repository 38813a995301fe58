"""The lookup of a user's groups: static groups, then the cache, then the source.

Placement rules and access lists depend on groups; as in Hadoop the server looks them up, and the
result is part of the input, so that a replayed decision never depends on the machine.

The source is the operating system, with whatever directory service it has, a file, which is read
again when it has changed, or a command, which prints the groups of a user.
"""

import contextlib
import getpass
import grp
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from fairshare.documents.problems import Place, Problems
from fairshare.errors import ConfigurationError, InputError
from fairshare.server.file_watch import Stamp, stamp_of
from fairshare.settings.configuration import Configuration
from fairshare.settings.user_groups import read_groups
from fairshare.this_machine import account_named
from fairshare.wording import cause


def own_user() -> str:
    """The user that the server runs as; its number if it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


class GroupSource(Protocol):
    """A source of users' groups: the operating system, a file, a command."""

    def groups(self, user: str) -> tuple[str, ...]:
        """A user's groups, the primary one first; none for a user whom the source does not know.

        May take its time; called from any thread. Raises GroupsUnavailable.
        """


class GroupsUnavailable(InputError):
    """The source cannot return a user's groups now: calls that need them are refused."""

    def __init__(self, user: str, reason: str) -> None:
        super().__init__(
            "groups-unavailable",
            f"the groups of user {user} cannot be found out: {reason}; try again, or ask who runs"
            " the server to look at the source of groups",
        )


USER_WORD = "{user}"
TIMEOUT_S = 10.0
MAX_OUTPUT_BYTES = 64 * 1024


class CommandGroups:
    """Runs a command for each lookup, without a shell.

    `{user}` is replaced in its arguments. Its output, separated by blanks or lines, has the groups,
    the primary one first; empty: the user has none. A nonzero exit code is a failure.
    """

    def __init__(self, command: Sequence[str], timeout_s: float = TIMEOUT_S) -> None:
        self._command = tuple(command)
        self._timeout_s = timeout_s

    def groups(self, user: str) -> tuple[str, ...]:
        """What the command prints for a user."""
        if user.startswith("-") or not user.isprintable():
            # The command would take it for an option, or it cannot be passed as an argument.
            raise GroupsUnavailable(user, "no command can be asked for a user of this name")
        words = [self._command[0]]
        words += [word.replace(USER_WORD, user) for word in self._command[1:]]
        output, errors, code = self._run(words, user)
        if code != 0:
            last = errors.decode(errors="replace").strip().splitlines()[-1:]
            detail = f": {last[0]}" if last else ""
            raise GroupsUnavailable(user, f"{words[0]} ended with exit code {code}{detail}")
        if len(output) > MAX_OUTPUT_BYTES:
            raise GroupsUnavailable(user, f"{words[0]} printed more than {MAX_OUTPUT_BYTES} bytes")
        return tuple(dict.fromkeys(output.decode(errors="replace").split()))

    def _run(self, words: Sequence[str], user: str) -> tuple[bytes, bytes, int]:
        try:
            # A session of its own, so that its child processes end with it at the timeout.
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise GroupsUnavailable(user, f"{words[0]} cannot be run: {cause(error)}") from error
        with process:
            try:
                output, errors = process.communicate(timeout=self._timeout_s)
            except subprocess.TimeoutExpired as error:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise GroupsUnavailable(
                    user, f"{words[0]} was not done after {self._timeout_s:g} s"
                ) from error
        return output, errors, process.returncode


_log = logging.getLogger("fairshare.users")


class FileGroups:
    """The groups of a file. Raises ConfigurationError if it is invalid at the start; if it becomes
    invalid later, the groups read before stay in force, and the error is logged once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reading = threading.Lock()
        self._stamp: Stamp | None = stamp_of(path)
        self._found = self._read()

    def groups(self, user: str) -> tuple[str, ...]:
        """The groups that the file names for a user; none if the user is not in it."""
        with self._reading:
            stamp = stamp_of(self.path)
            if stamp != self._stamp:
                self._stamp = stamp
                try:
                    self._found = self._read()
                    _log.info("the groups were read again: %s", self.path)
                except ConfigurationError as error:
                    _log.error("what was read before stays in force: %s", error)
            return self._found.get(user, ())

    def _read(self) -> dict[str, tuple[str, ...]]:
        problems = Problems()
        groups: dict[str, tuple[str, ...]] = {}
        try:
            groups = read_groups(self.path.read_bytes(), str(self.path), problems)
        except OSError as error:
            problems.error(Place(str(self.path)), "file", f"cannot be read: {error.strerror}")
        problems.raise_errors()
        return groups


class SystemGroups:
    """The groups as `id` prints them."""

    def groups(self, user: str) -> tuple[str, ...]:
        """The primary one first, the others by number; none for a user unknown here."""
        try:
            found = account_named(user)
            if found is None:
                return ()
            primary = found.pw_gid
            numbers = os.getgrouplist(user, primary)
        except OSError as error:
            raise GroupsUnavailable(user, cause(error)) from error
        ordered = dict.fromkeys([primary, *sorted(numbers)])
        return tuple(name for number in ordered if (name := _group_name(number)) is not None)


def _group_name(number: int) -> str | None:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return None


MAX_REMEMBERED = 10_000
"""Users whose groups are remembered; the ones looked up first are forgotten first."""


class UserGroups:
    """The groups of all users. `static` overrides the source; an answer is cached for `cache_ms`.

    A failure is not cached. Thread-safe.
    """

    def __init__(
        self,
        source: GroupSource,
        *,
        cache_ms: int = 0,
        static: Mapping[str, tuple[str, ...]] | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._cache_s = cache_ms / 1_000
        self._static = dict(static or {})
        self._now_s = now_s
        self._remembered: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._changing = threading.Lock()

    def remembered(self, user: str) -> tuple[str, ...] | None:
        """The result of `of`, if it needs no lookup; returns at once."""
        fixed = self._static.get(user)
        if fixed is not None:
            return fixed
        found_s, groups = self._remembered.get(user, (0.0, None))
        return groups if self._now_s() - found_s < self._cache_s else None

    def forget(self) -> None:
        """Forget all cached answers."""
        with self._changing:
            self._remembered.clear()

    def of(self, user: str) -> tuple[str, ...]:
        """A user's groups, the primary one first; raises GroupsUnavailable."""
        known = self.remembered(user)
        if known is not None:
            return known
        groups = self._source.groups(user)
        if self._cache_s:
            with self._changing:
                self._remembered.pop(user, None)
                self._remembered[user] = (self._now_s(), groups)
                while len(self._remembered) > MAX_REMEMBERED:
                    del self._remembered[next(iter(self._remembered))]
        return groups


def user_groups(configuration: Configuration | None) -> UserGroups:
    """The lookup that a configuration asks for; raises ConfigurationError if its file is bad."""
    if configuration is None:
        return UserGroups(SystemGroups())
    users, groups = configuration.shell.users, configuration.groups
    if users.groups_file is not None:  # a file knows by itself when it has changed
        return UserGroups(FileGroups(Path(users.groups_file)), static=groups.static)
    source: GroupSource = SystemGroups()
    if users.groups_command is not None:
        source = CommandGroups(users.groups_command)
    return UserGroups(source, cache_ms=groups.cache_ms, static=groups.static)
