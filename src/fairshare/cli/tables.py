"""Owns how tables reach the terminal: its width, its colours, what is left out where it is narrow.

Width and colours follow COLUMNS and NO_COLOR. A pipe has no width: there every value is printed
whole, so that scripts never see half of one.
"""

import json
import os
from collections.abc import Sequence
from typing import Any, Literal

import click
import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from fairshare.cli.cells import plain, plain_lines

PIPE_WIDTH = 400
WIDE = 120
"""From this width on, bars are long and ids are written in full everywhere."""

LEAST_WIDTH = 5
"""A column that may be cut keeps so much."""

BAR_FULL, BAR_NARROW = 20, 10

STATE_STYLES = {
    "PENDING": "yellow",
    "WAITING": "yellow",
    "ALLOCATED": "yellow",
    "RUNNING": "cyan",
    "FINISHED": "green",
    "SUCCEEDED": "green",
    "FAILED": "red",
    "KILLED": "magenta",
    "REJECTED": "red",
}


class Column(msgspec.Struct, frozen=True):
    """One column. It may be cut, unless it is `whole`; an `extra` one goes before any is cut."""

    title: str
    right: bool = False
    whole: bool = False
    extra: bool = False


def open_console(*, stderr: bool = False) -> Console:
    """The terminal, or the pipe, that a verb prints to."""
    console = Console(stderr=stderr, highlight=False, emoji=False, markup=False, soft_wrap=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = PIPE_WIDTH
    return console


def is_wide(console: Console) -> bool:
    """Whether there is room for long bars and full ids."""
    return console.width >= WIDE


def bar_width(console: Console) -> int:
    """How many cells a bar has."""
    return BAR_FULL if is_wide(console) else BAR_NARROW


def ascii_only(console: Console) -> bool:
    """Whether the terminal cannot show the characters that bars are made of."""
    return not console.encoding.lower().startswith("utf")


def table(
    console: Console, columns: Sequence[Column], rows: Sequence[Sequence[str | Text]]
) -> Table:
    """A table that fits; a row has a cell for every column, for those that are left out too."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    natural = [
        max([len(column.title), *(row[number].cell_len for row in cells)])
        for number, column in enumerate(columns)
    ]
    shown = list(range(len(columns)))
    for number in reversed(range(len(columns))):
        if columns[number].extra and sum(natural[n] + 1 for n in shown) > console.width:
            shown.remove(number)
    widths = fitting(
        [columns[number].whole for number in shown],
        [natural[number] for number in shown],
        console.width - len(shown),
    )
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for number, width in zip(shown, widths, strict=True):
        column = columns[number]
        justify: Literal["left", "right"] = "right" if column.right else "left"
        made.add_column(
            column.title, justify=justify, width=width, no_wrap=True, overflow="ellipsis"
        )
    for row in cells:
        made.add_row(*(row[number] for number in shown))
    return made


def fitting(whole: Sequence[bool], natural: Sequence[int], room: int) -> list[int]:
    """The widths of columns: where there is too little room, the widest that may be cut give way.

    >>> fitting([True, False, False], [10, 12, 4], 26), fitting([True, False], [10, 9], 5)
    ([10, 12, 4], [10, 5])
    >>> fitting([True, False, False], [10, 12, 7], 22)
    [10, 6, 6]
    """
    widths = list(natural)
    while sum(widths) > room:
        cut = [n for n, kept in enumerate(whole) if not kept and widths[n] > LEAST_WIDTH]
        if not cut:
            break
        widths[max(cut, key=lambda number: (widths[number], number))] -= 1
    return widths


def facts(pairs: Sequence[tuple[str, str | Text]]) -> Table:
    """Names and values, one below the other; long values are wrapped."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    made.add_column(no_wrap=True, style="bold", min_width=max(len(name) for name, _ in pairs))
    made.add_column(overflow="fold")
    for name, value in pairs:
        made.add_row(name, value if isinstance(value, Text) else Text(plain_lines(value)))
    return made


def state_text(state: str) -> Text:
    """A state in its colour."""
    return Text(plain(state), style=STATE_STYLES.get(state, ""))


def print_all(console: Console, *parts: RenderableType | None) -> None:
    """Print parts below each other with an empty line between them; None is left out."""
    first = True
    for part in parts:
        if part is None:
            continue
        if not first:
            console.print()
        console.print(part)
        first = False


def print_json(answer: Any) -> None:
    """What a server said, for scripts. Whatever a tenant wrote is escaped in it."""
    click.echo(json.dumps(answer, indent=2))


def _cell(cell: str | Text) -> Text:
    return cell if isinstance(cell, Text) else Text(plain(cell))
