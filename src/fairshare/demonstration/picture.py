"""Owns what is drawn in a terminal, a function from a snapshot to something that rich can print,
and how snapshots reach the user: as a moving picture, or, where there is no terminal, as lines, one
every few seconds and one for each event."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fairshare.demonstration.observation import Happening, QueryStatus, Snapshot, TeamStatus
from fairshare.demonstration.teams import ADHOC, PRODUCTION, RESEARCH
from fairshare.families.registry import family_of

STYLES = {RESEARCH: "magenta", PRODUCTION: "cyan", ADHOC: "yellow"}
HAPPENINGS = 7
QUERIES_SHOWN = 10
BAR_WIDTH = 26


def picture(snapshot: Snapshot, *, ascii_only: bool = False) -> RenderableType:
    """The whole picture, 16 to 20 lines high and at most 80 cells wide."""
    lines: list[RenderableType] = [
        _title(snapshot),
        Text(),
        _machine(snapshot, ascii_only),
        Text(),
        _shares(snapshot, ascii_only),
        Text(),
        *_queries(snapshot.queries, snapshot.queries_total),
        Text(),
        *(_happening(each) for each in snapshot.happenings[-HAPPENINGS:]),
    ]
    return Group(*lines)


def line(snapshot: Snapshot) -> str:
    """The snapshot in one line, for a log.

    `0:10  research 58% (owed 40%) 70/133, production 42% (owed 60%) 9/87, ...`
    """
    parts = []
    for team in snapshot.teams:
        if team.arrived:
            owed = "" if team.owed is None else f" (owed {team.owed:.0%})"
            share = "done" if team.over else f"{team.has:.0%}{owed}"
            parts.append(f"{team.name} {share}, {team.detail}")
    queries = snapshot.queries
    if queries.answered_ms or queries.waiting_ms:
        parts.append(f"longest query {_seconds(queries.longest_ms)}")
    return f"{clock(snapshot.at_s)}  " + "; ".join(parts)


def happening_line(happening: Happening) -> str:
    """An event, for a log."""
    return f"{clock(happening.at_s)}  * {happening.text}"


def clock(at_s: float) -> str:
    """Minutes and seconds.

    >>> clock(0.2), clock(83.9)
    ('0:00', '1:23')
    """
    return f"{int(at_s) // 60}:{int(at_s) % 60:02d}"


def share_bar(has: float, owed: float | None, width: int, *, ascii_only: bool = False) -> str:
    """A team's part of the machine as a bar that is full at 1.0, with a mark at its share.

    The mark is the last cell of the share: a team whose bar reaches it has its whole share.

    >>> share_bar(0.5, 0.75, 8, ascii_only=True), share_bar(0.5, None, 4, ascii_only=True)
    ('####.|..', '##..')
    """
    full, empty, mark = "#.|" if ascii_only else "█░┃"
    cells = [full if cell < round(has * width) else empty for cell in range(width)]
    if owed:
        cells[min(width, max(1, round(owed * width))) - 1] = mark
    return "".join(cells)


def _title(snapshot: Snapshot) -> Text:
    words = family_of(snapshot.scheduler).demonstration
    title = Text(f"{clock(snapshot.at_s)}  Three teams share one machine", style="bold")
    return title.append(f"   {words}", style="not bold")


def _machine(snapshot: Snapshot, ascii_only: bool) -> Text:
    """One square for each place, in the colour (or the letter) of its team."""
    row = Text("machine     ")
    free = snapshot.places
    for team in snapshot.teams:
        taken = min(free, round(team.has * snapshot.places))
        free -= taken
        letter = team.name[0].upper() if ascii_only else "■"
        row.append(f"{letter} " * taken, style=STYLES.get(team.name, ""))
    return row.append((". " if ascii_only else "□ ") * free, style="dim")


def _shares(snapshot: Snapshot, ascii_only: bool) -> Table:
    table = Table.grid(padding=(0, 1))
    for justify in ("left", "left", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    mark = "|" if ascii_only else "┃"
    table.add_row("", f"of the {snapshot.unit} ({mark} = owed)", "has", "owed", "", style="dim")
    for team in snapshot.teams:
        table.add_row(*_share_row(team, ascii_only))
    return table


def _share_row(team: TeamStatus, ascii_only: bool) -> Sequence[Text]:
    style = STYLES.get(team.name, "")
    bar = share_bar(team.has, team.owed, BAR_WIDTH, ascii_only=ascii_only)
    owed = "-" if team.owed is None else f"{team.owed:.0%}"
    if not team.arrived:
        return Text(f"{team.name:11}"), Text(bar), Text(), Text(), Text("not here yet")
    detail = Text("done", style="green") if team.over else Text(team.detail)
    if team.over:
        detail.append(f", {team.detail}", style="default")
    return (
        Text(f"{team.name:11}", style=style),
        Text(bar, style=style),
        Text(f"{team.has:.0%}"),
        Text(owed),
        detail,
    )


def _queries(queries: QueryStatus, total: int) -> list[Text]:
    """How long the last queries took, and how long the others have been waiting."""
    if not queries.answered_ms and not queries.waiting_ms:
        return [Text("no query yet", style="dim"), Text()]
    head = Text(f"{len(queries.answered_ms)} of {total} queries answered", style=STYLES[ADHOC])
    head.append(f"; the longest took {_seconds(queries.longest_ms)} until now", style="default")
    row = Text("in seconds: ")
    times = [(ms, False) for ms in queries.answered_ms] + [(ms, True) for ms in queries.waiting_ms]
    if len(times) > QUERIES_SHOWN:
        row.append("... ")
    for ms, waiting in times[-QUERIES_SHOWN:]:
        text = f"{ms / 1000:.1f}"
        row.append(f"({text}) " if waiting else f"{text} ", style="red" if waiting else "")
    if queries.waiting_ms:
        row.append("  (...) waits", style="dim")
    return [head, row]


def _happening(happening: Happening) -> Text:
    row = Text(f"{clock(happening.at_s)}  ", style="dim")
    row.append(happening.text, style="default")
    row.truncate(79, overflow="ellipsis")
    return row


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f} s"


LINE_EVERY_S = 4.0


class Presentation(AbstractContextManager["Presentation"], Protocol):
    """What shows the course of a demonstration."""

    def show(self, snapshot: Snapshot) -> None:
        """Show a snapshot."""


class MovingPicture(Presentation):
    """One picture, drawn again in its place; the last one stays."""

    def __init__(self, console: Console) -> None:
        self._ascii_only = not console.encoding.lower().startswith("utf")
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")

    def show(self, snapshot: Snapshot) -> None:
        """Replace the picture."""
        self._live.update(picture(snapshot, ascii_only=self._ascii_only), refresh=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()


class Lines(Presentation):
    """Lines that make sense one after the other."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._printed = 0
        self._next_s = LINE_EVERY_S

    def show(self, snapshot: Snapshot) -> None:
        """Print what has happened since the last time, and the snapshot if that is due."""
        for happening in snapshot.happenings[self._printed :]:
            self._print(happening_line(happening))
        self._printed = len(snapshot.happenings)
        if snapshot.at_s >= self._next_s:
            self._print(line(snapshot))
            self._next_s = snapshot.at_s + LINE_EVERY_S

    def _print(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)
        self._console.file.flush()

    def __exit__(self, *_: object) -> None:
        pass


def presentation_on(console: Console) -> MovingPicture | Lines:
    """A picture in a terminal that can draw one, else lines, also where colours are forced."""
    drawable = console.is_terminal and not console.is_dumb_terminal and console.file.isatty()
    return MovingPicture(console) if drawable else Lines(console)
