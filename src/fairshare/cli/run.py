"""The verb `run`: submits a command, shows its output, and ends as it ends.

Ends the application when it is itself ended, by Ctrl-C too. The output of a single task is passed
on as it comes, stdout as stdout and stderr as stderr; that of several by whole lines.
"""

import contextlib
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import click

from fairshare.cli import submit
from fairshare.cli.exit_codes import FAILED, code_without_command, is_code_of_command, worst_end
from fairshare.cli.options import MOST_ATTEMPTS, Whole, with_client
from fairshare.cli.placement_notes import print_differences
from fairshare.cli.standard_input import input_file
from fairshare.cli.surroundings import with_caller
from fairshare.cli.work_options import options_without
from fairshare.client import Application, Client, Container
from fairshare.client import logs as client_logs
from fairshare.client.caller import runs_here, shares_files
from fairshare.client.errors import Refused
from fairshare.client.waiting import Patience
from fairshare.errors import FairshareError
from fairshare.wording import plain_lines

_NOT_THERE = ("log-gone", "node-unreachable", "unknown-container")


class LiveOutput:
    """What the containers of one application print. `lines`: only whole lines are passed on."""

    def __init__(self, client: Client, *, lines: bool) -> None:
        self._client = client
        self._lines = lines
        self._streams: dict[tuple[str, str], Stream] = {}

    def advance(self, containers: tuple[Container, ...]) -> bool:
        """Pass on what is new; returns whether there was anything."""
        for container in containers:
            if container.state in ("RUNNING", "COMPLETE"):
                for name, target in (("stdout", sys.stdout), ("stderr", sys.stderr)):
                    key = container.id, name
                    if key not in self._streams:
                        self._streams[key] = Stream(*key, target.buffer, lines=self._lines)
        progress = [one.advance(self._client) for one in self._streams.values() if not one.complete]
        return any(progress)

    @property
    def complete(self) -> bool:
        """Whether nothing can follow from the containers that are known."""
        return all(one.complete for one in self._streams.values())


class Stream:
    """One stream of one container."""

    def __init__(self, container: str, name: str, target: BinaryIO, *, lines: bool) -> None:
        self.complete = False
        self._container = container
        self._name = name
        self._target = target
        self._lines = lines
        self._offset = 0
        self._rest = b""

    def advance(self, client: Client) -> bool:
        """Pass on what is new; returns whether there was anything."""
        try:
            part = client_logs.part(self._container, self._name, self._offset)
            chunk = client.connection.ask(part)
        except Refused as refusal:
            if refusal.code not in _NOT_THERE:
                raise
            self.complete = True
            return False
        self._offset += chunk.advance
        self.complete = chunk.complete
        data = self._rest + chunk.shown
        end = data.rfind(b"\n") + 1 if self._lines and not self.complete else len(data)
        self._rest = data[end:]
        if end:
            self._target.write(data[:end])
            self._target.flush()
        return bool(chunk.advance)


QUICK_S = 0.03
SLOW_S = 0.3
"""The intervals at which output is looked for: after output, and after a while without any."""

LAST_WORDS_S = 30.0
"""How long to wait for the output of containers that are being ended."""

PATIENT_S = 2.0
"""After which a terminal is shown that the command waits."""

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command_line", metavar="[--] COMMAND [ARGUMENT]...", nargs=-1)
@click.option(
    "--max-attempts",
    metavar="N",
    type=Whole(1, MOST_ATTEMPTS),
    help="The number of failures of a task that fail the application. [default: 1]",
)
@with_client
def command(client: Client, command_line: tuple[str, ...], **options: object) -> None:
    """Run a command in a container of your queue, as if it ran in your shell.

    Its stdout and stderr are shown as they are written, and the exit code is that of the command,
    or the largest one of several tasks (--count, --array). A file or a pipe as standard input is
    passed on to every task. A failed task is not tried again, unless --max-attempts is given.

    Ctrl-C, SIGTERM and SIGHUP end the application; the exit code is then 128 plus the number of
    the signal. A second signal exits at once. The exit code is 1 if the application was killed or
    could not run, and 137 if its memory was not enough.
    """
    options = submit.given_options(options)
    if "driver" not in options and "ray" not in options:
        options.setdefault("max_attempts", 1)
    with contextlib.ExitStack() as held:
        if "input" not in options:
            cluster = client.cluster()
            here, shared = runs_here(cluster), shares_files(cluster)
            file = held.enter_context(input_file(here=here, shared=shared))
            if file is not None:
                options["input"] = file
        raise click.exceptions.Exit(_run(client, command_line, options))


command.params += options_without("max_attempts")


def _run(client: Client, command_line: tuple[str, ...], options: Mapping[str, object]) -> int:
    options = submit.completed(client, options)
    submission = submit.from_command(command_line, options)
    submission = with_caller(client, submission, options, whole=True)
    with Endings() as endings:
        application = client.submit(submission)
        print_differences(client, submission, application)
        several = sum(group.count for group in submission.tasks) > 1
        try:
            return follow(client, application, endings, LiveOutput(client, lines=several))
        except Leaving:
            click.echo(f"left {application}, which is being ended", err=True)
            return 128 + endings.number
        except OSError:  # no process reads the output any more
            with contextlib.suppress(FairshareError):
                client.kill(application, "The output of `fairshare run` could not be written.")
            raise


class Leaving(BaseException):
    """The user does not wait for the end."""


class Endings:
    """The signals that end the application. `number` is that of the first one; the second one
    raises Leaving."""

    def __init__(self) -> None:
        self.number = 0
        self._earlier: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Endings":
        for number in _ENDINGS:
            if signal.getsignal(number) != signal.SIG_IGN:  # such as that of nohup
                self._earlier[number] = signal.signal(number, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    def _received(self, number: int, _: object) -> None:
        if self.number:
            raise Leaving
        self.number = number


def follow(client: Client, application: str, endings: Endings, output: LiveOutput) -> int:
    """Show the output until the application is over; returns the exit code of its command."""
    patience, pauses = Patience(client.patience_s), _pauses()
    began_s, ended, noted, over_s = time.monotonic(), False, False, 0.0
    while True:
        new = False
        details: Application | None = None
        with patience.outlast_absence():
            if endings.number and not ended:
                ended = True
                _end(client, application, endings.number)
            # Queried first: if it is over, no container and no output can follow.
            details = client.application(application)
            containers = client.containers(application)
            new = output.advance(containers)
        if details is not None and not patience.absent:
            over_s = over_s or (time.monotonic() if details.over else 0.0)
            silent = output.complete or time.monotonic() - over_s > LAST_WORDS_S
            if details.over and not new and silent:
                return exit_code(details, containers, endings.number)
            waits = not containers and time.monotonic() - began_s > PATIENT_S
            if waits and not noted and sys.stderr.isatty():
                noted = True
                click.echo(f"waiting: fairshare why {application}", err=True)
        if new:
            pauses = _pauses()
        time.sleep(next(pauses))


def _pauses() -> Iterator[float]:
    pause_s = QUICK_S
    while True:
        yield pause_s
        pause_s = min(SLOW_S, pause_s * 1.3)


def _end(client: Client, application: str, number: int) -> None:
    name = signal.Signals(number).name
    click.echo(f"{name}: ending {application}; once more leaves at once", err=True)
    with contextlib.suppress(FairshareError):  # it is over, or the server is away
        client.kill(application, f"`fairshare run` was ended by {name}.")


def exit_code(application: Application, containers: tuple[Container, ...], number: int) -> int:
    """The exit code of the command, or of what ended it."""
    if number:
        return 128 + number
    if application.state == "FINISHED":
        return 0
    worst = worst_end(containers)
    if worst is None or not is_code_of_command(application, worst):
        click.echo(
            plain_lines(
                f"{application.id} ended as {application.state}: {application.diagnostics}"
            ),
            err=True,
        )
        return code_without_command(containers)
    reason = worst.diagnostics.partition("\n")[0]
    # Its own exit code says nothing more, and the reason that it cannot start was in its stderr.
    if not reason.startswith(("exit code", "cannot run")):
        click.echo(plain_lines(reason), err=True)
    return worst.exit_code or FAILED
