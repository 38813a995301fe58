"""The Capacity Scheduler's limits of users, masters and applications, and the headroom. Only
queries; other modules emit the events (Hadoop: LeafQueue, UsersManager, CSMaxRunningAppsEnforcer).

Most users are so far below their limit that a division and a comparison are enough to know it; in
doubt the limit itself is computed. A limit of a user of weight 1 (`users.base_limit`) has, by
dominant shares (by memory alone: shares of the memory), at least the smaller one of the share of
its ceiling, and percent / 100 of the leaf's present capacity: the share of the guarantee, or if
more is in use, what is in use and the minimum allocation on top of it less what is lost where
Hadoop rounds down. Comparisons by dominant shares look at the largest share of each first; so a
user whose largest share is smaller than that bound is below its limit.
"""

from fairshare.core.model.resources import UNBOUNDED, Resource, add, smallest, subtract
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt
from fairshare.core.schedulers.capacity.calculators import larger, smaller, subtract_not_below_zero
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.queues import NO_USE, Bounds, CapacityQueue
from fairshare.core.schedulers.capacity.users import (
    NO_FACTOR,
    User,
    Users,
    base_limit,
    ceiling_of,
    weighted,
)

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


def user_limit(
    state: CapacityCluster,
    leaf: CapacityQueue,
    user: str,
    label: str,
    *,
    everyone: bool = False,
    ignore: bool = False,
) -> Resource:
    """A user's limit in a leaf on a partition, as scheduling sees it
    (Hadoop: UsersManager.getComputedResourceLimitForActiveUsers).

    The part that is the same for all users is computed once for each version of the users. As in
    Hadoop a new or removed user does not change the version.
    """
    users = leaf.users
    kind = (label, everyone, ignore)
    cached = users.limits.get(kind)
    if cached is None or cached[0] != users.version:
        base = _base(state, leaf, kind, users.weight_for(kind))
        cached = users.limits[kind] = (users.version, base)
    return _of_user(state, leaf, user, cached[1])


def user_may_more(state: CapacityCluster, leaf: CapacityQueue, record: User) -> bool:
    """Whether a user is within its limit on the default partition
    (Hadoop: LeafQueue.canAssignToUser).

    Nearly always the bounds of the limit are enough to decide.
    """
    c = state.calculator
    used = record.used.get("", state.none)
    if record.weight == 1.0:
        bounds = leaf.user_bounds
        if bounds is None:
            bounds = leaf.user_bounds = bounds_of(state, leaf)
            leaf.sure_use = sure_use(bounds, state.totals[""], c.name)
        if surely_below(used, state.totals[""], bounds, leaf.users, c.name):
            return True
    return c.compare(state.total, used, user_limit(state, leaf, record.name, "")) <= 0


def user_limit_now(
    state: CapacityCluster, leaf: CapacityQueue, user: str, label: str, *, kept: bool = False
) -> Resource:
    """A user's limit as computed now, without side effects, for views.

    `kept`: the limit that scheduling has cached, while it is up to date.
    """
    users = leaf.users
    kind = (label, False, False)
    cached = users.limits.get(kind) if kept else None
    if cached is not None and cached[0] == users.version:
        return _of_user(state, leaf, user, cached[1])
    weight = users.weight_for(kind) if kept else users.active_weight
    return _of_user(state, leaf, user, _base(state, leaf, kind, weight))


def user_limit_alone(
    state: CapacityCluster, leaf: CapacityQueue, user: str, label: str
) -> Resource:
    """Approximately what a user's limit would be as the only active user; no side effects, for
    views.

    Example: of a guarantee of 8192 with a factor of 1, two active users have 4096 each, and one
    alone 8192.
    """
    record = leaf.users.get(user)
    weight = 1.0 if record is None else record.weight
    return _of_user(state, leaf, user, _base(state, leaf, (label, False, False), weight))


def user_ceiling(state: CapacityCluster, leaf: CapacityQueue, user: str, label: str) -> Resource:
    """What a user's limit never exceeds, whatever the user and others use: the leaf's guarantee
    times user-limit-factor and the user's weight."""
    share, c, minimum = leaf.shares[label], state.calculator, state.settings.minimum_allocation
    ceiling = ceiling_of(
        c,
        larger(c, state.total_of(label), share.effective_minimum, minimum),
        minimum=minimum,
        guarantee=share.effective_minimum,
        maximum=share.effective_maximum,
        factor=leaf.user_limit_factor,
    )
    return _of_user(state, leaf, user, c.round_up(ceiling, minimum))


def is_above(state: CapacityCluster, leaf: CapacityQueue, attempt: CapacityAttempt) -> bool:
    """Whether a user is above its limit on the default partition, not counting this application's
    reservations if those may be released (Hadoop: LeafQueue.canAssignToUser)."""
    record = leaf.users.get(attempt.user)
    if record is None:
        return False
    limit = user_limit(state, leaf, attempt.user, "")
    used = record.used.get("", state.none)
    if state.settings.continue_looking:
        used = subtract(used, attempt.reserved_on(""))
    return state.calculator.compare(state.total, used, limit) > 0


def _of_user(state: CapacityCluster, leaf: CapacityQueue, user: str, base: Resource) -> Resource:
    record = leaf.users.get(user)
    weight = 1.0 if record is None else record.weight
    return weighted(state.calculator, base, weight, state.settings.minimum_allocation)


def _base(
    state: CapacityCluster,
    leaf: CapacityQueue,
    kind: tuple[str, bool, bool],
    weight: float,
) -> Resource:
    label, everyone, ignore = kind
    share = leaf.shares[label]
    return base_limit(
        leaf.users,
        state.calculator,
        label,
        total=state.total_of(label),
        minimum=state.settings.minimum_allocation,
        guarantee=share.effective_minimum,
        maximum=share.effective_maximum,
        percent=leaf.user_limit_percent,
        factor=leaf.user_limit_factor,
        active_weight=weight,
        everyone=everyone,
        ignore=ignore,
    )


def master_limit(state: CapacityCluster, leaf: CapacityQueue, label: str) -> Resource:
    """The limit of all masters of a leaf together
    (Hadoop: LeafQueue.calculateAndGetAMResourceLimitPerPartition).

    On the default partition: a part of what the leaf can reach now, at least the same part of its
    guarantee. Example: 0.1 of a reachable 81920 MB is 8192.
    """
    share = leaf.shares[label]
    usable = share.effective_minimum
    if not label and state.calculator.fits(usable, leaf.limit):
        usable = leaf.limit
    return state.calculator.multiply_up(
        usable, share.master_share, state.settings.minimum_allocation
    )


def user_master_limit(
    state: CapacityCluster, leaf: CapacityQueue, label: str, user: str | None
) -> Resource:
    """The limit of one user's masters in a leaf
    (Hadoop: LeafQueue.getUserAMResourceLimitPerPartition); None: a user of weight 1.

    Example: guarantee 8192, 0.1 for masters, percent 50, factor 5, one active user: 4096.
    """
    c = state.calculator
    share = leaf.shares[label]
    minimum = state.settings.minimum_allocation
    part = max(single(leaf.user_limit_percent / 100), single(1.0 / max(leaf.users.active_count, 1)))
    record = leaf.users.get(user) if user is not None else None
    if record is not None:
        part = min(single(part * record.weight), 1.0)
    by = share.master_share
    if leaf.user_limit_factor != NO_FACTOR:
        by = single(single(share.master_share * part) * leaf.user_limit_factor)
    limit = c.multiply_up(share.effective_minimum, by, minimum)
    return smaller(c, state.total, limit, master_limit(state, leaf, label))


def user_parallel_limit(state: CapacityCluster, user: str) -> int:
    """How many applications of a user may run at once, over all queues
    (Hadoop: CapacitySchedulerConfiguration.getMaxParallelAppsForUser)."""
    settings = state.settings
    return settings.users_maximum_parallel_applications.get(
        user, settings.user_maximum_parallel_applications
    )


def may_run(state: CapacityCluster, user: str, leaf: CapacityQueue) -> bool:
    """Whether max-parallel-apps lets one more application run
    (Hadoop: CSMaxRunningAppsEnforcer.checkRunnabilityWithUpdate)."""
    if state.user_runnable.get(user, 0) >= user_parallel_limit(state, user):
        return False
    return all(queue.runnable < queue.maximum_parallel for queue in leaf.path)


def headroom(state: CapacityCluster, attempt: CapacityAttempt) -> Resource:
    """The headroom that an application's master receives (Hadoop: LeafQueue.getHeadroom).

    The least of what is left to its user, in its queue and on the partition, summed over all
    partitions that it has asked for; 0 until a heartbeat has considered the application. As in
    Hadoop a moved application keeps the headroom of the leaf that it left, with the user's record
    there, until the new leaf considers it.
    """
    if attempt.seen is None:
        return state.none
    c = state.calculator
    leaf, record = attempt.seen
    headroom = state.none
    for label in attempt.asked or ("",):
        used = record.used.get(label, state.none)
        share = leaf.shares[label]
        limit = share.effective_maximum if label else leaf.limit
        most = user_limit_now(state, leaf, record.name, label, kept=True)
        user_room = subtract_not_below_zero(most, used)
        room = smallest(user_room, subtract_not_below_zero(limit, share.used))
        room = c.round_down(room, state.settings.minimum_allocation)
        whole = state.total_of(label)
        free = subtract(whole, state.root.shares[label].used)
        headroom = add(headroom, smaller(c, whole, free, room))
    return (max(headroom[0], 0), *headroom[1:])


def within_maximum(
    state: CapacityCluster, leaf: CapacityQueue, label: str, net: Resource, *, ignore: bool
) -> bool:
    """Whether this much more keeps the leaf and its ancestors within their maximums
    (Hadoop: AbstractCSQueue.accept)."""
    c = state.calculator
    for queue in leaf.path:
        share = queue.shares[label]
        most = state.total_of(label) if ignore else share.effective_maximum
        if not c.fits(tuple(u + n for u, n in zip(share.used, net, strict=True)), most):
            return False
    return True
