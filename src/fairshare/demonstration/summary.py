"""Owns the form of the report at the end: what happened, what was checked, what to try next.

Pure functions. A newcomer must understand the report, and each number in it was measured.
"""

import textwrap
from collections.abc import Iterable, Sequence

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fairshare.demonstration.picture import STYLES
from fairshare.demonstration.verification import Check

WIDTH = 79

NOTHING_LEFT = Check(True, "nothing is left: no process, no file")
"""Reported after the server and the folder have been put away, which raises if it fails."""

Advice = tuple[str, Sequence[str]]
"""What to try, and the commands for it."""


class Results(msgspec.Struct, frozen=True):
    """What a demonstration has come to; `frequent` names the most frequent words."""

    happened: Sequence[RenderableType]
    checks: Sequence[Check]
    frequent: str
    advice: Sequence[Advice]

    @property
    def passed(self) -> bool:
        """Whether all checks were passed."""
        return all(check.passed for check in self.checks)


def report(found: Results, *, ascii_only: bool = False) -> RenderableType:
    """The whole report."""
    return Group(
        Text(),
        head("What happened"),
        *found.happened,
        Text(),
        head("What was checked"),
        *(_check_text(check, ascii_only) for check in (*found.checks, NOTHING_LEFT)),
        wrapped(f"  The most frequent words{found.frequent}.", style="dim", indent=2),
        Text(),
        head("What to try next"),
        _advice_text(found.advice),
    )


def head(text: str) -> Text:
    """A title."""
    return Text(text, style="bold")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table without lines; all columns but the first are numbers, and teams have their colour."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, title in enumerate(titles):
        made.add_column(title, justify="right" if number else "left", no_wrap=True)
    for name, *values in rows:
        made.add_row(Text(name, style=STYLES.get(name, "")), *values)
    return made


def wrapped(words: str, *, style: str = "", indent: int = 0) -> Text:
    """Text in lines of at most `WIDTH`."""
    lines = textwrap.wrap(words, WIDTH, subsequent_indent=" " * indent)
    return Text("\n".join(lines), style=style)


def seconds(ms: int) -> str:
    """Seconds; of less than one, two decimals."""
    return f"{ms / 1000:.2f} s" if ms < 1000 else f"{ms / 1000:.1f} s"


def _check_text(check: Check, ascii_only: bool) -> Text:
    """A check with its mark."""
    good, bad = ("ok", "BAD") if ascii_only else ("✓", "✗")
    mark = good if check.passed else bad
    text = wrapped(f"{mark} {check.text}", style="" if check.passed else "bold red", indent=2)
    text.stylize("bold green" if check.passed else "bold red", 0, len(mark))
    return text


def _advice_text(advice: Iterable[Advice]) -> Text:
    text = Text()
    for words, commands in advice:
        text.append(f"  {words}\n")
        for command in commands:
            text.append(f"      {command}\n", style="bold")
    text.rstrip()
    return text
