"""Owns the variables of mappings: what `%user` and its like stand for in one submission.

Knows no rule. In a path only whole parts are variables, in a match they may stand anywhere
(spec/capacity.md 26.4).
"""

import msgspec

from fairshare.placement.mapping.queues import MappingQueues

USER = "%user"
PRIMARY_GROUP = "%primary_group"
SECONDARY_GROUP = "%secondary_group"
APPLICATION = "%application"
SPECIFIED = "%specified"
DEFAULT = "%default"

VARIABLES = (USER, PRIMARY_GROUP, SECONDARY_GROUP, APPLICATION, SPECIFIED, DEFAULT)

NOT_NAMED = "default"
"""The queue of a submission that names none; naming it is the same as naming none."""

_FIRST_DEFAULT = "root.default"


class MappingRequest(msgspec.Struct, frozen=True):
    """Who submits what, and which queue was asked for."""

    user: str
    groups: tuple[str, ...] = ()  # the primary one first
    queue: str = NOT_NAMED
    application: str = ""


class Variables:
    """The values of one submission; only that of %default changes on the way through the rules."""

    def __init__(self, request: MappingRequest, queues: MappingQueues) -> None:
        self._queues = queues
        self._others = [_clean(group) for group in request.groups[1:]]
        self._values = {
            USER: _clean(request.user),
            SPECIFIED: "" if request.queue == NOT_NAMED else request.queue,
            APPLICATION: request.application,
            DEFAULT: _FIRST_DEFAULT,
        }
        if request.groups:
            self._values[PRIMARY_GROUP] = _clean(request.groups[0])
            if not self._others:
                self._values[SECONDARY_GROUP] = ""
        # Who has no groups has no variables of groups either: as in Hadoop, %primary_group then
        # stands for itself.

    @property
    def default(self) -> str:
        """The queue that %default stands for now."""
        return self._values[DEFAULT]

    def set_default(self, path: str) -> None:
        """Let %default stand for another queue, whose name may hold variables."""
        self._values[DEFAULT] = self.in_text(path)

    def in_text(self, text: str) -> str:
        """A text in which variables stand anywhere: `in_text("etl-%user") == "etl-ann"`."""
        for name in sorted(self._values, key=len, reverse=True):
            text = text.replace(name, self._values[name])
        return text

    def in_path(self, path: str) -> str:
        """A path whose parts may be variables: `in_path("root.%user") == "root.ann"`."""
        parts = path.split(".")
        for position, part in enumerate(parts):
            if part in self._values:
                parts[position] = self._values[part]
            elif part == SECONDARY_GROUP and self._others:
                parts[position] = self._secondary_group(parts[:position])
        return ".".join(parts)

    def _secondary_group(self, above: list[str]) -> str:
        """The first group but the primary one that has a queue at this place; else empty."""
        for group in self._others:
            if self._queues.find(".".join([*above, group])) is not None:
                return group
        return ""


def _clean(name: str) -> str:
    """A name as a part of a path: `_clean("j.doe") == "j_dot_doe"`."""
    return name.replace(".", "_dot_")
