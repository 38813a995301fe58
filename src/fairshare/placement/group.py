"""Owns the rules `primaryGroup` and `secondaryGroupExistingQueue`: the queue of a user's group."""

from fairshare.placement.rule import (
    Misplaced,
    QueueLookup,
    Request,
    RuleSettings,
    below_parent,
    clean,
    existing,
)


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
