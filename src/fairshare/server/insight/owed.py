"""What leaf queues are owed at one instant, and by which cause each part of it.

A queue is entitled to the smaller of its demand and its share of a partition, and is owed what it
lacks of that. Its demand is what it uses and what its applications wait for; what waits by choice
(held, begins later, after another application, tasks of which only so many may run at once) is not
demand, and never a debt. A queue that uses as much of its dominant type as its share has
is owed nothing of the others.

The waiting applications claim what they lack, the oldest first, until the gap is filled. Each claim
has one cause, from the scheduler's reasons (`core/schedulers/reasons.py`). Reads the scheduler
between two decisions; decides nothing.
"""

import enum
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from fairshare.api.queues import OwedPartFields
from fairshare.core.model.applications import Application
from fairshare.core.model.asks import Ask, AskKey
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import (
    Resource,
    add,
    count_fitting,
    fits,
    positive,
    scale,
    smallest,
    subtract,
    total,
)
from fairshare.core.schedulers.entitlement import Obstacle
from fairshare.core.schedulers.offers import Survey, accepts
from fairshare.core.schedulers.protocol import PartitionLevel, Scheduler
from fairshare.core.schedulers.reasons import Cause, Limits, Reason, brief_reasons
from fairshare.server.insight.shares import lacking
from fairshare.server.insight.why import OF_PAUSED_GANGS, Explanation


class OwedCause(enum.StrEnum):
    """What keeps a part of a queue's entitlement from it, in words, too."""

    words: str

    def __new__(cls, value: str, words: str) -> "OwedCause":
        """`OwedCause("gang")` finds a cause by its value alone."""
        cause = str.__new__(cls, value)
        cause._value_ = value
        cause.words = words
        return cause

    APPLICATIONS = "applications", "a limit on running applications"
    MASTERS = "masters", "a limit on the resources of masters"
    MAXIMUM = "maximum", "the maximum of the queue, or of one above"
    USER_LIMIT = "user-limit", "the limit of one user"
    BUDGET = "budget", "a budget that is used up"
    BOOKING = "booking", "kept for a booking"
    PREEMPTION = "preemption", "being preempted for it, or as soon as its timeout is over"
    LENDER = "lender", "held by others above their share"
    FRAGMENTATION = "fragmentation", "free or above shares, but on no node together"
    UNDIVIDED = "undivided", "a resource type that is used up, and that shares do not divide"
    REMAINDER = "remainder", "what is missing is less than one container"
    RESERVATION = "reservation", "kept free on a node for others"
    LOCALITY = "locality", "waits for a nearer node"
    GANG = "gang", "containers that start together"
    NODES = "nodes", "on nodes that are drained or fail"
    OVERCOMMITTED = "overcommitted", "shares that are more than the cluster has"
    IMPOSSIBLE = "impossible", "no node can serve it"
    STOPPED = "stopped", "nothing is granted now"
    ITSELF = "itself", "waits for itself"
    LATENCY = "latency", "there is room, and its turn comes"
    OTHER = "other", "none of these"


OF_LIMITS: Final[Mapping[Cause, OwedCause]] = {
    Cause.NOT_STARTED: OwedCause.IMPOSSIBLE,
    Cause.QUEUE_GONE: OwedCause.STOPPED,
    Cause.QUEUE_APPLICATIONS: OwedCause.APPLICATIONS,
    Cause.USER_APPLICATIONS: OwedCause.APPLICATIONS,
    Cause.PASSED_OVER: OwedCause.APPLICATIONS,
    Cause.QUEUE_MASTERS: OwedCause.MASTERS,
    Cause.USER_MASTERS: OwedCause.MASTERS,
    Cause.MASTER_SILENT: OwedCause.ITSELF,
    Cause.SAFE_MODE: OwedCause.STOPPED,
    Cause.DISK_FULL: OwedCause.STOPPED,
    Cause.NO_DATABASE: OwedCause.STOPPED,
    Cause.NODES_FAILING: OwedCause.NODES,
    Cause.NODES_DRAINED: OwedCause.NODES,
    Cause.NO_NODES: OwedCause.IMPOSSIBLE,
    Cause.TOO_LARGE: OwedCause.IMPOSSIBLE,
    Cause.GANG_TOO_LARGE: OwedCause.IMPOSSIBLE,
    Cause.PLACE_UNKNOWN: OwedCause.IMPOSSIBLE,
    Cause.BLACKLISTED: OwedCause.IMPOSSIBLE,
    Cause.NO_CAPACITY: OwedCause.MAXIMUM,
    Cause.QUEUE_MAXIMUM: OwedCause.MAXIMUM,
    Cause.BOOKED: OwedCause.BOOKING,
    Cause.USER_LIMIT: OwedCause.USER_LIMIT,
    Cause.SLOW_START: OwedCause.ITSELF,
    Cause.JOB_TASKS: OwedCause.ITSELF,
    Cause.POOL_TASKS: OwedCause.MAXIMUM,
    Cause.BUDGET: OwedCause.BUDGET,
    Cause.GANG_PAUSED: OwedCause.GANG,
}
"""Causes that keep all that an ask lacks from it."""

OF_FREE_ROOM: Final[Mapping[Cause, OwedCause]] = {
    Cause.KEPT_FOR_ANOTHER: OwedCause.RESERVATION,
    Cause.RESERVED_FOR_OTHERS: OwedCause.RESERVATION,
    Cause.NEARER_NODE: OwedCause.LOCALITY,
    Cause.OWN_FIRST: OwedCause.LATENCY,
    Cause.OTHERS_FIRST: OwedCause.LATENCY,
    Cause.NEXT_OFFER: OwedCause.LATENCY,
}
"""Causes that keep free room from an ask: no more than is free. What it lacks besides waits for
room."""

OF_ROOM: Final = frozenset({Cause.NO_ROOM, Cause.RESERVED_HERE, Cause.KEPT_FOR_IT})
"""Causes that say that there is no room: of what that is depends on the queues that have it."""

OF_CHOICE: Final = frozenset(
    {
        Cause.HELD,
        Cause.APPLICATIONS_AHEAD,
        Cause.BEGINS_LATER,
        Cause.GROUPS_AHEAD,
        Cause.TASKS_PAUSED,
        Cause.TASKS_AT_ONCE,
        Cause.GANG_HOLDS,
        Cause.LIFETIME,
    }
)
"""Causes of what is not asked for now, and so not owed."""

MOST_LOOKED: Final = 20
"""So many applications of a queue are asked for their reasons; what the others lack is owed by the
same causes."""


class Claim(NamedTuple):
    """What one application lacks by one cause, for this reason."""

    cause: OwedCause
    application: Application
    amount: Resource
    reason: Reason | None


class _Line:
    """The applications of a leaf that wait for something of a partition, the oldest first; and how
    often they wait for which size, by user."""

    __slots__ = ("applications", "counts")

    def __init__(self) -> None:
        self.applications: dict[ApplicationId, Application] = {}
        self.counts: defaultdict[tuple[str, Resource], int] = defaultdict(int)

    def add(self, application: Application, size: Resource, count: int) -> None:
        self.applications[application.id] = application
        self.counts[application.user, size] += count


class _Partition:
    """The nodes of a partition that are not drained; what of them is free, and what is free on
    nodes that could not start containers; the shares of all queues together; the leaves that use
    more than theirs, with the excess."""

    def __init__(self, none: Resource) -> None:
        self.nodes: list[Node] = []
        self.total = self.free = self.failing = self.shares = none
        self.above: list[tuple[str, Resource]] = []


class _Gap:
    """What a leaf is owed of a partition, and is not claimed yet; with the room that is free."""

    def __init__(self, queue: str, label: str, owed: Resource, partition: _Partition) -> None:
        self.queue = queue
        self.label = label
        self.partition = partition
        self.owed = self.rest = owed
        self.free, self.failing = partition.free, partition.failing
        self.claims: list[Claim] = []
        self.loan: OwedCause | None = None  # of what others have above their shares


class Debts:
    """What all leaf queues are owed, while the state does not change.

    `levels` has what each leaf uses of each partition, and its share of it. Of applications only
    those of a leaf that is asked about are looked at. `work` counts what was looked at, in steps of
    about a microsecond.
    """

    def __init__(self, scheduler: Scheduler, now_ms: int) -> None:
        self._scheduler = scheduler
        self._state = state = scheduler.state
        self._now_ms = now_ms
        self._survey = Survey()
        self._rooms: dict[tuple[str, Resource], Resource] = {}
        self._returns: dict[tuple[str, str, Resource, tuple[str, ...] | None], bool] = {}
        self._promised: dict[ApplicationId, Resource] = {}
        self._lines: dict[str, dict[str, _Line]] = {}
        self._partitions: dict[str, _Partition] = defaultdict(lambda: _Partition(state.none))
        self.levels: dict[tuple[str, str], PartitionLevel] = {}
        self.counted = 1 if state.counts_memory_alone else len(state.none)
        """How many of the resource types the scheduler counts, from the first on."""
        self._look_at_nodes()
        for level in scheduler.partition_levels():
            self._add_level(level)
        self.work = 10 + len(state.nodes) + 3 * len(self.levels)

    def _look_at_nodes(self) -> None:
        state = self._state
        for node in state.nodes.values():
            partition = self._partitions[state.label_of(node)]
            partition.total = add(partition.total, node.total)
            if node.name not in state.drains:
                partition.nodes.append(node)
                free = positive(node.available)
                if state.failing and state.waits_for_node(node.name):
                    partition.failing = add(partition.failing, free)
                else:
                    partition.free = add(partition.free, free)
            for number, room in node.promised.items():
                self._promised[number] = add(self._promised.get(number, state.none), room)

    def _add_level(self, level: PartitionLevel) -> None:
        self.levels[level.queue, level.label] = level
        partition = self._partitions[level.label]
        partition.shares = add(partition.shares, level.share)
        idle = not any(level.share)
        excess = tuple(
            u - s if place < self.counted and u > s and (s or idle) else 0
            for place, (u, s) in enumerate(zip(level.used, level.share, strict=True))
        )
        if any(excess):
            partition.above.append((level.queue, excess))

    def waiting(self, queue: str, label: str) -> Sequence[Application]:
        """The applications of a leaf that wait for something of a partition, the oldest first."""
        line = self._line(queue, label)
        return () if line is None else [*line.applications.values()]

    def _line(self, queue: str, label: str) -> _Line | None:
        lines = self._lines.get(queue)
        if lines is None:
            lines = self._lines[queue] = self._find_lines(queue)
        return lines.get(label)

    def _find_lines(self, queue: str) -> dict[str, _Line]:
        state = self._state
        lines: dict[str, _Line] = defaultdict(_Line)
        leaf = state.queues.get(queue)
        attempts = {} if leaf is None else leaf.attempts
        self.work += 2 * len(attempts)
        deferred, gangs = state.deferred, state.gangs
        for number, attempt in attempts.items():
            asks, application = attempt.asks, attempt.application
            if application.over or (deferred and number in deferred):
                continue
            for key in (*asks.wanting, *asks.withheld) if asks.withheld else asks.wanting:
                if (ask := key.anywhere) is not None:
                    lines[key.label].add(application, ask.resource, ask.count)
            for _, label, lacks in self._paused_gangs(application) if gangs else ():
                lines[label].add(application, lacks, 1)
        return lines

    def _paused_gangs(self, application: Application) -> list[tuple[int, str, Resource]]:
        """The groups of which gangs are paused, with their partitions and what they lack."""
        gangs, label_of = self._state.gangs, self._scheduler.label_of
        return [
            (number, label_of(application, spec.label, master=False, check=False), lacks)
            for number, group in enumerate(application.tasks.groups)
            if (gang := gangs.get((application.id, number))) is not None and gang.paused
            for spec, lacks in ((group.spec, lacking(group, gang)),)
        ]

    def total_of(self, label: str) -> Resource:
        """The resources of all nodes of a partition."""
        return self._partitions[label].total

    def pending(self, queue: str, label: str) -> dict[str, Resource]:
        """What waits in a leaf for a partition, by user."""
        users: dict[str, Resource] = {}
        line = self._line(queue, label)
        for (user, size), count in () if line is None else line.counts.items():
            users[user] = add(users.get(user, self._state.none), scale(size, count))
        return users

    def owed(self, queue: str, label: str) -> Resource:
        """What a leaf is owed of a partition."""
        level, pending = self.levels.get((queue, label)), self.pending(queue, label)
        if level is None or not pending:
            return self._state.none
        demand = total((level.used, *pending.values()), len(level.used))
        return owed(level.used, level.share, demand, self.total_of(label), self.counted)

    def claims(self, queue: str, label: str) -> list[Claim]:
        """The claims on what a leaf is owed of a partition, which are at most that together. They
        are less if more than `MOST_LOOKED` applications wait."""
        gap = _Gap(queue, label, self.owed(queue, label), self._partitions[label])
        if not any(gap.owed):
            return []
        for application in self.waiting(queue, label)[:MOST_LOOKED]:
            self._claim(gap, application)
            if not any(gap.rest):
                break
        return gap.claims

    def _claim(self, gap: _Gap, application: Application) -> None:
        """Let an application claim what it lacks."""
        limits, asks = self._scheduler.limits_of(application.id), application.attempt.asks
        reasons = brief_reasons(application, limits, self._state, self._survey, self._now_ms)
        self.work += 100 + 20 * len(reasons)
        # One reason for the application as a whole, or one for each ask.
        whole = reasons[0] if reasons and not reasons[0].containers else None
        of_ask = {
            (reason.priority, reason.request): reason for reason in reasons if reason.containers
        }
        for key in (*asks.wanting, *asks.withheld):
            if key.label == gap.label and key.anywhere is not None and any(gap.rest):
                reason = of_ask.get(key.order, whole)
                self._claim_ask(gap, application, limits, key, key.anywhere, reason)
        for number, label, lacks in self._paused_gangs(application) if self._state.gangs else ():
            if label == gap.label:
                of_group = (one for one in reasons if one.group == number)
                reason = next((one for one in of_group if one.cause in OF_PAUSED_GANGS), None)
                cause = OwedCause.GANG
                if reason is not None:
                    # The first limit that leaves too little for the whole gang, if there is one.
                    cause = OF_LIMITS[(*reason.also, reason)[0].cause]
                self._take(gap, Claim(cause, application, lacks, reason))

    def _claim_ask(
        self,
        gap: _Gap,
        application: Application,
        limits: Limits,
        key: AskKey,
        ask: Ask,
        reason: Reason | None,
    ) -> None:
        lacks, partition = scale(ask.resource, ask.count), gap.partition
        if reason is None:
            self._take(gap, Claim(OwedCause.LATENCY, application, lacks, None))
            return
        if reason.cause in OF_LIMITS:
            # The others do not matter before one that lasts for ever is gone.
            reason = next((one for one in (reason, *reason.also) if one.never), reason)
            self._take(gap, Claim(OF_LIMITS[reason.cause], application, lacks, reason))
            return
        promised = self._promised.get(application.id)
        if promised is not None:
            claim = Claim(OwedCause.PREEMPTION, application, smallest(lacks, promised), reason)
            lacks = subtract(lacks, self._take(gap, claim))
        nodes = partition.nodes
        if reason.selective:
            nodes = [node for node in nodes if accepts(key, node)]
            self.work += len(partition.nodes)
        room = self._room_for(ask.resource, gap.label, nodes if reason.selective else None)
        cause = OF_FREE_ROOM.get(reason.cause)
        if cause is None and reason.cause in OF_ROOM and reason.cause is not Cause.NO_ROOM:
            unreserved = [one for one in nodes if one.reservation is None and not one.promised]
            room = self._room_for(ask.resource, gap.label, unreserved)
            cause = OwedCause.LATENCY if any(room) else None  # the reservation is given up for that
        if cause is None and reason.selective:
            room = self._room_for(ask.resource, gap.label)
            cause = OwedCause.LOCALITY
        if cause is not None and any(room):
            lacks = self._take_free(
                gap, Claim(cause, application, smallest(lacks, room), reason), lacks
            )
        free = gap.free
        if reason.selective:
            free = smallest(free, total((positive(one.available) for one in nodes), len(free)))
        if any(lacks) and self._fits(ask.resource, free):
            claim = Claim(OwedCause.FRAGMENTATION, application, smallest(lacks, free), reason)
            lacks = self._take_free(gap, claim, lacks)
        if any(gap.failing):
            claim = Claim(OwedCause.NODES, application, smallest(lacks, gap.failing), reason)
            taken = self._take(gap, claim)
            gap.failing, lacks = subtract(gap.failing, taken), subtract(lacks, taken)
        if any(lacks) and any(gap.rest):
            free = partition.free
            if reason.selective:
                free = total((positive(one.available) for one in nodes), len(free))
            cause = self._cause_without_room(gap, limits, key, free, reason)
            self._take(gap, Claim(cause, application, lacks, reason))

    def _cause_of_loan(self, gap: _Gap, limits: Limits, key: AskKey) -> OwedCause:
        """Whether preemption takes back what others have above their shares: of the first
        application of a queue that waits for that."""
        if gap.loan is None:
            self.work += len(self.levels)
            preemption = limits.preemption(key)
            works = (Obstacle.NONE, Obstacle.NOT_YET)
            taken = preemption is not None and preemption.obstacle in works
            gap.loan = OwedCause.PREEMPTION if taken else OwedCause.LENDER
        return gap.loan

    def _can_return(self, gap: _Gap, key: AskKey, size: Resource, reason: Reason) -> bool:
        """Whether containers that others have above their shares make room for one on a node, with
        what is free there; no queue is to end below its share."""
        above = {queue: one for queue, one in gap.partition.above if queue != gap.queue}
        own = gap.queue if reason.selective or len(above) < len(gap.partition.above) else ""
        places = tuple(key.places) if reason.selective else None
        answer = (own, gap.label, size, places)
        if answer not in self._returns:
            nodes = gap.partition.nodes
            nodes = [one for one in nodes if accepts(key, one)] if reason.selective else nodes
            self._returns[answer] = any(self._returns_on(node, above, size) for node in nodes)
        return self._returns[answer]

    def _returns_on(self, node: Node, above: Mapping[str, Resource], size: Resource) -> bool:
        room, left = node.available, dict(above)
        applications = self._state.applications
        self.work += 1 + len(node.containers)
        for container in node.containers.values():
            queue = applications[container.application].queue
            excess = left.get(queue)
            if excess is not None and _gives(container.resource, excess):
                left[queue] = subtract(excess, container.resource)
                room = add(room, container.resource)
                if self._fits(size, room):
                    return True
        return False

    def _take_free(self, gap: _Gap, claim: Claim, lacks: Resource) -> Resource:
        """Take what a claim may have of the gap and of the free room; what it still lacks."""
        taken = self._take(gap, claim._replace(amount=smallest(claim.amount, gap.free)))
        gap.free = subtract(gap.free, taken)
        return subtract(lacks, taken)

    def _room_for(
        self, size: Resource, label: str, nodes: Sequence[Node] | None = None
    ) -> Resource:
        """How much whole containers of a size can have together on some nodes of a partition; on
        all of them, which is found once."""
        if nodes is None and (label, size) in self._rooms:
            return self._rooms[label, size]
        looked = self._partitions[label].nodes if nodes is None else nodes
        self.work += len(looked)
        small = size[: self.counted]
        count = sum(count_fitting(small, node.available[: self.counted]) for node in looked)
        if nodes is None:
            self._rooms[label, size] = scale(size, count)
        return scale(size, count)

    def _fits(self, size: Resource, room: Resource) -> bool:
        return fits(size[: self.counted], room[: self.counted])

    def _cause_without_room(
        self, gap: _Gap, limits: Limits, key: AskKey, free: Resource, reason: Reason
    ) -> OwedCause:
        """The cause of what no room could serve of all that was `free` on nodes that it accepts."""
        assert key.anywhere is not None
        size = key.anywhere.resource
        above = [excess for queue, excess in gap.partition.above if queue != gap.queue]
        self.work += len(gap.partition.above)
        short = [place for place, rest in enumerate(gap.rest) if rest]
        if reason.preempting:
            return OwedCause.PREEMPTION
        held = any(excess[place] for excess in above for place in short)
        if held and self._can_return(gap, key, size, reason):
            return self._cause_of_loan(gap, limits, key)
        if reason.drained:
            return OwedCause.NODES
        share, places = self.levels[gap.queue, gap.label].share, range(self.counted)
        if any(gap.rest[place] < size[place] for place in places if share[place]):
            return OwedCause.REMAINDER
        scarce = [place for place in places if free[place] < size[place]]
        if scarce and not any(share[place] for place in scarce):
            return OwedCause.UNDIVIDED
        shares, whole = gap.partition.shares, gap.partition.total
        if any(shares[place] > whole[place] for place in short):
            return OwedCause.OVERCOMMITTED
        if held or any(free[place] for place in short):
            return OwedCause.FRAGMENTATION  # what is free and what is held, in pieces
        return OwedCause.LOCALITY if reason.selective else OwedCause.OTHER

    def _take(self, gap: _Gap, claim: Claim) -> Resource:
        """Take what a claim may have of the gap; how much that is."""
        amount = smallest(gap.rest, claim.amount)
        if not any(amount):
            return amount
        gap.rest = subtract(gap.rest, amount)
        gap.claims.append(claim._replace(amount=amount))
        return amount


def owed(
    used: Resource, share: Resource, demand: Resource, whole: Resource, counted: int
) -> Resource:
    """What is owed to a queue: `min(demand, share) - used` of each type of which it has a share,
    and nothing where its dominant share, of the `counted` types of the `whole` partition, is as
    large as that of its share.

    >>> owed((2048, 1), (4096, 4), (8192, 8), (8192, 8), 2)
    (2048, 3)
    >>> owed((2048, 4), (4096, 4), (8192, 8), (8192, 8), 2), owed((0, 0), (8, 8), (4, 4), (8, 8), 1)
    ((0, 0), (4, 0))
    """
    if reaches(used, share, whole, counted):
        return (0,) * len(used)
    return tuple(
        max(0, min(d, s) - u) if place < counted else 0
        for place, (u, s, d) in enumerate(zip(used, share, demand, strict=True))
    )


def _gives(resource: Resource, excess: Resource) -> bool:
    """Whether a queue with this excess has its share without a container, in all types of which it
    has an excess.

    >>> _gives((1024, 2), (1024, 0)), _gives((1024, 2), (512, 4))
    (True, False)
    """
    pairs = zip(resource, excess, strict=True)
    return any(excess) and all(amount <= above for amount, above in pairs if above)


def reaches(used: Resource, share: Resource, whole: Resource, counted: int) -> bool:
    """Whether the dominant share of what is used is at least that of a share, of the types of which
    there is one."""
    largest_used = largest_share = 0.0
    for place in range(counted):
        if whole[place] > 0 and share[place] > 0:
            largest_used = max(largest_used, used[place] / whole[place])
            largest_share = max(largest_share, share[place] / whole[place])
    return largest_used >= largest_share


class OwedPart(OwedPartFields[ApplicationId], frozen=True):
    """One part of what is owed. `sentence` and `remedy` explain the reason of its first
    application."""


def owed_parts(
    owed: int, place: int, claims: Iterable[Claim], explain: Callable[[Claim], Explanation]
) -> list[OwedPart]:
    """The parts of `owed` (of the type with index `place`) by cause, the largest first; what the
    claims leave is owed by OTHER."""
    amounts: dict[OwedCause, int] = {}
    first: dict[OwedCause, Claim] = {}
    applications: dict[OwedCause, set[ApplicationId]] = defaultdict(set)
    rest = owed
    for claim in claims:
        amount = min(rest, claim.amount[place])
        if amount <= 0:
            continue
        rest -= amount
        amounts[claim.cause] = amounts.get(claim.cause, 0) + amount
        first.setdefault(claim.cause, claim)
        applications[claim.cause].add(claim.application.id)
    if rest:
        amounts[OwedCause.OTHER] = amounts.get(OwedCause.OTHER, 0) + rest
    order = list(OwedCause)
    return [
        OwedPart(
            kind=cause.value,
            words=cause.words,
            amount=amounts[cause],
            applications=len(applications[cause]),
            first=first[cause].application.id if cause in first else None,
            **msgspec.structs.asdict(explain(first[cause]) if cause in first else _UNKNOWN),
        )
        for cause in sorted(amounts, key=lambda one: (-amounts[one], order.index(one)))
    ]


_UNKNOWN: Final = Explanation("", "")
"""Of a part of which no application was asked."""
