"""The display while a verb waits for an application: a bar for each group of its tasks.

On a terminal the bars move; otherwise a line is printed whenever a count changes. All output goes
to stderr: stdout is for the result.
"""

from typing import TYPE_CHECKING, Self

import click

from fairshare.cli.cells import plain
from fairshare.cli.pipes import Pipe
from fairshare.cli.tables import Output
from fairshare.client import Application

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


class Waiting:
    """Displays the current state of an application while the context is open."""

    def __init__(self, output: Output) -> None:
        self._bars = None if isinstance(output, Pipe) or not output.is_terminal else _bars(output)
        self._tasks: dict[str, TaskID] = {}
        self._line = ""

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def show(self, application: Application) -> None:
        """Display the current state of an application."""
        if self._bars is not None:
            self._draw(self._bars, application)
            return
        line = summary(application)
        if line != self._line:
            click.echo(line, err=True)
            self._line = line

    def _draw(self, bars: "Bars", application: Application) -> None:
        if not application.groups:
            # A driver: only the driver knows its number of tasks.
            self._bar(bars, application.kind, None, 0, application.state.lower())
        for group in application.groups:
            more = f"{group.running} running" if group.running else ""
            if group.failed:
                more = f"{more} {group.failed} failed".strip()
            self._bar(bars, group.name, group.count, group.succeeded, more)

    def _bar(self, bars: "Bars", name: str, total: int | None, completed: int, more: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = bars.add_task(plain(name), total=total, more="")
        bars.update(self._tasks[name], total=total, completed=completed, more=more)


def _bars(console: "Console") -> "Bars":
    from rich.progress import (  # which only terminals need
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[more]}", markup=False),
        TimeElapsedColumn(),
        console=console,
    )


def summary(application: Application) -> str:
    """One line: `application_..._0007 RUNNING: map 7/10 (3 running), reduce 0/2`."""
    parts = [
        f"{plain(group.name)} {group.succeeded}/{group.count}"
        + (f" ({group.running} running)" if group.running else "")
        for group in application.groups
    ]
    return f"{application.id} {application.state}" + (f": {', '.join(parts)}" if parts else "")
