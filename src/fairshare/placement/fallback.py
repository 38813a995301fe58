"""Owns the rules that end a policy: `default` (one queue for all remaining submissions) and
`reject`."""

from fairshare.model.queues import full_name
from fairshare.placement.rule import Misplaced, QueueLookup, Request, RuleSettings, existing


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
