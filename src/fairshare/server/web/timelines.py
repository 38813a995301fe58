"""The paths of an application's history: spans, containers, and its efficiency: peak memory and CPU
time against its requests."""

from collections.abc import Iterable, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.timelines import (
    AttemptSpan,
    ContainerSpan,
    Efficiency,
    Mark,
    Phase,
    ReservationSpan,
    Timeline,
)
from fairshare.core.model.identifiers import application_name, container_name
from fairshare.core.model.tasks import GroupProgress
from fairshare.runtime.projections.container_history import ContainerRecord
from fairshare.server.web.answers import answer
from fairshare.server.web.openapi.operation import NUMBER, Parameter, get
from fairshare.server.web.requests import read_application, read_parameters, server_of, whole_number

DEFAULT_SPANS = 300
MOST_SPANS = 5_000
STEPS = 400
"""The most points of the curve of running containers, about the pixels of a chart; longer curves
are thinned out."""

STEP_MB = 128
"""Advice is rounded up to a multiple of this."""


async def show_timeline(request: Request) -> Response:
    """GET /applications/ID/timeline: its history, from the submission on.

    `phases`: held (by a limit), queued (no container), running. `reservations`: its reservations on
    nodes. `marks`: moves, changes of priority, further attempts. `containers`: the newest `limit`
    ones as spans, each with its outcome and the number of the attempt at its task; `left_out`
    counts the others. `running` has [instant, containers].
    """
    parameters = read_parameters(request)
    limit = whole_number(parameters, "limit", DEFAULT_SPANS, MOST_SPANS)
    application = read_application(request)
    server = server_of(request)
    epoch_ms = server.service.state.epoch_ms
    records = list(server.projections.history.application(application.id).containers.values())
    life = server.projections.timelines.of(application.id)
    history = server.projections.attempts.of(application.id)
    attempts = _attempts_of_tasks(records)
    shown = records[-limit:] if limit else []
    return answer(
        Timeline(
            id=application_name(epoch_ms, application.id),
            now_ms=server.service.now_ms(),
            submitted_ms=application.submitted_ms,
            finished_ms=application.finished_ms,
            phases=tuple(
                Phase(phase.what, phase.since_ms, phase.until_ms) for phase in life.phases
            ),
            reservations=tuple(
                ReservationSpan(span.what, span.since_ms, span.until_ms, span.what)
                for span in life.reservations
            ),
            marks=tuple(Mark(mark.kind, mark.at_ms, mark.what) for mark in life.marks),
            attempts=tuple(
                AttemptSpan(
                    attempt.number, attempt.started_ms, attempt.finished_ms or None, attempt.end
                )
                for attempt in history.attempts
            ),
            containers=tuple(
                ContainerSpan(
                    id=container_name(epoch_ms, record.container),
                    node=record.node,
                    master=record.master,
                    task=_task(application.tasks.groups, record),
                    attempt=attempts.get(record.container, 1),
                    allocated_ms=record.allocated_ms,
                    running_ms=record.running_ms,
                    finished_ms=record.finished_ms,
                    outcome=record.outcome
                    or ("starting" if record.running_ms is None else "running"),
                )
                for record in shown
            ),
            left_out=len(records) - len(shown),
            running=running_steps(records),
        )
    )


async def show_efficiency(request: Request) -> Response:
    """GET /applications/ID/efficiency: the resources that its ended containers requested and
    used."""
    read_parameters(request)
    application = read_application(request)
    records = server_of(request).projections.history.application(application.id).containers.values()
    uses = [
        ContainerUse(
            memory_mb=record.resource[0],
            vcores=record.resource[1],
            ran_ms=record.finished_ms - (record.running_ms or record.finished_ms),
            peak_memory_mb=record.peak_memory_mb,
            cpu_ms=record.cpu_ms,
        )
        for record in records
        if record.finished_ms is not None
    ]
    return answer(efficiency_of(uses))


def running_steps(records: Iterable[ContainerRecord]) -> list[tuple[int, int]]:
    """The number of containers from each instant on; at most about `STEPS` points."""
    changes: dict[int, int] = {}
    for record in records:
        changes[record.allocated_ms] = changes.get(record.allocated_ms, 0) + 1
        if record.finished_ms is not None:
            changes[record.finished_ms] = changes.get(record.finished_ms, 0) - 1
    steps: list[tuple[int, int]] = []
    count = 0
    for at_ms in sorted(changes):
        count += changes[at_ms]
        steps.append((at_ms, count))
    every = -(-len(steps) // STEPS)
    return steps if every <= 1 else [*steps[:-1:every], steps[-1]]


def _attempts_of_tasks(records: Iterable[ContainerRecord]) -> dict[int, int]:
    """The number of the attempt at its task of each container, counting the remembered ones."""
    tries: dict[tuple[int, int], int] = {}
    numbers: dict[int, int] = {}
    for record in records:
        if record.group >= 0:
            task = (record.group, record.task)
            tries[task] = numbers[record.container] = tries.get(task, 0) + 1
    return numbers


def _task(groups: Sequence[GroupProgress], record: ContainerRecord) -> str | None:
    if record.group < 0:
        return None
    spec = groups[record.group].spec
    return f"{spec.name}[{spec.index_of(record.task)}]"


ROUTES = [
    get(
        "/applications/{application}/timeline",
        show_timeline,
        "applications",
        Timeline,
        Parameter("limit", "How many containers at most.", NUMBER),
    ),
    get("/applications/{application}/efficiency", show_efficiency, "applications", Efficiency),
]


class ContainerUse(msgspec.Struct, frozen=True):
    """One container that ended: its allocated resources, its run time and its usage."""

    memory_mb: int
    vcores: int
    ran_ms: int
    peak_memory_mb: int
    cpu_ms: int


def efficiency_of(uses: Iterable[ContainerUse]) -> Efficiency:
    """The efficiency of some containers, except those without a measured peak.

    >>> found = efficiency_of([ContainerUse(1024, 2, 10_000, 256, 5_000)])
    >>> found.memory_ratio, found.cpu_ratio, found.advice_mb
    (0.25, 0.25, 384)
    """
    measured = [use for use in uses if use.peak_memory_mb > 0 and use.ran_ms > 0]
    granted = sum(use.memory_mb * use.ran_ms for use in measured)
    vcore_ms = sum(use.vcores * use.ran_ms for use in measured)
    cpu_ms = sum(use.cpu_ms for use in measured)
    peak = max((use.peak_memory_mb for use in measured), default=0)
    smallest = min((use.memory_mb for use in measured), default=0)
    advice = -(-peak * 11 // (10 * STEP_MB)) * STEP_MB
    return Efficiency(
        containers=len(measured),
        asked_memory_mb=max((use.memory_mb for use in measured), default=0),
        peak_memory_mb=peak,
        mean_peak_memory_mb=(
            sum(use.peak_memory_mb for use in measured) // len(measured) if measured else 0
        ),
        memory_ratio=(
            sum(use.peak_memory_mb * use.ran_ms for use in measured) / granted if granted else None
        ),
        cpu_ms=cpu_ms,
        vcore_ms=vcore_ms,
        cpu_ratio=cpu_ms / vcore_ms if vcore_ms else None,
        advice_mb=advice if measured and advice < smallest else None,
    )
