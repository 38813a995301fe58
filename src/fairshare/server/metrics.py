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
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
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
from fairshare.server.insight.shares import Shares
from fairshare.server.insight.why import CAUSES
from fairshare.server.service import Service
from fairshare.server.slices import made_in_slices

LAG_INTERVAL_S = 0.5
_SHORT_S = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_LONG_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Metrics:
    """All metrics of one server, in one event loop."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"fairshare_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            name = f"fairshare_{name}_seconds"
            return Histogram(name, text, labels, buckets=buckets, registry=registry)

        self._records = counter("journal_records", "Records committed since the start.")
        self._snapshots = counter("snapshots", "Snapshots taken since the start.")
        self._allocated = counter("containers_allocated", "Containers granted.", "locality")
        self._completed = counter("containers_completed", "Containers that ended.", "outcome")
        self._preempted = counter("containers_preempted", "Containers killed for others.")
        self._marked = counter("containers_marked", "Containers chosen to be preempted.")
        self._submitted = counter("applications_submitted", "Applications accepted.")
        self._rejected = counter("applications_rejected", "Applications refused.", "code")
        self._ended = counter("applications_ended", "Applications that are over.", "state")
        self._refused = counter("requests_refused", "Calls the manager refused.", "code")
        self._requests = counter("http_requests", "Answers.", "method", "path", "status")
        self._inputs = counter("inputs", "Inputs that were decided.")
        self._decision = histogram(
            "decision", "One turn of the writer: inputs, shares, grants; without commit.", _SHORT_S
        )
        self._commit = histogram("journal_commit", "One commit, until it is on disk.", _SHORT_S)
        self._answering = histogram(
            "http_request", "From a request to its answer.", _LONG_S, "method", "path"
        )
        self._lag = histogram("loop_lag", "How late the event loop wakes a sleeper.", _SHORT_S)
        self._streams = Gauge(
            "fairshare_event_streams", "Open streams of events.", registry=registry
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

    def append(self, record: Record) -> None:
        """Append a record."""
        self._journal.append(record)

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


SLICE_S: Final = 0.004
"""How long one slice may delay other work."""

LEAST_AGE_S: Final = 2.0
REST_PER_COST: Final = 20
"""A count that took t seconds is kept for 20 t, so that counting takes at most 5 % of a core."""

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
        self.pending: Mapping[str, Mapping[str, Resource]] = {}
        """What they lack, by leaf queue and kind of cause; the kinds in the order of their oldest
        application."""
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
        pending: dict[str, dict[str, Resource]] = {}
        users: dict[str, UserCounts] = {}
        none = service.state.types.none
        version, survey = service.version, Survey()
        began_s, cost_s = time.perf_counter(), 0.0
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
                kinds = pending.setdefault(application.queue, {})
                kind = "turn" if cause is None else CAUSES[cause].kind
                lacking = attempt.asks.pending
                kinds[kind] = add(kinds[kind], lacking) if kind in kinds else lacking
            slice_s = time.perf_counter() - began_s
            if slice_s >= SLICE_S:
                cost_s += slice_s
                await asyncio.sleep(0)
                began_s = time.perf_counter()
                if service.version != version:
                    version, survey = service.version, Survey()
        self.counts, self.pending, self.users = counts, pending, users
        return cost_s + time.perf_counter() - began_s


_VECTORS: Final = {
    "used": "What containers have",
    "reserved": "What nodes are kept free for",
    "demand": "What is used and wanted",
    "pending": "What is wanted and not granted yet",
    "min_share": "The minimum share",
    "max_share": "The maximum share",
    "fair_share": "The fair share of the last update",
    "steady_fair_share": "The fair share if all queues were busy",
}
_NUMBERS: Final = {
    "weight": "The weight",
    "running_applications": "Applications that may run",
    "pending_applications": "Applications that a limit holds back",
    "containers": "Containers that live",
    "reserved_containers": "Nodes that are kept free",
}
_CAPACITIES: Final = (
    "capacity",
    "max_capacity",
    "absolute_capacity",
    "absolute_max_capacity",
    "used_capacity",
    "absolute_used_capacity",
)


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

    def __init__(self, service: Service) -> None:
        self._service = service
        self._causes = LiveCounts(service)
        self._written = b""
        self._fresh_until_s = 0.0
        self._writing = asyncio.Lock()

    async def text(self) -> bytes:
        """The metrics, computed and written now, in slices, or from the cache."""
        await self._causes.refresh()
        async with self._writing:
            if time.monotonic() >= self._fresh_until_s:
                await self._write()
        return self._written + _text_of(self._waiting())

    async def users(self) -> list[tuple[str, UserCounts]]:
        """What users have now, those with most containers first; a few seconds old at most."""
        await self._causes.refresh()
        return sorted(self._causes.users.items(), key=lambda item: (-item[1].containers, item[0]))

    async def _write(self) -> None:
        """The metrics are written family by family."""
        cost_s, pieces = 0.0, []
        began_s = time.perf_counter()
        queues = await made_in_slices(self._service.views.queues_in_steps())
        for family in chain(self._cluster(), self._queues(queues), self._users()):
            pieces.append(_text_of(family))
            cost_s += time.perf_counter() - began_s
            await asyncio.sleep(0)
            began_s = time.perf_counter()
        self._written = b"".join(pieces)
        self._fresh_until_s = time.monotonic() + max(LEAST_AGE_S, REST_PER_COST * cost_s)

    def _cluster(self) -> Iterator[Metric]:
        service = self._service
        cluster = service.views.cluster
        for name, vector in (
            ("offered", cluster.total),
            ("used", cluster.used),
            ("available", cluster.available),
            ("pending", cluster.pending),
        ):
            family = GaugeMetricFamily(
                f"fairshare_cluster_{name}", f"Of the whole cluster: {name}.", labels=["resource"]
            )
            self._add(family, [], vector)
            yield family
        yield GaugeMetricFamily(
            "fairshare_containers", "Containers that live.", value=cluster.containers
        )
        yield GaugeMetricFamily(
            "fairshare_safe_mode",
            "1 while nothing is admitted and granted.",
            value=float(cluster.safe_mode),
        )
        applications = GaugeMetricFamily(
            "fairshare_applications", "Applications that are known.", labels=["state"]
        )
        for state, count in cluster.applications.items():
            applications.add_metric([state], count)
        yield applications
        nodes = GaugeMetricFamily("fairshare_nodes", "Nodes that are there.", labels=["state"])
        for state, count in sorted(
            collections.Counter(n.state for n in service.views.nodes).items()
        ):
            nodes.add_metric([state], count)
        yield nodes
        yield GaugeMetricFamily(
            "fairshare_journal_sequence", "The number of the last record.", value=service.version
        )

    def _queues(self, queues: Sequence[QueueView]) -> Iterator[Metric]:
        for name, text in _VECTORS.items():
            family = GaugeMetricFamily(
                f"fairshare_queue_{name}", f"{text}, by queue.", labels=["queue", "resource"]
            )
            for queue in queues:
                self._add(family, [queue.name], getattr(queue, name))
            yield family
        for name, text in _NUMBERS.items():
            family = GaugeMetricFamily(
                f"fairshare_queue_{name}", f"{text}, by queue.", labels=["queue"]
            )
            for queue in queues:
                family.add_metric([queue.name], getattr(queue, name))
            yield family
        preempted = CounterMetricFamily(
            "fairshare_queue_preempted", "Containers killed for others.", labels=["queue"]
        )
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
        containers, applications = (
            GaugeMetricFamily(f"fairshare_user_{name}", f"{text}, by user.", labels=names)
            for name, text, names in (
                ("containers", "Containers that live", ["user"]),
                ("applications", "Applications that have not ended", ["user", "state"]),
            )
        )
        vectors = {
            name: GaugeMetricFamily(
                f"fairshare_user_{name}", f"{text}, by user.", labels=["user", "resource"]
            )
            for name, text in (("used", _VECTORS["used"]), ("pending", _VECTORS["pending"]))
        }
        sums: dict[str, UserCounts] = {}
        for user in order:
            label = labels.get(user, OTHER_USERS)
            one = counts[user]
            if label not in sums:
                sums[label] = copy.copy(one)
                continue
            both = sums[label]
            both.used, both.pending = add(both.used, one.used), add(both.pending, one.pending)
            both.containers += one.containers
            both.running += one.running
            both.waiting += one.waiting
        for label, one in sums.items():
            containers.add_metric([label], one.containers)
            applications.add_metric([label, "running"], one.running)
            applications.add_metric([label, "waiting"], one.waiting)
            self._add(vectors["used"], [label], one.used)
            self._add(vectors["pending"], [label], one.pending)
        yield from (containers, applications, *vectors.values())

    def _owed(self, queues: Sequence[QueueView]) -> Metric:
        """What leaf queues are owed of the type that they use most of, by kind of cause: each kind
        claims what its applications lack, until the gap is filled."""
        family = GaugeMetricFamily(
            "fairshare_owed",
            "What leaf queues are entitled to and do not have, by kind of cause.",
            labels=["queue", "resource", "cause"],
        )
        types = self._service.state.types
        shares = Shares(queues, self._service.views.cluster.total, types)
        for queue in queues:
            kinds = self._causes.pending.get(queue.name)
            if kinds is None:
                continue  # what asks for nothing is owed nothing
            share = shares.of(queue)
            place = types.names.index(share.dominant)
            rest = share.owed[place]
            for kind, lacking in kinds.items():
                if part := min(rest, lacking[place]):
                    family.add_metric([queue.name, share.dominant, kind], part)
                    rest -= part
            if rest:
                family.add_metric([queue.name, share.dominant, "other"], rest)
        return family

    def _past(self) -> Iterator[Metric]:
        """What queues used before, and what of budgets is used; nothing where neither counts."""
        state, now_ms = self._service.state, self._service.now_ms()
        pasts = pasts_of_queues(state, now_ms).values()
        if pasts:
            average = GaugeMetricFamily(
                "fairshare_queue_past",
                "What was used on average in the past, by queue.",
                labels=["queue", "resource"],
            )
            factor = GaugeMetricFamily(
                "fairshare_queue_past_factor",
                "The share with the past divided by the one without, by queue.",
                labels=["queue"],
            )
            for past in pasts:
                for name, amount in past.average.items():
                    average.add_metric([past.queue, name], amount)
                if past.factor is not None:
                    factor.add_metric([past.queue], past.factor)
            yield from (average, factor)
        if state.ledger is not None and state.ledger.fairness.budgets:
            labels = ["budget", "queue", "user", "resource"]
            used = GaugeMetricFamily(
                "fairshare_budget_used_hours", "Hours used in this month, by budget.", labels=labels
            )
            limit = GaugeMetricFamily(
                "fairshare_budget_hours", "Hours in a month, by budget.", labels=labels
            )
            for one in budgets(state, now_ms):
                used.add_metric([one.name, one.queue, one.user, one.resource], one.used_hours)
                limit.add_metric([one.name, one.queue, one.user, one.resource], one.hours)
            yield from (used, limit)

    def _booked(self) -> Iterator[Metric]:
        """What bookings that are on promise, and what their holders use; nothing without any."""
        state = self._service.state
        if not state.bookings:
            return
        labels = ["booking", "queue", "user", "resource"]
        promised = GaugeMetricFamily(
            "fairshare_booking_promised", "What is promised now, by booking.", labels=labels
        )
        used = GaugeMetricFamily(
            "fairshare_booking_used", "What its holder uses now, by booking.", labels=labels
        )
        for span in state.kept:
            if span.begun:
                names = [span.name, span.queue, span.user]
                self._add(promised, names, span.resource)
                self._add(used, names, used_by(state, span.holder))
        yield from (promised, used)

    def _waiting(self) -> Metric:
        """The number of waiting applications by their most important reason; each counts once."""
        family = GaugeMetricFamily(
            "fairshare_pending_by_reason",
            "Applications that wait for containers, by the weightiest reason.",
            labels=["reason"],
        )
        for reason, count in sorted(self._causes.counts.items()):
            family.add_metric([reason], count)
        return family

    def _add(self, family: GaugeMetricFamily, labels: list[str], vector: Resource) -> None:
        for name, amount in self._service.state.types.mapping(vector).items():
            family.add_metric([*labels, name], amount)


def _capacities(queues: Iterable[QueueView]) -> Iterator[Metric]:
    """The percentages that only the Capacity Scheduler has."""
    capacities = [(queue.name, queue.capacity) for queue in queues if queue.capacity is not None]
    for name in _CAPACITIES if capacities else ():
        family = GaugeMetricFamily(
            f"fairshare_queue_{name}_percent",
            f"{name.replace('_', ' ').capitalize()}, 0 to 100, by queue.",
            labels=["queue"],
        )
        for queue, capacity in capacities:
            family.add_metric([queue], getattr(capacity, name))
        yield family
