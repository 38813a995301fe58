"""Owns the limits of applications' lifetimes, in seconds
(Hadoop: CapacityScheduler.checkAndGetApplicationLifetime)."""

from fairshare.core.schedulers.capacity.queues import CapacityQueue


def lifetime_s(leaf: CapacityQueue, requested_s: int) -> int:
    """The lifetime that a leaf grants for a requested one; 0 or less means no limit for both.

    With a maximum of 10 and a default of 5, requests of 100, 9 and -1 get 10, 9 and 5.
    """
    most = leaf.maximum_lifetime_s
    if most <= 0:
        return requested_s if requested_s > 0 else leaf.default_lifetime_s
    if requested_s <= 0:
        return leaf.default_lifetime_s
    return min(requested_s, most)
