"""Owns the words for what an application waits for."""

from collections.abc import Mapping

from fairshare.cli.cells import MEMORY, VCORES, amounts_text, memory_text
from fairshare.client.answers import Obstacle


def obstacle_text(obstacle: Obstacle) -> str:
    """One line, the dominant reason with its numbers.

    >>> obstacle_text(Obstacle("too-large", {"memory-mb": 4096, "vcores": 1}, 2,
    ...               {"memory-mb": 2048, "vcores": 8}, None, "memory-mb"))
    '2 containers of 4G 1c: no node is so large, even an empty one: the largest has 2G of memory'
    """
    plural = "s" * (obstacle.count != 1)
    wish = f"{obstacle.count} container{plural} of {amounts_text(obstacle.wanted)}"
    return f"{wish}: {_reason(obstacle)}"


def _reason(obstacle: Obstacle) -> str:
    have = _amount(obstacle.available or {}, obstacle.dominant)
    queue = obstacle.queue or "its queue"
    match obstacle.kind:
        case "no-node":
            return "there is no node that it accepts"
        case "too-large":
            return f"no node is so large, even an empty one: the largest has {have}"
        case "queue-too-small":
            return f"that is more than queue {queue} may ever have: {have} at most"
        case "held-back":
            return f"a limit of queue {queue} on running applications holds it back"
        case "queue-full":
            maximum = amounts_text(obstacle.available)
            return f"queue {queue} has no more left of its maximum, {maximum}"
        case "no-room":
            return f"no node has so much free now: the most is {have}"
        case "others-first":
            return "there is room, and others are served first, or a limit of its user is reached"
        case _:
            return obstacle.kind


def _amount(available: Mapping[str, int], dominant: str | None) -> str:
    """What there is of the type that lacks most; of all types if none lacks by itself."""
    if dominant is None:
        return amounts_text(available)
    amount = available.get(dominant, 0)
    if dominant == MEMORY:
        return f"{memory_text(amount)} of memory"
    if dominant == VCORES:
        return f"{amount} vcores"
    return f"{amount} of {dominant}"
