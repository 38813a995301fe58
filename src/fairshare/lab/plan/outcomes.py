"""What became of each application in one simulation, sums by queue and by user, and whether
anything had to wait for room: else settings could not matter.

Waiting is from the submission to the first container. The slowdown is bounded: `max(1, turnaround /
max(run, 10 s))`, where `run` is from the first container to the end (Feitelson et al., 1997). Work
is lost that a container had done when it was preempted: its memory times its age. A queue is
entitled to the smaller of its demand and its fair share, as in the reports of simulations; what it
uses beyond that at a time does not make up for what it lacks at another.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from statistics import mean
from typing import Any

import msgspec

from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationMoved,
    ApplicationRejected,
    ApplicationSubmitted,
    ContainerAllocated,
    ContainerCompleted,
    ExitCode,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.resources import Resource, add, smallest, subtract, total
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.lab.simulate.comparison import FULL, LEAST_RUN_MS, WAITED_MS
from fairshare.lab.simulate.levels import KINDS, divided
from fairshare.lab.simulate.usage import Interval
from fairshare.lab.simulate.world import Grant

_ENTITLED = KINDS.index("entitled")
REJECTED = "REJECTED"


class Received(msgspec.Struct, frozen=True):
    """The parts of entitlements that were received, from 0 to 1, by queue and of all together.
    Queues that were entitled to nothing have none."""

    queues: dict[str, float] = {}
    whole: float | None = None


def received(intervals: Sequence[Interval], none: Resource) -> Received:
    """What was received in all intervals of a run together; `none` is the vector of zeros."""
    due: dict[str, Resource] = {}
    had: dict[str, Resource] = {}
    for interval in intervals:
        for queue, levels in interval.shares.items():
            entitled = list(divided(levels))[_ENTITLED]
            used = smallest(entitled, interval.used.get(queue, none))
            due[queue] = add(due.get(queue, none), entitled)
            had[queue] = add(had.get(queue, none), used)
    offered = total((one.total for one in intervals), len(none))
    parts = {queue: part_of(had[queue], due[queue], offered) for queue in due}
    whole = part_of(total(had.values(), len(none)), total(due.values(), len(none)), offered)
    return Received({name: part for name, part in parts.items() if part is not None}, whole)


def part_of(had: Resource, due: Resource, offered: Resource) -> float | None:
    """The part of what was due that was had, of the resource of which the largest part of the
    cluster was due; None if nothing was.

    Half the cluster's memory and a tenth of its vcores are due, so memory counts:

    >>> part_of((25, 10), (50, 10), (100, 100))
    0.5
    """
    parts = [
        (amount / whole, received / amount)
        for received, amount, whole in zip(had, due, offered, strict=True)
        if amount and whole
    ]
    return max(parts, key=lambda one: one[0])[1] if parts else None


class Competed(msgspec.Struct, frozen=True):
    """The largest part of the cluster that was in use, of the resource of which it was most; and
    the longest time in which an application with requests got no container."""

    used: float
    waited_ms: int

    @property
    def for_room(self) -> bool:
        """Whether anything competed for room."""
        return self.used >= FULL or self.waited_ms > WAITED_MS


class Competition:
    """The competition of one run; `state` is the scheduler's."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._sizes: dict[ContainerId, Resource] = {}
        self._used = state.none
        self._waiting_since: dict[ApplicationId, int] = {}
        self._most = 0.0
        self._waited_ms = 0
        for number, application in state.applications.items():
            for container, granted in application.containers.items():
                self._sizes[container] = granted.resource
                self._used = add(self._used, granted.resource)
            if not application.over and any(application.attempt.asks.pending):
                self._waiting_since[number] = application.submitted_ms

    def observe(self, record: Record) -> None:
        """Take notice of a record."""
        for event in record.events:
            if type(event) is ContainerAllocated:
                self._granted(event, record.now_ms)
            elif type(event) is ContainerCompleted:
                resource = self._sizes.pop(event.container, None)
                if resource is not None:
                    self._used = subtract(self._used, resource)

    def _granted(self, event: ContainerAllocated, now_ms: int) -> None:
        self._sizes[event.container] = event.resource
        self._used = add(self._used, event.resource)
        parts = [
            part / whole for part, whole in zip(self._used, self._state.total, strict=True) if whole
        ]
        self._most = max(self._most, *parts) if parts else self._most
        number = event.application
        application = self._state.applications.get(number)
        if application is None:
            return
        since_ms = self._waiting_since.pop(number, None)
        if since_ms is None and application.containers_allocated <= 1:
            since_ms = application.submitted_ms
        if since_ms is not None:
            self._waited_ms = max(self._waited_ms, now_ms - since_ms)
        if any(application.attempt.asks.pending):
            self._waiting_since[number] = now_ms

    def found(self, now_ms: int) -> Competed:
        """What competed up to an instant."""
        waited_ms = self._waited_ms
        for number, since_ms in self._waiting_since.items():
            application = self._state.applications.get(number)
            if (
                application is not None
                and not application.over
                and any(application.attempt.asks.pending)
            ):
                waited_ms = max(waited_ms, now_ms - since_ms)
        return Competed(round(self._most, 6), waited_ms)


class Outcome(msgspec.Struct):
    """One application. `used` and `lost` are MB·ms; times that did not come are None."""

    number: ApplicationId
    name: str
    user: str
    queue: str
    submitted_ms: int
    state: str = ""
    first_ms: int | None = None
    ended_ms: int | None = None
    containers: int = 0
    preempted: int = 0
    used: int = 0
    lost: int = 0
    reason: str = ""  # why it was refused

    @property
    def refused(self) -> bool:
        """Whether no queue took it."""
        return self.state == REJECTED

    @property
    def wait_ms(self) -> int | None:
        """From the submission to the first container."""
        return None if self.first_ms is None else self.first_ms - self.submitted_ms

    @property
    def turnaround_ms(self) -> int | None:
        """From the submission to the end, of those that had a container."""
        if self.ended_ms is None or self.first_ms is None:
            return None
        return self.ended_ms - self.submitted_ms

    @property
    def slowdown(self) -> float | None:
        """The bounded slowdown; at least 1.

        >>> Outcome(1, "a", "ann", "root.a", 0, first_ms=30_000, ended_ms=60_000).slowdown
        2.0
        """
        turnaround_ms = self.turnaround_ms
        if turnaround_ms is None or self.first_ms is None or self.ended_ms is None:
            return None
        run_ms = self.ended_ms - self.first_ms
        return max(1.0, turnaround_ms / max(run_ms, LEAST_RUN_MS))


class Sums(msgspec.Struct, frozen=True):
    """Sums over applications. All of them are counted; what else is summed is of those that neither
    run refused, so that two runs compare the same applications. Times are in milliseconds, None
    without any. `share` is the part of all used memory; `share_of_entitlement` the part that a
    queue received of what it was entitled to (`received`), None for users, because they have no
    fair share."""

    applications: int
    refused: int
    unfinished: int
    containers: int
    preempted: int
    wait_p50: int | None
    wait_p95: int | None
    turnaround_mean: float | None
    slowdown_mean: float | None
    lost_gb_hours: float
    share: float
    share_of_entitlement: float | None = None


class Outcomes:
    """Follows the records of one simulation. `grants` are all containers, in their order."""

    def __init__(self) -> None:
        self.applications: dict[ApplicationId, Outcome] = {}
        self.grants: list[Grant] = []
        self.competed = Competed(0.0, 0)
        """What waited for room, once the run is over."""
        self.received = Received()
        """The parts of their entitlements that queues received, once the run is over."""
        self._live: dict[ContainerId, ContainerAllocated] = {}
        self._begin_ms = 0
        self._earlier: dict[ApplicationId, Outcome] = {}

    def restate(self, state: State) -> None:
        """Take notice that what lives in a state is submitted again: it has been there before."""
        known = Outcomes()
        known.begin(state, 0)
        self._earlier = known.applications

    def begin(self, state: State, now_ms: int) -> None:
        """Take up what lives in a state, with which the history begins.

        The first container of an application came, as far as is known, with the oldest that lives.
        """
        self._begin_ms = now_ms
        for number, application in state.applications.items():
            if application.over:
                continue
            containers = application.containers
            self._live |= containers
            outcome = Outcome(
                number,
                application.submission.name,
                application.user,
                application.queue,
                application.submitted_ms,
                containers=len(containers),
            )
            if application.containers_allocated:
                times = (one.allocated_ms for one in containers.values())
                outcome.first_ms = min(times, default=application.submitted_ms)
            self.applications[number] = outcome

    def observe(self, record: Record) -> None:
        """Take notice of a record."""
        for event in record.events:
            self._observe(event, record.now_ms)

    def _observe(self, event: Any, now_ms: int) -> None:
        kind = type(event)
        if kind is ContainerAllocated:
            self._live[event.container] = event
            self.grants.append(Grant(event.container, event.node, now_ms))
            outcome = self.applications.get(event.application)
            if outcome is not None:
                outcome.containers += 1
                if outcome.first_ms is None:
                    outcome.first_ms = now_ms
        elif kind is ContainerCompleted:
            granted = self._live.pop(event.container, None)
            outcome = None if granted is None else self.applications.get(granted.application)
            if granted is None or outcome is None:
                return
            work = granted.resource[0] * (now_ms - granted.allocated_ms)
            outcome.used += granted.resource[0] * (
                now_ms - max(granted.allocated_ms, self._begin_ms)
            )
            if event.exit_code == ExitCode.PREEMPTED:
                outcome.preempted += 1
                outcome.lost += work
        elif kind in (ApplicationSubmitted, ApplicationRejected):
            submission = event.submission
            queue = getattr(event, "queue", submission.queue)
            state, reason = (REJECTED, event.reason) if kind is ApplicationRejected else ("", "")
            number = event.application
            earlier = self._earlier.get(number)
            times = (now_ms, None) if earlier is None else (earlier.submitted_ms, earlier.first_ms)
            known = (number, submission.name, submission.user, queue, times[0], state, times[1])
            self.applications[number] = Outcome(*known, reason=reason)
        elif kind is ApplicationMoved:
            if event.application in self.applications:
                self.applications[event.application].queue = event.queue
        elif kind is ApplicationEnded and event.application in self.applications:
            outcome = self.applications[event.application]
            outcome.state, outcome.ended_ms = event.state.value, now_ms

    def by(
        self, key: Callable[[Outcome], str], refused: Container[ApplicationId] = frozenset()
    ) -> dict[str, Sums]:
        """The sums of all applications with the same key; `refused` are those that a run refused,
        this one or the one that it is compared with."""
        groups: dict[str, list[Outcome]] = defaultdict(list)
        for outcome in self.applications.values():
            groups[key(outcome)].append(outcome)
        whole = sum(one.used for one in self.applications.values() if one.number not in refused)
        return {name: sums(group, whole, refused) for name, group in sorted(groups.items())}


def sums(
    applications: Iterable[Outcome], whole: int, refused: Container[ApplicationId] = frozenset()
) -> Sums:
    """The sums of some applications; all that are not refused used `whole` MB·ms together."""
    everything = list(applications)
    outcomes = [outcome for outcome in everything if outcome.number not in refused]
    waits = sorted(outcome.wait_ms for outcome in outcomes if outcome.wait_ms is not None)
    turnarounds = [
        outcome.turnaround_ms for outcome in outcomes if outcome.turnaround_ms is not None
    ]
    slowdowns = [outcome.slowdown for outcome in outcomes if outcome.slowdown is not None]
    return Sums(
        applications=len(everything),
        refused=sum(outcome.refused for outcome in everything),
        unfinished=sum(not outcome.state for outcome in outcomes),
        containers=sum(outcome.containers for outcome in outcomes),
        preempted=sum(outcome.preempted for outcome in outcomes),
        wait_p50=_rank(waits, 50),
        wait_p95=_rank(waits, 95),
        turnaround_mean=mean(turnarounds) if turnarounds else None,
        slowdown_mean=mean(slowdowns) if slowdowns else None,
        lost_gb_hours=sum(outcome.lost for outcome in outcomes) / (1024 * 3_600_000),
        share=sum(outcome.used for outcome in outcomes) / whole if whole else 0.0,
    )


def _rank(ordered: list[int], percent: int) -> int | None:
    """The percentile by nearest rank."""
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else None
