"""Owns the metrics of a server for Prometheus: counters, and measurements.

Each server has a registry of its own. The journal, the writer and the committed records update the
counters. Metrics of the cluster's state are computed on request (`metrics_of_state.py`). Knows no
HTTP path.
"""

import asyncio
import time
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationRejected,
    ApplicationSubmitted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerMarked,
    ExitCode,
    RequestRefused,
)
from fairshare.core.record import Record
from fairshare.runtime.journal.protocol import Journal

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

    def observe(self, record: Record) -> None:
        """Count a committed record."""
        self._records.inc()
        for event in record.events:
            match event:
                case ContainerAllocated():
                    self._allocated.labels(event.locality.name.lower()).inc()
                case ContainerCompleted():
                    self._completed.labels(outcome(event.exit_code)).inc()
                    if event.exit_code == ExitCode.PREEMPTED:
                        self._preempted.inc()
                case ContainerMarked():
                    self._marked.inc()
                case ApplicationSubmitted():
                    self._submitted.inc()
                case ApplicationRejected():
                    self._rejected.labels(event.code).inc()
                case ApplicationEnded():
                    self._ended.labels(event.state.value).inc()
                case RequestRefused():
                    self._refused.labels(event.code).inc()
                case _:
                    pass

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
