"""Owns the verb `submit`, which submits a command line or a job file as an application.

Also waits for its end and reports it; `jobs` knows the format of job files.
"""

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import msgspec

from fairshare.api.ray_programs import Program, container_signal, program_arguments
from fairshare.cli.arrays import Array, parse_array
from fairshare.cli.options import (
    AMOUNT,
    DURATION,
    LIFETIME,
    MEMORY,
    MOST_ATTEMPTS,
    MOST_TASKS,
    NAME,
    PRIORITY,
    VARIABLE,
    Whole,
    checked,
    json_option,
    print_json,
    tags_option,
    with_client,
)
from fairshare.cli.placement_notes import print_differences
from fairshare.cli.standard_input import waits_unread
from fairshare.cli.starts import start_fields, start_options
from fairshare.cli.surroundings import (
    chosen_directory,
    chosen_files,
    report_directives,
    with_caller,
)
from fairshare.cli.units import absolute_mount, parse_end_signal, parse_grace_ms, parse_notify
from fairshare.cli.verbs import Failure
from fairshare.cli.wait import wait_for_end
from fairshare.client import Client, DriverCommand, Master, Submission, TaskGroup
from fairshare.client.caller import runs_here
from fairshare.client.submissions import DEFAULT_RESOURCES
from fairshare.documents.bounds import GANG_TIMEOUT_MS, NOTICE_EVENTS
from fairshare.documents.gpus import GPU
from fairshare.documents.images import check_image
from fairshare.settings.engines import signals

GROUP_ONLY = (
    "count",
    "max_attempts",
    "time_limit",
    "hosts",
    "racks",
    "gang",
    "gang_timeout",
    "at_once",
    "keep_going",
    "fail_fast",
    "array",
)
"""Options that do not apply to a driver, which is one container on any node."""

DRIVER_ONLY = ("keep_containers",)
"""Options that do not apply to tasks, which the server runs."""

WORK_ONLY = (
    "memory",
    "vcores",
    "resources",
    "directory",
    "output",
    "error",
    "input",
    "grace",
    "signal",
    "image",
    "mounts",
)
"""Options that a job file sets for each group; --env and --export add to every group."""

JOB_FIELDS = {
    **{name: name for name in ("user", "queue", "name", "priority", "tags", "label")},
    "lifetime": "lifetime_s",
}
"""The fields of a submission, by option; `start_fields` and `_notices` have others."""


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--queue", metavar="Q", type=NAME, help="The queue. [default: selected by the placement rules]"
)
@click.option(
    "--user", metavar="U", type=NAME, help="The application's user. [default: the current user]"
)
@click.option(
    "--name",
    metavar="N",
    type=NAME,
    help="The application's name. [default: the command's name]",
)
@click.option(
    "--priority", metavar="P", type=PRIORITY, help="The priority of the application in its queue."
)
@click.option(
    "--lifetime",
    metavar="T",
    type=LIFETIME,
    help="Kill the application if it has not ended after 10m, 2h ...",
)
@start_options
@click.option("--label", metavar="L", help="The partition (node label) to run on.")
@tags_option
@click.option(
    "--notify",
    metavar="T",
    type=checked(parse_notify, "TARGET"),
    multiple=True,
    help="https://..., mailto:ann@example.org or 'cmd:LINE' to notify of the end; repeatable.",
)
@click.option(
    "--notify-on",
    type=click.Choice(NOTICE_EVENTS),
    multiple=True,
    help="The events to notify of; repeatable. [default: end]",
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
    "--array",
    metavar="FILE|1-9[%N]",
    type=checked(lambda text: parse_array(text, Path()), "ARRAY"),
    help="A task for each line of FILE (- is stdin), or for each index of 1-1000 or 1,5,9-13:2."
    " The line or the index replaces {} in the command. %N: N tasks at once.",
)
@click.option(
    "--at-once",
    metavar="N",
    type=Whole(1, MOST_TASKS),
    help="The maximum number of tasks that run at the same time. [default: what the queue's"
    " share allows]",
)
@click.option(
    "--keep-going",
    is_flag=True,
    help="A task that fails too often ends the application only after all the others. [default:"
    " for --array]",
)
@click.option(
    "--fail-fast", is_flag=True, help="A task of --array that fails too often ends all at once."
)
@click.option(
    "--time-limit", metavar="T", type=DURATION, help="The time limit of one attempt: 90s, 10m, 2h."
)
@click.option(
    "--grace",
    metavar="T",
    type=checked(parse_grace_ms, "DURATION"),
    help="The time from SIGTERM, or --signal, to SIGKILL. [default: the server's setting, 10s]",
)
@click.option(
    "--signal",
    metavar="[B:]S[@T]",
    type=checked(parse_end_signal, "SIGNAL"),
    help="The signal before the end instead of SIGTERM, such as USR1; with @60 also 60 s before the"
    " time limit, with B: to the first process only.",
)
@click.option(
    "--gang",
    is_flag=True,
    help="Start all tasks together or not at all; if one fails, all restart.",
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
    help="The command is a Ray program: it gets its own Ray cluster with COUNT workers.",
)
@click.option(
    "--more",
    metavar="N",
    type=Whole(1, MOST_TASKS),
    help="With --ray: up to N further workers, which start and stop with the queue's share.",
)
@click.option("--host", "hosts", metavar="H", multiple=True, help="A preferred node; repeatable.")
@click.option("--rack", "racks", metavar="R", multiple=True, help="A preferred rack; repeatable.")
@click.option(
    "--env",
    "environment",
    metavar="K[=V]",
    type=VARIABLE,
    multiple=True,
    help="An environment variable; without a value, the one of your shell; repeatable.",
)
@click.option(
    "--export",
    metavar="all|none|K,K",
    type=NAME,
    help="The variables to pass on. [default: PATH and others if the server is on this machine]",
)
@click.option(
    "--python",
    metavar="P",
    type=NAME,
    help="The Python that `python` and `python3` mean, first in PATH.",
)
@click.option(
    "--venv", metavar="D", type=NAME, help="Run in this virtualenv, as if it were activated."
)
@click.option(
    "--conda", metavar="N|D", type=NAME, help="Run in this conda environment: a name, or its path."
)
@click.option(
    "--image",
    metavar="I",
    type=checked(check_image, "IMAGE"),
    help="Run in this container image, such as python:3.12 or /images/python.sif, which sees the"
    " working directory and --mount; takes along only variables of --env and --export.",
)
@click.option(
    "--mount",
    "mounts",
    metavar="S[:T][:ro]",
    type=checked(lambda text: absolute_mount(text, Path.cwd()), "MOUNT"),
    multiple=True,
    help="With --image: a directory or file to mount at T, read-only with ro; repeatable.",
)
@click.option(
    "--directory",
    "--chdir",
    metavar="D",
    type=NAME,
    help="The working directory; `new` creates one for each container. [default: the current"
    " directory if the server is on this machine and the container can enter it, else a new one]",
)
@click.option(
    "--output",
    metavar="F",
    type=NAME,
    help="Append stdout to this file: job-%j-%t.out. %j is the application's number, %t the task's"
    " index; %a, %n and %u are its id, name and user. [default: `fairshare logs` only]",
)
@click.option("--error", metavar="F", type=NAME, help="Append stderr to this file.")
@click.option("--input", metavar="F", type=NAME, help="Read this file as standard input.")
@click.option(
    "--driver",
    is_flag=True,
    help="The command is a driver, which requests further containers itself.",
)
@click.option(
    "--keep-containers",
    is_flag=True,
    help="With --driver: if the driver is lost, its containers continue for its next attempt.",
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
                     after, begin, deadline, hold, notify, notify-on, tasks or driver
    Of each group:   name, count, command or arguments, environment, directory, umask, limits,
                     output, error, input, grace, signal, image, mounts, memory, vcores,
                     resources, after, slow-start, max-attempts, time-limit, priority, hosts,
                     racks, relax, label, gang, gang-timeout, gang-restart, array, at-once,
                     keep-going
    Of the driver:   command or arguments, environment, directory, umask, limits, output, error,
                     input, grace, signal, image, mounts, memory, vcores, resources,
                     keep-containers

    docs/jobs.md explains them. Options replace the job file's fields of the whole job; --env adds
    to every group.
    """
    submission = described(client, command_line, job, options)
    application = client.submit(submission)
    if not as_json:
        click.echo(application)
    elif not wait:
        print_json({"id": application})
    print_differences(client, submission, application)
    if waits_unread():
        click.echo("standard input is not read here: use --input FILE, or fairshare run", err=True)
    if wait:
        wait_for_end(client, application, as_json=as_json)


def described(
    client: Client, command_line: tuple[str, ...], job: Path | None, options: Mapping[str, Any]
) -> Submission:
    """The application that a command line describes, with what it takes along of the caller."""
    given = given_options(options)
    if job is not None:
        submission = from_file(job, command_line, given)
    else:
        submission = from_command(command_line, given)
        report_directives(command_line)
    if "ray" in given:
        _check_ray(client)
    if "ray" in given and "signal" not in given and not signals(client.cluster().engine):
        submission = unwarned(submission)
    return with_caller(client, submission, given, of_file=job is not None)


def _check_ray(client: Client) -> None:
    """Raise Failure if a program cannot start a Ray cluster on the machine of the server."""
    if runs_here(client.cluster()) and find_spec("ray") is None:
        raise Failure(
            f"Ray is not installed for {sys.executable}, with which the program and its workers"
            f" start: {sys.executable} -m pip install 'fairshare[ray]'"
        )


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command line that have a value; GPUs are among the resources."""
    # Not a truth test: 0 is a given value.
    given = {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != ()
    }
    gpus = given.pop("gpu", None)
    if gpus is not None:
        given["resources"] = (*given.get("resources", ()), (GPU, gpus))
    return given


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
    work: dict[str, Any] = {
        "arguments": command_line,
        "environment": dict(given.get("environment", ())),
        "directory": chosen_directory(given),
        **chosen_files(given),
        "grace_ms": given.get("grace"),
        "end_signal": given.get("signal"),
        "image": given.get("image"),
        "mounts": given.get("mounts", ()),
    }
    if "image" not in given:
        refuse(given, ("mounts",), "it has a meaning with --image only")
    resources, job = _resources(given), {"name": Path(command_line[0]).name, **_job(given)}
    if driver:
        master = Master(resources=resources, keep_containers="keep_containers" in given)
        return Submission(**job, driver=DriverCommand(**work), master=master)
    refuse(given, DRIVER_ONLY, "tasks have no driver that could be lost")
    if "array" in given:
        refuse(given, ("count",), "an array has as many tasks as lines or indexes")
    if "gang" not in given:
        refuse(given, ("gang_timeout",), "it has a meaning with --gang only")
    group = TaskGroup(
        name="task",
        resources=resources,
        max_attempts=given.get("max_attempts", 4),
        time_limit_ms=given.get("time_limit"),
        **_tasks(given),
        gang="gang" in given,
        gang_timeout_ms=given.get("gang_timeout", GANG_TIMEOUT_MS),
        hosts=given.get("hosts", ()),
        racks=given.get("racks", ()),
        **work,
    )
    return Submission(**job, tasks=(group,))


def _tasks(given: Mapping[str, Any]) -> dict[str, Any]:
    """How many tasks a group has, and how they run beside each other."""
    array: Array | None = given.get("array")
    if array is None:
        refuse(given, ("fail_fast",), "it has a meaning with --array only")
        return {
            "count": given.get("count", 1),
            "at_once": given.get("at_once"),
            "keep_going": "keep_going" in given,
        }
    if "at_once" in given and array.at_once is not None:
        raise click.UsageError(f"--at-once and %{array.at_once} of --array: give one of both")
    if "keep_going" in given and "fail_fast" in given:
        raise click.UsageError("--keep-going and --fail-fast: give one of both")
    apart = "gang" not in given and "fail_fast" not in given
    return {
        "count": array.size,
        "array": array.tasks,
        "at_once": given.get("at_once", array.at_once),
        "keep_going": apart or "keep_going" in given,
    }


def _ray_program(command_line: tuple[str, ...], given: Mapping[str, Any]) -> Submission:
    """A driver that starts a Ray cluster in its containers, and runs the program there."""
    refuse(given, ("driver", *DRIVER_ONLY), "a Ray program has a driver of its own")
    refuse(given, ("hosts", "racks", "max_attempts", "time_limit"), "workers run anywhere")
    refuse(given, ("image", "mounts"), "workers run in the server's own environment")
    refuse(
        given,
        ("at_once", "keep_going", "fail_fast", "array"),
        "the workers of a Ray program start together",
    )
    program = Program(
        workers=given.get("count", 1),
        more=given.get("more", 0),
        resources=_resources(given),
        gang_timeout_ms=given.get("gang_timeout", GANG_TIMEOUT_MS),
        command=command_line,
    )
    if "grace" in given:
        program = msgspec.structs.replace(program, grace_ms=given["grace"])
    if "signal" in given:
        program = msgspec.structs.replace(program, end_signal=given["signal"])
    return Submission(
        **{"name": Path(command_line[0]).name, **_job(given)},
        driver=DriverCommand(
            arguments=program_arguments(program, sys.executable),
            environment=dict(given.get("environment", ())),
            directory=chosen_directory(given),
            **chosen_files(given),
            grace_ms=given.get("grace"),
            end_signal=container_signal(program.end_signal.name),
        ),
        master=Master(resources=dict(DEFAULT_RESOURCES)),
    )


def unwarned(submission: Submission) -> Submission:
    """A Ray program as NodeManagers run it: they send SIGTERM to all processes, and no other
    signal."""
    assert submission.driver is not None
    driver = msgspec.structs.replace(submission.driver, end_signal=None)
    return msgspec.structs.replace(submission, driver=driver)


def _resources(given: Mapping[str, Any]) -> dict[str, int]:
    return {
        "memory-mb": given.get("memory", DEFAULT_RESOURCES["memory-mb"]),
        "vcores": given.get("vcores", DEFAULT_RESOURCES["vcores"]),
        **dict(given.get("resources", ())),
    }


def _job(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the whole application that options set."""
    found = {field: given[name] for name, field in JOB_FIELDS.items() if name in given}
    return found | start_fields(given) | _notices(given)


def _notices(given: Mapping[str, Any]) -> dict[str, Any]:
    """Whom to notify of what."""
    if "notify" not in given:
        refuse(given, ("notify_on",), "it has a meaning with --notify only")
        return {}
    found: dict[str, Any] = {"notify": given["notify"]}
    if "notify_on" in given:
        found["notify_on"] = given["notify_on"]
    return found


def from_file(path: Path, command_line: tuple[str, ...], given: Mapping[str, Any]) -> Submission:
    """The application of a job file, with the fields that options replace."""
    if command_line:
        raise click.UsageError("a command and --job: give one of both")
    refuse(
        given,
        ("driver", "ray", "more", *DRIVER_ONLY, *GROUP_ONLY, *WORK_ONLY),
        "set it in the job file, for each group",
    )
    from fairshare.cli.jobs import read_job  # it loads the YAML library

    job = read_job(path)
    replaced = _job(given)
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
    flags = {"hosts": "host", "racks": "rack", "resources": "resource", "mounts": "mount"}
    wrong = [f"--{flags.get(name, name).replace('_', '-')}" for name in names if name in given]
    if wrong:
        raise click.UsageError(f"{', '.join(wrong)} cannot be given here: {reason}")
