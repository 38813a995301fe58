"""The page of simulations: one file that needs nothing else, with plots by uPlot.

What users named is text in it and never markup. The tables are those of `overviews.py`.
"""

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

from fairshare.core.model.resources import MEMORY
from fairshare.lab.simulate.comparison import Comparison, slowdown
from fairshare.lab.simulate.overviews import (
    Heading,
    Kind,
    Overview,
    groups_overview,
    idle_text,
    moved_overview,
    pairing_sentence,
    rejections_overview,
    runs_overview,
    short,
    unfinished_overview,
)
from fairshare.lab.simulate.report import Report, Sample, cluster_total
from fairshare.wording import counted

MOST_ROWS: Final = 40
"""The maximum of groups in a table; the others are counted below it."""
MOST_QUEUES: Final = 8
"""The maximum of queues with a plot."""
MOST_POINTS: Final = 500
COLOURS: Final = 8
"""How many colours `page.css` has for runs."""
KINDS: Final = ("used", "demand", "entitled", "fair_share", "guaranteed")


def render(comparison: Comparison, reports: Sequence[tuple[str, Report]]) -> str:
    """The page of a comparison and of the reports that it is made of."""
    directory = files(__package__)
    names = ("page.html", "uplot.css", "page.css", "uplot.js", "page.js")
    texts = {name: (directory / name).read_text(encoding="utf-8") for name in names}
    parts = {
        "STYLE": texts["uplot.css"] + texts["page.css"],
        "LIBRARY": texts["uplot.js"],
        "SCRIPT": texts["page.js"],
        "TITLE": html.escape(" beside ".join(name for name, _ in reports)),
        "SUBTITLE": html.escape(_subtitle(reports)),
        "OVERVIEW": "\n".join(_overview_of(comparison)),
        "TABLES": "\n".join(_tables_of(comparison, reports)),
        # "</script>" in a name would end the element.
        "DATA": json.dumps(_data(reports)).replace("<", "\\u003c"),
    }
    page = texts["page.html"]
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text)
    return page


def _subtitle(reports: Sequence[tuple[str, Report]]) -> str:
    """How much was simulated, if it is the same in all runs."""
    said = []
    counts = {len(report.applications) for _, report in reports}
    if len(counts) == 1:
        said.append(counted(counts.pop(), "application"))
    totals = [cluster_total(report) for _, report in reports]
    if totals[0] and all(total == totals[0] for total in totals):
        said.append(f"a cluster with {', '.join(_amounts(totals[0]))}")
    return f"Simulated by fairshare: {' on '.join(said)}." if said else "Simulated by fairshare."


def _amounts(total: Mapping[str, int]) -> Iterable[str]:
    for name, amount in total.items():
        if name == MEMORY:
            yield (
                f"{amount / 1024:,.4g} GB of memory"
                if amount < 10_240_000
                else f"{amount / 1024**2:,.4g} TB of memory"
            )
        else:
            yield f"{amount:,} {name}"


# What is plotted.


def _data(reports: Sequence[tuple[str, Report]]) -> dict[str, Any]:
    """The distributions of each run, and its queues over time: those that used most in any run."""
    most: dict[str, float] = {}
    for _, report in reports:
        for queue in report.queues:
            used = queue.used.get(MEMORY, 0.0)
            most[queue.name] = max(most.get(queue.name, 0.0), used)
    names = sorted(most, key=lambda name: (-most[name], name))[:MOST_QUEUES]
    return {
        "kinds": KINDS,
        "queues": [short(name) for name in sorted(names)],
        "left_out": max(0, len(most) - len(names)),
        "runs": [_run_data(name, report, sorted(names)) for name, report in reports],
    }


def _run_data(name: str, report: Report, queues: Sequence[str]) -> dict[str, Any]:
    found = report.applications
    waits = [one.waiting_ms / 1000 for one in found if one.waiting_ms is not None]
    slows = [slow for one in found if (slow := slowdown(one)) is not None]
    return {
        "name": name,
        "waits": _distribution(waits),
        "slowdowns": _distribution(slows),
        "at": [sample.at_ms / 1000 for sample in report.timeline],
        "lines": [
            {kind: [_part(sample, queue, kind) for sample in report.timeline] for kind in KINDS}
            for queue in queues
        ],
    }


def _distribution(values: Sequence[float]) -> list[list[float]]:
    """Values, and the part of all that is at most as large."""
    ordered = sorted(values)
    step = max(1, len(ordered) // MOST_POINTS)
    points = [
        (round(value, 3), (rank + 1) / len(ordered))
        for rank, value in enumerate(ordered)
        if rank % step == 0 or rank == len(ordered) - 1
    ]
    return [[value for value, _ in points], [part for _, part in points]]


def _part(sample: Sample, queue: str, kind: str) -> float | None:
    """The part of the cluster's memory that a queue used, wanted or was due."""
    found, total = sample.queues.get(queue), sample.total.get(MEMORY, 0)
    if not total:
        return None
    amount = 0.0 if found is None else float(getattr(found, kind).get(MEMORY, 0))
    part: float = round(amount / total, 5)
    return part


# The text.


def _overview_of(comparison: Comparison) -> Iterable[str]:
    runs = runs_overview(comparison.runs, duration)
    idle = idle_text(comparison)
    said = f'<p class="notice">{html.escape(idle)}</p>' if idle else ""
    if len(comparison.runs) == 1:
        yield _section("Summary", said + _tiles(runs))
    else:
        yield _section("Runs", said + _turned(runs))
    for pairing in comparison.pairings:
        title = f"{pairing.run} beside {comparison.runs[0].name}"
        text = f"<p>{html.escape(pairing_sentence(pairing, duration))}</p>"
        moved = moved_overview(pairing, duration)
        yield _section(title, text + (_table(moved) if moved.rows else ""))


_TITLES: Final[tuple[tuple[str, Kind], ...]] = (
    ("Queues", "queues"),
    ("Users", "users"),
    ("Sizes", "sizes"),
)
_UNFINISHED: Final = "Not over at the end"


def _tables_of(comparison: Comparison, reports: Sequence[tuple[str, Report]]) -> Iterable[str]:
    for title, kind in _TITLES:
        overview = groups_overview(comparison.runs, kind, duration, MOST_ROWS)
        intro = "<p>Applications by the number of their containers.</p>" if kind == "sizes" else ""
        yield _section(title, intro + _table(overview))
    for title, overview in (
        ("Rejected", rejections_overview(reports)),
        (_UNFINISHED, unfinished_overview(reports, MOST_ROWS)),
    ):
        if overview.rows:
            yield _section(title, _table(overview))
    runs_by_note: dict[str, list[str]] = {}
    for name, report in reports:
        for note in report.notes:
            runs_by_note.setdefault(note, []).append(name)
    notes = ""
    for note, names in runs_by_note.items():
        of = "" if len(names) == len(reports) else f"{', '.join(names)}: "
        notes += f"<li>{html.escape(of + note)}</li>"
    if notes:
        yield _section("Assumptions", f"<ul>{notes}</ul>")


def _section(title: str, content: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{content}</section>"


def _tiles(overview: Overview) -> str:
    """The first row, value by value."""
    (row,) = overview.rows
    tiles = "".join(
        f"<div><dt{_meaning(heading)}>{html.escape(heading.name)}</dt>"
        f"<dd>{html.escape(cell)}</dd></div>"
        for heading, cell in zip(overview.headings[1:], row[1:], strict=True)
    )
    return f'<dl class="tiles">{tiles}</dl>'


def _turned(overview: Overview) -> str:
    """A table with a column for each row: easier to read where there are few rows."""
    head = "".join(
        f"<th>{_run(number)}{html.escape(row[0])}</th>" for number, row in enumerate(overview.rows)
    )
    body = "".join(
        f'<tr><th class="w" scope="row"{_meaning(heading)}>{html.escape(heading.name)}</th>'
        + "".join(f"<td>{html.escape(row[number])}</td>" for row in overview.rows)
        + "</tr>"
        for number, heading in enumerate(overview.headings)
        if number
    )
    rows = f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wide"><table class="turned">{rows}</table></div>'


def _table(overview: Overview) -> str:
    headings = overview.headings
    head = "".join(
        f"<th{_kind(one)}{_meaning(one)}>{html.escape(one.title)}</th>" for one in headings
    )
    body, before = [], ""
    for number, row in enumerate(overview.rows):
        run = overview.runs[number] if overview.runs else None
        same = run is not None and row[0] == before
        before = row[0]
        cells = []
        for place, (heading, cell) in enumerate(zip(headings, row, strict=True)):
            text = "" if same and not place and heading.title != "Run" else html.escape(cell)
            mark = _run(run) if run is not None and heading.title == "Run" else ""
            cells.append(f"<td{_kind(heading, cell)}>{mark}{text}</td>")
        begin = '<tr class="same">' if same else "<tr>"
        body.append(f"{begin}{''.join(cells)}</tr>")
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    below = f"<p>and {overview.more:,} more</p>" if overview.more else ""
    return f'<div class="wide">{table}</div>{below}'


def _kind(heading: Heading, cell: str = "") -> str:
    """The class of a cell."""
    if heading.words:
        return ' class="w"'
    if heading.signed and cell:
        return ' class="better"' if cell.startswith("-") else ' class="worse"'
    return ""


def _meaning(heading: Heading) -> str:
    return f' title="{html.escape(heading.meaning)}"' if heading.meaning else ""


def _run(number: int) -> str:
    """The colour of a run."""
    return f'<i class="run run{number % COLOURS}"></i>'


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
