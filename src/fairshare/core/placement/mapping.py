"""The Capacity Scheduler's queue mappings: the rules, as frozen data, their evaluation, and their
validation. `place` is called at each submission, `faults` when rules are loaded.

Both formats of mappings (`u:ann:root.a` and JSON; Hadoop: MappingRuleCreator) are read into these
rules. In a path only whole parts are variables; in a match a variable can be anywhere. A path
starts with a short name or with `root`; it must end at a leaf, or at a queue that can be created
(Hadoop: CSMappingPlacementRule, VariableContext, CSQueueStore).
"""

import enum
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from fairshare.core.placement.rules import Misplaced


class Matcher(enum.StrEnum):
    """What a mapping rule matches."""

    ALL = "all"  # `*` in JSON, `u:%user` among the legacy mappings
    USER = "user"
    GROUP = "group"  # any of the user's groups
    APPLICATION = "application"  # by its name


class MappingAction(enum.StrEnum):
    """The action of a mapping rule."""

    PLACE = "place"
    REJECT = "reject"
    SET_DEFAULT = "set-default"  # %default becomes `path`, and the next rule is tried


class MappingFallback(enum.StrEnum):
    """The action when a rule matches and its queue cannot be used."""

    SKIP = "skip"
    REJECT = "reject"
    PLACE_DEFAULT = "place-default"


class MappingRule(msgspec.Struct, frozen=True):
    """One queue mapping, legacy or JSON (Hadoop: MappingRule), in a common form.

    `match` is the user, group or application name to compare with (variables allowed); empty for
    ALL. `path` may contain variables: the JSON policy `primaryGroupUser` below parent `root.a` is
    `root.a.%primary_group.%user`, `specified` is `%specified`, `defaultQueue` is `%default`. A
    legacy entry `u:ann:q` is PLACE in `q` with `create` and the fallback PLACE_DEFAULT. `source`
    is the rule's text, for messages.
    """

    matcher: Matcher
    match: str = ""
    action: MappingAction = MappingAction.PLACE
    path: str = ""
    create: bool = True
    fallback: MappingFallback = MappingFallback.SKIP
    source: str = ""


class MappingQueues(Protocol):
    """The queries of mappings about queues."""

    def find(self, name: str) -> str | None:
        """The full path of the queue with this full path, or with this short name if it is unique;
        None if no queue or several queues match."""

    def is_ambiguous(self, name: str) -> bool:
        """Whether several queues have this short name."""

    def is_leaf(self, path: str) -> bool:
        """Whether the existing queue with this full path is a leaf."""

    def makes_leaves(self, path: str) -> bool:
        """Whether leaves can be created directly below this existing queue: it has legacy or
        flexible auto-creation, or was auto-created itself."""

    def makes_parents(self, path: str) -> bool:
        """Whether a parent with a leaf can be created below this queue: only with flexible
        auto-creation."""


class Unusable(Exception):
    """A path does not lead to a queue for applications; the message says why."""


def from_root(path: str, queues: MappingQueues) -> str:
    """The path with its first part, which may be a short name, replaced by the full path.

    `from_root("people.ann", queues) == "root.people.ann"`, if one queue is called `people`.
    """
    first, dot, rest = path.partition(".")
    queue = queues.find(first)
    if queue is None:
        wrong = "is ambiguous" if queues.is_ambiguous(first) else "does not exist"
        raise Unusable(f"the queue {first!r} {wrong}, so that {path!r} leads nowhere")
    return f"{queue}{dot}{rest}"


def target(path: str, queues: MappingQueues, *, create: bool) -> str:
    """The full path of the leaf at a path; with `create`, also of a leaf that can be created.

    Raises Unusable.
    """
    if not all(path.split(".")):
        raise Unusable(f"the path {path!r} has an empty part")
    full = from_root(path, queues)
    if queues.find(full) is None:
        _check_room(full, queues)
        if not create:
            raise Unusable(f"there is no queue {full!r}, and the rule does not let it be created")
    elif not queues.is_leaf(full):
        raise Unusable(f"{full!r} is a parent queue: applications run in leaf queues alone")
    return full


def _check_room(full: str, queues: MappingQueues) -> None:
    """Raise Unusable unless the queue can be created below its parent, or, together with its
    parent, below its grandparent."""
    parent, _, leaf = full.rpartition(".")
    if queues.find(parent) is not None:
        room = not queues.is_leaf(parent) and queues.makes_leaves(parent)
    else:
        above = parent.rpartition(".")[0]
        found = above and queues.find(above) is not None
        room = bool(found) and not queues.is_leaf(above) and queues.makes_parents(above)
    if not room:
        raise Unusable(
            f"there is no queue {leaf!r} below {parent!r}, which is not a dynamic parent queue"
            " that could create it"
        )


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


class MappingFault(NamedTuple):
    """A rule, by its position from 0, and the problem of its queue."""

    position: int
    message: str


def faults(rules: Sequence[MappingRule], queues: MappingQueues) -> Iterator[MappingFault]:
    """The rules whose target is unreachable for every submission."""
    for position, rule in enumerate(rules):
        if rule.action != MappingAction.PLACE:
            continue
        try:
            _check(rule.path, queues)
        except Unusable as error:
            what = rule.source or rule.path
            yield MappingFault(position, f"Illegal queue mapping {what!r}: {error}")


def _check(path: str, queues: MappingQueues) -> None:
    parts = path.split(".")
    fixed: list[str] = []
    for part in parts:
        if not part:
            raise Unusable(f"the path {path!r} has an empty part")
        if part in VARIABLES:
            _check_beginning(path, fixed, queues)
            return
        fixed.append(part)
    target(path, queues, create=True)


def _check_beginning(path: str, fixed: list[str], queues: MappingQueues) -> None:
    """Raise Unusable unless the part of the path before the first variable is a parent queue, or
    can be created below one."""
    if not fixed:
        return
    beginning = from_root(".".join(fixed), queues)
    if queues.find(beginning) is not None:
        if queues.is_leaf(beginning):
            raise Unusable(
                f"{beginning!r} is a leaf queue: nothing can be below it, as in {path!r}"
            )
        return
    above = beginning.rpartition(".")[0]
    found = queues.find(above)
    if found is None or queues.is_leaf(found) or not queues.makes_leaves(found):
        raise Unusable(f"there is no queue {beginning!r}, and nothing on {path!r} could create it")
