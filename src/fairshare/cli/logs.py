"""The verb `logs`, which prints the output of one container or of a whole application.

The output of one container is printed unchanged, as by `cat`, but on a terminal, which it could
control, only its text and colours. If several are mixed, each line names its task. The list of
containers is polled only while following.
"""

import codecs
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import click

from fairshare.cli.cells import NOTHING, task_text
from fairshare.cli.exit_codes import shown_code
from fairshare.cli.options import with_client
from fairshare.cli.verbs import Failure
from fairshare.client import Application, Client, Container
from fairshare.client import logs as client_logs
from fairshare.client.errors import Refused
from fairshare.client.waiting import Patience

PACE_S = 0.5
"""The interval at which new containers and new output are polled."""

_NOT_THERE = ("log-gone", "node-unreachable")
"""Why the log of one container cannot be read while those of others may."""

Show = Callable[[str], None]


@click.command()
@click.argument("target", metavar="APP[/TASK]|CONTAINER")
@click.option(
    "-f",
    "--follow",
    is_flag=True,
    help="Continue until the containers have ended, even across a restart of the server.",
)
@click.option("--task", metavar="GROUP/INDEX", help="Only the last attempt of this task of APP.")
@click.option("--stderr", is_flag=True, help="Print stderr instead of stdout.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON object for each line: container, task, stream, line.",
)
@with_client
def command(
    client: Client, target: str, follow: bool, task: str | None, stderr: bool, as_json: bool
) -> None:
    """Print the output of containers.

    The output of a single container is printed unchanged. For an application with several
    containers, each one's output follows a line that names it; with --follow they are mixed, and
    each line starts with its task.
    """
    stream = "stderr" if stderr else "stdout"
    application, _, named = target.partition("/")
    if named and task is not None:
        raise click.UsageError(f"{target} names a task, and --task another one: give one of both")
    target, task = application, named or task
    single = target.startswith("container_")
    if single and task is not None:
        raise click.UsageError("--task belongs to an application, and a container was named")
    if task is not None:
        container = container_of_task(client, target, task, follow=follow)
        print_container(client, container, task, stream, follow=follow, as_json=as_json)
    elif single:
        print_container(client, target, None, stream, follow=follow, as_json=as_json)
    elif follow:
        follow_application(client, target, stream, as_json=as_json)
    else:
        print_application(client, target, stream, as_json=as_json)


def container_of_task(client: Client, application: str, task: str, *, follow: bool) -> str:
    """The container of a task's last attempt; with `follow`, waits for the first one."""
    group, _, index = task.rpartition("/")
    if not (index.isascii() and index.isdigit()):
        raise click.UsageError(f"task {task}: write GROUP/INDEX, such as map/0")
    while True:
        over = client.application(application).over
        tasks = client.tasks(application)
        groups = list(dict.fromkeys(each.group for each in tasks))
        # The name can be omitted if the application has only one group.
        wanted = groups[0] if not group and len(groups) == 1 else group
        matching = [each for each in tasks if each.group == wanted and each.index == int(index)]
        if not matching:
            known = ", ".join(groups) or "none"
            raise Failure(f"{application} has no task {task}; its groups are: {known}")
        if matching[0].container is not None:
            return matching[0].container
        if over or not follow:
            raise Failure(f"{task} of {application} has not run in any container")
        time.sleep(PACE_S)


def print_container(
    client: Client, container: str, task: str | None, stream: str, *, follow: bool, as_json: bool
) -> None:
    """Print the output of one container; if there is none, say if the other stream has some."""
    chunks = client.connection.follow(
        client_logs.growing(container, stream, PACE_S)
        if follow
        else client_logs.present(container, stream)
    )
    if as_json:
        show = json_lines(container, task, stream)
        for line in lines_of(chunks):
            show(line)
        return
    empty, harmless = True, Harmless() if sys.stdout.isatty() else None
    for chunk in chunks:
        empty = empty and not chunk
        click.echo(chunk if harmless is None else harmless.add(chunk), nl=False)
    if harmless is not None:
        click.echo(harmless.end(), nl=False)
    if empty and stream == "stdout" and not follow:
        printed = client.connection.follow(client_logs.present(container, "stderr"))
        if any(printed):
            click.echo("it printed to stderr alone: --stderr shows that", err=True)


def print_application(client: Client, application: str, stream: str, *, as_json: bool) -> None:
    """Print the output of all containers, one after another in the order of allocation."""
    containers = client.containers(application)
    if not containers:
        found = client.application(application)  # raises if there is no such application
        waits = "it never had one" if found.over else "`fairshare why` says what it waits for"
        click.echo(f"{found.id} is {found.state} and has no container: {waits}", err=True)
    missing = 0
    for number, container in enumerate(containers):
        task = task_text(container)
        if not as_json and len(containers) > 1:
            code = shown_code(container.exit_code)
            ended = "" if code is None else f", exit code {code}"
            gap = "\n" if number else ""
            click.echo(f"{gap}==> {task} {container.id} on {container.node}{ended} <==")
        try:
            print_container(client, container.id, task, stream, follow=False, as_json=as_json)
        except Refused as refusal:
            if refusal.code not in _NOT_THERE or len(containers) == 1:
                raise
            missing += 1
            click.echo(str(refusal), err=True)
    if missing:
        raise Failure(f"{missing} of {len(containers)} logs of {application} cannot be read")


def follow_application(client: Client, application: str, stream: str, *, as_json: bool) -> None:
    """Print the output of all containers as it is written, until the application is over."""
    ongoing: dict[str, Growing] = {}
    patience = Patience()
    while True:
        with patience.outlast_absence():
            # Queried first: if it is over, no container and no output can follow.
            current: Application = client.application(application)
            for container in client.containers(application):
                if container.id not in ongoing:
                    ongoing[container.id] = Growing(client, container, stream, as_json)
            printed = [each.advance() for each in ongoing.values() if not each.complete]
        if patience.absent:
            time.sleep(PACE_S)
            continue
        if current.over and not any(printed):
            for each in ongoing.values():
                each.finish()
            return
        if not any(printed):
            time.sleep(PACE_S)


class Growing:
    """The log of one of several containers, read in parts and printed by lines."""

    def __init__(self, client: Client, container: Container, stream: str, as_json: bool) -> None:
        self.complete = False
        self._client = client
        self._container = container.id
        self._stream = stream
        self._offset = 0
        self._lines = Lines()
        task = task_text(container)
        label = container.id.rpartition("_")[2] if task == NOTHING else task
        self._show = (
            json_lines(container.id, task, stream)
            if as_json
            else lambda line: click.echo(f"{label} | {_on_a_terminal(line)}")
        )

    def advance(self) -> bool:
        """Print new output; returns whether there was any."""
        part = client_logs.part(self._container, self._stream, self._offset)
        chunk = self._client.connection.ask(part)
        self._offset += chunk.advance
        self.complete = chunk.complete
        for line in self._lines.add(chunk.shown):
            self._show(line)
        if self.complete:
            self.finish()
        return bool(chunk.advance)

    def finish(self) -> None:
        """Print a last line without a newline."""
        for line in self._lines.end():
            self._show(line)


_CONTROLS: Final = r"(\x1b\[[0-9;:]{0,64}m)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
"""Colours, and all that controls a terminal otherwise, but for line ends and tabs."""
_UNFINISHED: Final = r"\x1b(\[[0-9;:]{0,64})?$"


class Harmless:
    """Text for a terminal out of parts of bytes: what would control the terminal, except colours,
    is written out, as output of others could change its title, or type on it."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""

    def add(self, data: bytes, *, final: bool = False) -> str:
        """Add a part; returns what can be printed now."""
        text = self._rest + self._decoder.decode(data, final)
        unfinished = None if final else re.search(_UNFINISHED, text)
        at = len(text) if unfinished is None else unfinished.start()
        text, self._rest = text[:at], text[at:]
        return re.sub(_CONTROLS, lambda found: found[1] or f"\\x{ord(found[0]):02x}", text)

    def end(self) -> str:
        """What was held back; colours end with it."""
        return self.add(b"", final=True) + "\x1b[0m"


def _on_a_terminal(line: str) -> str:
    return Harmless().add(line.encode(), final=True) if sys.stdout.isatty() else line


class Lines:
    """Splits parts of bytes into lines of text; invalid UTF-8 is replaced."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""

    def add(self, data: bytes) -> list[str]:
        """Add a part; returns the lines that are complete now."""
        *whole, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        return whole

    def end(self) -> list[str]:
        """The incomplete last line, if there is one."""
        rest, self._rest = self._rest + self._decoder.decode(b"", final=True), ""
        return [rest] if rest else []


def lines_of(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of parts of bytes, as they become complete."""
    lines = Lines()
    for chunk in chunks:
        yield from lines.add(chunk)
    yield from lines.end()


def json_lines(container: str, task: str | None, stream: str) -> Show:
    """A function that prints one line as a JSON object."""

    def show(line: str) -> None:
        place = {"container": container, "task": task, "stream": stream}
        click.echo(json.dumps({**place, "line": line}))

    return show
