"""Owns the Capacity Scheduler's limits of users, masters and applications, and the headroom.

Only queries; other modules emit the events (Hadoop: LeafQueue, UsersManager,
CSMaxRunningAppsEnforcer).
"""

from fairshare.core.model.resources import Resource, add, smallest, subtract
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt
from fairshare.core.schedulers.capacity.calculators import smaller, subtract_not_below_zero
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.user_bounds import bounds_of, sure_use, surely_below
from fairshare.core.schedulers.capacity.users import NO_FACTOR, User, base_limit, weighted


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
    leaf, record = attempt.seen
    room = state.none
    for label in attempt.asked or ("",):
        room = add(room, _headroom_on(state, leaf, record, label))
    return (max(room[0], 0), *room[1:])


def _headroom_on(state: CapacityCluster, leaf: CapacityQueue, record: User, label: str) -> Resource:
    c = state.calculator
    used = record.used.get(label, state.none)
    share = leaf.shares[label]
    limit = share.effective_maximum if label else leaf.limit
    most = user_limit_now(state, leaf, record.name, label, kept=True)
    user_room = subtract_not_below_zero(most, used)
    room = smallest(user_room, subtract_not_below_zero(limit, share.used))
    room = c.round_down(room, state.settings.minimum_allocation)
    whole = state.total_of(label)
    free = subtract(whole, state.root.shares[label].used)
    return smaller(c, whole, free, room)


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
