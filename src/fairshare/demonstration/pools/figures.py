"""Owns the figures of a run: how long each pool waited, and which slots it had.

They are computed from the server's own records of containers, to the millisecond, not from what was
seen while looking now and then. Pure functions.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median

import msgspec

from fairshare.client.answers import Application, Container
from fairshare.demonstration.measurement import (
    ApplicationSpan,
    ContainerSpan,
    busy_time,
    common,
    length,
    part_used,
)
from fairshare.demonstration.pools.jobs import MAP_SLOTS, REDUCE_SLOTS
from fairshare.demonstration.teams import ADHOC, PRODUCTION, RESEARCH, TEAMS

PREEMPTED = -102


class JobSpan(msgspec.Struct, frozen=True):
    """One job that is over: what its tasks had of each kind of slots, and how many were killed."""

    maps: ApplicationSpan
    reduces: ApplicationSpan
    preempted: int

    @property
    def waited_ms(self) -> int:
        """From its submission to its first task."""
        return min(self.maps.begun_ms, self.reduces.begun_ms) - self.maps.submitted_ms

    @property
    def took_ms(self) -> int:
        """From its submission to its end."""
        return self.maps.finished_ms - self.maps.submitted_ms


class SlotShare(msgspec.Struct, frozen=True):
    """Parts of all slots of a kind, while jobs of all pools were there."""

    owed: float
    got: float


class PoolFigures(msgspec.Struct, frozen=True):
    """One pool. `minimum_ms`: when it first had its minimum of map slots, after its first job;
    None if it never had, or has none."""

    jobs: int
    maps: SlotShare
    reduces: SlotShare
    minimum: int
    minimum_ms: int | None
    waited_median_ms: int
    waited_longest_ms: int
    took_median_ms: int
    took_longest_ms: int
    preempted: int


class Figures(msgspec.Struct, frozen=True):
    """One run. `contended_ms`: how long jobs of all three pools were there at the same time;
    `most`: map and reduce slots that were taken at once; `alone_ms`: a small job by itself."""

    total_ms: int
    contended_ms: int
    busy: float
    slots: tuple[int, int]
    most: tuple[int, int]
    alone_ms: int
    pools: dict[str, PoolFigures]


def job_span(application: Application, containers: Iterable[Container]) -> JobSpan:
    """The record of a job that is over."""
    spans: dict[str, list[ContainerSpan]] = {MAP_SLOTS: [], REDUCE_SLOTS: []}
    preempted = 0
    for one in containers:
        preempted += one.exit_code == PREEMPTED
        if one.allocated_ms is None or one.finished_ms is None:
            continue
        for kind, found in spans.items():
            if one.resources.get(kind, 0):
                found.append(ContainerSpan(one.allocated_ms, one.finished_ms, one.resources[kind]))
    submitted_ms = application.submitted_ms
    finished_ms = application.finished_ms or submitted_ms
    maps, reduces = (
        ApplicationSpan(submitted_ms, finished_ms, tuple(found)) for found in spans.values()
    )
    return JobSpan(maps, reduces, preempted)


def figures_of(
    jobs: Mapping[str, Sequence[JobSpan]],
    owed: Mapping[str, Sequence[tuple[float, float]]],
    slots: tuple[int, int],
    minimums: Mapping[str, int],
    alone_ms: int,
) -> Figures:
    """The figures of a run in which each pool has had a job.

    `owed` are the server's words for map and reduce slots; `minimums` are in map slots.
    """
    maps = {pool: [job.maps for job in jobs[pool]] for pool in TEAMS}
    reduces = {pool: [job.reduces for job in jobs[pool]] for pool in TEAMS}
    every = [span for pool in TEAMS for span in maps[pool]]
    began_ms = min(span.submitted_ms for span in every)
    ended_ms = max(span.finished_ms for span in every)
    contended = busy_time(maps[RESEARCH])
    for pool in (PRODUCTION, ADHOC):
        contended = common(contended, busy_time(maps[pool]))

    def shares(pool: str) -> tuple[SlotShare, SlotShare]:
        words = owed[pool] or [(0.0, 0.0)]
        return (
            SlotShare(mean(w[0] for w in words), part_used(maps[pool], contended, slots[0])),
            SlotShare(mean(w[1] for w in words), part_used(reduces[pool], contended, slots[1])),
        )

    return Figures(
        total_ms=ended_ms - began_ms,
        contended_ms=length(contended),
        busy=part_used(every, [(began_ms, ended_ms)], slots[0]),
        slots=slots,
        most=(most_at_once(every), most_at_once(s for pool in TEAMS for s in reduces[pool])),
        alone_ms=alone_ms,
        pools={pool: _pool(jobs[pool], *shares(pool), minimums.get(pool, 0)) for pool in TEAMS},
    )


def _pool(
    jobs: Sequence[JobSpan], maps: SlotShare, reduces: SlotShare, minimum: int
) -> PoolFigures:
    first_ms = min(job.maps.submitted_ms for job in jobs)
    reached_ms = reached_at((job.maps for job in jobs), minimum) if minimum else None
    return PoolFigures(
        jobs=len(jobs),
        maps=maps,
        reduces=reduces,
        minimum=minimum,
        minimum_ms=None if reached_ms is None else reached_ms - first_ms,
        waited_median_ms=round(median(job.waited_ms for job in jobs)),
        waited_longest_ms=max(job.waited_ms for job in jobs),
        took_median_ms=round(median(job.took_ms for job in jobs)),
        took_longest_ms=max(job.took_ms for job in jobs),
        preempted=sum(job.preempted for job in jobs),
    )


def reached_at(spans: Iterable[ApplicationSpan], amount: int) -> int | None:
    """When these jobs first had so many slots at once; None if they never had.

    Tasks from 5 to 9 and from 7 to 8 have two at 7.
    """
    return next((at_ms for at_ms, held in _held(spans) if held >= amount), None)


def most_at_once(spans: Iterable[ApplicationSpan]) -> int:
    """How many slots were taken at once, at most."""
    return max((held for _, held in _held(spans)), default=0)


def _held(spans: Iterable[ApplicationSpan]) -> list[tuple[int, int]]:
    """Instants in order, and the slots that are taken from then on."""
    changes: dict[int, int] = {}
    for span in spans:
        for one in span.containers:
            changes[one.allocated_ms] = changes.get(one.allocated_ms, 0) + one.amount
            changes[one.finished_ms] = changes.get(one.finished_ms, 0) - one.amount
    held, found = 0, []
    for at_ms, change in sorted(changes.items()):
        held += change
        found.append((at_ms, held))
    return found
