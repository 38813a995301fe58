"""Answers as HTML, for notebooks: the tables of the command line, without scripts, without anything
that is loaded, and in colours that go with light and dark backgrounds.

Names and diagnostics are texts of users, and a notebook runs what is markup: every text is escaped
in `_text`, and nothing else writes one.
"""

import html
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Any, Final

import msgspec

from fairshare.api.accounting import (
    PastApplication,
    PastApplications,
    PastContainer,
    PastContainers,
    Report,
    ReportRow,
)
from fairshare.api.cron import CronJob
from fairshare.api.ledger import Ledger, LedgerLine
from fairshare.api.showing import Rows
from fairshare.cli import apps, cron, history, nodes, queues, status
from fairshare.cli.cells import bar, duration_text
from fairshare.cli.ledger import ledger_parts
from fairshare.cli.lists import field_column, list_table
from fairshare.cli.tables import PIPE_WIDTH, Cell, Facts, Indented, Listing, Part, Pipe, Styled
from fairshare.cli.why import owed_parts, reason_parts
from fairshare.client.answers import Application, Container, Node, Owed, Queue, Reason
from fairshare.wording import counted, plain, plain_lines

MOST_ROWS: Final = 500
"""The maximum of rows of a table; a frame has them all."""

PAGE: Final = Pipe(PIPE_WIDTH, stderr=False, ascii_only=False)
"""It has room for every column."""

TIMELINE: Final = 40
"""The number of cells of an application's timeline."""

COLOURS: Final = {
    "green": "#16a34a",
    "yellow": "#ca8a04",
    "red": "#dc2626",
    "cyan": "#0891b2",
    "magenta": "#c026d3",
}
_BAR: Final = frozenset("█░┃")
_TABLE: Final = "margin:.2em 0 .8em 0"
_CELL: Final = "padding:.15em .6em;white-space:pre"


def html_of(answer: object) -> str:
    """An answer, or a list of them, in HTML."""
    parts = PARTS.get(type(answer))
    if isinstance(answer, Rows):
        return html_parts(_list_parts(answer))
    if parts is None:
        raise TypeError(f"a notebook has no form for {type(answer).__name__}")
    return html_parts(parts(answer))


def html_parts(parts: Iterable[Part | None]) -> str:
    """Texts and tables, one below the other; None is skipped."""
    drawn = "".join(_part(part) for part in parts if part is not None)
    return f'<div class="fairshare" style="overflow-x:auto">{drawn}</div>'


def _part(part: Part) -> str:
    if isinstance(part, Listing):
        return _listing(part)
    if isinstance(part, Facts):
        rows = (
            f"<tr>{_cell('th', name, 'text-align:left;vertical-align:top')}"
            f"{_cell('td', value, 'text-align:left;white-space:pre-wrap')}</tr>"
            for name, value in part.pairs
        )
        return f'<table style="{_TABLE}">{"".join(rows)}</table>'
    indent, styled = (part.indent, part.text) if isinstance(part, Indented) else (0, part)
    look = f"margin:.2em 0 .2em {indent}em;white-space:pre-wrap;{_look(styled)}"
    return f'<div style="{look}">{_text(styled.text)}</div>' if styled.text else ""


def _listing(listing: Listing) -> str:
    sides = [f"text-align:{'right' if column.right else 'left'}" for column in listing.columns]
    titles = (
        _cell("th", column.title, side) for column, side in zip(listing.columns, sides, strict=True)
    )
    rows = (
        "".join(_cell("td", cell, side) for cell, side in zip(row, sides, strict=True))
        for row in listing.rows[:MOST_ROWS]
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    more = len(listing.rows) - MOST_ROWS
    note = f"<div>{counted(more, 'row')} more are not shown.</div>" if more > 0 else ""
    head = f"<thead><tr>{''.join(titles)}</tr></thead>"
    return f'<table style="{_TABLE}">{head}<tbody>{body}</tbody></table>{note}'


def _cell(element: str, cell: Cell, more: str) -> str:
    styled = cell if isinstance(cell, Styled) else Styled(cell)
    look = f"{_CELL};{more};{_look(styled)}"
    return f'<{element} style="{look}">{_text(styled.text)}</{element}>'


def _look(styled: Styled) -> str:
    """The style of a text: colours are mixed with that of the notebook's own text."""
    look = ""
    for word in styled.style.split():
        if word == "bold":
            look += "font-weight:bold;"
        elif word == "dim":
            look += "opacity:.75;"
        elif word in COLOURS:
            look += f"color:color-mix(in srgb,{COLOURS[word]} 70%,currentColor);"
    return look + ("font-family:monospace;" if _BAR & {*styled.text} else "")


def _text(text: str) -> str:
    return html.escape(plain_lines(text))


# What is shown of each answer.


def _list_parts(rows: Rows[Any]) -> Sequence[Part | None]:
    if not rows:
        return [Styled("Nothing.")]
    of: Any = rows.of or type(rows[0])
    parts = LISTS.get(of)
    if parts is not None:
        return parts(rows)
    return [
        list_table(
            [field_column(name.replace("_", "-"), name) for name in of.__struct_fields__], rows
        )
    ]


def _queue_parts(rows: Rows[Queue]) -> Sequence[Part | None]:
    columns = [
        column
        for column in queues.columns(PAGE, dict(rows.total), rows)
        if rows.total or column.title != "Use"  # a bar is a part of the total
    ]
    return [list_table(columns, queues.in_tree(rows)), queues.pool_table(rows)]


def _node_parts(rows: Rows[Node]) -> Sequence[Part | None]:
    gpus = nodes.gpu_table(PAGE, rows) if any(node.gpus for node in rows) else None
    return [nodes.node_table(PAGE, rows), gpus]


def _container_parts(rows: Rows[Container]) -> Sequence[Part | None]:
    live = [one for one in rows if not one.over]
    ended = status.worst_first(rows)
    return [
        status.container_table(live, _now_ms()) if live else None,
        status.ended_table(ended) if ended else None,
    ]


def _application_parts(application: Application) -> Sequence[Part | None]:
    now_ms = _now_ms()
    return [
        status.application_facts(application, now_ms),
        timeline(application, now_ms),
        status.group_table(PAGE, application.groups) if application.groups else None,
        *_container_parts(Rows(application.live_containers, Container)),
    ]


def timeline(application: Application, now_ms: int) -> Styled:
    """How long an application waited for its first container, and ran since, as a bar of the whole
    time; of one that has not ended up to `now_ms`."""
    end_ms = now_ms if application.finished_ms is None else application.finished_ms
    began_ms = application.began_ms or end_ms
    waited_ms, ran_ms = began_ms - application.submitted_ms, max(0, end_ms - began_ms)
    part = ran_ms / ((waited_ms + ran_ms) or 1)
    drawn = bar(part, TIMELINE)[::-1]  # it waits first
    text = f"waited {duration_text(waited_ms)} {drawn} ran {duration_text(ran_ms)}"
    return Styled(text, style="cyan")


def _past_parts(answer: PastApplications | PastContainers) -> Sequence[Part | None]:
    applications = isinstance(answer, PastApplications)
    rows = answer.applications if isinstance(answer, PastApplications) else answer.containers
    listed = Rows[Any](rows, PastApplication if applications else PastContainer)
    more = Styled("There are further ones: limit=N has more.") if answer.more else None
    return [*_list_parts(listed), more]


def _report_parts(report: Report) -> Sequence[Part | None]:
    rows = list_table(history.report_columns(report), report.rows) if report.rows else None
    nothing = None if report.rows else Styled("Nothing ended in this period.")
    return [rows, nothing, history.budget_table(report.budgets)]


def _reason_parts(rows: Iterable[Reason]) -> Sequence[Part | None]:
    parts: list[Part] = []
    for reason in rows:
        parts += [Styled(plain(reason.cause), style="bold yellow"), *reason_parts(reason)]
    return parts


def _now_ms() -> int:
    """An answer does not say of what instant it is: it is shown when it has come."""
    return time.time_ns() // 1_000_000


LISTS: Final[dict[type, Callable[[Rows[Any]], Sequence[Part | None]]]] = {
    Queue: _queue_parts,
    Node: _node_parts,
    Application: lambda rows: [apps.application_table(PAGE, rows, _now_ms())],
    Reason: _reason_parts,
    Container: _container_parts,
    CronJob: lambda rows: [list_table(cron.JOB_COLUMNS, rows)],
    PastApplication: lambda rows: [list_table(history.APPLICATION_COLUMNS, rows)],
    PastContainer: lambda rows: [list_table(history.CONTAINER_COLUMNS, rows)],
}
"""What is shown of a list, by the class of its records; others have a column for each field.
The laboratory adds its own."""

PARTS: Final[Mapping[type, Callable[[Any], Sequence[Part | None]]]] = {
    Application: _application_parts,
    Queue: lambda queue: _queue_parts(Rows([queue], Queue)),
    Reason: lambda reason: _reason_parts([reason]),
    Owed: owed_parts,
    PastApplications: _past_parts,
    PastContainers: _past_parts,
    Report: _report_parts,
    Ledger: ledger_parts,
}


# Frames.


def frame_of(answer: Any) -> Any:
    """A DataFrame of the records of an answer; raises ImportError."""
    try:
        pandas: Any = import_module("pandas")
    except ImportError:
        raise ImportError(
            "a frame needs pandas, which is not installed here: pip install pandas"
        ) from None
    by: tuple[str, ...] = ()
    if isinstance(answer, PastApplications):
        answer = Rows(answer.applications, PastApplication)
    elif isinstance(answer, PastContainers):
        answer = Rows(answer.containers, PastContainer)
    elif isinstance(answer, Ledger):
        answer = Rows(answer.lines, LedgerLine)
    elif isinstance(answer, Report):
        by, answer = answer.by, Rows(answer.rows, ReportRow)
    flat = [_flat(msgspec.to_builtins(row)) for row in answer]
    if by:  # a column for each part of the group
        flat = [dict(zip(by, row.pop("group"), strict=True)) | row for row in flat]
    fields = getattr(answer.of, "__struct_fields__", ())
    return pandas.DataFrame(flat, columns=[*dict.fromkeys(chain(*flat))] or list(fields))


def _flat(record: Mapping[str, object], before: str = "") -> dict[str, Any]:
    """A record whose parts are fields of their own.

    >>> _flat({"name": "root", "used": {"memory-mb": 512}})
    {'name': 'root', 'used.memory-mb': 512}
    """
    made: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            made |= _flat(value, f"{before}{name}.")
        else:
            made[before + name] = value
    return made
