"""Owns one demonstration from its beginning to its end, whatever its work is.

Everything that is set up is put away again, whatever happens in between. The first signal to end
becomes an exception, so that everything is cleaned up; further signals are ignored, so that they do
not interrupt that.
"""

import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from rich.console import Console

from fairshare.demonstration.applications.workload import Applications
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.invocation import PROGRAM
from fairshare.demonstration.picture import presentation_on
from fairshare.demonstration.pools.workload import Jobs
from fairshare.demonstration.server import Server, confined, temporary_folder
from fairshare.demonstration.summary import Results, report
from fairshare.demonstration.teams import SETTINGS
from fairshare.demonstration.workload import Workload
from fairshare.errors import FairshareError
from fairshare.families.registry import family_of

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHELL_OFFSET = 128
"""A shell shows a program that ended by signal n as exit code 128 + n."""


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """In this block SIGINT raises KeyboardInterrupt; SIGTERM and SIGHUP raise SystemExit."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        # A process that nohup started must not end with its terminal.
        if number != signal.SIGHUP or before[number] != signal.SIG_IGN:
            signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(SHELL_OFFSET + number)


def demonstrate(
    scheduler: str,
    console: Console,
    *,
    quick: bool = False,
    crash: bool = False,
    keep: Path | None = None,
) -> bool:
    """Show a scheduler of `SETTINGS` at work; whether all checks were passed.

    `quick` does less of everything. `crash` kills the server in the middle. `keep` is a new
    directory for the server's record. Raises DemonstrationFailed and KeyboardInterrupt.
    """
    setting = SETTINGS[scheduler]

    def say(text: str) -> None:
        console.print(text, soft_wrap=True)

    kind = Jobs if family_of(scheduler).jobs else Applications
    workload = kind(setting, setting.quick if quick else setting.whole, say)
    with ended_by_signals():
        try:
            found = _perform(workload, console, crash, keep, say)
        except (KeyboardInterrupt, SystemExit):
            say("Interrupted. The server and its containers are ended, nothing is left.")
            raise
    unicode = console.encoding.lower().startswith("utf")
    console.print(report(found, ascii_only=not unicode), soft_wrap=not console.is_terminal)
    return found.passed


def _perform(
    workload: Workload,
    console: Console,
    crash: bool,
    keep: Path | None,
    say: Callable[[str], None],
) -> Results:
    with temporary_folder() as folder:
        server = Server(folder, workload.configuration, workload.setting.scheduler)
        try:
            with confined():
                workload.prepare(folder)
                client = server.start()
            course = workload.course(client)
            top = f"{PROGRAM} top --url {client.url}"
            say(f"A server runs with {workload.configuration}")
            say(workload.setting.watch.format(url=client.url, top=top) + "\n")
            with presentation_on(console) as presentation:
                course.run(presentation.show, server.crash if crash else None)
            say("\nChecking the results ...")
            return workload.verify(client)
        except FairshareError as error:
            if server.ended_by_itself(error):
                raise DemonstrationFailed(
                    f"the server has ended in the middle:\n{server.last_words()}"
                ) from error
            raise
        finally:
            server.stop()
            if keep is not None:
                server.keep_record(keep)
