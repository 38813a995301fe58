"""The ledger: what leaf queues and users were entitled to, got, lent, borrowed and were owed, by
hour and by cause, in whole numbers of a resource unit times milliseconds.

Follows a state record by record, and decides nothing: a server's follower, `fairshare ledger
--against` and simulations use it. With the use u, the share s and the demand d of a leaf queue in a
partition at an instant, for each resource type

    delivered = u
    within    = min(u, s)                     delivered = within + borrowed
    borrowed  = u - within
    owed      = max(0, min(d, s) - u)         0 where the dominant share is reached (owed.py)
    unasked   = s - within - owed             unasked = lent + idle
    entitled  = s = within + owed + lent + idle

are integrated over time. A type of which the scheduler gives no share (vcores, where a policy
divides memory alone) has s = u: what was delivered of it is within the entitlement.

The use is exact: it changes with the events of containers. Shares, demands and causes are read at
samples, after the last record of an instant and at most once in `interval_ms`, and hold until the
next one; the interval grows with the work of a sample, to 0.5 % of a processor. Between two samples

    owed       is divided by cause and user in proportion to their claims at the sample; what a
               container's end leaves owed before the next sample is the scheduler's latency
    borrowed   is divided among the queue's users in proportion to what was delivered to them
    lent       of a partition is the smaller of all unasked and all borrowed, divided among the
               queues in proportion to what they did not ask for; the rest of unasked is idle

always in whole numbers that add up. What is unasked has no user: its rows have the user "". So of
each hour, queue, partition and type the users' rows add up to the queue's.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from fairshare.core.model.events import ApplicationMoved, ContainerAllocated, ContainerCompleted
from fairshare.core.model.identifiers import ContainerId, application_of
from fairshare.core.model.inputs import AddLabels, LabelNodes, LoadConfiguration, RemoveLabels
from fairshare.core.model.resources import Resource, add, subtract, total
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.server.insight.owed import Debts, OwedCause, reaches

HOUR_MS: Final = 3_600_000
LEAST_INTERVAL_MS: Final = 100
MOST_INTERVAL_MS: Final = 10_000
WORK_PER_MS: Final = 5
"""So many steps of a sample for each ms until the next one: 0.5 % of a processor."""

RELABELLING: Final = frozenset({AddLabels, LabelNodes, LoadConfiguration, RemoveLabels})
"""Inputs by which nodes may come to another partition."""

OWED: Final = "owed:"
KINDS: Final = ("delivered", "borrowed", "lent", "idle")


class LedgerRow(NamedTuple):
    """An amount of one hour, leaf queue, user, partition and resource type, in units times ms.

    `kind` is one of KINDS, or `owed:` and a cause.
    """

    hour_ms: int
    queue: str
    user: str
    label: str
    resource: str
    kind: str
    amount: int


class _UserMeter:
    """What a user uses, and the sum of it since the last piece."""

    __slots__ = ("area", "since_ms", "used")

    def __init__(self, none: Resource, now_ms: int) -> None:
        self.used = none
        self.since_ms = now_ms
        self.area = [0] * len(none)

    def read(self, now_ms: int) -> None:
        passed_ms = now_ms - self.since_ms
        if passed_ms > 0:
            self.since_ms = now_ms
            for place, amount in enumerate(self.used):
                if amount:
                    self.area[place] += amount * passed_ms


class _QueueMeter:
    """What a leaf uses of a partition, its share and demand there, and their sums since the last
    piece. `claims` and `pending` are what is owed at the last sample, by cause and user, and what
    waited then, by user."""

    __slots__ = (
        "borrowed",
        "claims",
        "demand",
        "divided",
        "owed",
        "pending",
        "share",
        "since_ms",
        "unasked",
        "used",
        "users",
    )

    def __init__(self, none: Resource, now_ms: int) -> None:
        self.used = self.share = self.demand = none
        self.divided: tuple[bool, ...] = (True,) * len(none)
        self.since_ms = now_ms
        self.users: dict[str, _UserMeter] = {}
        self.claims: dict[tuple[OwedCause, str], Resource] = {}
        self.pending: dict[str, Resource] = {}
        self.clear()

    def clear(self) -> None:
        """Begin a piece."""
        size = len(self.used)
        self.borrowed, self.owed, self.unasked = [0] * size, [0] * size, [0] * size

    def read(self, now_ms: int, whole: Resource, counted: int) -> None:
        """Sum up to an instant, before something changes."""
        passed_ms = now_ms - self.since_ms
        if passed_ms <= 0:
            return
        self.since_ms = now_ms
        short = not reaches(self.used, self.share, whole, counted)
        for place, share in enumerate(self.share):
            if not self.divided[place]:
                continue
            used = self.used[place]
            if used > share:
                self.borrowed[place] += (used - share) * passed_ms
            elif used < share:
                owed = max(0, min(share, self.demand[place]) - used) if short else 0
                self.owed[place] += owed * passed_ms
                self.unasked[place] += (share - used - owed) * passed_ms


class Ledger:
    """The ledger of one cluster from an instant on, which `begin_ms` names.

    `advance` must be called before the first record of a later instant is applied to the state, and
    `observe` with each record when it has been applied.
    """

    def __init__(self, scheduler: Scheduler, begin_ms: int, interval_ms: int | None = None) -> None:
        """`interval_ms`: at most one sample in so long; None: as long as samples are worth."""
        self._scheduler = scheduler
        self._fixed_ms = interval_ms
        self._state = state = scheduler.state
        self._none = state.none
        self._meters: dict[tuple[str, str], _QueueMeter] = {}
        self._whole: dict[str, Resource] = {}
        self._counted = len(state.none)
        self._containers: dict[ContainerId, tuple[str, str, str, Resource]] = {}
        self._rows: dict[tuple[int, str, str, str], dict[str, list[int]]] = {}
        self.now_ms = begin_ms
        """Up to which instant the rows are complete."""
        self.changed_ms = begin_ms
        """When the last record was."""
        self._sampled_ms = begin_ms
        self._dirty = True
        self._interval_ms = 0
        for application in state.applications.values():
            for container in application.containers.values():
                self._allocated(begin_ms, application.queue, application.user, container)

    # The records.

    def advance(self, now_ms: int) -> None:
        """The state is the same from the last record up to this instant."""
        if self._dirty and now_ms > self.changed_ms:
            due_ms = max(self.changed_ms, self._sampled_ms + self._interval_ms)
            if due_ms < now_ms:
                self._close(due_ms)
                self._sample(due_ms)
        if self.now_ms < (hour_ms := now_ms - now_ms % HOUR_MS):
            self._close(hour_ms)  # before anything is summed up of the next hour

    def observe(self, record: Record) -> None:
        """Note what changed."""
        now_ms = record.now_ms
        self.changed_ms = max(self.changed_ms, now_ms)
        self._dirty = True
        for event in record.events:
            if type(event) is ContainerAllocated:
                application = self._state.applications[event.application]
                self._allocated(now_ms, application.queue, application.user, event)
            elif type(event) is ContainerCompleted:
                self._completed(now_ms, event.container)
            elif type(event) is ApplicationMoved:
                self._moved(now_ms, event)
        if type(record.input) in RELABELLING:
            self._relabel(now_ms)

    def _allocated(self, now_ms: int, queue: str, user: str, container: ContainerAllocated) -> None:
        node = self._state.nodes.get(container.node)
        label = "" if node is None else self._state.label_of(node)
        self._add_container(now_ms, container.container, (queue, user, label, container.resource))

    def _add_container(
        self, now_ms: int, container: ContainerId, known: tuple[str, str, str, Resource]
    ) -> None:
        self._containers[container] = known
        self._change(now_ms, *known)

    def _completed(self, now_ms: int, container: ContainerId) -> None:
        queue, user, label, resource = self._containers.pop(container)
        self._change(now_ms, queue, user, label, subtract(self._none, resource))
        # What it used is not asked for any longer; a task that is tried again asks again.
        meter = self._meters[queue, label]
        meter.demand = subtract(meter.demand, resource)

    def _moved(self, now_ms: int, event: ApplicationMoved) -> None:
        for container, known in [*self._containers.items()]:
            if application_of(container) == event.application:
                _, user, label, resource = known
                self._completed(now_ms, container)
                self._add_container(now_ms, container, (event.queue, user, label, resource))

    def _relabel(self, now_ms: int) -> None:
        """Nodes may be in other partitions now."""
        for node in self._state.nodes.values():
            label = self._state.label_of(node)
            for container in node.containers.values():
                known = self._containers.get(container.container)
                if known is not None and known[2] != label:
                    self._completed(now_ms, container.container)
                    self._allocated(now_ms, known[0], known[1], container)

    def _change(self, now_ms: int, queue: str, user: str, label: str, change: Resource) -> None:
        meter = self._meter(queue, label, now_ms)
        meter.read(now_ms, self._whole.get(label, self._none), self._counted)
        meter.used = add(meter.used, change)
        of_user = meter.users.get(user)
        if of_user is None:
            of_user = meter.users[user] = _UserMeter(self._none, now_ms)
        of_user.read(now_ms)
        of_user.used = add(of_user.used, change)

    def _meter(self, queue: str, label: str, now_ms: int) -> _QueueMeter:
        meter = self._meters.get((queue, label))
        if meter is None:
            meter = self._meters[queue, label] = _QueueMeter(self._none, now_ms)
        return meter

    # Samples.

    def _sample(self, now_ms: int) -> None:
        """Read shares, demands and causes, which hold from now on."""
        debts = Debts(self._scheduler, now_ms)
        self._sampled_ms, self._dirty = now_ms, False
        self._counted = debts.counted
        self._whole = {label: debts.total_of(label) for _, label in debts.levels}
        for place in self._meters.keys() - debts.levels.keys():
            meter = self._meters[place]
            if not any(meter.used):
                del self._meters[place]
                continue
            meter.share = meter.demand = self._none
            meter.claims, meter.pending = {}, {}
        for (queue, label), level in debts.levels.items():
            pending = debts.pending(queue, label)
            known = self._meters.get((queue, label))
            if known is None and not pending and not any(level.share):
                continue
            meter = known or self._meter(queue, label, now_ms)
            meter.share = level.share
            meter.divided = tuple(
                place < debts.counted and (amount > 0 or not any(level.share))
                for place, amount in enumerate(level.share)
            )
            meter.demand = total((meter.used, *pending.values()), len(self._none))
            meter.pending = pending
            meter.claims = {}
            for claim in debts.claims(queue, label) if pending else ():
                key = claim.cause, claim.application.user
                before = meter.claims.get(key)
                amount = claim.amount if before is None else add(before, claim.amount)
                meter.claims[key] = amount
            debts.work += 2 * len(meter.users)
        worth_ms = max(LEAST_INTERVAL_MS, min(debts.work // WORK_PER_MS, MOST_INTERVAL_MS))
        self._interval_ms = worth_ms if self._fixed_ms is None else self._fixed_ms

    # Pieces: what was between two samples, or two hours.

    def _close(self, now_ms: int) -> None:
        """End pieces up to an instant."""
        while self.now_ms < now_ms:
            hour_ms = self.now_ms - self.now_ms % HOUR_MS
            end_ms = min(now_ms, hour_ms + HOUR_MS)
            self._end_piece(hour_ms, end_ms)
            self.now_ms = end_ms

    def _end_piece(self, hour_ms: int, end_ms: int) -> None:
        of_label: dict[str, list[tuple[str, _QueueMeter]]] = {}
        for (queue, label), meter in self._meters.items():
            meter.read(end_ms, self._whole.get(label, self._none), self._counted)
            of_label.setdefault(label, []).append((queue, meter))
            self._end_of_users(hour_ms, end_ms, queue, label, meter)
            self._end_of_debts(hour_ms, queue, label, meter)
        for label, meters in of_label.items():
            self._end_of_loans(hour_ms, label, meters)
        for meter in self._meters.values():
            meter.clear()

    def _end_of_users(
        self, hour_ms: int, end_ms: int, queue: str, label: str, meter: _QueueMeter
    ) -> None:
        for user in meter.users.values():
            user.read(end_ms)
        for place in range(len(self._none)):
            delivered = [user.area[place] for user in meter.users.values()]
            borrowed = divided(meter.borrowed[place], delivered)
            for name, area, part in zip(meter.users, delivered, borrowed, strict=True):
                self._add(hour_ms, queue, name, label, "delivered", place, area)
                self._add(hour_ms, queue, name, label, "borrowed", place, part)
        for name, user in [*meter.users.items()]:
            if any(user.used):
                user.area = [0] * len(self._none)
            else:
                del meter.users[name]

    def _end_of_debts(self, hour_ms: int, queue: str, label: str, meter: _QueueMeter) -> None:
        for place, area in enumerate(meter.owed):
            if not area:
                continue
            weights = {key: amount[place] for key, amount in meter.claims.items() if amount[place]}
            if not weights:
                pending = meter.pending.items()
                weights = {(OwedCause.LATENCY, user): one[place] for user, one in pending}
            parts = divided(area, weights.values())
            for (cause, user), part in zip(weights, parts, strict=True):
                self._add(hour_ms, queue, user, label, f"{OWED}{cause}", place, part)

    def _end_of_loans(
        self, hour_ms: int, label: str, meters: Sequence[tuple[str, _QueueMeter]]
    ) -> None:
        for place in range(len(self._none)):
            unasked = [meter.unasked[place] for _, meter in meters]
            borrowed = sum(meter.borrowed[place] for _, meter in meters)
            lent = divided(min(borrowed, sum(unasked)), unasked)
            for (queue, _), part, area in zip(meters, lent, unasked, strict=True):
                self._add(hour_ms, queue, "", label, "lent", place, part)
                self._add(hour_ms, queue, "", label, "idle", place, area - part)

    def _add(
        self, hour_ms: int, queue: str, user: str, label: str, kind: str, place: int, amount: int
    ) -> None:
        if amount:
            kinds = self._rows.setdefault((hour_ms, queue, user, label), {})
            areas = kinds.get(kind)
            if areas is None:
                areas = kinds[kind] = [0] * len(self._none)
            areas[place] += amount

    # What is read of it.

    def take(self, now_ms: int) -> list[LedgerRow]:
        """What is new since the last call, up to an instant that is not before the last record."""
        self.advance(now_ms)
        self._close(now_ms)
        rows, self._rows = self._rows, {}
        names = self._state.types.names
        return [
            LedgerRow(*place, name, kind, amount)
            for place, kinds in rows.items()
            for kind, areas in kinds.items()
            for name, amount in zip(names, areas, strict=True)
            if amount
        ]


def divided(whole: int, weights: Iterable[int]) -> Iterator[int]:
    """A whole number in parts that are proportional to weights, and add up to it.

    >>> [*divided(10, (1, 1, 1))], [*divided(7, (0, 2))], [*divided(0, ())]
    ([3, 3, 4], [0, 7], [])
    """
    weights = tuple(weights)
    of_all = sum(weights)
    before = parts = 0
    for weight in weights:
        before += weight
        part = whole * before // of_all - parts if of_all else 0
        parts += part
        yield part
