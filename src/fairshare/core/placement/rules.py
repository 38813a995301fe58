"""The placement rules of the Fair Scheduler, each by its name, the evaluation of a policy's rules
in order, and placement by an application's tags.

A rule is a function of its settings, the submission, the queue of its nested rule, and queries
about queues. It returns a queue's full name, or None to continue with the next rule; it raises
`Misplaced` to reject the submission (Hadoop: FSPlacementRule).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Protocol

import msgspec

from fairshare.core.model.queues import ROOT, full_name

# The characters that Hadoop trims from names (Hadoop: FairSchedulerUtilities.trimQueueName);
# `str.strip` has another set.
BLANKS = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)


class RuleSettings(msgspec.Struct, frozen=True):
    """One rule of the placement policy. `parent` is the rule nested in it."""

    name: str
    create: bool = True
    queue: str = ""  # the attribute of the rule `default`
    parent: "RuleSettings | None" = None


class Request(msgspec.Struct, frozen=True):
    """A submission: its user, the user's groups, and the requested queue (`default`: none)."""

    user: str
    groups: tuple[str, ...]
    queue: str


class QueueLookup(Protocol):
    """The queries of rules about queues."""

    def configured(self, name: str) -> bool:
        """Whether the configuration file defines this queue, and it exists."""

    def is_leaf(self, name: str) -> bool:
        """Whether the queue exists and is a leaf."""


class Misplaced(Exception):
    """A rule rejects the submission; the message says why."""


def clean(name: str) -> str:
    """A user or group as part of a queue name: `clean(' first.last ') == 'first_dot_last'`."""
    return name.strip(BLANKS).replace(".", "_dot_")


def below_parent(
    name: str, rule: RuleSettings, parent: str | None, queues: QueueLookup
) -> str | None:
    """`name` below the queue of the nested rule (or root); None if that rule chose none, or chose a
    leaf."""
    if rule.parent is None:
        return f"{ROOT}.{name}"  # also for a user named root, whom Hadoop rejects
    if parent is None or queues.is_leaf(parent):
        return None
    return f"{parent}.{name}"


def existing(name: str | None, rule: RuleSettings, queues: QueueLookup) -> str | None:
    """The name, if the rule may create the queue or the file defines it; otherwise None."""
    if name is None or rule.create or queues.configured(name):
        return name
    return None


def place_as_specified(
    rule: RuleSettings, request: Request, parent: str | None, queues: QueueLookup
) -> str | None:
    """The requested queue; None if the submission requests none (`default`)."""
    queue = request.queue
    if queue == "default":
        return None
    if queue != queue.strip(BLANKS) or queue.startswith(".") or queue.endswith("."):
        raise Misplaced(
            f"'{queue}' is not a valid queue name: it begins or ends with a blank or a period"
        )
    return existing(full_name(queue), rule, queues)


def place_by_user(
    rule: RuleSettings, request: Request, parent: str | None, queues: QueueLookup
) -> str | None:
    """`root.<user>`, or the user's name below the queue of the nested rule."""
    return existing(below_parent(clean(request.user), rule, parent, queues), rule, queues)


def place_by_primary(
    rule: RuleSettings, request: Request, parent: str | None, queues: QueueLookup
) -> str | None:
    """`root.<first group>`; raises Misplaced for a user without groups."""
    _check_groups(request)
    return existing(below_parent(clean(request.groups[0]), rule, parent, queues), rule, queues)


def place_by_secondary(
    rule: RuleSettings, request: Request, parent: str | None, queues: QueueLookup
) -> str | None:
    """The queue of the first group with a configured queue; as in Hadoop 3.4, the primary group
    counts too."""
    _check_groups(request)
    for group in request.groups:
        name = below_parent(clean(group), rule, parent, queues)
        if name is not None and queues.configured(name):
            return name
    return None


def _check_groups(request: Request) -> None:
    if not request.groups:
        raise Misplaced(f"no groups found for user {request.user}")


def place_by_default(
    rule: RuleSettings, request: Request, parent: str | None, queues: QueueLookup
) -> str | None:
    """The queue of the rule's attribute `queue`, or root.default."""
    return existing(full_name(rule.queue or "default"), rule, queues)


def reject(
    rule: RuleSettings, request: Request, parent: str | None, queues: QueueLookup
) -> str | None:
    """Raises Misplaced for every submission."""
    raise Misplaced(f"Application submitted by user {request.user} was rejected by placement rules")


Rule = Callable[[RuleSettings, Request, str | None, QueueLookup], str | None]

RULES: dict[str, Rule] = {
    "specified": place_as_specified,
    "user": place_by_user,
    "nestedUserQueue": place_by_user,
    "primaryGroup": place_by_primary,
    "secondaryGroupExistingQueue": place_by_secondary,
    "default": place_by_default,
    "reject": reject,
}


def place(rules: Sequence[RuleSettings], request: Request, queues: QueueLookup) -> str:
    """The full name of the queue of the first rule that chooses one; raises `Misplaced`."""
    for rule in rules:
        name = _apply(rule, request, queues)
        if name is not None:
            return name
    raise Misplaced(
        f"Application submitted by user {request.user} to queue {request.queue} was rejected"
        " by placement rules"
    )


def _apply(rule: RuleSettings, request: Request, queues: QueueLookup) -> str | None:
    parent = _apply(rule.parent, request, queues) if rule.parent is not None else None
    return RULES[rule.name](rule, request, parent, queues)


def use_names(rules: Iterable[RuleSettings]) -> bool:
    """Whether some rule, or one nested in it, looks at the queue that a submission names."""
    return any(
        rule.name == "specified" or (rule.parent is not None and use_names((rule.parent,)))
        for rule in rules
    )


def derived_rules(*, user_as_default: bool, allow_undeclared: bool) -> tuple[RuleSettings, ...]:
    """The rules that apply if the file has none
    (Hadoop: QueuePlacementPolicy.fromConfiguration)."""
    rules = [RuleSettings("specified", create=allow_undeclared)]
    if user_as_default:
        rules.append(RuleSettings("user", create=allow_undeclared))
    if not user_as_default or not allow_undeclared:
        rules.append(RuleSettings("default"))
    return tuple(rules)


_PREFIX: Final = "userid="


def tagged_user(tags: Iterable[str]) -> str | None:
    """The user that the tags name; of several, the first in the order of tags.

    >>> tagged_user(["nightly", "userid=bob", "userid=ann"]), tagged_user(["userid=", "x=userid"])
    ('ann', None)
    """
    for tag in sorted(tags):
        parts = tag.removeprefix(_PREFIX).split("=")
        if tag.startswith(_PREFIX) and len(parts) == 1 and parts[0]:
            return parts[0]
    return None


def placed_as(users: Collection[str], user: str, tags: Iterable[str]) -> str | None:
    """As whom an application of `user` is placed; None: as its own. `users` are those whose tags
    count.

    Programs that act for others, such as SQL servers, say in a tag `userid=ann` for which user they
    submit, and the application is placed as if ann had submitted it (Hadoop:
    RMAppManager.getUserNameForPlacement). It still belongs to the user who submitted it.
    """
    return tagged_user(tags) if user in users else None
