"""The measured answer to "does it behave the same": both configurations on one workload, and what
that says in plain words, one sentence for each queue.

The simulator runs twice, with the same nodes and arrivals; what each queue got and how long its
applications waited is set side by side. Variants of both configurations leave rights and limits on
masters out.

What was lost in the conversion of the queue, or above it, is shown beside a difference that it
would explain; nothing here proves that it does.
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
from fairshare.lab.convert.fair_to_capacity.draft import Finding
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.simulate.comparison import FULL, keyed
from fairshare.lab.simulate.report import ApplicationReport, Report, Sample
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, Workload
from fairshare.runtime.journal.memory import ForgetfulJournal
from fairshare.settings.registry import family_of
from fairshare.wording import counted


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


_LEAST_MS: Final = 1_000
_LEAST_SHARE: Final = 0.05
_LIGHT: Final = ("weight", "changed")
_PARTS: Final = ("first", "second", "third", "last")

_WORSE: Final = (
    ("weight", "with weight {} it comes after all others there"),
    ("minimum", "its minimum of {} is not guaranteed there"),
    ("preemption-time", "its time of {} counts no more when containers are taken"),
)
_BETTER: Final = (
    ("maximum", "its maximum of {} does not hold there"),
    ("minimum", "the minimum of {} is not set aside there"),
)
_OF_OTHERS: Final = {
    1: ("maximum", "the maximum of {} does not hold there ({})"),
    -1: ("minimum", "the minimum of {} is not guaranteed there ({})"),
}
"""What another queue has lost that this one pays for, or profits from."""


def sentence(queue: QueueComparison, findings: Sequence[Finding]) -> str:
    """What has become of a queue.

    `root.ml waits 2.1 times as long (42 s on average, before 20 s): its minimum of 40 GB is not
    guaranteed there.`
    """
    before, after = queue.before, queue.after
    if before is None or not before.applications:
        if after is not None and after.applications:
            return f"{queue.name} has {_count(after.applications)} now, and had none."
        return f"{queue.name} has no applications in this workload."
    if after is None or not after.applications:
        return f"{queue.name} has no applications any more: {_count(before.applications)} before."
    parts, direction = _differences(queue, before, after)
    if not parts and not queue.contended:
        return f"{queue.name} had room for all that it wanted, in both: {_alike(after)}."
    if not parts:
        return f"{queue.name} fares alike: {_alike(after)}."
    differences = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[:-1] else parts)
    return f"{queue.name} {differences}{_reason(queue, direction, findings)}."


def verdict(comparison: Comparison) -> str:
    """What the whole comparison cannot show; empty: there was something to share."""
    if comparison.contended:
        return ""
    return (
        f"The workload used {comparison.used:.0%} of the cluster at most: nothing had to wait for"
        " room, so that this compares nothing. Compare with a smaller --cluster, or with a workload"
        " that wants more."
    )


def _differences(
    queue: QueueComparison, before: QueueMetrics, after: QueueMetrics
) -> tuple[list[str], int]:
    """What is different; and whether it is worse for the queue (1), better (-1), or neither."""
    parts: list[str] = []
    direction = 0
    if after.refused > before.refused:
        parts.append(f"has {_count(after.refused - before.refused)} refused that were not")
        direction = 1
    if queue.elsewhere:
        parts.append(f"has {_count(queue.elsewhere)} running in other queues now")
    if after.unfinished != before.unfinished:
        parts.append(
            f"leaves {after.unfinished} of {_count(after.applications)} unfinished,"
            f" before {before.unfinished}"
        )
        direction = direction or (1 if after.unfinished > before.unfinished else -1)
    for text, sign in (
        _waiting(before, after),
        _slower(before, after),
        _share_words(before, after),
    ):
        if text:
            parts.append(text)
            direction = direction or sign
    return parts, direction


def _waiting(before: QueueMetrics, after: QueueMetrics) -> tuple[str, int]:
    old, new = before.waiting_mean_ms, after.waiting_mean_ms
    if old is None or new is None or abs(new - old) < _LEAST_MS:
        return "", 0
    times = f"({_seconds(new)} on average, before {_seconds(old)})"
    if new > old * NOTICEABLE:
        much = f"{new / old:.1f} times as long" if old >= _LEAST_MS else "longer"
        return f"waits {much} {times}", 1
    if old > new * NOTICEABLE:
        much = f"{new / old:.0%} of the time" if new >= _LEAST_MS else "hardly at all"
        return f"waits {much} {times}", -1
    return "", 0


def _slower(before: QueueMetrics, after: QueueMetrics) -> tuple[str, int]:
    old, new = before.slowdown, after.slowdown
    if not old or not new:
        return "", 0
    if new > old * NOTICEABLE:
        return f"takes {new / old:.1f} times as long to finish", 1
    if old > new * NOTICEABLE:
        return f"finishes in {new / old:.0%} of the time", -1
    return "", 0


def _share_words(before: QueueMetrics, after: QueueMetrics) -> tuple[str, int]:
    """The first part of the time in which the shares differ: what comes later follows from it, and
    by the end all work is done, so that means say little."""
    for part, old, new in zip(_PARTS, before.shares, after.shares, strict=True):
        if abs(new - old) >= max(_LEAST_SHARE, old * (NOTICEABLE - 1)):
            text = f"uses {new:.0%} of the cluster in the {part} quarter, before {old:.0%}"
            return text, 1 if new < old else -1
    return "", 0


def _reason(queue: QueueComparison, direction: int, findings: Sequence[Finding]) -> str:
    """What goes with the difference: the limit for masters if it was measured to, else what its own
    conversion has lost or changed."""
    if direction > 0 and (reason := _masters(queue)):
        return f": {reason}"
    if not direction:
        return ""
    counting = [f for f in findings if f.outcome == "lost" or (f.rule, f.outcome) == _LIGHT]
    for rule, text in _WORSE if direction > 0 else _BETTER:
        for finding in counting:
            if finding.rule == rule and _concerns(finding, queue.name):
                reason = text.format(finding.value)
                if finding.queue != queue.name:
                    reason = f"in {finding.queue} above it, {reason}"
                return f": {reason}"
    rule, text = _OF_OTHERS[direction]
    for finding in counting:
        if finding.rule == rule and not _concerns(finding, queue.name):
            return f": {text.format(finding.queue, finding.value)}"
    return "; nothing that was lost would explain it: look at what changed for all queues"


def _masters(queue: QueueComparison) -> str:
    """The part of the limit for masters, if at least half of the longer wait goes without it."""
    before, after, unlimited = queue.before, queue.after, queue.unlimited
    if unlimited is None or not waits_longer(before, after):
        return ""
    assert before is not None
    assert after is not None
    old, new = before.waiting_mean_ms or 0, after.waiting_mean_ms or 0
    freed = unlimited.waiting_mean_ms
    if freed is None or new - freed < (new - old) / 2:
        return ""
    return (
        "applications wait for room for their masters, at most maximum-am-resource-percent of the"
        f" queue; with 1 they would wait {_seconds(freed)}"
    )


def _concerns(finding: Finding, queue: str) -> bool:
    return bool(finding.queue) and f"{queue}.".startswith(f"{finding.queue}.")


def _alike(after: QueueMetrics) -> str:
    waits = "" if after.waiting_mean_ms is None else f"waits {_seconds(after.waiting_mean_ms)}, "
    return f"{waits}uses {after.share:.0%} of the cluster"


def _count(applications: int) -> str:
    return counted(applications, "application")


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.0f} s" if ms >= 10_000 else f"{ms / 1000:.1f} s"
