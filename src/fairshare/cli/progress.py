"""Owns the display while a verb waits for an application: a bar for each group of its tasks.

On a terminal the bars move; otherwise a line is printed whenever a count changes. All output goes
to stderr: stdout is for the result.
"""

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from fairshare.cli.cells import plain
from fairshare.client import Application


class Waiting:
    """Displays the current state of an application while the context is open."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[more]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._line = ""

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def show(self, application: Application) -> None:
        """Display the current state of an application."""
        if self._console.is_terminal:
            self._draw(application)
            return
        line = summary(application)
        if line != self._line:
            self._console.print(line, soft_wrap=True)
            self._line = line

    def _draw(self, application: Application) -> None:
        if not application.groups:
            # A driver: only the driver knows its number of tasks.
            self._bar(application.kind, None, 0, application.state.lower())
        for group in application.groups:
            more = f"{group.running} running" if group.running else ""
            if group.failed:
                more = f"{more} {group.failed} failed".strip()
            self._bar(group.name, group.count, group.succeeded, more)

    def _bar(self, name: str, total: int | None, completed: int, more: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(plain(name), total=total, more="")
        self._bars.update(self._tasks[name], total=total, completed=completed, more=more)


def summary(application: Application) -> str:
    """One line: `application_..._0007 RUNNING: map 7/10 (3 running), reduce 0/2`."""
    parts = [
        f"{plain(group.name)} {group.succeeded}/{group.count}"
        + (f" ({group.running} running)" if group.running else "")
        for group in application.groups
    ]
    return f"{application.id} {application.state}" + (f": {', '.join(parts)}" if parts else "")
