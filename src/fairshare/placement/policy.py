"""Owns the placement rules by name, and the evaluation of a policy's rules in order."""

from collections.abc import Callable, Sequence

from fairshare.placement import fallback, group, specified, user
from fairshare.placement.rule import Misplaced, QueueLookup, Request, RuleSettings

Rule = Callable[[RuleSettings, Request, str | None, QueueLookup], str | None]

RULES: dict[str, Rule] = {
    "specified": specified.place,
    "user": user.place,
    "nestedUserQueue": user.place,
    "primaryGroup": group.place_by_primary,
    "secondaryGroupExistingQueue": group.place_by_secondary,
    "default": fallback.place_by_default,
    "reject": fallback.reject,
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


def derived_rules(*, user_as_default: bool, allow_undeclared: bool) -> tuple[RuleSettings, ...]:
    """The rules that apply if the file has none
    (Hadoop: QueuePlacementPolicy.fromConfiguration)."""
    rules = [RuleSettings("specified", create=allow_undeclared)]
    if user_as_default:
        rules.append(RuleSettings("user", create=allow_undeclared))
    if not user_as_default or not allow_undeclared:
        rules.append(RuleSettings("default"))
    return tuple(rules)
