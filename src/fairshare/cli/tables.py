"""The output of tables: the terminal's width and colours, and what narrow terminals omit.

Width and colours follow COLUMNS and NO_COLOR. A pipe has no width: every value is printed in full,
so that scripts never get part of one, in plain characters and without blanks at the ends of lines.
If a table is wider than its terminal
1. titles are broken at blanks,
2. `extra` columns are omitted,
3. names are cut, the widest first, but numbers never: `1.2…` would be another number,
4. the last columns are omitted, and a line below the table names them.

Only what goes to a terminal is drawn by rich (`drawing`), whose import takes a quarter of the time
of a short verb: `Listing`, `Facts`, `Styled` and `Indented` can be printed without it, by `Pipe`,
and look as rich would print them. What only rich can draw is None for a pipe: characters beyond
ASCII, whose widths it knows, those that control a terminal, and lines beyond the longest one.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import click
import msgspec

from fairshare.wording import plain, plain_lines

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text


Output: TypeAlias = "Console | Pipe"
"""What a verb prints to."""

PIPE_WIDTH = 400
"""What counts as the width of a pipe where that decides how much is shown."""

WIDE = 120
"""From this width on, bars are long and ids are always written in full."""

BAR_FULL, BAR_NARROW = 20, 10

_OF_TERMINALS = ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which rich may treat a pipe as a terminal."""

STATE_STYLES = {
    "PENDING": "yellow",
    "WAITING": "yellow",
    "ALLOCATED": "yellow",
    "RUNNING": "cyan",
    "FINISHED": "green",
    "SUCCEEDED": "green",
    "FAILED": "red",
    "TIMEOUT": "red",
    "OUT_OF_MEMORY": "red",
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


class Styled(msgspec.Struct, frozen=True):
    """A text in a style of rich, which only terminals show."""

    text: str
    style: str = ""

    def __rich__(self) -> "Text":
        drawn: Text = _drawing().text(self)
        return drawn

    def lines(self) -> list[str] | None:
        """The text in a pipe; None if only rich can print it."""
        return text_lines(self.text)


def _drawing() -> ModuleType:
    """What draws with rich, whose import only terminals wait for."""
    from fairshare.cli import drawing

    return drawing


Cell: TypeAlias = str | Styled


class Indented(msgspec.Struct, frozen=True):
    """A text behind blanks, on each of its lines."""

    text: Styled
    indent: int

    def __rich__(self) -> "Padding":
        drawn: Padding = _drawing().padding(self)
        return drawn

    def lines(self) -> list[str] | None:
        """The text in a pipe; None if only rich can print it."""
        return text_lines(self.text.text, self.indent) if self.text.text else []


class Listing:
    """A table that fits the terminal; rows have cells for all columns, including omitted ones."""

    def __init__(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
        self.columns = columns
        self.rows = [
            [cell if isinstance(cell, Styled) else Styled(plain(cell)) for cell in row]
            for row in rows
        ]

    def __rich_console__(self, console: "Console", options: object) -> "Iterator[Table]":
        yield _drawing().table(self.columns, self.rows, console)

    def lines(self) -> list[str] | None:
        """The table in a pipe; None if only rich can print it."""
        return table_lines(
            [column.title for column in self.columns],
            [[cell.text for cell in row] for row in self.rows],
            [column.right for column in self.columns],
        )


class Facts:
    """A table of names and values; long values are wrapped."""

    def __init__(self, pairs: Sequence[tuple[str, Cell]]) -> None:
        self.pairs = [
            (name, value if isinstance(value, Styled) else Styled(plain_lines(value)))
            for name, value in pairs
        ]

    def __rich__(self) -> "Table":
        drawn: Table = _drawing().facts(self.pairs)
        return drawn

    def lines(self) -> list[str] | None:
        """The table in a pipe; None if only rich can print it."""
        return fact_lines([(name, value.text) for name, value in self.pairs])


Part: TypeAlias = Facts | Listing | Styled | Indented
"""What verbs print, and what a notebook shows."""


def open_output(*, stderr: bool = False) -> Output:
    """The terminal to which a verb prints, or a pipe, for which rich is not imported."""
    stream = sys.stderr if stderr else sys.stdout
    chosen = any(os.environ.get(name) for name in _OF_TERMINALS)
    if chosen or stream is None or stream.isatty():
        return open_console(stderr=stderr)
    return Pipe(PIPE_WIDTH, stderr=stderr)


def open_console(*, stderr: bool = False) -> "Console":
    """The terminal or pipe to which a verb prints, for what rich draws."""
    console: Console = _drawing().new_console(stderr=stderr)
    if in_pipe(console):
        console.width = PIPE_WIDTH
    return console


def in_pipe(console: Output) -> bool:
    """Whether the output goes to a pipe or a file, without a width in COLUMNS."""
    return not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit()


def is_wide(console: Output) -> bool:
    """Whether the terminal is wide enough for long bars and full ids."""
    return console.width >= WIDE


def bar_width(console: Output) -> int:
    """The number of cells of a bar."""
    return BAR_FULL if is_wide(console) else BAR_NARROW


def ascii_only(console: Output) -> bool:
    """Whether bars are of plain characters: in pipes, and where the terminal has no others."""
    if isinstance(console, Pipe):
        return console.ascii_only
    return in_pipe(console) or not console.encoding.lower().startswith("utf")


def state_text(state: str, more: str = "") -> Styled:
    """A state in its colour, and what is said after it."""
    return Styled(plain(state) + more, style=STATE_STYLES.get(state, ""))


def print_all(console: Output, *parts: "RenderableType | None") -> None:
    """Print parts with an empty line between them; None is skipped."""
    if isinstance(console, Pipe):
        blocks = [_lines(part) for part in parts if part is not None]
        made = ["".join(f"{line}\n" for line in lines) for lines in blocks if lines is not None]
        if len(made) == len(blocks):
            click.echo("\n".join(made), nl=False, err=console.stderr)
            return
        console = open_console(stderr=console.stderr)
    _drawing().print_parts(console, [part for part in parts if part is not None])


def _lines(part: "RenderableType") -> list[str] | None:
    """A part in a pipe; None if only rich can print it."""
    if isinstance(part, str):
        return text_lines(part)
    return part.lines() if isinstance(part, Styled | Indented | Listing | Facts) else None


LONGEST_LINE = 20_000
"""The width of tables and texts in a pipe: they are neither cut nor wrapped."""


class Pipe:
    """Where a verb prints that prints to no terminal; a notebook's bars are not of ASCII."""

    is_terminal = False

    def __init__(self, width: int, *, stderr: bool, ascii_only: bool = True) -> None:
        self.width = width
        self.stderr = stderr
        self.ascii_only = ascii_only


def table_lines(
    titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
) -> list[str] | None:
    """The titles and the rows, with columns as wide as their widest value.

    >>> table_lines(["Name", "N"], [["ann", "10"], ["bo", "9"]], [False, True])
    ['Name  N', 'ann  10', 'bo    9']
    """
    printed = [titles, *rows]
    if not all(_is_simple(cell) for row in printed for cell in row):
        return None
    widths = [max(map(len, column)) for column in zip(*printed, strict=True)]
    if sum(widths) + len(widths) > LONGEST_LINE:
        return None
    return [" ".join(map(_padded, row, widths, right)).rstrip() for row in printed]


def fact_lines(pairs: Sequence[tuple[str, str]]) -> list[str] | None:
    """Names and their values, of which each may have several lines.

    >>> fact_lines([("User", "ann"), ("Diagnostics", "exit code 1\\nkilled")])
    ['User         ann', 'Diagnostics  exit code 1', '             killed']
    """
    width = max(len(name) for name, _ in pairs)
    lines = [
        (name if number == 0 else "", line)
        for name, value in pairs
        for number, line in enumerate(value.split("\n"))
    ]
    made = [f"{name.ljust(width)}  {line}".rstrip() for name, line in lines]
    return made if all(map(_is_plain, made)) else None


def text_lines(text: str, indent: int = 0) -> list[str] | None:
    """A text, behind blanks.

    >>> text_lines("It waits. ", 2), text_lines("\\x1b[2J")
    (['  It waits.'], None)
    """
    return [f"{' ' * indent}{text}".rstrip()] if _is_plain(text) else None


def _is_simple(text: str) -> bool:
    """Whether each character has one cell of a terminal, which only rich knows of others."""
    return text.isascii() and text.isprintable()


def _is_plain(text: str) -> bool:
    return _is_simple(text) and len(text) <= LONGEST_LINE // 2


def _padded(cell: str, width: int, right: bool) -> str:
    return cell.rstrip().rjust(width) if right else cell.ljust(width)
