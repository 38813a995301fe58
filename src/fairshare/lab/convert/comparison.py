"""The measured answer to "does it behave the same": both configurations on one workload.

The simulator runs twice, with the same nodes and arrivals; what each queue got and how long its
applications waited is set side by side. Variants of both configurations leave rights and limits on
masters out.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.inputs import NodeJoined
from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.fair.settings import FairSettings, QueueSettings
from fairshare.lab.convert.fair_to_capacity.converting import Conversion
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.simulate.comparison import FULL, keyed
from fairshare.lab.simulate.report import ApplicationReport, Report, Sample
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, Workload
from fairshare.runtime.journal.memory import ForgetfulJournal
from fairshare.settings.registry import family_of


def open_to_all(settings: FairSettings) -> FairSettings:
    """The same settings, in which root, and so every queue, lets all users submit."""
    allocations = settings.allocations
    root = allocations.queues.get(ROOT, QueueSettings(ROOT, parent=True))
    queues = {**allocations.queues, ROOT: msgspec.structs.replace(root, submit_acl="*")}
    return msgspec.structs.replace(
        settings, acl_enabled=False, allocations=msgspec.structs.replace(allocations, queues=queues)
    )


def without_master_limits(settings: CapacitySettings) -> CapacitySettings:
    """The same settings, with room for as many masters as each queue can hold."""
    queues = {
        name: msgspec.structs.replace(queue, maximum_master_share=None)
        for name, queue in settings.queues.items()
    }
    return msgspec.structs.replace(settings, queues=queues, templates={}, maximum_master_share=1.0)


PARTS: Final = 4
"""The number of parts into which the time is cut, for the share over time."""

NOTICEABLE: Final = 1.2
"""A time is called longer from this multiple of another one on, if it is noticeable at all."""


_NOT_OVER: Final = (ApplicationState.PENDING.value, ApplicationState.RUNNING.value)


class QueueMetrics(msgspec.Struct, frozen=True):
    """What the simulator measured of one queue.

    Of its applications `refused` were rejected and `unfinished` had not ended. `resource_seconds`
    are by type. Waiting is from submission to the first container, in milliseconds, for those that
    got one; the slowdown of an application is its turnaround divided by the least time that its
    tasks need, on average. `shares` are parts of the cluster (of the resource of which it used
    most), one for each part of the time; `share` is their mean.
    """

    applications: int
    refused: int
    unfinished: int
    containers: int
    preempted: int
    resource_seconds: dict[str, int]
    waiting_mean_ms: int | None
    waiting_p95_ms: int | None
    slowdown: float | None
    share: float
    shares: tuple[float, ...]


class QueueComparison(msgspec.Struct, frozen=True):
    """One queue under both schedulers. None: it did not exist. `elsewhere` counts applications that
    ran in it before, and run in another queue now. `unlimited` is what it would get there if
    masters had no limit (`maximum-am-resource-percent` 1); None: not requested. `contended`:
    the cluster was full, or the queue at its maximum, so that an application had to wait; else a
    likeness shows nothing."""

    name: str
    path: str
    before: QueueMetrics | None
    after: QueueMetrics | None
    elsewhere: int
    unlimited: QueueMetrics | None = None
    contended: bool = True


class Comparison(msgspec.Struct, frozen=True):
    """All queues, and both reports. `window_ms` is the time that shares are measured over: to the
    end of the work in the Fair Scheduler. `used` is the largest part of the cluster that was in use
    in either run, over an interval of the timeline."""

    queues: tuple[QueueComparison, ...]
    before: Report
    after: Report
    window_ms: int
    used: float

    @property
    def contended(self) -> bool:
        """Whether anything had to wait for room anywhere."""
        return any(queue.contended for queue in self.queues)


def compare(
    source: Source,
    conversion: Conversion,
    workload: Workload,
    nodes: Sequence[NodeJoined],
    until_ms: int | None = None,
    *,
    check_access: bool = True,
) -> Comparison:
    """Run both. Without `check_access` neither run checks rights to submit."""
    fair, capacity = source.settings, conversion.settings
    if not check_access:
        fair = open_to_all(fair)
        capacity = msgspec.structs.replace(capacity, acl_enabled=False)
    before, first = run(source.scheduler, fair, workload, nodes, until_ms)
    renamed = {old: new for old, new in conversion.names.items() if old != new}
    arriving = _renamed(workload, renamed)
    after, second = run(conversion.scheduler, capacity, arriving, nodes, until_ms)
    window_ms = max(
        (a.submitted_ms + a.turnaround_ms for a in before.applications if a.turnaround_ms),
        default=before.end_ms,
    )
    old_names = {new: old for old, new in conversion.names.items()}
    sides = [_metrics(before, first, window_ms, {}), _metrics(after, second, window_ms, old_names)]
    unlimited: dict[str, QueueMetrics] = {}
    if any(waits_longer(sides[0].get(name), metrics) for name, metrics in sides[1].items()):
        freed, third = run(
            conversion.scheduler, without_master_limits(capacity), arriving, nodes, until_ms
        )
        unlimited = _metrics(freed, third, window_ms, old_names)
    elsewhere = _elsewhere(before, after, old_names)
    names = dict.fromkeys((*conversion.names, *sorted({**sides[0], **sides[1]})))
    used = max(_most_used(before), _most_used(after))
    reach = _reach(source, conversion, nodes)
    queues = tuple(
        QueueComparison(
            name=name,
            path=conversion.names.get(name, name),
            before=sides[0].get(name),
            after=sides[1].get(name),
            elsewhere=elsewhere.get(name, 0),
            unlimited=unlimited.get(name),
            contended=used >= FULL
            or _most_used(before, name) >= FULL * reach.get(name, 1.0)
            or _most_used(after, conversion.names.get(name, name)) >= FULL * reach.get(name, 1.0),
        )
        for name in names
        if name in sides[0] or name in sides[1]
    )
    return Comparison(queues, before, after, window_ms, used)


def run(
    scheduler: str,
    settings: Any,
    workload: Workload,
    nodes: Sequence[NodeJoined],
    until_ms: int | None = None,
) -> tuple[Report, Sequence[Arrival]]:
    """One simulation: its report, and the applications in the order of the report."""
    simulator = Simulator(
        ResourceManager(family_of(scheduler).create(settings.types)),
        msgspec.json.encode(settings),
        workload,
        ForgetfulJournal(),
        nodes=nodes,
        beat_interval_ms=settings.heartbeat_interval_ms,
        forgets=True,
        starts=False,
    )
    report = simulator.run(until_ms)
    return report, simulator.submitted


def waits_longer(before: QueueMetrics | None, after: QueueMetrics | None) -> bool:
    """Whether applications wait so much longer that it is worth a sentence."""
    if before is None or after is None:
        return False
    old, new = before.waiting_mean_ms, after.waiting_mean_ms
    return None not in (old, new) and (new or 0) > max((old or 0) * NOTICEABLE, (old or 0) + 1_000)


def _renamed(workload: Workload, names: Mapping[str, str]) -> Workload:
    """The workload with queues under their new names."""
    if not names:
        return workload

    def renamed(arrival: Arrival) -> Arrival:
        given = arrival.submission
        queue = names.get(given.queue, given.queue)
        submission = msgspec.structs.replace(given, queue=queue)
        return msgspec.structs.replace(arrival, submission=submission)

    return workload.changed(renamed)


def _metrics(
    report: Report, arrivals: Sequence[Arrival], window_ms: int, names: Mapping[str, str]
) -> dict[str, QueueMetrics]:
    """By the queue's name in the Fair Scheduler."""
    members: dict[str, list[tuple[ApplicationReport, Arrival]]] = {}
    for application, arrival in zip(report.applications, arrivals, strict=False):
        members.setdefault(application.queue, []).append((application, arrival))
    metrics = {}
    of_queues = {queue.name: queue for queue in report.queues}
    for path in sorted({*of_queues, *members}):
        queue = of_queues.get(path)
        shares = tuple(_share(report.timeline, path, part, window_ms) for part in range(PARTS))
        used = queue.used if queue else {}
        waiting = queue.waiting if queue else None
        states = [one.state for one, _ in members.get(path, [])]
        metrics[names.get(path, path)] = QueueMetrics(
            applications=len(states),
            refused=states.count(ApplicationState.REJECTED.value),
            unfinished=sum(state in _NOT_OVER for state in states),
            containers=queue.containers if queue else 0,
            preempted=queue.preempted_containers if queue else 0,
            resource_seconds={n: round(mean * report.end_ms / 1000) for n, mean in used.items()},
            waiting_mean_ms=None if waiting is None else round(waiting.mean),
            waiting_p95_ms=None if waiting is None else waiting.p95,
            slowdown=_slowdown(members.get(path, [])),
            share=sum(shares) / PARTS,
            shares=shares,
        )
    return metrics


def _slowdown(members: Sequence[tuple[ApplicationReport, Arrival]]) -> float | None:
    factors = [
        one.turnaround_ms / least_ms
        for one, arrival in members
        if one.turnaround_ms is not None and (least_ms := arrival.least_ms)
    ]
    return round(sum(factors) / len(factors), 3) if factors else None


def _share(timeline: Sequence[Sample], queue: str, part: int, window_ms: int) -> float:
    """The part of the cluster that a queue used in one part of the window."""
    begin_ms, end_ms = window_ms * part // PARTS, window_ms * (part + 1) // PARTS
    area = 0.0
    for sample in timeline:
        length_ms = min(end_ms, sample.at_ms + sample.length_ms) - max(begin_ms, sample.at_ms)
        if length_ms > 0 and queue in sample.queues:
            used = sample.queues[queue].used
            fractions = [used.get(name, 0) / whole for name, whole in sample.total.items() if whole]
            area += max(fractions, default=0.0) * length_ms
    return round(area / max(end_ms - begin_ms, 1), 4)


def _most_used(report: Report, queue: str | None = None) -> float:
    """The largest part of the cluster in use over an interval, by one queue or by all: of the
    resource of which it is most."""
    most = 0.0
    for sample in report.timeline:
        used = sample.used
        if queue is not None:
            used = sample.queues[queue].used if queue in sample.queues else {}
        parts = [used.get(name, 0.0) / whole for name, whole in sample.total.items() if whole]
        most = max(most, *parts) if parts else most
    return most


def _reach(source: Source, conversion: Conversion, nodes: Sequence[NodeJoined]) -> dict[str, float]:
    """By queue: the part of the cluster that its maximums in the Fair Scheduler let it use."""
    offered = [sum(amounts) for amounts in zip(*(node.total for node in nodes), strict=True)]
    reaches = {}
    for name in conversion.names:
        most = source.subject.reachable(source.subject.queue(name))
        parts = [bound / whole for bound, whole in zip(most, offered, strict=True) if whole]
        reaches[name] = min(1.0, *parts) if parts else 1.0
    return reaches


def _elsewhere(before: Report, after: Report, names: Mapping[str, str]) -> dict[str, int]:
    """By queue: applications that are in another one now."""
    moved: dict[str, int] = {}
    others = keyed(after)
    for key, old in keyed(before).items():
        new = others.get(key)
        if new is None:
            continue
        refused = ApplicationState.REJECTED.value in (old.state, new.state)
        if not refused and names.get(new.queue, new.queue) != old.queue:
            moved[old.queue] = moved.get(old.queue, 0) + 1
    return moved
