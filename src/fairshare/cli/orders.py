"""Verbs that are one call of the client, as rows: its arguments, the call, and what is printed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import click
import msgspec

from fairshare.cli.batches import act_on_each
from fairshare.cli.cells import task_text
from fairshare.cli.options import PRIORITY, json_option, print_json, with_client
from fairshare.cli.placement_notes import no_priorities
from fairshare.cli.verbs import Failure
from fairshare.client import Client, Container, Refused
from fairshare.wording import counted

Decorator = Callable[[Any], Any]


class Verb(NamedTuple):
    """One verb. `call` gets the client and the arguments by name, `text` and `as_json` the answer
    and the arguments: they make what is printed."""

    name: str
    help: str
    arguments: tuple[Decorator, ...]
    call: Callable[..., Any]
    text: Callable[..., str]
    as_json: Callable[..., Any] = lambda answer, **_: msgspec.to_builtins(answer)

    def command(self) -> click.Command:
        """The verb as click has it."""

        @with_client
        @json_option
        def run(client: Client, as_json: bool, **values: Any) -> None:
            answer = self.call(client, **values)
            if as_json:
                print_json(self.as_json(answer, **values))
            else:
                click.echo(self.text(answer, **values))

        return _with_arguments(run, self.name, self.help, self.arguments)


class VerbOfEach(NamedTuple):
    """A verb that acts on each of several names, and prints what is `done` with it."""

    name: str
    help: str
    done: str
    call: Callable[[Client, str], None]
    kind: str = "applications"
    metavar: str = "APP..."

    def command(self) -> click.Command:
        """The verb as click has it."""

        @with_client
        @json_option
        def run(client: Client, names: tuple[str, ...], as_json: bool) -> None:
            act_on_each(
                *(names, lambda name: self.call(client, name)),
                kind=self.kind,
                done=self.done,
                as_json=as_json,
            )

        names = click.argument("names", metavar=self.metavar, nargs=-1, required=True)
        return _with_arguments(run, self.name, self.help, (names,))


def _with_arguments(
    run: Callable[..., None], name: str, text: str, arguments: tuple[Decorator, ...]
) -> click.Command:
    for argument in reversed(arguments):
        run = argument(run)
    return click.command(name, help=text)(run)


hold = VerbOfEach(
    "hold",
    "Hold applications: they start no further tasks until they are released; running tasks"
    " continue.",
    "held",
    Client.hold,
).command()
release = VerbOfEach("release", "Release held applications.", "released", Client.release).command()
requeue = VerbOfEach(
    "requeue",
    "Stop all containers of applications, and run the applications again.",
    "requeued",
    Client.requeue,
).command()
stop_container = VerbOfEach(
    "stop-container",
    """Stop containers as if they had failed; their tasks run again.

    `fairshare status APP` lists the containers of an application. The exit code is 1 if one of
    them could not be stopped.
    """,
    "stopped",
    lambda client, target: client.stop_container(
        running_container(client, target) if "/" in target else target
    ),
    kind="containers",
    metavar="APP/TASK|CONTAINER...",
).command()
move = Verb(
    "move",
    """Move an application to another leaf queue. Its containers continue.

    If the application would exceed a limit of that queue, the server refuses, nothing changes, and
    the exit code is 1.
    """,
    (click.argument("application", metavar="APP"), click.argument("queue", metavar="QUEUE")),
    Client.move,
    lambda _, application, queue: f"moved {application} to {queue}",
    lambda _, application, queue: {"id": application, "queue": queue},
).command()


@click.command("priority", context_settings={"ignore_unknown_options": True})
@click.argument("application", metavar="APP")
@click.argument("number", metavar="N", type=PRIORITY)
@with_client
@json_option
def priority(client: Client, application: str, number: int, as_json: bool) -> None:
    """Change an application's priority in its queue: higher is first.

    The Fair Scheduler has no priorities and rejects the request. The Capacity Scheduler limits N
    to a maximum. The command prints the resulting priority.
    """
    try:
        client.set_priority(application, number)
    except Refused as error:
        if error.code != "not-supported":
            raise
        raise Failure(no_priorities(number, client.cluster().scheduler)) from error
    changed = client.application(application)
    if as_json:
        print_json({"id": changed.id, "priority": changed.priority})
    else:
        click.echo(f"{changed.id} has priority {changed.priority}")
        if changed.priority < number:
            click.echo(
                f"{number} is above the cluster's yarn.cluster.max-application-priority", err=True
            )


def running_container(client: Client, target: str) -> str:
    """The id of the running container that `APP`, `APP/INDEX`, `APP/GROUP/INDEX` or an id names;
    raises Failure if there is none, or more than one. Of a driver's application it is the driver's.
    """
    if target.startswith("container_"):
        return target
    application, _, task = target.partition("/")
    running = [one for one in client.containers(application) if one.state == "RUNNING"]
    masters = [one for one in running if one.master]
    found = [one for one in running if _is(one, task)] if task else masters or running
    if not found:
        waits = f"; it has {len(running)} others" if running else f": fairshare why {application}"
        raise Failure(f"nothing runs in {target}{waits}")
    if len(found) > 1:
        names = ", ".join(f"{application}/{task_text(one)}" for one in found[:3])
        many = counted(len(found), "running container")
        raise Failure(f"{target} has {many}: name one, such as {names}")
    return found[0].id


def _is(container: Container, task: str) -> bool:
    group, _, index = task.rpartition("/")
    return str(container.task) == index and group in ("", container.group or "")
