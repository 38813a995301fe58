"""Owns how snapshots reach the user: a moving picture in a terminal, or lines for a log.

The lines are one every few seconds, and one for each event.
"""

from contextlib import AbstractContextManager
from typing import Protocol, Self

from rich.console import Console
from rich.live import Live

from fairshare.demonstration.observation import Snapshot
from fairshare.demonstration.picture import happening_line, line, picture

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
