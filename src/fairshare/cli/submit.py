"""Owns the verb `submit`, which submits a command line or a job file as an application.

Also waits for its end and reports it; `jobs` knows the format of job files.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from fairshare.cli.cells import plain_lines
from fairshare.cli.jobs import MOST_ATTEMPTS, MOST_TASKS, read_job
from fairshare.cli.options import (
    AMOUNT,
    DURATION,
    LIFETIME,
    MEMORY,
    NAME,
    PRIORITY,
    TAG,
    VARIABLE,
    Whole,
    json_option,
    with_client,
)
from fairshare.cli.placement_notes import tell_differences
from fairshare.cli.progress import Waiting
from fairshare.cli.tables import open_console, print_json
from fairshare.cli.verbs import INTERRUPTED
from fairshare.client import ApplicationFailed, Client, DriverCommand, Master, Submission, TaskGroup
from fairshare.client.submissions import DEFAULT_RESOURCES
from fairshare.documents.bounds import GANG_TIMEOUT_MS

GROUP_ONLY = (
    "count",
    "max_attempts",
    "time_limit",
    "hosts",
    "racks",
    "gang",
    "gang_timeout",
)
"""Options that do not apply to a driver, which is one container on any node."""

DRIVER_ONLY = ("keep_containers",)
"""Options that do not apply to tasks, which the server runs."""

WORK_ONLY = ("memory", "vcores", "resources", "directory")
"""Options that a job file sets for each group; --env adds to every group."""


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--queue", metavar="Q", type=NAME, help="The queue. [default: chosen by the placement rules]"
)
@click.option(
    "--user", metavar="U", type=NAME, help="The application's user. [default: the current user]"
)
@click.option("--name", metavar="N", help="The application's name. [default: the command's name]")
@click.option(
    "--priority", metavar="P", type=PRIORITY, help="The priority of the application in its queue."
)
@click.option(
    "--lifetime",
    metavar="T",
    type=LIFETIME,
    help="Kill the application if it has not ended after 10m, 2h ...",
)
@click.option("--label", metavar="L", help="The partition (node label) to run on.")
@click.option(
    "--tag",
    "tags",
    metavar="T",
    type=TAG,
    multiple=True,
    help="A tag of the application; repeatable.",
)
@click.option("--memory", metavar="M", type=MEMORY, help="512m, 1g, or MB. [default: 1g]")
@click.option("--vcores", metavar="V", type=Whole(1), help="[default: 1]")
@click.option(
    "--resource", "resources", metavar="R=N", type=AMOUNT, multiple=True, help="yarn.io/gpu=1"
)
@click.option(
    "--count",
    metavar="N",
    type=Whole(1, MOST_TASKS),
    help="The number of tasks. FAIRSHARE_TASK_INDEX has a task's number. [default: 1]",
)
@click.option(
    "--max-attempts",
    metavar="N",
    type=Whole(1, MOST_ATTEMPTS),
    help="The number of failures of a task that fail the application. [default: 4]",
)
@click.option(
    "--time-limit", metavar="T", type=DURATION, help="The time limit of one attempt: 90s, 10m, 2h."
)
@click.option(
    "--gang", is_flag=True, help="Start all tasks together or none; one that fails restarts all."
)
@click.option(
    "--gang-timeout",
    metavar="T",
    type=DURATION,
    help="How long --gang holds containers while others are missing. [default: 1m]",
)
@click.option(
    "--ray",
    is_flag=True,
    help="The command is a Ray program: it gets a Ray cluster of its own with COUNT workers.",
)
@click.option(
    "--more",
    metavar="N",
    type=Whole(1, MOST_TASKS),
    help="For --ray: up to N further workers, which come and go with the queue's share.",
)
@click.option("--host", "hosts", metavar="H", multiple=True, help="A preferred node; repeatable.")
@click.option("--rack", "racks", metavar="R", multiple=True, help="A preferred rack; repeatable.")
@click.option(
    "--env",
    "environment",
    metavar="K=V",
    type=VARIABLE,
    multiple=True,
    help="An environment variable; repeatable.",
)
@click.option(
    "--directory",
    metavar="D",
    type=click.Path(path_type=Path),
    help="The working directory. [default: a new one for each container]",
)
@click.option(
    "--driver",
    is_flag=True,
    help="The command is a driver, which requests further containers itself.",
)
@click.option(
    "--keep-containers",
    is_flag=True,
    help="For a driver: if it is lost, its containers continue for its next attempt.",
)
@click.option(
    "--job",
    "--group-file",
    "job",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A job file in YAML, instead of a command.",
)
@click.option("--wait/--no-wait", default=False, help="Wait for the end. [default: do not wait]")
@click.argument("command_line", metavar="[--] COMMAND [ARGUMENT]...", nargs=-1)
@with_client
@json_option
def command(
    client: Client,
    command_line: tuple[str, ...],
    job: Path | None,
    wait: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Submit an application, and print its id.

    COMMAND runs COUNT times, each time in a container of its own. All words after the first word
    of COMMAND are its arguments. For a shell command: -- sh -c 'LINE'.

    With --wait the progress is shown until the end. The exit code is 0 if the application finished,
    1 if it failed or was killed, and 130 after Ctrl-C, which leaves it running.

    \b
    A job file describes several groups of tasks, some of which wait for others:
      name: word-count
      queue: research
      tasks:
        - name: map
          count: 4
          memory: 512m
          command: ./count-words part-$FAIRSHARE_TASK_INDEX
        - name: reduce
          after: map
          arguments: [./add-up, counts]

    \b
    Of a job:        name, queue, user, user-groups, priority, lifetime, tags, label,
                     tasks or driver
    Of each group:   name, count, command or arguments, environment, directory, memory, vcores,
                     resources, after, slow-start, max-attempts, time-limit, priority, hosts,
                     racks, relax, label, gang, gang-timeout, gang-restart
    Of the driver:   command or arguments, environment, directory, memory, vcores, resources,
                     keep-containers

    docs/jobs.md explains them. Options replace the job file's fields of the whole job; --env adds
    to every group.
    """
    # Not a truth test: 0 is a given value.
    given = {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != ()
    }
    if job is not None:
        submission = from_file(job, command_line, given)
    else:
        submission = from_command(command_line, given)
    application = client.submit(submission)
    if not as_json:
        click.echo(application)
    elif not wait:
        print_json({"id": application})
    tell_differences(client, submission, application)
    if wait:
        wait_for_end(client, application, as_json=as_json)


def from_command(command_line: tuple[str, ...], given: Mapping[str, Any]) -> Submission:
    """The application of one group, or of a driver, from the options."""
    if not command_line:
        raise click.UsageError("nothing to run: write -- COMMAND ARGUMENTS, or --job FILE")
    driver = "driver" in given
    if "ray" in given:
        return _ray_program(command_line, given)
    refuse(given, ("more",), "it has a meaning with --ray only")
    if driver:
        refuse(given, GROUP_ONLY, "a driver is one container, and requests its tasks itself")
    directory = given.get("directory")
    work: dict[str, Any] = {
        "arguments": command_line,
        "environment": dict(given.get("environment", ())),
        "directory": str(directory.expanduser().absolute()) if directory else None,
    }
    resources, job = _resources(given), _job(command_line, given)
    if driver:
        master = Master(resources=resources, keep_containers="keep_containers" in given)
        return Submission(**job, driver=DriverCommand(**work), master=master)
    refuse(given, DRIVER_ONLY, "tasks have no driver that could be lost")
    if "gang" not in given:
        refuse(given, ("gang_timeout",), "it has a meaning with --gang only")
    group = TaskGroup(
        name="task",
        count=given.get("count", 1),
        resources=resources,
        max_attempts=given.get("max_attempts", 4),
        time_limit_ms=given.get("time_limit"),
        gang="gang" in given,
        gang_timeout_ms=given.get("gang_timeout", GANG_TIMEOUT_MS),
        hosts=given.get("hosts", ()),
        racks=given.get("racks", ()),
        **work,
    )
    return Submission(**job, tasks=(group,))


def _ray_program(command_line: tuple[str, ...], given: Mapping[str, Any]) -> Submission:
    """A driver that starts a Ray cluster in its containers, and runs the program there."""
    # Imported lazily: few submissions are Ray programs.
    from fairshare.ray.program import Program, program_arguments

    refuse(given, ("driver", *DRIVER_ONLY), "a Ray program has a driver of its own")
    refuse(given, ("hosts", "racks", "max_attempts", "time_limit"), "workers run anywhere")
    program = Program(
        workers=given.get("count", 1),
        more=given.get("more", 0),
        resources=_resources(given),
        gang_timeout_ms=given.get("gang_timeout", GANG_TIMEOUT_MS),
        command=command_line,
    )
    directory = given.get("directory")
    return Submission(
        **_job(command_line, given),
        driver=DriverCommand(
            arguments=program_arguments(program, sys.executable),
            environment=dict(given.get("environment", ())),
            directory=str(directory.expanduser().absolute()) if directory else None,
        ),
        master=Master(resources=dict(DEFAULT_RESOURCES)),
    )


def _resources(given: Mapping[str, Any]) -> dict[str, int]:
    return {
        "memory-mb": given.get("memory", DEFAULT_RESOURCES["memory-mb"]),
        "vcores": given.get("vcores", DEFAULT_RESOURCES["vcores"]),
        **dict(given.get("resources", ())),
    }


def _job(command_line: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "user": given.get("user"),
        "queue": given.get("queue"),
        "name": given.get("name", Path(command_line[0]).name),
        "priority": given.get("priority"),
        "lifetime_s": given.get("lifetime"),
        "tags": given.get("tags", ()),
        "label": given.get("label"),
    }


def from_file(path: Path, command_line: tuple[str, ...], given: Mapping[str, Any]) -> Submission:
    """The application of a job file, with the fields that options replace."""
    if command_line:
        raise click.UsageError("a command and --job: give one of both")
    refuse(
        given,
        ("driver", "ray", "more", *DRIVER_ONLY, *GROUP_ONLY, *WORK_ONLY),
        "set it in the job file, for each group",
    )
    job = read_job(path)
    replaced = {
        name: given[name]
        for name in ("user", "queue", "name", "priority", "tags", "label")
        if name in given
    }
    if "lifetime" in given:
        replaced["lifetime_s"] = given["lifetime"]
    more = dict(given.get("environment", ()))
    if more:
        replaced["tasks"] = tuple(
            msgspec.structs.replace(group, environment=group.environment | more)
            for group in job.tasks
        )
        if job.driver is not None:
            replaced["driver"] = msgspec.structs.replace(
                job.driver, environment=job.driver.environment | more
            )
    if job.name is None and "name" not in replaced:
        replaced["name"] = path.stem
    return msgspec.structs.replace(job, **replaced)


def refuse(given: Mapping[str, Any], names: tuple[str, ...], reason: str) -> None:
    """Raise a usage error for options that would have no effect."""
    flags = {"hosts": "host", "racks": "rack", "resources": "resource"}
    wrong = [f"--{flags.get(name, name).replace('_', '-')}" for name in names if name in given]
    if wrong:
        raise click.UsageError(f"{', '.join(wrong)} cannot be given here: {reason}")


def wait_for_end(client: Client, application: str, *, as_json: bool) -> None:
    """Show the progress, and exit with the code for the application's result."""
    console = open_console(stderr=True)
    last = None
    try:
        with Waiting(console) as waiting:
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
    raise click.exceptions.Exit(1)
