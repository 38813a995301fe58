"""Owns the report on applications of tasks, and the comparison of two runs. Pure functions."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fairshare.demonstration.applications.archive import Run, date_text
from fairshare.demonstration.applications.plan import Plan
from fairshare.demonstration.invocation import PROGRAM, demonstration_of, example
from fairshare.demonstration.measurement import QueryMetrics, RunMetrics
from fairshare.demonstration.picture import STYLES
from fairshare.demonstration.summary import Advice, head, seconds, table, wrapped
from fairshare.demonstration.teams import (
    ADHOC,
    CAPACITY,
    FAIR,
    FIFO,
    PRODUCTION,
    RESEARCH,
    SETTINGS,
    TEAMS,
)

WORTH_REPORTING = 1.5

COMMANDS = {
    FAIR.scheduler: demonstration_of(),
    FIFO.scheduler: demonstration_of(FIFO.scheduler),
}
WEIGHTED = demonstration_of(CAPACITY.scheduler)


def frequent(words: Iterable[tuple[str, Sequence[str]]]) -> str:
    """The most frequent words of each place, where there are any."""
    return ", " + "; ".join(f"in {place}: {', '.join(found)}" for place, found in words if found)


def happened(
    metrics: RunMetrics, plan: Plan, places: int, other: Run | None
) -> Iterator[RenderableType]:
    """What happened; `other` is a run of the same work with another scheduler."""
    name = SETTINGS[metrics.scheduler].name
    yield wrapped(
        f"{name[0].upper()}{name[1:]} divided a machine of {places} containers of 256 MB,"
        f" on {plan.processors} processor{'s' * (plan.processors > 1)}, for"
        f" {seconds(metrics.total_ms)}; {metrics.busy:.0%} of it was in use."
    )
    yield Text()
    yield _team_table(metrics)
    yield wrapped(_explanation(metrics), style="dim")
    yield Text()
    if metrics.users:
        yield from _user_parts(metrics)
        yield Text()
    yield _query_text(metrics.queries)
    if other is not None:
        yield Text()
        yield head("The same work with both schedulers")
        yield _comparison(metrics, other)
        yield wrapped(_verdict(metrics, other.figures))


def _team_table(metrics: RunMetrics) -> Table:
    owed = "due*" if metrics.scheduler == FIFO.scheduler else "owed"
    parts = {team: metrics.teams[team] for team in TEAMS}
    return table(
        ("", "wanted", owed, "got", "first container after", "all done after"),
        [
            (
                team,
                *(f"{part:.0%}" for part in (found.wanted, found.owed, found.got)),
                *(seconds(found.begun_ms), seconds(found.finished_ms)),
            )
            for team, found in parts.items()
        ],
    )


def _explanation(metrics: RunMetrics) -> str:
    words = (
        f"Parts of the memory, over the {seconds(metrics.contended_ms)} in which all three wanted"
        " something (at most 100%)."
    )
    if metrics.scheduler == FIFO.scheduler:
        return (
            f"{words} *due: what fair-scheduler.xml would promise; FIFO owes nothing to any team."
        )
    return f"{words} Who wants less than he is owed leaves the rest to the others."


def _user_parts(metrics: RunMetrics) -> Iterator[RenderableType]:
    """How the users of one queue divided it."""
    found = table(
        (f"users of {RESEARCH}", "weight", "expected", "got"),
        [
            (user.name, str(user.weight), f"{user.expected:.0%}", f"{user.got:.0%}")
            for user in sorted(metrics.users, key=lambda user: -user.weight)
        ],
    )
    found.columns[0].style = STYLES[RESEARCH]
    yield found
    yield wrapped(
        f"Parts of what {RESEARCH} had, while both wanted more. A user is passed over once he is"
        " above his part, so that he may have one container more than it.",
        style="dim",
    )


def _query_text(queries: QueryMetrics) -> Text:
    return wrapped(
        f"{queries.count} short queries beside the big jobs: half of them began within"
        f" {seconds(queries.begun_median_ms)} and were answered within"
        f" {seconds(queries.answered_median_ms)}; the slowest began after"
        f" {seconds(queries.begun_longest_ms)}, and took {seconds(queries.answered_longest_ms)}.",
        style=STYLES[ADHOC],
    )


def _comparison(metrics: RunMetrics, other: Run) -> Table:
    runs = {
        metrics.scheduler: ("now", metrics),
        other.figures.scheduler: (date_text(other.at_s), other.figures),
    }
    order = [name for name in SETTINGS if name in runs]
    both = [runs[name][1] for name in order]
    times = {
        "half of the queries answered within": [f.queries.answered_median_ms for f in both],
        "the slowest query answered after": [f.queries.answered_longest_ms for f in both],
        f"{PRODUCTION} done after": [f.teams[PRODUCTION].finished_ms for f in both],
        f"{RESEARCH} done after": [f.teams[RESEARCH].finished_ms for f in both],
        "everything done after": [f.total_ms for f in both],
    }
    return table(
        ("", *(f"{name}, {runs[name][0]}" for name in order)),
        [(words, *map(seconds, found)) for words, found in times.items()],
    )


def _verdict(metrics: RunMetrics, other: RunMetrics) -> str:
    by_name = {metrics.scheduler: metrics.queries, other.scheduler: other.queries}
    fifo = by_name.pop(FIFO.scheduler, None)
    if fifo is None:
        return "Both let a short query begin soon, whatever came before it."
    (fair,) = by_name.values()
    median = fifo.answered_median_ms / max(1, fair.answered_median_ms)
    slowest = fifo.answered_longest_ms / max(1, fair.answered_longest_ms)
    if median >= WORTH_REPORTING:
        return (
            "With FIFO a short query waits behind everything that came before it:"
            f" {median:.0f} times as long."
        )
    if slowest >= WORTH_REPORTING:
        return (
            f"With FIFO the slowest query took {slowest:.0f} times as long; others came when the"
            " big jobs were over."
        )
    return "This time the queries did not wait longer with FIFO."


def advice(metrics: RunMetrics, other: Run | None) -> Iterator[Advice]:
    """What to try next."""
    setting = SETTINGS[metrics.scheduler]
    compared = FAIR if setting is FIFO else FIFO
    both = "" if other else ", and both compared"
    yield f"The same work with {compared.name}{both}:", [COMMANDS[compared.scheduler]]
    if not metrics.users:
        yield "Two users with weights in one queue:", [WEIGHTED]
    yield (
        "This cluster for yourself, and how to use it from another terminal:",
        [
            f"{PROGRAM} serve --conf {example(setting.configuration)}",
            f"{PROGRAM} submit --queue research --memory 256m -- echo hello",
            f"{PROGRAM} top",
        ],
    )
    yield "A configuration tried on a workload, in no time:", [f"{PROGRAM} simulate --help"]
