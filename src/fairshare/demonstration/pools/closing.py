"""Owns the words at the end: what happened, what was checked, what to try next. Pure functions."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from fairshare.demonstration.invocation import PROGRAM, demonstration_of, example
from fairshare.demonstration.picture import STYLES
from fairshare.demonstration.pools.figures import Figures, PoolFigures
from fairshare.demonstration.pools.plan import Plan
from fairshare.demonstration.summary import check_text, head, new_table, seconds, wrapped
from fairshare.demonstration.teams import ADHOC, PRODUCTION, SLOTS, TEAMS
from fairshare.demonstration.verification import Check

TEXT_OF_ONES_OWN = (
    f"{PROGRAM} mapreduce --pool research --memory 96m --input 'docs/*.md' --output counts"
    " --mapper \"tr -cs '[:alpha:]' '\\n'\" --reducer 'uniq -c'"
)


def closing(
    figures: Figures,
    checks: Sequence[Check],
    plan: Plan,
    timeout_ms: int,
    frequent: Sequence[str],
    *,
    ascii_only: bool = False,
) -> RenderableType:
    """Everything that is said at the end. `timeout_ms`: how long a pool waits for its minimum."""
    return Group(
        Text(),
        head("What happened"),
        _outline(figures, plan),
        Text(),
        _share_table(figures),
        wrapped(
            f"Parts of all slots, over the {seconds(figures.contended_ms)} in which jobs of all"
            " three pools were there; owed is what the server said then. Who wants less leaves the"
            " rest to the others.",
            style="dim",
        ),
        Text(),
        _time_table(figures),
        *_expectations(figures, timeout_ms),
        Text(),
        head("What was checked"),
        *(check_text(check, ascii_only) for check in checks),
        wrapped(f"  The most frequent words: {', '.join(frequent)}.", style="dim", indent=2),
        Text(),
        head("What to try next"),
        _next(),
    )


def _outline(figures: Figures, plan: Plan) -> Text:
    maps, reduces = figures.slots
    jobs = sum(found.jobs for found in figures.pools.values())
    return wrapped(
        f"The Fair Scheduler of MapReduce divided {maps} map slots and {reduces} reduce slots among"
        f" {jobs} jobs, for {seconds(figures.total_ms)}; {figures.busy:.0%} of the map slots were"
        f" taken. The largest job had {plan.research_bytes / 1e6:.0f} MB of text."
    )


def _share_table(figures: Figures) -> RenderableType:
    found = new_table("", "jobs", "map slots owed", "got", "reduce slots owed", "got")
    for pool in TEAMS:
        one = figures.pools[pool]
        row = (one.maps.owed, one.maps.got, one.reduces.owed, one.reduces.got)
        found.add_row(
            Text(pool, style=STYLES[pool]), str(one.jobs), *(f"{part:.0%}" for part in row)
        )
    return found


def _time_table(figures: Figures) -> RenderableType:
    found = new_table("", "first task after", "at the longest", "job done after", "at the longest")
    for pool in TEAMS:
        one = figures.pools[pool]
        found.add_row(
            Text(pool, style=STYLES[pool]),
            seconds(one.waited_median_ms),
            seconds(one.waited_longest_ms),
            seconds(one.took_median_ms),
            seconds(one.took_longest_ms),
        )
    return found


def _expectations(figures: Figures, timeout_ms: int) -> list[RenderableType]:
    """What could be expected, and what was measured."""
    production, adhoc = figures.pools[PRODUCTION], figures.pools[ADHOC]
    killed = sum(one.preempted for one in figures.pools.values())
    reached = "never" if production.minimum_ms is None else f"after {_after(production)}"
    return [
        wrapped(
            f"{PRODUCTION} had its minimum of {production.minimum} map slots {reached}. Expected:"
            f" by itself when others' tasks end, else by force soon after {seconds(timeout_ms)};"
            f" {_killed(killed)}.",
            style=STYLES[PRODUCTION],
        ),
        wrapped(
            f"{adhoc.jobs} small jobs beside the large ones: half of them were done within"
            f" {seconds(adhoc.took_median_ms)}, the slowest took {seconds(adhoc.took_longest_ms)};"
            f" alone on the machine one took {seconds(figures.alone_ms)}. Expected: a first task"
            f" when the next slot becomes free, at the latest soon after {seconds(timeout_ms)}; the"
            f" slowest waited {seconds(adhoc.waited_longest_ms)}.",
            style=STYLES[ADHOC],
        ),
    ]


def _after(production: PoolFigures) -> str:
    return seconds(production.minimum_ms or 0)


def _killed(number: int) -> str:
    if not number:
        return "nothing had to be killed"
    task, verb = ("task", "was") if number == 1 else ("tasks", "were")
    return f"{number} {task} {verb} killed for it, and ran again"


def _next() -> Text:
    advice = (
        ("These pools for yourself:", (f"{PROGRAM} serve --conf {example(SLOTS.configuration)}",)),
        (
            "and from another terminal, a job, and who has which slots:",
            (TEXT_OF_ONES_OWN, f"{PROGRAM} queues"),
        ),
        ("The same idea in YARN, with memory instead of slots:", (demonstration_of(),)),
    )
    text = Text()
    for words, commands in advice:
        text.append(f"  {words}\n")
        for command in commands:
            text.append(f"      {command}\n", style="bold")
    text.rstrip()
    return text
