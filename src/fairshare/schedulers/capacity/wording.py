"""Owns the words of those refusals of the Capacity Scheduler from which a queue is read back.

A record of a refusal has its code and its reason, and no field for the queue. Hadoop's messages for
YARN's clients name the queue and the application, which has no number yet when the scheduler
refuses it. This is the only place that knows where in a reason the queue is.
"""

from typing import Final

from fairshare.schedulers.queue_names import without_leaves

_NON_LEAF: Final = " to non-leaf queue: "
_UNKNOWN: Final = "Application submitted to unknown queue: "
_MAY_NOT_CREATE: Final = ". It does not exist, and nothing above it may create it"
_QUEUE: Final = "Queue "
_STOPPED: Final = " is STOPPED. Cannot accept submission of applications"


def non_leaf_queue(user: str, queue: str) -> str:
    """A submission to a parent (`not-a-leaf-queue`)."""
    return f"Application submitted by user {user}{_NON_LEAF}{queue}"


def unknown_queue(queue: str) -> str:
    """A submission to a queue that does not exist and cannot be created (`unknown-queue`)."""
    return f"{_UNKNOWN}{queue}{_MAY_NOT_CREATE}"


def stopped_queue(queue: str) -> str:
    """A submission to a queue that is stopped, or below one that is (`queue-stopped`)."""
    return f"{_QUEUE}{queue}{_STOPPED}"


def queue_of_refusal(code: str, reason: str) -> str:
    """The queue in a reason that one of the functions above has written; empty for any other.

    >>> queue_of_refusal("queue-stopped", stopped_queue("root.a"))
    'root.a'
    """
    if code == "not-a-leaf-queue" and _NON_LEAF in reason:
        return without_leaves(reason.rpartition(_NON_LEAF)[2])
    if code == "unknown-queue" and reason.startswith(_UNKNOWN):
        return reason.removeprefix(_UNKNOWN).removesuffix(_MAY_NOT_CREATE)
    if code == "queue-stopped" and reason.endswith(_STOPPED):
        return reason.removeprefix(_QUEUE).removesuffix(_STOPPED)
    return ""
