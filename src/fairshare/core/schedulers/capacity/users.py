"""The users of a leaf queue: their use, which of them are active, and their limits.

Formulas of Hadoop's UsersManager; sums in single precision are kept as in Hadoop, by adding
differences.
"""

from typing import Protocol

from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.resources import Resource, add, subtract
from fairshare.core.schedulers.calculators import SPLIT, single
from fairshare.core.schedulers.capacity.calculators import (
    ResourceCalculator,
    larger,
    smaller,
    truncate,
)
from fairshare.core.schedulers.hash_order import in_hash_order, table_size, text_code

NO_FACTOR = -1.0
"""The user-limit-factor that means: no factor."""

DEFAULT_LIMIT = ("", False, False)
"""The kind of the limit from which headrooms are computed: the default partition's, for active
users."""


class Cluster(Protocol):
    """What users need of the cluster: the size of each partition, and the calculator."""

    totals: dict[str, Resource]
    calculator: ResourceCalculator


class Leaf(Protocol):
    """What its users need of a leaf."""

    def user_added(self, user: str) -> None:
        """A user has a new record."""


class User:
    """One user's record in a leaf. `used` includes reservations and masters; by partition."""

    __slots__ = (
        "active",
        "active_applications",
        "master_used",
        "name",
        "pending_applications",
        "ratios",
        "used",
        "weight",
    )

    def __init__(self, name: str, weight: float) -> None:
        self.name = name
        self.weight = weight
        self.active = False
        self.pending_applications = 0  # may be negative, as in Hadoop: the end of a held one counts
        self.active_applications = 0
        self.used: dict[str, Resource] = {}
        self.master_used: dict[str, Resource] = {}
        self.ratios: dict[str, float] = {}

    @property
    def applications(self) -> int:
        """How many applications count for the user's limit."""
        return self.pending_applications + self.active_applications

    @property
    def only_waits(self) -> bool:
        """Whether the user has applications, and all of them wait for room for their masters."""
        return self.pending_applications > 0 and self.active_applications <= 0


class Users:
    """All users of one leaf.

    `asking` are the applications that count as asking, by user. As in Hadoop they do so until they
    end, even if the user's record is removed. `version` changes whenever a limit may change.
    `only_pending` is how many users had only waiting applications when the limits were last
    computed, at version `counted` (it counts for the masters' limit alone); `only_waiting` is the
    present number. `masters` counts the masters that receive a headroom from this leaf: with any of
    them the limits are recomputed after each input. `missed_users` are users whose application had
    its turn while they had no record, or, with a partition, were above their limit there and may
    lose their record: with the version then and that application's reservation. As in Hadoop they
    get nothing until the version changes, even if they have a record by then. `orphaned` are users
    whose record was removed although an application of theirs is active, since the end of one that
    was held back had reduced the count too far.
    """

    __slots__ = (
        "active",
        "active_used",
        "active_weight",
        "all_weight",
        "asking",
        "counted",
        "counted_weight",
        "leaf",
        "limits",
        "masters",
        "missed_users",
        "most_active",
        "most_users",
        "none",
        "only_pending",
        "only_waiting",
        "orphaned",
        "ratios",
        "stirs",
        "to_recompute",
        "users",
        "version",
        "weights",
    )

    def __init__(self, none: Resource) -> None:
        self.none = none
        self.users: dict[str, User] = {}
        self.weights: dict[str, float] = {}  # configured here or above
        self.asking: dict[str, dict[ApplicationId, None]] = {}
        self.active_used: dict[str, Resource] = {}
        self.active_weight = 0.0
        self.all_weight = 0.0
        self.ratios: dict[str, float] = {}
        self.only_pending = 0
        self.only_waiting = 0
        self.active = 0
        self.most_active = self.most_users = 0
        self.masters = 0
        self.version = 0
        self.counted = -1
        self.counted_weight = 0.0
        self.stirs = False
        self.orphaned: dict[str, None] = {}
        self.missed_users: dict[str | tuple[str, str], tuple[int, Resource]] = {}
        self.leaf: Leaf | None = None
        self.to_recompute: list[
            Users
        ] = []  # shared by all leaves: those whose limits may have changed
        self.limits: dict[tuple[str, bool, bool], tuple[int, Resource]] = {}

    def get(self, name: str) -> User | None:
        """A user's record, if it exists."""
        return self.users.get(name)

    def get_or_add(self, name: str) -> User:
        """A user's record, created if missing; a new one is not active."""
        user = self.users.get(name)
        if user is None:
            user = self.users[name] = User(name, self.weights.get(name, 1.0))
            self._sum_weights()
            if name in self.orphaned and self.leaf is not None:
                del self.orphaned[name]
                self.leaf.user_added(name)
        return user

    def remove(self, name: str) -> None:
        """Remove a user's record after its last application. As in Hadoop nothing is recomputed."""
        user = self.users.pop(name, None)
        if user is not None:
            if user.active_applications > 0:
                self.orphaned[name] = None
            self.only_waiting -= user.only_waits
            self.active -= user.active
            self._sum_weights()

    def tally(self, name: str, pending: int, active: int) -> User:
        """Add to the numbers of a user's waiting and active applications."""
        user = self.get_or_add(name)
        self.only_waiting -= user.only_waits
        user.pending_applications += pending
        user.active_applications += active
        self.only_waiting += user.only_waits
        return user

    def miss(self, user: str | tuple[str, str], reserved: Resource) -> None:
        """Record that an application had its turn whose user has no record, or, of a user and a
        partition, is above its limit there."""
        self.missed_users[user] = (self.version, reserved)

    def missed(self, name: str, label: str = "") -> Resource | None:
        """The reservation recorded for a user by `miss`, if nothing has changed since."""
        for user in (name, (name, label)):
            found = self.missed_users.get(user)
            if found is not None and found[0] == self.version:
                return found[1]
        return None

    def changed(self) -> None:
        """Start a new version: a limit may have changed."""
        self.version += 1
        self.stir()

    def stir(self) -> None:
        """Register the leaf for a recomputation of its limits at the end of the input, if masters
        receive a headroom from it."""
        if self.masters and not self.stirs:
            self.stirs = True
            self.to_recompute.append(self)

    def reweigh(self, weights: dict[str, float]) -> None:
        """Apply configured weights, also to existing users."""
        self.weights = weights
        for user in self.users.values():
            user.weight = weights.get(user.name, 1.0)
        self._sum_weights()
        self.changed()

    def _sum_weights(self) -> None:
        """Sums in single precision depend on the order, which is that of Hadoop's hash tables."""
        self.most_users = max(self.most_users, len(self.users))
        if not self.weights:
            self.active_weight, self.all_weight = float(self.active), float(len(self.users))
            return
        self.active_weight = self.all_weight = 0.0
        for user in self._in_order():
            self.all_weight = single(self.all_weight + user.weight)
        size = table_size(self.most_active, concurrent=False)
        for name in in_hash_order(
            [u.name for u in self.users.values() if u.active], text_code, size
        ):
            self.active_weight = single(self.active_weight + self.users[name].weight)

    def _in_order(self) -> list[User]:
        names = in_hash_order(self.users, text_code, table_size(self.most_users, concurrent=True))
        return [self.users[name] for name in names]

    def charge(
        self, name: str, label: str, amount: Resource, c: ResourceCalculator, total: Resource
    ) -> None:
        """Add an amount (negative: subtract) to a user's use on a partition."""
        user = self.get_or_add(name)
        used = user.used[label] = add(user.used.get(label, self.none), amount)
        if user.active:
            self.active_used[label] = add(self.active_used.get(label, self.none), amount)
        self.changed()
        ratio = c.ratio(used, total)
        change = single(ratio - user.ratios.get(label, 0.0))
        user.ratios[label] = ratio
        self.ratios[label] = single(self.ratios.get(label, 0.0) + change)

    def charge_container(self, name: str, memory: int, vcores: int, cluster: Cluster) -> None:
        """`charge` for a container of two types on the default partition: written out, since every
        container passes here twice."""
        total = cluster.totals[""]
        try:
            user = self.users[name]
            a, b = user.used[""]
            consumed, before = self.ratios[""], user.ratios[""]
            active = self.active_used[""] if user.active else None
        except KeyError:  # its first one
            self.charge(name, "", (memory, vcores), cluster.calculator, total)
            return
        if not (total[0] and total[1]):  # ratios may be infinite
            self.charge(name, "", (memory, vcores), cluster.calculator, total)
            return
        used = user.used[""] = (a + memory, b + vcores)
        if active is not None:
            a, b = active
            self.active_used[""] = (a + memory, b + vcores)
        self.version += 1
        if self.masters and not self.stirs:  # `stir`, written out
            self.stirs = True
            self.to_recompute.append(self)
        user.ratios[""] = ratio = cluster.calculator.ratio(used, total)
        change = ratio - before
        high = change * SPLIT  # `single`, written out twice
        consumed += high - (high - change)
        high = consumed * SPLIT
        self.ratios[""] = high - (high - consumed)

    def recount(self, label: str, c: ResourceCalculator, total: Resource) -> None:
        """Recompute the ratios after the partition's size has changed."""
        consumed = 0.0
        for user in self._in_order():
            ratio = c.ratio(user.used.get(label, self.none), total)
            user.ratios[label] = ratio
            consumed = single(consumed + ratio)
        self.ratios[label] = consumed

    def ask(self, name: str, application: ApplicationId) -> None:
        """Register an application as asking; ignored while its user has no active application."""
        user = self.users.get(name)
        if user is not None and user.active_applications <= 0:
            return
        asking = self.asking.get(name)
        if asking is None:
            asking = self.asking[name] = {}
            self._activate(self.get_or_add(name), 1)
        asking[application] = None

    def ask_no_more(self, name: str, application: ApplicationId) -> None:
        """An application has no more asks, or has ended."""
        asking = self.asking.get(name)
        if asking is None:
            return
        asking.pop(application, None)
        if not asking:
            del self.asking[name]
            user = self.users.get(name)
            self.changed()
            if user is not None:
                self._activate(user, -1)

    def _activate(self, user: User, sign: int) -> None:
        self.changed()
        if user.active == (sign > 0):
            return
        user.active = sign > 0
        self.active += sign
        self.most_active = max(self.most_active, self.active)
        for label, used in user.used.items():
            before = self.active_used.get(label, self.none)
            self.active_used[label] = add(before, used) if sign > 0 else subtract(before, used)
        self._sum_weights()

    @property
    def outdated(self) -> bool:
        """Whether a limit may have changed since the limits were last computed."""
        return self.counted != self.version

    def compute_again(self) -> None:
        """Compute the limits, which are `outdated`, and count the users that only wait.

        The limit on the default partition is computed on demand, from the values at this point.
        Within one version only the sum of weights can change, when an active user is removed.
        """
        self.counted = self.version
        self.counted_weight = self.active_weight
        if self.limits:
            self.limits.pop(DEFAULT_LIMIT, None)
        self.only_pending = self.only_waiting

    def weight_for(self, kind: tuple[str, bool, bool]) -> float:
        """The sum of the weights of active users with which a kind of limit is computed."""
        counts = kind == DEFAULT_LIMIT and self.counted == self.version
        return self.counted_weight if counts else self.active_weight

    @property
    def active_count(self) -> int:
        """Active users, and those that wait for room for their master."""
        return len(self.asking) + self.only_pending


def base_limit(
    users: Users,
    c: ResourceCalculator,
    label: str,
    *,
    total: Resource,
    minimum: Resource,
    guarantee: Resource,
    maximum: Resource,
    percent: float,
    factor: float,
    active_weight: float | None = None,
    everyone: bool = False,
    ignore: bool = False,
) -> Resource:
    """The limit of a user of weight 1 on a partition (Hadoop: UsersManager.computeUserLimit;
    `everyone`: all users count).

    `active_weight` is the sum of the weights of active users; None: the present sum. `total` is the
    partition's size, `guarantee` and `maximum` the leaf's there, `percent` and `factor` its
    minimum-user-limit-percent and user-limit-factor. `ignore`: the node's label is not asked for,
    then the ceiling is the whole partition.

    Example: 16384 MB, guarantee 8192, percent 50, factor 1, two active users with 4096 and 2048 in
    use: max((6144 + 1024) / 2, 8192 * 50 %) = 4096.
    """
    cap = larger(c, total, guarantee, minimum)
    consumed = c.multiply_up(total, users.ratios.get(label, 0.0), minimum)
    current = cap if c.compare(total, consumed, cap) < 0 else add(consumed, minimum)
    if everyone:
        share = c.ceil_divide(current, users.all_weight)
    else:
        active = add(users.active_used.get(label, users.none), minimum)
        weight = users.active_weight if active_weight is None else active_weight
        share = c.ceil_divide(active, weight)
    least = c.ceil_divide_whole(truncate(current, percent), 100)
    entitled = larger(c, total, share, least)
    if ignore:
        ceiling = total
    else:
        ceiling = ceiling_of(
            c, cap, minimum=minimum, guarantee=guarantee, maximum=maximum, factor=factor
        )
    return c.round_up(smaller(c, total, entitled, ceiling), minimum)


def ceiling_of(
    c: ResourceCalculator,
    cap: Resource,
    *,
    minimum: Resource,
    guarantee: Resource,
    maximum: Resource,
    factor: float,
) -> Resource:
    """What no limit of a user exceeds: its part of the guarantee, or without a factor all that the
    leaf may use. `cap` is the guarantee, at least the minimum allocation."""
    if factor == NO_FACTOR or not any(guarantee):
        return c.round_down(maximum, minimum)
    return truncate(cap, factor)


def weighted(c: ResourceCalculator, base: Resource, weight: float, minimum: Resource) -> Resource:
    """A user's own limit: the base times the weight, rounded down
    (Hadoop: UsersManager.getComputedResourceLimitForActiveUsers)."""
    return c.multiply_down(base, weight, minimum)
