"""Owns the placement rules, each by its name, and the evaluation of a policy's rules in order.

A rule is a function of its settings, the submission, the queue of its nested rule, and queries
about queues (`rule.py`).
"""

from collections.abc import Callable, Iterable, Sequence

from fairshare.core.model.queues import full_name
from fairshare.core.placement.rule import (
    BLANKS,
    Misplaced,
    QueueLookup,
    Request,
    RuleSettings,
    below_parent,
    clean,
    existing,
)


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
