"""Owns the rules that end a list: `default` (one queue for the rest) and `reject`."""

from fairshare.model.queues import full_name
from fairshare.placement.rule import Misplaced, QueueLookup, Request, RuleSettings, existing


def place_by_default(
    rule: RuleSettings, request: Request, parent: str | None, queues: QueueLookup
) -> str | None:
    """The rule's attribute `queue`, or root.default."""
    return existing(full_name(rule.queue or "default"), rule, queues)


def reject(
    rule: RuleSettings, request: Request, parent: str | None, queues: QueueLookup
) -> str | None:
    """Nobody passes."""
    raise Misplaced(f"Application submitted by user {request.user} was rejected by placement rules")
