"""Owns the rule `specified`: the requested queue."""

from fairshare.model.queues import full_name
from fairshare.placement.rule import (
    BLANKS,
    Misplaced,
    QueueLookup,
    Request,
    RuleSettings,
    existing,
)


def place(
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
