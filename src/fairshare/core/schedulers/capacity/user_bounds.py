"""Owns the bounds of users' limits: most users are so far below their limit that a division and a
comparison are enough to know it. Decides nothing: in doubt the limit itself is computed.

A limit of a user of weight 1 (`users.base_limit`) has, by dominant shares (by memory alone: shares
of the memory), at least the smaller one of

    the share of its ceiling, and
    percent / 100 of the leaf's present capacity:
        the share of the guarantee, or
        if more is in use, what is in use and the minimum allocation on top of it

less what is lost where Hadoop rounds down. Comparisons by dominant shares look at the largest
share of each first; so a user whose largest share is smaller than that bound is below its limit.
"""

from fairshare.core.model.resources import UNBOUNDED, Resource
from fairshare.core.schedulers.capacity.calculators import larger
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.queues import NO_USE, Bounds, CapacityQueue
from fairshare.core.schedulers.capacity.users import Users, ceiling_of

NONE: Bounds = (-1.0, -1.0, 0.0, 0.0, 0.0, 0.0)
"""Nothing is known without the limit."""

_SURE = 1 - 1e-9  # the rounding of doubles
_SINGLE = 1 - 2e-7  # that of a 32-bit float, and of its product


def bounds_of(state: CapacityCluster, leaf: CapacityQueue) -> Bounds:
    """The bounds of users of weight 1 on the default partition.

    Example by memory: 64 GB, a guarantee of 32 GB, percent 50, factor 1 and a minimum of 1 GB. The
    ceiling's share is 0.5, and the least share of a limit below it 0.25.
    """
    c, total = state.calculator, state.total_of("")
    by_memory = c.name == "memory"
    if not (total[0] if by_memory else all(total)):
        return NONE
    minimum = state.settings.minimum_allocation
    share = leaf.shares[""]
    cap = larger(c, total, share.effective_minimum, minimum)
    ceiling = ceiling_of(
        c,
        cap,
        minimum=minimum,
        guarantee=share.effective_minimum,
        maximum=share.effective_maximum,
        factor=leaf.user_limit_factor,
    )
    part = leaf.user_limit_percent / 100
    lost = 0.01 / (total[0] if by_memory else min(total))  # percents are of whole amounts
    half = 0.5 / total[0] if by_memory else 0.0  # what is in use is rounded half up
    guaranteed = _largest(cap, total, by_memory=by_memory)
    step = _largest(minimum, total, by_memory=by_memory)
    return (
        _largest(ceiling, total, by_memory=by_memory) * _SURE,
        (guaranteed * part - lost) * _SURE,
        guaranteed,
        part,
        (step - half) * part - lost,
        half,
    )


def sure_use(bounds: Bounds, total: Resource, name: str) -> Resource:
    """The use below which in each type a user is `surely_below` its limit, whatever is in use.

    Example by memory: 64 GB and a least share of 0.25 are 16 GB less the rounding.
    """
    part = min(bounds[0], bounds[1]) * _SURE
    if part < 0.0:
        return NO_USE
    if name == "memory":
        return (int(total[0] * part), UNBOUNDED)
    return tuple([int(amount * part) for amount in total])


def surely_below(used: Resource, total: Resource, bounds: Bounds, users: Users, name: str) -> bool:
    """Whether a user with this use is below its limit for sure, with the calculator `name`."""
    ceiling, least, guaranteed, part, more, half = bounds
    if ceiling < 0.0:  # `NONE`: the total may have none of a type
        return False
    if name == "memory":
        share = used[0] / total[0]
    elif len(used) == 2:
        share, other = used[0] / total[0], used[1] / total[1]
        if other > share:
            share = other
    else:
        share = _largest(used, total, by_memory=False)
    if share >= ceiling:
        return False
    if share < least:
        return True
    in_use = users.ratios.get("", 0.0) * _SINGLE
    return in_use - half > guaranteed and share < (in_use * part + more) * _SURE


def _largest(amount: Resource, total: Resource, *, by_memory: bool) -> float:
    if by_memory:
        return amount[0] / total[0]
    return max(one / whole for one, whole in zip(amount, total, strict=True))
