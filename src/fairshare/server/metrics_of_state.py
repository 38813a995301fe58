"""Owns the metrics of the cluster's state: queues, nodes, applications, waiting ones by reason.

Computed on request, and then cached for a time proportional to the cost, so that any number of
requests takes a small part of the server's time.

Each waiting application costs a look at its limits, so they are counted by their main causes in
slices: decisions and other requests run in between, and an application counts as it is when it is
looked at.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.offers import Survey
from fairshare.core.schedulers.views import QueueView
from fairshare.server.service import Service
from fairshare.server.slices import made_in_slices

SLICE_S: Final = 0.004
"""How long one slice may delay other work."""

LEAST_AGE_S: Final = 2.0
REST_PER_COST: Final = 20
"""A count that took t seconds is kept for 20 t, so that counting takes at most 5 % of a core."""

NO_CAUSE: Final = "next-beat"
"""The cause of an application that nothing holds back: a coming heartbeat serves it."""


class WaitingCauses:
    """The counts of one service, in its event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._fresh_until_s = 0.0
        self._counting = asyncio.Lock()
        self.counts: Mapping[str, int] = {}
        """Applications that wait, by the first of their reasons, as `refresh` last found them."""

    async def refresh(self) -> None:
        """Count again if the last count is too old. Callers wait for one count together."""
        async with self._counting:
            if time.monotonic() < self._fresh_until_s:
                return
            cost_s = await self._count()
            self._fresh_until_s = time.monotonic() + max(LEAST_AGE_S, REST_PER_COST * cost_s)

    async def _count(self) -> float:
        """Count all applications that wait; how long that held the loop (s), in all."""
        service = self._service
        applications = service.state.applications
        counts: Counter[str] = Counter()
        version, survey = service.version, Survey()
        began_s, cost_s = time.perf_counter(), 0.0
        for number in tuple(applications):
            application = applications.get(number)
            if application is None or application.over:
                continue
            if application.attempt.asks.wanting or not application.attempt.active:
                counts[service.main_cause(number, survey) or NO_CAUSE] += 1
            slice_s = time.perf_counter() - began_s
            if slice_s >= SLICE_S:
                cost_s += slice_s
                await asyncio.sleep(0)
                began_s = time.perf_counter()
                if service.version != version:
                    version, survey = service.version, Survey()
        self.counts = counts
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
        self._causes = WaitingCauses(service)
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

    async def _write(self) -> None:
        """The metrics are written family by family."""
        cost_s, pieces = 0.0, []
        began_s = time.perf_counter()
        queues = await made_in_slices(self._service.views.queues_in_steps())
        for family in chain(self._cluster(), self._queues(queues)):
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
        for state, count in sorted(Counter(n.state for n in service.views.nodes).items()):
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
        yield from _capacities(queues)

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
    own = [(queue.name, queue.capacity) for queue in queues if queue.capacity is not None]
    for name in _CAPACITIES if own else ():
        family = GaugeMetricFamily(
            f"fairshare_queue_{name}_percent",
            f"{name.replace('_', ' ').capitalize()}, 0 to 100, by queue.",
            labels=["queue"],
        )
        for queue, capacity in own:
            family.add_metric([queue], getattr(capacity, name))
        yield family
