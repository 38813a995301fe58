"""The tables of simulations that people read: which columns and rows there are, and the words and
forms of their values. Terminals and pages show the same ones, with durations in their own form.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from fairshare.core.model.events import ApplicationState
from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.lab.simulate.comparison import (
    FULL,
    WAITED_MS,
    Comparison,
    Group,
    Pairing,
    Run,
    Times,
)
from fairshare.lab.simulate.report import Report
from fairshare.wording import counted

Duration = Callable[[float], str]
"""The form of a time in milliseconds."""

NOTHING: Final = "-"


class Heading(msgspec.Struct, frozen=True):
    """A column: of `words`, else of numbers. `meaning` explains it; one that is `extra` is left out
    first where there is little room. The cells of one that is `signed` are better below 0. `full`
    is the title where no other column is before it."""

    title: str
    words: bool = False
    extra: bool = False
    meaning: str = ""
    signed: bool = False
    full: str = ""

    @property
    def name(self) -> str:
        """The title of the column by itself."""
        return self.full or self.title


class Overview(msgspec.Struct, frozen=True):
    """A table; `more` counts rows that were left out. `runs` has for each row the number of the run
    that it is of, if each is of one."""

    headings: tuple[Heading, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0
    runs: tuple[int, ...] = ()


_SLOWDOWN: Final = (
    "the time from submission to end in proportion to the time that it ran, which counts as 10 s at"
    " least"
)
_WAITS: Final = (
    Heading("Wait p50", meaning="from submission to the first container; the median"),
    Heading("p95", full="Wait p95", meaning="95 % of the applications waited no longer"),
    Heading("p99", full="Wait p99", meaning="99 % of the applications waited no longer"),
)
_SLOWDOWNS: Final = (
    Heading("Slowdown p50", meaning=f"{_SLOWDOWN}; the median"),
    Heading("p95", full="Slowdown p95", meaning="95 % of the applications have no larger one"),
    Heading("p99", full="Slowdown p99", meaning="99 % of them", extra=True),
)
_LOST: Final = (
    Heading("GB hours lost", extra=True, meaning="work of containers that did not succeed"),
    Heading(
        "by preemption",
        extra=True,
        full="GB hours lost by preemption",
        meaning="the part of the lost work that was preempted",
    ),
)
_PLACES: Final = (
    Heading(
        "On node",
        extra=True,
        full="On a wanted node",
        meaning="of the containers of applications that want places",
    ),
    Heading("in rack", extra=True, full="In its rack", meaning="of these, on the node or its rack"),
)


def runs_overview(runs: Sequence[Run], duration: Duration) -> Overview:
    """A row for each run."""
    placed = any(run.whole.on_node is not None for run in runs)
    headings = (
        Heading("Run", words=True),
        Heading("Scheduler", words=True, extra=True),
        Heading("Applications"),
        Heading("Makespan", meaning="from the first submission to the last end"),
        Heading("Memory used", extra=True, meaning="the mean part of the cluster's"),
        Heading("Vcores used", extra=True, meaning="the mean part of the cluster's"),
        *_WAITS,
        Heading("longest", extra=True, full="Longest wait"),
        *_SLOWDOWNS,
        Heading(
            "Jain",
            extra=True,
            full="Jain's index",
            meaning="of the queues' use in proportion to their fair shares; 1 if that is alike",
        ),
        Heading(
            "Share error",
            extra=True,
            meaning="the mean part of the cluster's memory that was in wrong hands",
        ),
        Heading(
            "Starved",
            extra=True,
            meaning="the longest time in which a queue used less than it was entitled to",
        ),
        *_LOST,
        *(_PLACES if placed else ()),
    )
    rows = tuple(
        (
            run.name,
            run.scheduler,
            counts(run.whole),
            duration(run.makespan_ms),
            *(f"{run.utilization.get(kind, 0):.0%}" for kind in (MEMORY, VCORES)),
            *percentiles(run.whole.wait, duration),
            duration(run.longest_wait_ms),
            *percentiles(run.whole.slowdown, ratio),
            NOTHING if run.jain is None else f"{run.jain:.3f}",
            NOTHING if run.share_error is None else f"{run.share_error:.1%}",
            starvation(run, duration),
            *_lost(run.whole),
            *(_places(run.whole) if placed else ()),
        )
        for run in runs
    )
    return Overview(headings, rows, runs=tuple(range(len(runs))))


def starvation(run: Run, duration: Duration) -> str:
    """The longest starvation, and of which queue."""
    if not run.starved_ms:
        return "none"
    return f"{duration(run.starved_ms)} ({short(run.starved_queue)})"


Kind = Literal["queues", "users", "sizes"]
_KINDS: Final[dict[Kind, str]] = {"queues": "Queue", "users": "User", "sizes": "Size"}


def groups_overview(
    runs: Sequence[Run], kind: Kind, duration: Duration, most: int | None = None
) -> Overview:
    """The queues, users or sizes of runs, the largest `most` first: a row for each in each run."""
    columns: dict[str, list[tuple[int, Group]]] = {}
    for number, run in enumerate(runs):
        for group in getattr(run, kind):
            columns.setdefault(group.name, []).append((number, group))
    largest = sorted(columns, key=lambda name: -max(one.applications for _, one in columns[name]))
    names = list(columns) if kind == "sizes" else largest[:most]
    groups = [one for name in names for one in columns[name]]
    several = len(runs) > 1
    queues = kind == "queues"
    placed = any(group.on_node is not None for _, group in groups)
    headings = (
        Heading(_KINDS[kind], words=True),
        *((Heading("Run", words=True),) if several else ()),
        Heading("Apps"),
        Heading("Containers", extra=True),
        *(
            (
                Heading("Used", meaning="the mean part of the cluster"),
                Heading("Fair share", meaning="its mean"),
            )
            if queues
            else ()
        ),
        *_WAITS,
        *_SLOWDOWNS,
        Heading("Turnaround p50", extra=True, meaning="from submission to end; the median"),
        Heading("p95", extra=True),
        *(
            (
                Heading(
                    "Starved",
                    extra=True,
                    meaning="the longest time in which it used less than it was entitled to",
                ),
            )
            if queues
            else ()
        ),
        Heading("Preempted", extra=True, meaning="containers"),
        *_LOST,
        *(_PLACES if placed else ()),
    )
    rows = tuple(
        (
            short(group.name) if queues else group.name,
            *((runs[number].name,) if several else ()),
            counts(group),
            f"{group.containers:,}",
            *((_percent(group.share), _percent(group.due)) if queues else ()),
            *percentiles(group.wait, duration),
            *percentiles(group.slowdown, ratio),
            *percentiles(group.turnaround, duration)[:2],
            *(
                (duration(group.starved_ms or 0) if group.starved_ms else NOTHING,)
                if queues
                else ()
            ),
            f"{group.preempted:,}",
            *_lost(group),
            *(_places(group) if placed else ()),
        )
        for number, group in groups
    )
    more = len(columns) - len(names)
    of_runs = tuple(number for number, _ in groups) if several else ()
    return _without_empty(Overview(headings, rows, more, of_runs), duration)


def _without_empty(overview: Overview, duration: Duration) -> Overview:
    """Without the `extra` columns in which nothing is in any row."""
    empty = ("0", NOTHING, duration(0))
    shown = [
        place
        for place, heading in enumerate(overview.headings)
        if not heading.extra or any(row[place] not in empty for row in overview.rows)
    ]
    return msgspec.structs.replace(
        overview,
        headings=tuple(overview.headings[place] for place in shown),
        rows=tuple(tuple(row[place] for place in shown) for row in overview.rows),
    )


def moved_overview(pairing: Pairing, duration: Duration) -> Overview:
    """The applications that end much later in a run, and much earlier, the largest loss first."""
    headings = (
        Heading("Application", words=True),
        Heading("User", words=True),
        Heading("Queue", words=True),
        Heading("Before", meaning="the time from submission to end in the first run"),
        Heading("After", meaning="the same in this run"),
        Heading("Change", signed=True),
    )
    rows = tuple(
        (
            move.name,
            move.user,
            short(move.queue),
            duration(move.before_ms),
            duration(move.after_ms),
            signed(move.change_ms, duration),
        )
        for move in (*pairing.losers, *reversed(pairing.winners))
    )
    return Overview(headings, rows)


def pairing_sentence(pairing: Pairing, duration: Duration) -> str:
    """What a run changes, in words."""
    low, high = (signed(round(one), duration) for one in (pairing.low_ms, pairing.high_ms))
    chance = ", which may be chance" if pairing.low_ms <= 0 <= pairing.high_ms else ""
    text = (
        f"Of {counted(pairing.paired, 'application')} in both, the mean turnaround changes by"
        f" {signed(round(pairing.mean_ms), duration)} (95 %: {low} to {high}{chance})"
    )
    if pairing.only_before or pairing.only_after:
        text += f"; {pairing.only_before:,} only in the first run, {pairing.only_after:,} only here"
    return f"{text}."


def rejections_overview(reports: Sequence[tuple[str, Report]]) -> Overview:
    """Why applications were rejected, and how many."""
    several = len(reports) > 1
    headings = (
        *((Heading("Run", words=True),) if several else ()),
        Heading("Applications"),
        Heading("Reason", words=True),
    )
    rows: list[tuple[str, ...]] = []
    numbers = []
    for number, (name, report) in enumerate(reports):
        reasons = Counter(
            one.diagnostics for one in report.applications if one.state == ApplicationState.REJECTED
        )
        for reason, count in reasons.most_common():
            rows.append((*((name,) if several else ()), f"{count:,}", reason))
            numbers.append(number)
    return Overview(headings, tuple(rows), runs=tuple(numbers) if several else ())


def unfinished_overview(reports: Sequence[tuple[str, Report]], most: int) -> Overview:
    """What was not over at the end, and why it waits; applications that are alike are counted."""
    several = len(reports) > 1
    headings = (
        *((Heading("Run", words=True),) if several else ()),
        Heading("Applications"),
        Heading("Name", words=True),
        Heading("Queue", words=True),
        Heading("Why it is not over", words=True),
    )
    rows: list[tuple[str, ...]] = []
    numbers = []
    for number, (name, report) in enumerate(reports):
        alike = Counter(
            (one.name or one.id, short(one.queue), one.sentence or "it runs")
            for one in report.unfinished
        )
        for words, count in alike.most_common():
            rows.append((*((name,) if several else ()), f"{count:,}", *words))
            numbers.append(number)
    more = max(0, len(rows) - most)
    return Overview(headings, tuple(rows[:most]), more, tuple(numbers[:most]) if several else ())


def facts_of(run: Run, duration: Duration) -> Iterator[tuple[str, str]]:
    """Slowdown, fairness, what was lost and locality of a run, where there is something to say."""
    slow = run.whole.slowdown
    if slow is not None:
        yield "Slowdown", f"p50 {slow.p50:.2f}, p95 {slow.p95:.2f}, p99 {slow.p99:.2f}"
    if run.jain is not None and run.share_error is not None:
        longest = f", longest starvation {starvation(run, duration)}" if run.starved_ms else ""
        yield "Fairness", f"Jain {run.jain:.3f}, share error {run.share_error:.1%}{longest}"
    whole = run.whole
    if whole.lost_gb_hours:
        preempted = f", {whole.preempted_gb_hours:.3g} by preemption"
        yield "Work lost", f"{whole.lost_gb_hours:.3g} GB hours{preempted}"
    if whole.on_node is not None and whole.on_rack is not None:
        yield "Locality", f"{whole.on_node:.0%} on a wanted node, {whole.on_rack:.0%} in its rack"


def idle_text(comparison: Comparison) -> str:
    """That nothing competed in any run, if that is so: then they compare nothing."""
    used = max((run.used_most for run in comparison.runs), default=0.0)
    waited_ms = max((run.longest_wait_ms for run in comparison.runs), default=0)
    starved_ms = max((run.starved_ms for run in comparison.runs), default=0)
    if used >= FULL or waited_ms > WAITED_MS or starved_ms:
        return ""
    return (
        f"Nothing competed: at most {used:.0%} of the cluster was in use, and no application had to"
        " wait for room, so that this compares nothing."
    )


def short(queue: str) -> str:
    """A queue without root."""
    return queue.removeprefix("root.")


def counts(group: Group) -> str:
    """How many applications there are, and how many of them did not end well."""
    odd = {"rejected": group.rejected, "unfinished": group.unfinished}
    said = ", ".join(f"{count:,} {kind}" for kind, count in odd.items() if count)
    return f"{group.applications:,}" + (f" ({said})" if said else "")


def percentiles(times: Times | None, text: Duration) -> tuple[str, str, str]:
    """The percentiles of times or ratios, as text."""
    if times is None:
        return (NOTHING,) * 3
    return text(times.p50), text(times.p95), text(times.p99)


def ratio(number: float) -> str:
    """A slowdown."""
    return f"{number:.2f}"


def signed(ms: float, duration: Duration) -> str:
    """A time with its sign."""
    return f"{'-' if ms < 0 else '+'}{duration(abs(ms))}"


def _lost(group: Group) -> tuple[str, str]:
    return _amount(group.lost_gb_hours), _amount(group.preempted_gb_hours)


def _amount(value: float) -> str:
    """An amount with three digits.

    >>> _amount(0), _amount(0.01234), _amount(12345.6)
    ('0', '0.0123', '12,346')
    """
    return f"{value:,.0f}" if value >= 100 or not value else f"{value:.3g}"


def _places(group: Group) -> tuple[str, str]:
    return _percent(group.on_node), _percent(group.on_rack)


def _percent(part: float | None) -> str:
    return NOTHING if part is None else f"{part:.0%}"
