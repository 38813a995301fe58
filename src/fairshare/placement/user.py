"""Owns the rules `user` and `nestedUserQueue`: a queue of the user's own."""

from fairshare.placement.rule import (
    QueueLookup,
    Request,
    RuleSettings,
    below_parent,
    clean,
    existing,
)


def place(
    rule: RuleSettings, request: Request, parent: str | None, queues: QueueLookup
) -> str | None:
    """`root.<user>`, or below what the nested rule chose."""
    return existing(below_parent(clean(request.user), rule, parent, queues), rule, queues)
