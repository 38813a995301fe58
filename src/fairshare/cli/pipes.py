"""The output to pipes and files: lines of plain characters, without blanks at their ends.

They look as rich would print them, but its import takes a quarter of the time of a short verb. What
only rich draws is None here: characters beyond ASCII, whose widths it knows, those that control a
terminal, and lines beyond the longest one.
"""

from collections.abc import Sequence

LONGEST_LINE = 20_000
"""The width of tables and texts in a pipe: they are neither cut nor wrapped."""


class Pipe:
    """Where a verb prints that prints to no terminal."""

    is_terminal = False

    def __init__(self, width: int, *, stderr: bool) -> None:
        self.width = width
        self.stderr = stderr


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
    made = [f"{_padded(name, width, False)}  {line}".rstrip() for name, line in lines]
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
