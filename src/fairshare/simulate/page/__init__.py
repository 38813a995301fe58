"""Owns the page of simulations: one file that needs nothing else, with plots by uPlot.

What users named is text in it and never markup. Knows no terminal.
"""

import html
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from fairshare.model.resources import MEMORY
from fairshare.simulate.comparison import Comparison, Group, Moved, Pairing, Run, Times
from fairshare.simulate.report import Report
from fairshare.wording import counted

MOST_ROWS = 40
"""The maximum of rows of a table; the others are counted below it."""
MOST_LINES = 8
MOST_POINTS = 500


def render(comparison: Comparison, reports: Sequence[tuple[str, Report]]) -> str:
    """The page of a comparison and of the reports that it is made of."""
    directory = files(__package__)
    parts = {
        "STYLE": _read(directory, "uplot.css") + _read(directory, "page.css"),
        "LIBRARY": _read(directory, "uplot.js"),
        "SCRIPT": _read(directory, "page.js"),
        "TITLE": html.escape(" beside ".join(name for name, _ in reports)),
        "OVERVIEW": "\n".join(_overview_of(comparison)),
        "TABLES": "\n".join(_tables_of(comparison)),
        # "</script>" in a name would end the element.
        "DATA": json.dumps([_data(*one) for one in reports]).replace("<", "\\u003c"),
        "NOTES": _assumptions(reports),
    }
    page = _read(directory, "page.html")
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text)
    return page


def _read(directory: Any, name: str) -> str:
    text: str = (directory / name).read_text(encoding="utf-8")
    return text


def _data(name: str, report: Report) -> dict[str, Any]:
    """What is plotted of a run: its waits as a distribution, its queues over time."""
    waits = sorted(one.waiting_ms for one in report.applications if one.waiting_ms is not None)
    step = max(1, len(waits) // MOST_POINTS)
    points = [
        (wait / 1000, (rank + 1) / len(waits))
        for rank, wait in enumerate(waits)
        if rank % step == 0 or rank == len(waits) - 1
    ]
    most = sorted(report.queues, key=lambda queue: -queue.used.get(MEMORY, 0))[:MOST_LINES]
    return {
        "name": name,
        "waits": [[wait for wait, _ in points], [part for _, part in points]],
        "at": [sample.at_ms / 1000 for sample in report.timeline],
        "queues": [
            {
                "name": queue.name.removeprefix("root."),
                "used": [_part(sample, queue.name, "used") for sample in report.timeline],
                "fair": [_part(sample, queue.name, "fair_share") for sample in report.timeline],
            }
            for queue in most
        ],
    }


def _part(sample: Any, queue: str, kind: str) -> float | None:
    """The part of the cluster's memory that a queue used, or was due."""
    found, total = sample.queues.get(queue), sample.total.get(MEMORY, 0)
    if not total:
        return None
    amount = 0.0 if found is None else float(getattr(found, kind).get(MEMORY, 0))
    part: float = round(amount / total, 5)
    return part


def _overview_of(comparison: Comparison) -> Iterable[str]:
    yield _overview(comparison.runs)
    for pairing in comparison.pairings:
        yield _pairing(comparison.runs[0].name, pairing)


def _tables_of(comparison: Comparison) -> Iterable[str]:
    for title, kind in (("Queues", "queues"), ("Users", "users"), ("Sizes", "sizes")):
        yield _groups(title, comparison.runs, kind)


def _overview(runs: Sequence[Run]) -> str:
    titles = ("Run", "Scheduler", "Applications", "Makespan", "Used memory", "Used vcores")
    more = ("Wait p50", "p95", "p99", "longest", "Slowdown p50", "p95", "Jain", "Share error")
    rows = [
        [
            run.name,
            run.scheduler,
            _counts(run.whole),
            duration(run.makespan_ms),
            *(f"{run.utilization.get(kind, 0):.0%}" for kind in (MEMORY, "vcores")),
            *_times(run.whole.wait),
            duration(run.longest_wait_ms),
            *_ratios(run.whole.slowdown)[:2],
            "-" if run.jain is None else f"{run.jain:.3f}",
            "-" if run.share_error is None else f"{run.share_error:.1%}",
        ]
        for run in runs
    ]
    return _section("Runs", _table((*titles, *more), rows))


def _pairing(first: str, pairing: Pairing) -> str:
    low, high = (signed(round(one)) for one in (pairing.low_ms, pairing.high_ms))
    chance = " That may be chance." if pairing.low_ms <= 0 <= pairing.high_ms else ""
    left = ""
    if pairing.only_before or pairing.only_after:
        left = (
            f" {pairing.only_before:,} are only in the first run, {pairing.only_after:,} only here."
        )
    words = (
        f"{counted(pairing.paired, 'application')} ended in both. The mean turnaround changes by"
        f" {signed(round(pairing.mean_ms))}; with a confidence of 95 % by {low} to {high}."
        f"{chance}{left}"
    )
    tables = "".join(
        f"<h3>{title}</h3>{_moved(some)}"
        for title, some in (("End later", pairing.losers), ("End earlier", pairing.winners))
        if some
    )
    title = f"{pairing.run} beside {first}"
    return _section(title, f"<p>{html.escape(words)}</p>{tables}")


def _moved(some: Sequence[Moved]) -> str:
    rows = [
        [
            one.name,
            one.user,
            one.queue,
            duration(one.before_ms),
            duration(one.after_ms),
            signed(one.change_ms),
        ]
        for one in some
    ]
    return _table(("Application", "User", "Queue", "Before", "After", "Change"), rows, words=3)


def _groups(title: str, runs: Sequence[Run], kind: str) -> str:
    titles = (title[:-1], *(() if len(runs) == 1 else ("Run",)), "Applications", "Preempted")
    found: dict[str, list[tuple[str, Group]]] = {}
    for run in runs:
        for group in getattr(run, kind):
            found.setdefault(group.name, []).append((run.name, group))
    largest = sorted(found, key=lambda name: -max(one.applications for _, one in found[name]))
    names = list(found) if kind == "sizes" else largest[:MOST_ROWS]
    rows = [
        [
            group.name.removeprefix("root."),
            *(() if len(runs) == 1 else (run,)),
            _counts(group),
            f"{group.preempted:,}",
            *_times(group.wait),
            *_ratios(group.slowdown),
        ]
        for name in names
        for run, group in found[name]
    ]
    more = ("Wait p50", "p95", "p99", "Slowdown p50", "p95", "p99")
    rest = len(found) - len(names)
    below = f"<p>and {rest:,} more</p>" if rest > 0 else ""
    return _section(title, _table((*titles, *more), rows, words=len(titles) - 2) + below)


def _counts(group: Group) -> str:
    odd = {"rejected": group.rejected, "unfinished": group.unfinished}
    said = ", ".join(f"{count:,} {kind}" for kind, count in odd.items() if count)
    return f"{group.applications:,}" + (f" ({said})" if said else "")


def _times(found: Times | None) -> tuple[str, str, str]:
    if found is None:
        return ("-", "-", "-")
    return (duration(found.p50), duration(found.p95), duration(found.p99))


def _ratios(found: Times | None) -> tuple[str, str, str]:
    if found is None:
        return ("-", "-", "-")
    return (f"{found.p50:.2f}", f"{found.p95:.2f}", f"{found.p99:.2f}")


def _section(title: str, content: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{content}</section>"


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]], words: int = 2) -> str:
    """A table whose first `words` columns are words, and the others numbers."""
    kinds = ['<td class="w">' if number < words else "<td>" for number in range(len(titles))]
    head = "".join(
        f"{kind.replace('td', 'th')}{html.escape(title)}</th>"
        for kind, title in zip(kinds, titles, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"{kind}{html.escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
        + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _assumptions(reports: Sequence[tuple[str, Report]]) -> str:
    notes = "".join(_notes(reports))
    return _section("Assumptions", f"<ul>{notes}</ul>") if notes else ""


def _notes(reports: Sequence[tuple[str, Report]]) -> Iterable[str]:
    for name, report in reports:
        for note in report.notes:
            yield f"<li>{html.escape(f'{name}: {note}')}</li>"


def duration(ms: float) -> str:
    """A time in its two largest units.

    >>> duration(1_500), duration(93_784_000), duration(0)
    ('1.5 s', '1 d 2 h', '0 s')
    """
    if ms < 60_000:
        return f"{ms / 1000:.3g} s"
    minutes = int(ms // 60_000)
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min {int(ms // 1000 % 60)} s"


def signed(ms: int) -> str:
    """The same with its sign.

    >>> signed(-1_500)
    '-1.5 s'
    """
    return f"{'-' if ms < 0 else '+'}{duration(abs(ms))}"
