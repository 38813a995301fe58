"""Owns the measurements of jobs that are over, and the checks of their results: each of them is
also found in another way. Reads results from the folder.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from statistics import mean

import msgspec

from fairshare.client.answers import Application, Container
from fairshare.demonstration.measurement import (
    ApplicationSpan,
    QueryMetrics,
    RunMetrics,
    metrics_of,
    query_metrics,
    span_of,
)
from fairshare.demonstration.pools.jobs import Text
from fairshare.demonstration.teams import POOLS, PRODUCTION, TEAMS, Arrival
from fairshare.demonstration.verification import Check, check_answers, check_counts
from fairshare.mapreduce import MapReduce

PREEMPTED = -102

Job = tuple[Application, Sequence[Container]]
"""A job that is over, and all its containers."""


class JobMetrics(msgspec.Struct, frozen=True):
    """One run. `waits`: each pool's jobs until their first task and until their end.

    `slots`: map and reduce slots of the cluster; `most`: those that were taken at once. `minimum`
    is production's, in map slots; `minimum_ms`: when it first had them, after its first job; None
    if it never had. `preempted`: killed tasks; `alone_ms`: the time of a small job by itself.
    """

    maps: RunMetrics
    reduces: RunMetrics
    waits: dict[str, QueryMetrics]
    slots: tuple[int, int]
    most: tuple[int, int]
    minimum: int
    minimum_ms: int | None
    preempted: int
    alone_ms: int


def job_metrics(
    jobs: Mapping[str, Sequence[Job]],
    owed: Mapping[str, Mapping[str, Sequence[float]]],
    slots: tuple[int, int],
    minimum: int,
    alone_ms: int,
) -> JobMetrics:
    """The measurements of a run in which each pool has had a job; `owed` as a course collects."""
    spans, metrics = [], []
    for kind, total in zip(POOLS.resources, slots, strict=True):
        found = {pool: [span_of(*job, kind) for job in jobs[pool]] for pool in TEAMS}
        shares = {pool: mean(owed[pool][kind] or [0.0]) for pool in TEAMS}
        metrics.append(metrics_of(POOLS.scheduler, found, total, shares, shares))
        spans.append(found)
    maps, reduces = spans
    first_ms = min(job.submitted_ms for job in maps[PRODUCTION])
    reached_ms = reached_at(maps[PRODUCTION], minimum)
    every = [one for pool in TEAMS for _, containers in jobs[pool] for one in containers]
    return JobMetrics(
        maps=metrics[0],
        reduces=metrics[1],
        waits={pool: query_metrics(maps[pool]) for pool in TEAMS},
        slots=slots,
        most=(most_at_once(chain(*maps.values())), most_at_once(chain(*reduces.values()))),
        minimum=minimum,
        minimum_ms=None if reached_ms is None else reached_ms - first_ms,
        preempted=sum(one.exit_code == PREEMPTED for one in every),
        alone_ms=alone_ms,
    )


def reached_at(spans: Iterable[ApplicationSpan], amount: int) -> int | None:
    """When these jobs first had an amount of slots at once; None if they never had.

    Tasks from 5 to 9 and from 7 to 8 have two at 7.
    """
    return next((at_ms for at_ms, held in _held(spans) if held >= amount), None)


def most_at_once(spans: Iterable[ApplicationSpan]) -> int:
    """How many slots were taken at once, at most."""
    return max((held for _, held in _held(spans)), default=0)


def _held(spans: Iterable[ApplicationSpan]) -> list[tuple[int, int]]:
    """Instants in order, and the slots that are taken from then on."""
    changes: Counter[int] = Counter()
    for span in spans:
        for one in span.containers:
            changes[one.allocated_ms] += one.amount
            changes[one.finished_ms] -= one.amount
    instants = sorted(changes)
    return list(zip(instants, accumulate(changes[at_ms] for at_ms in instants), strict=True))


def read_counts(output: Path) -> dict[bytes, int]:
    """The lines of `uniq -c` of all parts; the counts of a word in several parts are added up."""
    found: Counter[bytes] = Counter()
    for part in output.glob("part-*"):
        for line in part.read_bytes().splitlines():
            number, word = line.split()
            found[word] += int(number)
    return dict(found)


def check_words(found: Mapping[bytes, int], text: Text, arrival: Arrival[MapReduce]) -> Check:
    """Each word occurs as often as a count without maps and reduces finds it."""
    reduces = arrival.work.reduces
    through = f"through {arrival.tasks - reduces - 1} maps and {reduces} reduces"
    return check_counts(arrival.team, found, text.words(), through)


def check_found(answers: Sequence[tuple[str, int]], text: Text) -> Check:
    """Each small job has found what a direct search finds."""
    expected = {word: text.occurrences(word) for word in {word for word, _ in answers}}
    right = [number == expected[word] for word, number in answers]
    return check_answers(right, "small jobs gave the right number")


def check_slots(metrics: JobMetrics) -> Check:
    """There were never more tasks than slots."""
    (maps, reduces), (map_slots, reduce_slots) = metrics.most, metrics.slots
    words = (
        f"slots: at most {maps} of {map_slots} map slots and {reduces} of {reduce_slots} reduce"
        " slots were taken at once"
    )
    return Check(maps <= map_slots and reduces <= reduce_slots, words)


def check_minimum(metrics: JobMetrics) -> Check:
    """The pool with a minimum has had it."""
    words = f"{PRODUCTION}: its minimum of {metrics.minimum} map slots"
    if metrics.minimum_ms is None:
        return Check(False, f"{words} was never there")
    return Check(True, f"{words} was there after {metrics.minimum_ms / 1000:.1f} s")
