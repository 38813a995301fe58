"""Owns how long an application may live, in seconds (spec/capacity.md 20)."""

from fairshare.schedulers.capacity.queues import CapacityQueue


def lifetime_s(leaf: CapacityQueue, requested_s: int) -> int:
    """What a leaf grants for a wish; 0 or less is no limit, on both sides.

    With a maximum of 10 and a default of 5, wishes of 100, 9 and -1 get 10, 9 and 5.
    """
    most = leaf.maximum_lifetime_s
    if most <= 0:
        return requested_s if requested_s > 0 else leaf.default_lifetime_s
    if requested_s <= 0:
        return leaf.default_lifetime_s
    return min(requested_s, most)
