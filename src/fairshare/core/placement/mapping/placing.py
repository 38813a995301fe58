"""Owns the evaluation of queue mappings: the queue of a submission, and the values of variables
such as `%user` for it.

Pure; does not know where rules come from. In a path only whole parts are variables; in a match a
variable can be anywhere (Hadoop: CSMappingPlacementRule.getPlacementForApp, VariableContext).
"""

from collections.abc import Sequence

import msgspec

from fairshare.core.placement.mapping.queues import MappingQueues, Unusable, target
from fairshare.core.placement.mapping.rule import (
    MappingAction,
    MappingFallback,
    MappingRule,
    Matcher,
)
from fairshare.core.placement.rule import Misplaced

USER = "%user"
PRIMARY_GROUP = "%primary_group"
SECONDARY_GROUP = "%secondary_group"
APPLICATION = "%application"
SPECIFIED = "%specified"
DEFAULT = "%default"

VARIABLES = (USER, PRIMARY_GROUP, SECONDARY_GROUP, APPLICATION, SPECIFIED, DEFAULT)

NOT_NAMED = "default"
"""The queue of a submission that requests none; requesting it counts as requesting none."""

_FIRST_DEFAULT = "root.default"


class MappingRequest(msgspec.Struct, frozen=True):
    """A submission: its user, application and requested queue."""

    user: str
    groups: tuple[str, ...] = ()  # the primary one first
    queue: str = NOT_NAMED
    application: str = ""


class Variables:
    """The values for one submission; rules change only the value of %default."""

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
        # For a user without groups the group variables are undefined: as in Hadoop,
        # %primary_group is then literal text.

    @property
    def default(self) -> str:
        """The current value of %default."""
        return self._values[DEFAULT]

    def set_default(self, path: str) -> None:
        """Set %default to another queue, whose name may contain variables."""
        self._values[DEFAULT] = self.in_text(path)

    def in_text(self, text: str) -> str:
        """Expand variables anywhere in a text: `in_text("etl-%user") == "etl-ann"`."""
        for name in sorted(self._values, key=len, reverse=True):
            text = text.replace(name, self._values[name])
        return text

    def in_path(self, path: str) -> str:
        """Expand the parts of a path that are variables: `in_path("root.%user") == "root.ann"`."""
        parts = path.split(".")
        for position, part in enumerate(parts):
            if part in self._values:
                parts[position] = self._values[part]
            elif part == SECONDARY_GROUP and self._others:
                parts[position] = self._secondary_group(parts[:position])
        return ".".join(parts)

    def _secondary_group(self, above: list[str]) -> str:
        """The first group, except the primary one, with a queue below `above`; otherwise empty."""
        for group in self._others:
            if self._queues.find(".".join([*above, group])) is not None:
                return group
        return ""


def _clean(name: str) -> str:
    """A name as a part of a path: `_clean("j.doe") == "j_dot_doe"`."""
    return name.replace(".", "_dot_")


def place(
    rules: Sequence[MappingRule],
    request: MappingRequest,
    queues: MappingQueues,
    *,
    override: bool = False,
) -> str | None:
    """The full path of the queue of the first rule that yields one; it may not exist yet.

    None: the requested queue applies. Rules apply only if the submission requests no queue
    (`default` counts as none), or with `override`. Raises Misplaced if a rule rejects the
    submission.
    """
    if request.queue != NOT_NAMED and not override:
        return None
    variables = Variables(request, queues)
    for number, rule in enumerate(rules, 1):
        if not _matches(rule, request, variables):
            continue
        match rule.action:
            case MappingAction.REJECT:
                raise _refusal(request, f"rule {number} refuses it")
            case MappingAction.SET_DEFAULT:
                variables.set_default(rule.path)
            case MappingAction.PLACE:
                queue = _queue_of(rule, request, variables, queues)
                if queue is not None:
                    return queue
    return None


def _matches(rule: MappingRule, request: MappingRequest, variables: Variables) -> bool:
    """Whether a rule matches a submission. Names are compared verbatim, including periods."""
    wanted = variables.in_text(rule.match)
    match rule.matcher:
        case Matcher.ALL:
            return True
        case Matcher.USER:
            return wanted == request.user
        case Matcher.GROUP:
            return wanted in request.groups
        case Matcher.APPLICATION:
            return wanted == request.application


def _queue_of(
    rule: MappingRule, request: MappingRequest, variables: Variables, queues: MappingQueues
) -> str | None:
    """The queue of a rule, or of its fallback; None: continue with the next rule."""
    try:
        return target(variables.in_path(rule.path), queues, create=rule.create)
    except Unusable as error:
        if rule.fallback == MappingFallback.SKIP:
            return None
        if rule.fallback == MappingFallback.REJECT:
            raise _refusal(request, str(error)) from error
    try:
        return target(variables.default, queues, create=False)
    except Unusable as error:
        raise _refusal(request, f"the default queue cannot be used: {error}") from error


def _refusal(request: MappingRequest, why: str) -> Misplaced:
    return Misplaced(
        f"Application submitted by user {request.user} to queue {request.queue} was rejected by a"
        f" mapping rule: {why}"
    )
