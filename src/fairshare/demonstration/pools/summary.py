"""Owns the report on MapReduce jobs in pools. Pure functions."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from fairshare.demonstration.invocation import PROGRAM, demonstration_of, example
from fairshare.demonstration.picture import STYLES
from fairshare.demonstration.pools.jobs import Plan
from fairshare.demonstration.pools.results import JobMetrics
from fairshare.demonstration.summary import seconds, table, wrapped
from fairshare.demonstration.teams import ADHOC, POOLS, PRODUCTION, TEAMS

TEXT_OF_ONES_OWN = (
    f"{PROGRAM} mapreduce --pool research --memory 96m --input 'docs/*.md' --output counts"
    " --mapper \"tr -cs '[:alpha:]' '\\n'\" --reducer 'uniq -c'"
)
ADVICE = (
    ("These pools for yourself:", (f"{PROGRAM} serve --conf {example(POOLS.configuration)}",)),
    (
        "and from another terminal, a job, and who has which slots:",
        (TEXT_OF_ONES_OWN, f"{PROGRAM} queues"),
    ),
    ("The same idea in YARN, with memory instead of slots:", (demonstration_of(),)),
)


def happened(metrics: JobMetrics, plan: Plan, timeout_ms: int) -> Iterator[RenderableType]:
    """What happened. `timeout_ms`: how long a pool waits for its minimum."""
    maps, reduces = metrics.slots
    jobs = sum(found.count for found in metrics.waits.values())
    yield wrapped(
        f"The Fair Scheduler of MapReduce divided {maps} map slots and {reduces} reduce slots among"
        f" {jobs} jobs, for {seconds(metrics.maps.total_ms)}; {metrics.maps.busy:.0%} of the map"
        f" slots were taken. The largest job had {plan.research_bytes / 1e6:.0f} MB of text."
    )
    yield Text()
    yield _share_table(metrics)
    yield wrapped(
        f"Parts of all slots, over the {seconds(metrics.maps.contended_ms)} in which jobs of all"
        " three pools were there; owed is what the server said then. A pool that wants less leaves"
        " the rest to the others.",
        style="dim",
    )
    yield Text()
    yield _time_table(metrics)
    yield from _expectations(metrics, timeout_ms)


def _share_table(metrics: JobMetrics) -> RenderableType:
    rows = []
    for pool in TEAMS:
        maps, reduces = metrics.maps.teams[pool], metrics.reduces.teams[pool]
        parts = (maps.owed, maps.got, reduces.owed, reduces.got)
        rows.append((pool, str(metrics.waits[pool].count), *(f"{part:.0%}" for part in parts)))
    return table(("", "jobs", "map slots owed", "got", "reduce slots owed", "got"), rows)


def _time_table(metrics: JobMetrics) -> RenderableType:
    rows = []
    for pool in TEAMS:
        one = metrics.waits[pool]
        begun = (one.begun_median_ms, one.begun_longest_ms)
        rows.append(
            (pool, *map(seconds, (*begun, one.answered_median_ms, one.answered_longest_ms)))
        )
    return table(
        ("", "first task after", "at the longest", "job done after", "at the longest"), rows
    )


def _expectations(metrics: JobMetrics, timeout_ms: int) -> Iterator[RenderableType]:
    """What could be expected, and what was measured."""
    adhoc = metrics.waits[ADHOC]
    reached_ms = metrics.minimum_ms
    reached = "never" if reached_ms is None else f"after {seconds(reached_ms)}"
    yield wrapped(
        f"{PRODUCTION} had its minimum of {metrics.minimum} map slots {reached}. Expected: by"
        f" itself when others' tasks end, else by force soon after {seconds(timeout_ms)};"
        f" {_killed(metrics.preempted)}.",
        style=STYLES[PRODUCTION],
    )
    yield wrapped(
        f"{adhoc.count} small jobs beside the large ones: half of them were done within"
        f" {seconds(adhoc.answered_median_ms)}, the slowest took"
        f" {seconds(adhoc.answered_longest_ms)}; alone on the machine one took"
        f" {seconds(metrics.alone_ms)}. Expected: a first task when the next slot becomes free, at"
        f" the latest soon after {seconds(timeout_ms)}; the slowest waited"
        f" {seconds(adhoc.begun_longest_ms)}.",
        style=STYLES[ADHOC],
    )


def _killed(number: int) -> str:
    if not number:
        return "nothing had to be killed"
    task, verb = ("task", "was") if number == 1 else ("tasks", "were")
    return f"{number} {task} {verb} killed for it, and ran again"
