"""Verbs that are one call of the client for an application, a task or a container: `kill`, `hold`,
`priority` and others; and how a verb that acts on several objects acts on all that it can, and
reports the others.
"""

import re
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import click
import msgspec

from fairshare.cli.apps import ACTIVE, state_of
from fairshare.cli.cells import task_text
from fairshare.cli.options import NAME, PRIORITY, TAG, json_option, print_json, with_client
from fairshare.cli.placement_notes import no_priorities, note_unknown_queue
from fairshare.cli.verbs import Failure
from fairshare.client import Application, Client, Refused
from fairshare.client.answers import Task
from fairshare.errors import InputError
from fairshare.wording import counted, plain


def act_on_each(
    names: Sequence[str], act: Callable[[str], None], *, kind: str, done: str, as_json: bool
) -> None:
    """Call `act` with each name, and print `killed application_...` for each success.

    Raises Failure with all refusals at the end. As JSON: `{kind: [{"id": ..., done: true}, ...]}`,
    with `done` false and a `message` for each refusal.
    """
    outcomes: list[dict[str, str | bool]] = []
    refused: list[str] = []
    for name in names:
        try:
            act(name)
        except (Refused, InputError, Failure) as error:
            message = str(error)
            has_name = re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", message)
            refused.append(message if has_name else f"{name}: {message}")
            outcomes.append({"id": name, done: False, "message": message})
            continue
        outcomes.append({"id": name, done: True})
        if not as_json:
            click.echo(f"{done} {name}")
    if as_json:
        print_json({kind: outcomes})
    if refused:
        raise Failure("\n".join(refused))


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
        def run(client: Client, as_json: bool, **values: object) -> None:
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
    running = [
        container for container in client.containers(application) if container.state == "RUNNING"
    ]
    if task:
        group, _, index = task.rpartition("/")
        containers = [
            container
            for container in running
            if str(container.task) == index and group in ("", container.group or "")
        ]
    else:
        containers = [container for container in running if container.master] or running
    if not containers:
        waits = f"; it has {len(running)} others" if running else f": fairshare why {application}"
        raise Failure(f"nothing runs in {target}{waits}")
    if len(containers) > 1:
        names = ", ".join(f"{application}/{task_text(container)}" for container in containers[:3])
        many = counted(len(containers), "running container")
        raise Failure(f"{target} has {many}: name one, such as {names}")
    return containers[0].id


def named_tasks(client: Client, name: str) -> tuple[str, list[Task]]:
    """The application and the tasks that `APP/INDEX` or `APP/GROUP/INDEX` names: several where
    groups have the same index. Raises Failure if there is none."""
    application, _, task = name.partition("/")
    if not task:
        raise Failure(f"{name} names no task: write {application}/INDEX, such as {application}/0")
    tasks = [
        one
        for one in client.tasks(application)
        if task in (str(one.index), f"{one.group}/{one.index}")
    ]
    if not tasks:
        raise Failure(
            f"application {application} has no task {task}: fairshare status {application}"
        )
    return application, tasks


MOST_SHOWN = 10
"""The most applications that the question before the end names."""


@click.command()
@click.argument("applications", metavar="[APP[/TASK]]...", nargs=-1)
@click.option("--user", metavar="U", type=NAME, help="Applications of this user.")
@click.option("--queue", metavar="Q", type=NAME, help="Applications in this leaf queue.")
@click.option(
    "--state",
    type=click.Choice(ACTIVE, case_sensitive=False),
    help="Applications in this state.",
)
@click.option("--tag", metavar="T", type=TAG, help="Applications with this tag.")
@click.option(
    "--name", metavar="N", type=NAME, help="Applications with this name; * matches any text."
)
@click.option(
    "--yes",
    is_flag=True,
    help="Do not ask first; required where options select applications and there is no terminal.",
)
@click.option("--dry-run", is_flag=True, help="Only list the matching applications; kill nothing.")
@click.option("--diagnostics", metavar="TEXT", help="The reason, shown to the applications' users.")
@with_client
@json_option
def kill(
    client: Client,
    applications: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    diagnostics: str | None,
    as_json: bool,
    **wanted: str | None,
) -> None:
    """Kill applications with all their containers: those that are named, or all that match the
    options.

    APP/TASK, such as 12/3 or 12/map/3, kills one task: it does not run again, and the other tasks
    go on. `fairshare stop-container` lets it run again.

    With options it lists them and asks for confirmation; without a terminal --yes is required. The
    exit code is 1 if one of them could not be killed; the others are killed nevertheless.
    """
    filters = {key: value for key, value in wanted.items() if value is not None}
    if bool(applications) == bool(filters):
        raise click.UsageError(
            "name either applications, or options that choose them: --user, --queue, --state,"
            " --tag, --name"
        )
    if dry_run and not filters:
        raise click.UsageError("--dry-run is for applications that are chosen by options")
    if filters:
        matching = chosen(client, **filters)
        if not matching:
            note_unknown_queue(client, filters.get("queue"))
        if dry_run:
            list_found(matching, as_json=as_json)
            return
        if not matching:
            click.echo("No such application.", err=True)
        elif not yes:
            ask(matching)
        applications = tuple(one.id for one in matching)
    act_on_each(
        applications,
        lambda name: kill_one(client, name, diagnostics),
        kind="applications",
        done="killed",
        as_json=as_json,
    )


def kill_one(client: Client, name: str, diagnostics: str | None) -> None:
    """Kill the application or the task that `APP`, `APP/INDEX` or `APP/GROUP/INDEX` names."""
    application, _, task = name.partition("/")
    if application and task.rpartition("/")[2].isdigit():
        client.kill(application, diagnostics, task=task)
    else:
        client.kill(name, diagnostics)


def chosen(client: Client, **wanted: Any) -> list[Application]:
    """The applications that have not ended and fit all options."""
    name = wanted.pop("name", "*")
    states = (wanted.pop("state"),) if "state" in wanted else ACTIVE
    found = client.applications(state=",".join(ACTIVE), **wanted)
    return [one for one in found if fnmatchcase(one.name, name) and state_of(one) in states]


def list_found(applications: list[Application], *, as_json: bool) -> None:
    """Print the applications that would be killed."""
    if as_json:
        print_json({"applications": [{"id": one.id, "killed": False} for one in applications]})
        return
    for one in applications:
        click.echo(line_of(one))
    click.echo(f"{counted(len(applications), 'application')} would be killed.", err=True)


def line_of(one: Application) -> str:
    """What says which application is meant."""
    return f"{one.id} {state_of(one)} {plain(one.user)} {plain(one.queue)} {plain(one.name)}"


def ask(applications: list[Application]) -> None:
    """Ask whether these applications shall end; exits with 1 if not."""
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"{counted(len(applications), 'application')} would be killed: without a terminal write"
            " --yes, or --dry-run to list them"
        )
    for one in applications[:MOST_SHOWN]:
        click.echo(f"  {line_of(one)}", err=True)
    if len(applications) > MOST_SHOWN:
        click.echo(f"  and {len(applications) - MOST_SHOWN:,} more", err=True)
    click.confirm(f"Kill {counted(len(applications), 'application')}?", abort=True, err=True)
