"""Owns how snapshots reach who looks on: a picture that moves, or lines for a log.

The picture is for a terminal; elsewhere one line every few seconds, and one for each happening.
"""

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.live import Live

from fairshare.demonstration.observation import Snapshot
from fairshare.demonstration.picture import happening_line, line, picture

LINE_EVERY_S = 4.0


class Presentation(Protocol):
    """What the course of a demonstration is shown on; a context manager."""

    def show(self, snapshot: Snapshot) -> None:
        """Show how everything stands."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class MovingPicture:
    """One picture, drawn again in its place; the last one stays."""

    def __init__(self, console: Console) -> None:
        self._ascii_only = not console.encoding.lower().startswith("utf")
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")

    def show(self, snapshot: Snapshot) -> None:
        """Draw it anew."""
        self._live.update(picture(snapshot, ascii_only=self._ascii_only), refresh=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()


class Lines:
    """Lines that make sense one after the other."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told = 0
        self._next_s = LINE_EVERY_S

    def show(self, snapshot: Snapshot) -> None:
        """Print what has happened since the last time, and how it stands if it is time for that."""
        for happening in snapshot.happenings[self._told :]:
            self._print(happening_line(happening))
        self._told = len(snapshot.happenings)
        if snapshot.at_s >= self._next_s:
            self._print(line(snapshot))
            self._next_s = snapshot.at_s + LINE_EVERY_S

    def _print(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)
        self._console.file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass


def presentation_on(console: Console) -> Presentation:
    """A picture in a terminal that can draw one, else lines, also where colours are forced."""
    drawable = console.is_terminal and not console.is_dumb_terminal and console.file.isatty()
    return MovingPicture(console) if drawable else Lines(console)
