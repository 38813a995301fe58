"""Owns the words at the end: what happened, what was checked, what to try next. Pure functions.

A newcomer must understand them, and no figure stands here that was not measured.
"""

import textwrap
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fairshare.demonstration.archive import Run, date_text
from fairshare.demonstration.invocation import PROGRAM, demonstration_of, example
from fairshare.demonstration.measurement import Figures, QueryFigures
from fairshare.demonstration.picture import STYLES
from fairshare.demonstration.plan import Plan
from fairshare.demonstration.teams import ADHOC, PRODUCTION, RESEARCH, SETTINGS, TEAMS
from fairshare.demonstration.verification import Check

WIDTH = 79
WORTH_TELLING = 1.5

FAIR, CAPACITY, FIFO = "fair", "capacity", "fifo"
NAMES = {
    FAIR: "the Fair Scheduler",
    CAPACITY: "the Capacity Scheduler",
    FIFO: "FIFO (first come, first served)",
}
OTHER = {FAIR: FIFO, CAPACITY: FIFO, FIFO: FAIR}
CLUSTER_COMMANDS = (
    f"{PROGRAM} submit --queue research --memory 256m -- echo hello",
    f"{PROGRAM} top",
)
COMMANDS = {FAIR: demonstration_of(), FIFO: demonstration_of("fifo")}
WEIGHTED = demonstration_of("capacity")


def summary(
    figures: Figures,
    checks: Sequence[Check],
    plan: Plan,
    places: int,
    other: Run | None,
    frequent: Sequence[tuple[str, Sequence[str]]],
    *,
    ascii_only: bool = False,
) -> RenderableType:
    """Everything that is said at the end of a demonstration."""
    parts: list[RenderableType] = [
        Text(),
        head("What happened"),
        _outline(figures, plan, places),
        Text(),
        _team_table(figures),
        wrapped(_explanation(figures), style="dim"),
        Text(),
        *_user_parts(figures),
        _query_text(figures.queries),
        Text(),
    ]
    if other is not None:
        parts += [head("The same work with both schedulers"), _comparison(figures, other)]
        parts += [wrapped(_verdict(figures, other.figures)), Text()]
    parts += [head("What was checked"), *(check_text(check, ascii_only) for check in checks)]
    parts += [
        _frequent_text(frequent),
        Text(),
        head("What to try next"),
        _next_text(figures, other),
    ]
    return Group(*parts)


def head(text: str) -> Text:
    """A title."""
    return Text(text, style="bold")


def _outline(figures: Figures, plan: Plan, places: int) -> Text:
    return wrapped(
        f"{_capital(NAMES[figures.scheduler])} divided a machine of {places} containers of 256 MB,"
        f" on {plan.processors} processor{'s' * (plan.processors > 1)}, for"
        f" {seconds(figures.total_ms)}; {figures.busy:.0%} of it was in use."
    )


def _team_table(figures: Figures) -> Table:
    owed = "due*" if figures.scheduler == FIFO else "owed"
    table = new_table("", "wanted", owed, "got", "first container after", "all done after")
    for team in TEAMS:
        found = figures.teams[team]
        table.add_row(
            Text(team, style=STYLES[team]),
            f"{found.wanted:.0%}",
            f"{found.owed:.0%}",
            f"{found.got:.0%}",
            seconds(found.begun_ms),
            seconds(found.finished_ms),
        )
    return table


def _explanation(figures: Figures) -> str:
    words = (
        f"Parts of the memory, over the {seconds(figures.contended_ms)} in which all three wanted"
        " something (at most 100%)."
    )
    if figures.scheduler == FIFO:
        return f"{words} *due: what fair-scheduler.xml would promise; FIFO owes nobody anything."
    return f"{words} Who wants less than he is owed leaves the rest to the others."


def _user_parts(figures: Figures) -> list[RenderableType]:
    """How the users of one queue divided it, where several did."""
    if not figures.users:
        return []
    table = new_table(f"users of {RESEARCH}", "weight", "expected", "got")
    for user in sorted(figures.users, key=lambda user: -user.weight):
        row = (str(user.weight), f"{user.expected:.0%}", f"{user.got:.0%}")
        table.add_row(Text(user.name, style=STYLES[RESEARCH]), *row)
    words = (
        f"Parts of what {RESEARCH} had, while both wanted more. A user is passed over once he is"
        " above his part, so that he may have one container more than it."
    )
    return [table, wrapped(words, style="dim"), Text()]


def _query_text(queries: QueryFigures) -> Text:
    return wrapped(
        f"{queries.count} short queries beside the big jobs: half of them began within"
        f" {seconds(queries.begun_median_ms)} and were answered within"
        f" {seconds(queries.answered_median_ms)}; the slowest began after"
        f" {seconds(queries.begun_longest_ms)}, and took {seconds(queries.answered_longest_ms)}.",
        style=STYLES[ADHOC],
    )


def _comparison(figures: Figures, other: Run) -> Table:
    runs = {figures.scheduler: ("now", figures)}
    runs[other.figures.scheduler] = (date_text(other.at_s), other.figures)
    order = [name for name in (FAIR, CAPACITY, FIFO) if name in runs]
    table = new_table("", *(f"{name}, {runs[name][0]}" for name in order))
    both = [runs[name][1] for name in order]
    rows = {
        "half of the queries answered within": [f.queries.answered_median_ms for f in both],
        "the slowest query answered after": [f.queries.answered_longest_ms for f in both],
        f"{PRODUCTION} done after": [f.teams[PRODUCTION].finished_ms for f in both],
        f"{RESEARCH} done after": [f.teams[RESEARCH].finished_ms for f in both],
        "everything done after": [f.total_ms for f in both],
    }
    for name, times in rows.items():
        table.add_row(name, *(seconds(ms) for ms in times))
    return table


def _verdict(figures: Figures, other: Figures) -> str:
    by_name = {figures.scheduler: figures.queries, other.scheduler: other.queries}
    if FIFO not in by_name:
        return "Both let a short query begin soon, whatever came before it."
    fair = by_name[next(name for name in by_name if name != FIFO)]
    fifo = by_name[FIFO]
    median = fifo.answered_median_ms / max(1, fair.answered_median_ms)
    slowest = fifo.answered_longest_ms / max(1, fair.answered_longest_ms)
    if median >= WORTH_TELLING:
        return (
            "With FIFO a short query waits behind everything that came before it:"
            f" {median:.0f} times as long."
        )
    if slowest >= WORTH_TELLING:
        return (
            f"With FIFO the slowest query took {slowest:.0f} times as long; others came when the"
            " big jobs were over."
        )
    return "This time the queries did not wait longer with FIFO."


def check_text(check: Check, ascii_only: bool) -> Text:
    """A check with its mark."""
    good, bad = ("ok", "BAD") if ascii_only else ("✓", "✗")
    mark = good if check.passed else bad
    text = wrapped(f"{mark} {check.text}", style="" if check.passed else "bold red", indent=2)
    text.stylize("bold green" if check.passed else "bold red", 0, len(mark))
    return text


def _frequent_text(frequent: Sequence[tuple[str, Sequence[str]]]) -> Text:
    found = "; ".join(f"in {place}: {', '.join(words)}" for place, words in frequent if words)
    return wrapped(f"  The most frequent words, {found}.", style="dim", indent=2)


def _next_text(figures: Figures, other: Run | None) -> Text:
    configuration = SETTINGS[figures.scheduler].configuration
    again = f"The same work with {NAMES[OTHER[figures.scheduler]]}"
    advice = (
        (
            f"{again}:" if other else f"{again}, and both compared:",
            (COMMANDS[OTHER[figures.scheduler]],),
        ),
        *((("Two users with weights in one queue:", (WEIGHTED,)),) * (not figures.users)),
        (
            "This cluster for yourself, and how to use it from another terminal:",
            (f"{PROGRAM} serve --conf {example(configuration)}", *CLUSTER_COMMANDS),
        ),
        ("A configuration tried on a workload, in no time:", (f"{PROGRAM} simulate --help",)),
    )
    text = Text()
    for words, commands in advice:
        text.append(f"  {words}\n")
        for command in commands:
            text.append(f"      {command}\n", style="bold")
    text.rstrip()
    return text


def new_table(*titles: str) -> Table:
    """A table without lines; all columns but the first are numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, title in enumerate(titles):
        table.add_column(title, justify="right" if number else "left", no_wrap=True)
    return table


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def wrapped(words: str, *, style: str = "", indent: int = 0) -> Text:
    """Text in lines that fit everywhere."""
    lines = textwrap.wrap(words, WIDTH, subsequent_indent=" " * indent)
    return Text("\n".join(lines), style=style)


def seconds(ms: int) -> str:
    """Seconds; of less than one, two decimals."""
    return f"{ms / 1000:.2f} s" if ms < 1000 else f"{ms / 1000:.1f} s"
