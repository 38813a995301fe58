"""Owns the groups that a command prints."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence

from fairshare.server.users.protocol import GroupsUnavailable
from fairshare.wording import cause

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
