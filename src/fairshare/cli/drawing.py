"""How tables, facts and texts are drawn on a terminal, by rich: what narrow terminals omit and cut.

`tables` imports this module when something goes to a terminal, or has characters whose widths only
rich knows.
"""

import textwrap
from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fairshare.cli.tables import LONGEST_LINE, Cell, Column, Indented, Styled, in_pipe

LEAST_WIDTH = 8
"""The minimum number of characters of a cut name."""


def new_console(*, stderr: bool) -> Console:
    """The terminal or pipe to which a verb prints."""
    return Console(stderr=stderr, highlight=False, emoji=False, markup=False, soft_wrap=False)


def text(styled: Styled) -> Text:
    """A text in its style."""
    return Text(styled.text, style=styled.style)


def padding(indented: Indented) -> Padding:
    """A text behind blanks."""
    return Padding(indented.text, (0, 0, 0, indented.indent), expand=False)


def table(columns: Sequence[Column], rows: Sequence[Sequence[Styled]], console: Console) -> Table:
    """A table that fits a terminal."""
    room = _room(console)
    cells = [[text(cell) for cell in row] for row in rows]
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


def facts(pairs: Sequence[tuple[str, Cell]]) -> Table:
    """A table of names and values; long values are wrapped."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    least = max(len(name) for name, _ in pairs)
    made.add_column(no_wrap=True, style="bold", min_width=least)
    made.add_column(overflow="fold")
    for pair in pairs:
        made.add_row(*pair)
    return made


def print_parts(console: Console, parts: Sequence[RenderableType]) -> None:
    """Print parts with an empty line between them."""
    for number, part in enumerate(parts):
        if number:
            console.print()
        if console.is_terminal:
            console.print(part)
            continue
        # Without the blanks with which lines are filled up to the width of their column.
        width, console.width = console.width, _room(console)
        with console.capture() as captured:
            console.print(part)
        console.width = width
        for line in captured.get().splitlines():
            console.print(Text(line.rstrip()), soft_wrap=True)
