"""Owns the output of tables: the terminal's width and colours, and what narrow terminals omit.

Width and colours follow COLUMNS and NO_COLOR. A pipe has no width: every value is printed in full,
so that scripts never get part of one, in plain characters and without blanks at the ends of lines.
If a table is wider than its terminal
1. titles are broken at blanks,
2. `extra` columns are omitted,
3. names are cut, the widest first, but numbers never: `1.2…` would be another number,
4. the last columns are omitted, and a line below the table names them.
"""

import os
import textwrap
from collections.abc import Sequence
from typing import Literal

import msgspec
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from fairshare.cli.cells import plain, plain_lines

PIPE_WIDTH = 400
"""What counts as the width of a pipe where that decides how much is shown."""

LONGEST_LINE = 20_000
"""The width of tables and texts in a pipe: they are neither cut nor wrapped."""

WIDE = 120
"""From this width on, bars are long and ids are always written in full."""

LEAST_WIDTH = 8
"""The minimum number of characters of a cut name."""

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
    """One column. It may be cut, unless it is `whole` or `right`-aligned, as numbers are; an
    `extra` column is omitted before any is cut."""

    title: str
    right: bool = False
    whole: bool = False
    extra: bool = False

    @property
    def uncut(self) -> bool:
        """Whether the column's values are never cut."""
        return self.whole or self.right


def open_console(*, stderr: bool = False) -> Console:
    """The terminal or pipe to which a verb prints."""
    console = Console(stderr=stderr, highlight=False, emoji=False, markup=False, soft_wrap=False)
    if in_pipe(console):
        console.width = PIPE_WIDTH
    return console


def in_pipe(console: Console) -> bool:
    """Whether the output goes to a pipe or a file, without a width in COLUMNS."""
    return not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit()


def is_wide(console: Console) -> bool:
    """Whether the terminal is wide enough for long bars and full ids."""
    return console.width >= WIDE


def bar_width(console: Console) -> int:
    """The number of cells of a bar."""
    return BAR_FULL if is_wide(console) else BAR_NARROW


def ascii_only(console: Console) -> bool:
    """Whether bars are of plain characters: in pipes, and where the terminal has no others."""
    return in_pipe(console) or not console.encoding.lower().startswith("utf")


def table(
    console: Console, columns: Sequence[Column], rows: Sequence[Sequence[str | Text]]
) -> Table:
    """A table that fits the terminal; rows have cells for all columns, including omitted ones."""
    room = _room(console)
    cells = [[_cell(cell) for cell in row] for row in rows]
    titles = [column.title for column in columns]
    values = [max((row[n].cell_len for row in cells), default=0) for n in range(len(columns))]
    natural = [max(cell_len(title), value) for title, value in zip(titles, values, strict=True)]
    shown = list(range(len(columns)))
    if _width(natural, shown) > room:
        titles = [_broken(title, value) for title, value in zip(titles, values, strict=True)]
        natural = [max(_lines_width(title), n) for title, n in zip(titles, values, strict=True)]
    for number in reversed(range(len(columns))):
        if columns[number].extra and _width(natural, shown) > room:
            shown.remove(number)
    least = [
        width if column.uncut else min(width, max(LEAST_WIDTH, _lines_width(title)))
        for column, title, width in zip(columns, titles, natural, strict=True)
    ]
    left_out: list[str] = []
    while len(shown) > 1 and _width(least, shown) > room:
        left_out.insert(0, columns[shown.pop()].title)
    widths = fitting(
        [least[number] for number in shown],
        [natural[number] for number in shown],
        room - len(shown),
    )
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for number, width in zip(shown, widths, strict=True):
        justify: Literal["left", "right"] = "right" if columns[number].right else "left"
        made.add_column(
            titles[number], justify=justify, width=width, no_wrap=True, overflow="ellipsis"
        )
    for row in cells:
        made.add_row(*(row[number] for number in shown))
    if left_out:
        made.caption = f"No room for: {', '.join(left_out)}"
        made.caption_justify = "left"
    return made


def _room(console: Console) -> int:
    return LONGEST_LINE if in_pipe(console) else console.width


def _width(widths: Sequence[int], shown: Sequence[int]) -> int:
    return sum(widths[number] + 1 for number in shown)


def _broken(title: str, width: int) -> str:
    """A title broken at blanks into lines of at most the width of the values, if possible.

    >>> _broken("Turnaround p50", 7), _broken("Wait p50", 9)
    ('Turnaround\\np50', 'Wait p50')
    """
    return "\n".join(textwrap.wrap(title, max(width, 1), break_long_words=False))


def _lines_width(title: str) -> int:
    return max(cell_len(line) for line in title.split("\n"))


def fitting(least: Sequence[int], natural: Sequence[int], room: int) -> list[int]:
    """The widths of columns; if they do not fit, the widest ones that may be cut become narrower.

    >>> fitting([10, 5, 4], [10, 12, 4], 26), fitting([10, 5], [10, 9], 5)
    ([10, 12, 4], [10, 5])
    >>> fitting([10, 5, 5], [10, 12, 7], 22)
    [10, 6, 6]
    """
    widths = list(natural)
    while sum(widths) > room:
        cut = [n for n, width in enumerate(widths) if width > least[n]]
        if not cut:
            break
        widths[max(cut, key=lambda number: (widths[number], number))] -= 1
    return widths


def facts(pairs: Sequence[tuple[str, str | Text]]) -> Table:
    """A table of names and values; long values are wrapped."""
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
    """Print parts with an empty line between them; None is skipped."""
    first = True
    for part in parts:
        if part is None:
            continue
        if not first:
            console.print()
        if console.is_terminal:
            console.print(part)
        else:
            _print_without_blanks(console, part)
        first = False


def _print_without_blanks(console: Console, part: RenderableType) -> None:
    """Print without the blanks with which lines are filled up to the width of their column."""
    width, console.width = console.width, _room(console)
    with console.capture() as captured:
        console.print(part)
    console.width = width
    for line in captured.get().splitlines():
        console.print(Text(line.rstrip()), soft_wrap=True)


def _cell(cell: str | Text) -> Text:
    return cell if isinstance(cell, Text) else Text(plain(cell))
