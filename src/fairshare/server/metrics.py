"""The metrics of a server for Prometheus: counters, and measurements.

Each server has a registry of its own. The journal, the writer and the committed records update the
counters. Metrics of the cluster's state are computed on request.
"""

import asyncio
import collections
import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationRejected,
    ApplicationSubmitted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerMarked,
    ExitCode,
    Locality,
    RequestRefused,
)
from fairshare.core.model.resources import Resource, add
from fairshare.core.record import Record
from fairshare.core.schedulers.bookings import used_by
from fairshare.core.schedulers.offers import Survey
from fairshare.core.schedulers.past import budgets, pasts_of_queues
from fairshare.core.schedulers.views import QueueView
from fairshare.runtime.journal.protocol import Journal
from fairshare.runtime.observers import Observers
from fairshare.server.insight.ledger_file import totals_of
from fairshare.server.insight.shares import Shares, beside_demand
from fairshare.server.metric_families import (
    COUNTERS,
    GAUGES,
    HISTOGRAMS,
    QUEUE_CAPACITIES,
    QUEUE_NUMBERS,
    QUEUE_VECTORS,
    counter,
    gauge,
)
from fairshare.server.service import Service
from fairshare.server.slices import Slices, made_in_slices

LAG_INTERVAL_S = 0.5


class Metrics:
    """All metrics of one server, in one event loop."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)

        def count(name: str) -> Counter:
            text, labels = COUNTERS[name]
            return Counter(f"fairshare_{name}", text, labels, registry=registry)

        def duration(name: str) -> Histogram:
            text, labels, buckets = HISTOGRAMS[f"{name}_seconds"]
            name = f"fairshare_{name}_seconds"
            return Histogram(name, text, labels, buckets=buckets, registry=registry)

        self._records, self._snapshots = count("journal_records"), count("snapshots")
        self._allocated = count("containers_allocated")
        self._completed = count("containers_completed")
        self._preempted, self._marked = count("containers_preempted"), count("containers_marked")
        self._submitted = count("applications_submitted")
        self._rejected, self._ended = count("applications_rejected"), count("applications_ended")
        self._refused, self._inputs = count("requests_refused"), count("inputs")
        self._requests, self._answering = count("http_requests"), duration("http_request")
        self._decision, self._commit = duration("decision"), duration("journal_commit")
        self._lag = duration("loop_lag")
        self._streams = Gauge(
            "fairshare_event_streams", GAUGES["event_streams"][0], registry=registry
        )
        self._committing_s = 0.0

    def exposition(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

    def show_streams(self, count: Callable[[], int]) -> None:
        """Set the source of the number of open streams."""
        self._streams.set_function(count)

    # Updates from their sources.

    def subscribe(self, observers: Observers) -> None:
        """Count the committed records, and what they say."""
        granted: dict[Locality, int] = dict.fromkeys(Locality, 0)  # by one commit

        def allocated(record: Record, event: ContainerAllocated) -> None:
            granted[event.locality] += 1

        def committed(records: Sequence[Record]) -> None:
            self._records.inc(len(records))
            for locality, count in granted.items():
                if count:
                    self._allocated.labels(locality.name.lower()).inc(count)
                    granted[locality] = 0

        observers.events(allocated, ContainerAllocated)
        observers.commits(committed)
        observers.events(self._container_completed, ContainerCompleted)
        observers.events(lambda _, event: self._marked.inc(), ContainerMarked)
        observers.events(lambda _, event: self._submitted.inc(), ApplicationSubmitted)
        observers.events(
            lambda _, event: self._rejected.labels(event.code).inc(), ApplicationRejected
        )
        observers.events(
            lambda _, event: self._ended.labels(event.state.value).inc(), ApplicationEnded
        )
        observers.events(lambda _, event: self._refused.labels(event.code).inc(), RequestRefused)

    def _container_completed(self, record: Record, event: ContainerCompleted) -> None:
        self._completed.labels(outcome(event.exit_code)).inc()
        if event.exit_code == ExitCode.PREEMPTED:
            self._preempted.inc()

    def snapshot_taken(self) -> None:
        """Count it."""
        self._snapshots.inc()

    def turn(self, seconds: float, inputs: int) -> None:
        """Observe the duration of a turn of the writer, its commits included."""
        self._decision.observe(max(0.0, seconds - self._committing_s))
        self._committing_s = 0.0
        self._inputs.inc(inputs)

    def commit(self, seconds: float) -> None:
        """Observe the duration of a commit."""
        self._commit.observe(seconds)
        self._committing_s += seconds

    def request(self, method: str, path: str, status: int, seconds: float | None) -> None:
        """Observe an answered request; None: a stream, whose duration is meaningless."""
        self._requests.labels(method, path, str(status)).inc()
        if seconds is not None:
            self._answering.labels(method, path).observe(seconds)

    async def watch(self) -> None:
        """Measure the lag of this event loop until cancelled."""
        while True:
            before_s = time.perf_counter()
            await asyncio.sleep(LAG_INTERVAL_S)
            self._lag.observe(max(0.0, time.perf_counter() - before_s - LAG_INTERVAL_S))


def outcome(exit_code: int) -> str:
    """How a container ended, in one word: few values, whatever processes return.

    >>> outcome(0), outcome(-102), outcome(137)
    ('success', 'preempted', 'failure')
    """
    known = {code.value: code.name.lower() for code in ExitCode}
    return known.get(exit_code, "failure")


class MeasuredJournal:
    """A journal whose commits are measured."""

    def __init__(self, journal: Journal, metrics: Metrics) -> None:
        self._journal = journal
        self._metrics = metrics
        self.append = journal.append

    def commit(self) -> None:
        """Commit the appended records, and report the duration."""
        before_s = time.perf_counter()
        self._journal.commit()
        self._metrics.commit(time.perf_counter() - before_s)

    def records(self, after: int = 0) -> Iterator[Record]:
        """The committed records after a number."""
        return self._journal.records(after)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()


LEAST_AGE_S: Final = 2.0
REST_PER_COST: Final = 20
"""A count that took t seconds is kept for 20 t, so that counting takes at most 5 % of a core."""

MOST_QUEUES: Final = 200
"""So many queues have their debts of the past: those that were owed most."""

MOST_USERS: Final = 200
OTHER_USERS: Final = "(others)"
"""So many users have metrics of their own, those with most containers; of the others the sums."""

NO_CAUSE: Final = "next-beat"
"""The cause of an application that nothing holds back: a coming heartbeat serves it."""


class UserCounts(msgspec.Struct):
    """What one user has now. Applications run if they have containers."""

    used: Resource
    pending: Resource
    running: int = 0
    waiting: int = 0
    containers: int = 0


class LiveCounts:
    """What one service counts of the applications that have not ended, in its event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._fresh_until_s = 0.0
        self._counting = asyncio.Lock()
        self.counts: Mapping[str, int] = {}
        """Applications that wait, by the first of their reasons, as `refresh` last found them."""
        self.owed: Mapping[str, Mapping[str, Resource]] = {}
        """What leaf queues are owed, by cause."""
        self.users: Mapping[str, UserCounts] = {}
        """What users have, by name."""

    async def refresh(self) -> None:
        """Count again if the last count is too old. Callers wait for one count together."""
        async with self._counting:
            if time.monotonic() < self._fresh_until_s:
                return
            cost_s = await self._count()
            self._fresh_until_s = time.monotonic() + max(LEAST_AGE_S, REST_PER_COST * cost_s)

    async def _count(self) -> float:
        """Count all applications; how long that held the loop (s), in all."""
        service = self._service
        applications = service.state.applications
        counts = collections.Counter[str]()
        users: dict[str, UserCounts] = {}
        none = service.state.types.none
        version, survey = service.version, Survey()
        slices = Slices()
        for number in tuple(applications):
            application = applications.get(number)
            if application is None or application.over:
                continue
            attempt = application.attempt
            user = users.get(application.user)
            if user is None:
                user = users[application.user] = UserCounts(none, none)
            user.used = add(user.used, attempt.used)
            user.pending = add(user.pending, attempt.asks.pending)
            user.containers += len(attempt.containers)
            user.running += bool(attempt.containers)
            user.waiting += not attempt.containers
            if attempt.asks.wanting or not attempt.active:
                cause = service.main_cause(number, survey)
                counts[cause or NO_CAUSE] += 1
            if await slices.end() and service.version != version:
                version, survey = service.version, Survey()
        self.counts, self.users = counts, users
        await self._count_debts(slices)
        return slices.cost_s

    async def _count_debts(self, slices: Slices) -> None:
        """Find what all leaf queues are owed."""
        service = self._service
        owed: dict[str, dict[str, Resource]] = {}
        version, debts = service.version, service.debts()
        for queue, label in tuple(debts.levels):
            for claim in debts.claims(queue, label):
                causes = owed.setdefault(queue, {})
                before = causes.get(claim.cause)
                causes[claim.cause] = claim.amount if before is None else add(before, claim.amount)
            if await slices.end() and service.version != version:
                version, debts = service.version, service.debts()
        self.owed = owed


class _One(Collector):
    """A registry of one family."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        """The family."""
        return (self._family,)


def _text_of(family: Metric) -> bytes:
    """One family in the text format of Prometheus."""
    return generate_latest(_One(family))


class StateMetrics:
    """The metrics of one service's state as text for Prometheus; used in its loop."""

    def __init__(self, service: Service, state_directory: Path) -> None:
        self._service = service
        self._state_directory = state_directory
        self._causes = LiveCounts(service)
        self._written = b""
        self._fresh_until_s = 0.0
        self._writing = asyncio.Lock()

    async def text(self) -> bytes:
        """The metrics, computed and written now, in slices, or from the cache."""
        await self._causes.refresh()
        async with self._writing:
            if time.monotonic() >= self._fresh_until_s:
                slices, pieces = Slices(), []
                queues = await made_in_slices(self._service.views.queues_in_steps(), slices)
                for family in chain(self._cluster(), self._queues(queues), self._users()):
                    pieces.append(_text_of(family))
                    await slices.end()
                cost_s = slices.cost_s
                pieces.append(_text_of(await self._ledger()))
                self._written = b"".join(pieces)
                self._fresh_until_s = time.monotonic() + max(LEAST_AGE_S, REST_PER_COST * cost_s)
        return self._written + _text_of(self._waiting())

    async def users(self) -> list[tuple[str, UserCounts]]:
        """What users have now, those with most containers first; a few seconds old at most."""
        await self._causes.refresh()
        return sorted(self._causes.users.items(), key=lambda item: (-item[1].containers, item[0]))

    async def _ledger(self) -> Metric:
        """What queues were owed, as the ledger has it."""
        family = counter("ledger_owed")
        rows = await asyncio.to_thread(totals_of, self._state_directory, MOST_QUEUES)
        for queue, resource, cause, amount in rows:
            family.add_metric([queue, resource, cause], amount / 1_000)
        return family

    def _cluster(self) -> Iterator[Metric]:
        service = self._service
        cluster = service.views.cluster
        for name, vector in (
            ("offered", cluster.total),
            ("used", cluster.used),
            ("available", cluster.available),
            ("pending", cluster.pending),
        ):
            family = gauge(f"cluster_{name}")
            self._add(family, [], vector)
            yield family
        for name, value in (
            ("containers", cluster.containers),
            ("safe_mode", cluster.safe_mode),
            ("journal_sequence", service.version),
        ):
            family = gauge(name)
            family.add_metric((), float(value))
            yield family
        applications, nodes = gauge("applications"), gauge("nodes")
        for state, count in cluster.applications.items():
            applications.add_metric([state], count)
        for state, count in sorted(
            collections.Counter(n.state for n in service.views.nodes).items()
        ):
            nodes.add_metric([state], count)
        yield from (applications, nodes)

    def _queues(self, queues: Sequence[QueueView]) -> Iterator[Metric]:
        for name in QUEUE_VECTORS:
            family = gauge(f"queue_{name}")
            for queue in queues:
                self._add(family, [queue.name], getattr(queue, name))
            yield family
        for name in QUEUE_NUMBERS:
            family = gauge(f"queue_{name}")
            for queue in queues:
                family.add_metric([queue.name], getattr(queue, name))
            yield family
        preempted = counter("queue_preempted")
        for queue in queues:
            preempted.add_metric([queue.name], queue.preempted)
        yield preempted
        yield self._owed(queues)
        yield from self._past()
        yield from self._booked()
        yield from _capacities(queues)

    def _users(self) -> Iterator[Metric]:
        """What users have; those beyond the first `MOST_USERS` are one together."""
        counts = self._causes.users
        order = sorted(counts, key=lambda user: (-counts[user].containers, user))
        labels = {user: user for user in order[:MOST_USERS]}
        containers, applications = gauge("user_containers"), gauge("user_applications")
        vectors = {name: gauge(f"user_{name}") for name in ("used", "pending")}
        sums: dict[str, UserCounts] = {}
        for user in order:
            label = labels.get(user, OTHER_USERS)
            count = counts[user]
            if label not in sums:
                sums[label] = copy.copy(count)
                continue
            both = sums[label]
            both.used, both.pending = add(both.used, count.used), add(both.pending, count.pending)
            both.containers += count.containers
            both.running += count.running
            both.waiting += count.waiting
        for label, count in sums.items():
            containers.add_metric([label], count.containers)
            applications.add_metric([label, "running"], count.running)
            applications.add_metric([label, "waiting"], count.waiting)
            self._add(vectors["used"], [label], count.used)
            self._add(vectors["pending"], [label], count.pending)
        yield from (containers, applications, *vectors.values())

    def _owed(self, queues: Sequence[QueueView]) -> Metric:
        """What leaf queues are owed of the type that they use most of, by cause."""
        family = gauge("owed")
        types = self._service.state.types
        total = self._service.views.cluster.total
        shares = Shares(queues, total, types, beside_demand(self._service.state))
        for queue in queues:
            causes = self._causes.owed.get(queue.name)
            if causes is None:
                continue
            share = shares.of(queue)
            place = types.names.index(share.dominant)
            rest = share.owed[place]
            for cause, amount in causes.items():
                if part := min(rest, amount[place]):
                    family.add_metric([queue.name, share.dominant, cause], part)
                    rest -= part
        return family

    def _past(self) -> Iterator[Metric]:
        """What queues used before, and what of budgets is used; nothing where neither counts."""
        state, now_ms = self._service.state, self._service.now_ms()
        pasts = pasts_of_queues(state, now_ms).values()
        if pasts:
            average, factor = gauge("queue_past"), gauge("queue_past_factor")
            for past in pasts:
                for name, amount in past.average.items():
                    average.add_metric([past.queue, name], amount)
                if past.factor is not None:
                    factor.add_metric([past.queue], past.factor)
            yield from (average, factor)
        if state.ledger is not None and state.ledger.fairness.budgets:
            used, limit = gauge("budget_used_hours"), gauge("budget_hours")
            for one in budgets(state, now_ms):
                used.add_metric([one.name, one.queue, one.user, one.resource], one.used_hours)
                limit.add_metric([one.name, one.queue, one.user, one.resource], one.hours)
            yield from (used, limit)

    def _booked(self) -> Iterator[Metric]:
        """What bookings that are on promise, and what their holders use; nothing without any."""
        state = self._service.state
        if not state.bookings:
            return
        promised, used = gauge("booking_promised"), gauge("booking_used")
        for span in state.kept:
            if span.begun:
                names = [span.name, span.queue, span.user]
                self._add(promised, names, span.resource)
                self._add(used, names, used_by(state, span.holder))
        yield from (promised, used)

    def _waiting(self) -> Metric:
        """The number of waiting applications by their most important reason; each counts once."""
        family = gauge("pending_by_reason")
        for reason, count in sorted(self._causes.counts.items()):
            family.add_metric([reason], count)
        return family

    def _add(self, family: GaugeMetricFamily, labels: list[str], vector: Resource) -> None:
        for name, amount in self._service.state.types.mapping(vector).items():
            family.add_metric([*labels, name], amount)


def _capacities(queues: Iterable[QueueView]) -> Iterator[Metric]:
    """The percentages that only the Capacity Scheduler has."""
    capacities = [(queue.name, queue.capacity) for queue in queues if queue.capacity is not None]
    for name in QUEUE_CAPACITIES if capacities else ():
        family = gauge(f"queue_{name}_percent")
        for queue, capacity in capacities:
            family.add_metric([queue], getattr(capacity, name))
        yield family
