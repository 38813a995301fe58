"""Owns the rules `user` and `nestedUserQueue`: a queue for each user."""

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
    """`root.<user>`, or the user's name below the queue of the nested rule."""
    return existing(below_parent(clean(request.user), rule, parent, queues), rule, queues)
