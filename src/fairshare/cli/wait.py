"""The verbs `wait` and `resubmit`, and the display while a verb waits for an application: a bar for
each group of its tasks.

On a terminal the bars move; otherwise a line is printed whenever a count changes. This display goes
to stderr: stdout is for the result.
"""

import time
from typing import TYPE_CHECKING, Self

import click
import msgspec

from fairshare.cli.exit_codes import FAILED, code_of
from fairshare.cli.options import DURATION, json_option, print_json, with_client
from fairshare.cli.tables import Output, Pipe, open_output
from fairshare.cli.verbs import INTERRUPTED
from fairshare.client import Application, ApplicationFailed, Client
from fairshare.wording import plain, plain_lines

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
        bars = self._bars
        if bars is None:
            line = summary(application)
            if line != self._line:
                click.echo(line, err=True)
                self._line = line
            return
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


@click.command()
@click.argument("applications", metavar="APP...", nargs=-1, required=True)
@click.option(
    "--timeout", "timeout_ms", metavar="T", type=DURATION, help="The maximum time to wait: 10m."
)
@with_client
@json_option
def command(
    client: Client, applications: tuple[str, ...], timeout_ms: int | None, as_json: bool
) -> None:
    """Wait until applications have ended, and print the final state of each.

    The exit code is 0 if all of them finished; that of the command for a single application with a
    single task; 1 if one failed, was killed, or has not ended within the timeout; and 130 after
    Ctrl-C, which leaves them running.
    """
    until_s = None if timeout_ms is None else time.monotonic() + timeout_ms / 1_000
    # A wrong name is refused at once, not after hours of waiting for the others.
    names = dict.fromkeys(client.application(name).id for name in applications)
    ended: list[Application] = []
    try:
        for name in names:
            ended.append(end_of(client, name, until_s))
            if not as_json:
                click.echo(f"{name} {ended[-1].state}")
    finally:
        if as_json:
            print_json({"applications": msgspec.to_builtins(ended)})
    if len(ended) == 1:
        raise click.exceptions.Exit(code_of(ended[0], client.containers(ended[0].id)))
    if any(one.state != "FINISHED" for one in ended):
        raise click.exceptions.Exit(FAILED)


def end_of(client: Client, name: str, until_s: float | None) -> Application:
    """The application when it has ended; raises WaitTimedOut."""
    current = client.application(name)
    if current.over:
        return current
    left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
    with Waiting(open_output(stderr=True)) as waiting:
        for current in client.watch(name, left_s):
            waiting.show(current)
    return current


def wait_for_end(client: Client, application: str, *, as_json: bool) -> None:
    """Show the progress, and exit as its only command did, or with 1 if one of several failed."""
    last = None
    try:
        with Waiting(open_output(stderr=True)) as waiting:
            for last in client.watch(application):
                waiting.show(last)
    except KeyboardInterrupt as error:
        click.echo(f"{application} continues; kill it with: fairshare kill {application}", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from error
    assert last is not None  # a watch yields at least once, or raises
    if as_json:
        print_json(msgspec.to_builtins(last))
    if last.state == "FINISHED":
        return
    if not as_json:
        log = client.failure_log(application)
        failed = ApplicationFailed(application, last.state, last.diagnostics, log)
        click.echo(plain_lines(str(failed)), err=True)
    raise click.exceptions.Exit(code_of(last, client.containers(application)))


@click.command("resubmit")
@click.argument("application", metavar="APP")
@click.option("--failed", is_flag=True, help="Only the tasks that did not succeed.")
@click.option("--wait/--no-wait", default=False, help="Wait for the end. [default: do not wait]")
@with_client
@json_option
def resubmit(client: Client, application: str, failed: bool, wait: bool, as_json: bool) -> None:
    """Submit an ended application again, and print the id of the new one.

    It has the same commands, directories, variables, sizes and queue. With --failed it has the
    tasks that failed or did not run, with their indexes and lines.
    """
    again = client.resubmit(application, failed=failed)
    if not as_json:
        click.echo(again)
    elif not wait:
        print_json({"id": again})
    if wait:
        wait_for_end(client, again, as_json=as_json)
