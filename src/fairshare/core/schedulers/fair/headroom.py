"""Owns the headroom: what an application could still get, as reported to its master."""

from fairshare.core.model.resources import Resource, positive, smallest, subtract


def headroom(
    *,
    free: Resource,
    refused: Resource,
    maximum: Resource,
    fair_share: Resource,
    used: Resource,
    both: bool,
) -> Resource:
    """The room that is left in the cluster and below the leaf's maximum
    (Hadoop: FSAppAttempt.getHeadroom).

    `free` is what the cluster has free, `refused` the part of it on nodes of the application's
    blacklist; `maximum`, `fair_share` and `used` are the leaf's. Memory is also limited to the rest
    of the fair share, with `both` (drf) vcores too. Further types are reported as 0. If nodes were
    shrunk below their use, the free amount may be negative.

    Example: 6144 MB free, a maximum of 5120 of which 2048 are used, a fair share of 4096: min(6144,
    3072, 2048) = 2048.
    """
    if any(refused):
        free = positive(subtract(free, refused))
    room = smallest(free, subtract(maximum, used))
    limited = smallest(room, positive(subtract(fair_share, used)))
    shared = 2 if both else 1
    return limited[:shared] + room[shared:2] + (0,) * (len(room) - 2)
