"""Owns the lookup of a user's groups: static groups, then the cache, then the source.

Placement rules and access lists depend on groups; as in Hadoop the server looks them up, and the
result is part of the input, so that a replayed decision never depends on the machine.
"""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from fairshare.families.configuration import Configuration
from fairshare.server.users.command import CommandGroups
from fairshare.server.users.file import FileGroups
from fairshare.server.users.protocol import GroupSource
from fairshare.server.users.system import SystemGroups

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
