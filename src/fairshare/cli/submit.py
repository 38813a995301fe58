"""The verb `submit`, which submits a command line or a job file as an application.

`work_options` has its options, and `jobs` the format of job files.
"""

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from fairshare.api.ray_programs import Program, container_signal, program_arguments
from fairshare.api.work import DEFAULT_RESOURCES
from fairshare.cli.arrays import Array
from fairshare.cli.batch_scripts import with_script
from fairshare.cli.eta_words import eta_lines
from fairshare.cli.options import json_option, print_json, with_client
from fairshare.cli.placement_notes import differences, print_differences
from fairshare.cli.standard_input import waits_unread
from fairshare.cli.surroundings import (
    chosen_directory,
    chosen_files,
    report_directives,
    report_left_out,
    with_caller,
)
from fairshare.cli.user_defaults import user_defaults
from fairshare.cli.verbs import Failure
from fairshare.cli.wait import wait_for_end
from fairshare.cli.work_options import container_size, fields_of, names_of, options_without, refuse
from fairshare.client import Client, DriverCommand, Master, Submission, TaskGroup
from fairshare.client.caller import shares_files
from fairshare.documents.bounds import GANG_TIMEOUT_MS
from fairshare.documents.gpus import GPU
from fairshare.settings.engines import signals
from fairshare.wording import plain_lines


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--job",
    "--group-file",
    "job",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A job file in YAML, instead of a command.",
)
@click.option("--wait/--no-wait", default=False, help="Wait for the end. [default: do not wait]")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Submit nothing: check the submission, and say when it would start and end.",
)
@click.argument("command_line", metavar="[--] COMMAND [ARGUMENT]...", nargs=-1)
@with_client
@json_option
def command(
    client: Client,
    command_line: tuple[str, ...],
    job: Path | None,
    wait: bool,
    dry_run: bool,
    as_json: bool,
    **options: object,
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
                     output, error, input, grace, signal, image, mounts, memory, vcores, gpus,
                     resources, after, slow-start, max-attempts, time-limit, priority, hosts,
                     racks, relax, label, gang, gang-timeout, gang-restart, array, at-once,
                     keep-going
    Of the driver:   command or arguments, environment, directory, umask, limits, output, error,
                     input, grace, signal, image, mounts, memory, vcores, gpus, resources,
                     keep-containers

    docs/jobs.md explains them. Options replace the job file's fields of the whole job; --env adds
    to every group.
    """
    submission = described(client, command_line, job, options)
    if dry_run:
        if wait:
            raise click.UsageError("--dry-run submits nothing that --wait could wait for.")
        estimate = client.estimate(submission)
        if as_json:
            print_json(msgspec.to_builtins(estimate))
            return
        into = f" in {plain_lines(estimate.queue)}" if estimate.queue else ""
        click.echo(f"The submission would be accepted{into}.")
        for line in differences(client, submission, estimate.queue, estimate.priority):
            click.echo(plain_lines(line))
        for line in eta_lines(estimate, would=True):
            click.echo(line)
        return
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


command.params[:0] = options_without()


def described(
    client: Client, command_line: tuple[str, ...], job: Path | None, options: Mapping[str, object]
) -> Submission:
    """The application that a command line describes, with what it takes along of the caller."""
    options = given_options(options)
    if job is not None:
        submission = from_file(job, command_line, options)
        options = {**_defaults_beside(options), **options}
    else:
        words, options = with_script(command_line, options)
        if words is command_line:
            report_directives(command_line)
        options = completed(client, options)
        submission = from_command(words, options)
        report_left_out(options)
    if "ray" in options and shares_files(client.cluster()) and find_spec("ray") is None:
        raise Failure(
            f"Ray is not installed for {sys.executable}, with which the program and its workers"
            f" start: {sys.executable} -m pip install 'fairshare[ray]'"
        )
    if "ray" in options and "end_signal" not in options and not signals(client.cluster().engine):
        submission = unwarned(submission)
    return with_caller(client, submission, options, of_file=job is not None)


def given_options(options: Mapping[str, object]) -> dict[str, Any]:
    """The options of a command line that have a value."""
    # Not a truth test: 0 is a given value.
    chosen = {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != ()
    }
    if "time_ms" in chosen:
        if "time_limit_ms" in chosen:
            raise click.UsageError("--time and --time-limit: give one of both")
        chosen["time_limit_ms"] = chosen.pop("time_ms")
    if "nodelist" in chosen:
        if chosen.keys() & {"hosts", "racks"}:
            raise click.UsageError("--nodelist, and --host or --rack: give one of both")
        chosen["hosts"] = chosen["nodelist"]
    return chosen


def completed(client: Client, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the user's defaults, and the size that `--exclusive` means."""
    if "exclusive" not in options:
        return {**_defaults_beside(options), **options}
    refuse(options, ("memory", "vcores"), "--exclusive takes all of a node")
    wanted = options.get("nodelist")
    nodes = [one for one in client.nodes() if wanted is None or {one.name, one.host} & set(wanted)]
    if not nodes:
        raise Failure(f"--exclusive: there is no node {', '.join(wanted or ())}".rstrip())
    node = (min if wanted else max)(nodes, key=lambda one: tuple(one.total.values()))
    whole = {"memory": node.total["memory-mb"], "vcores": node.total["vcores"]}
    kept = {name: value for name, value in options.items() if name != "exclusive"}
    return {**_defaults_beside(options), **kept, **whole}


def _defaults_beside(options: Mapping[str, object]) -> dict[str, Any]:
    """The user's defaults, without what makes no sense beside some options."""
    said = user_defaults()
    if "notify" not in said:
        said.pop("notify_on", None)
    for option, other in (("notify", "notify_on"), ("export", "exported")):
        if option in options:
            said.pop(other, None)
    return said


def from_command(command_line: tuple[str, ...], options: Mapping[str, Any]) -> Submission:
    """The application of one group, or of a driver, from the options."""
    if not command_line:
        raise click.UsageError("nothing to run: write -- COMMAND ARGUMENTS, or --job FILE")
    driver = "driver" in options
    if "ray" in options:
        return _ray_program(command_line, options)
    refuse(options, ("more",), "it has a meaning with --ray only")
    if driver:
        refuse(
            options, names_of("tasks"), "a driver is one container, and requests its tasks itself"
        )
    work: dict[str, Any] = {
        **fields_of(options, "work"),
        "arguments": command_line,
        "environment": dict(options.get("environment", ())),
        "directory": chosen_directory(options),
        **chosen_files(options),
    }
    if "image" not in options:
        refuse(options, ("mounts",), "it has a meaning with --image only")
    resources, job = _resources(options), {"name": Path(command_line[0]).name, **_job(options)}
    if driver:
        master = Master(resources=resources, keep_containers="keep_containers" in options)
        return Submission(**job, driver=DriverCommand(**work), master=master)
    refuse(options, names_of("driver"), "tasks have no driver that could be lost")
    if "array" in options:
        refuse(options, ("count",), "an array has as many tasks as lines or indexes")
    if "gang" not in options:
        refuse(options, ("gang_timeout_ms",), "it has a meaning with --gang only")
    tasks = fields_of(options, "tasks") | _array(options)
    if "nodelist" in options:
        tasks["relax"] = False
    group = TaskGroup(name="task", resources=resources, **work, **tasks)
    return Submission(**job, tasks=(group,))


def _array(options: Mapping[str, Any]) -> dict[str, Any]:
    """The tasks of an array, and how they run beside each other."""
    array: Array | None = options.get("array")
    if array is None:
        refuse(options, ("fail_fast",), "it has a meaning with --array only")
        return {}
    if "at_once" in options and array.at_once is not None:
        raise click.UsageError(f"--at-once and %{array.at_once} of --array: give one of both")
    if "keep_going" in options and "fail_fast" in options:
        raise click.UsageError("--keep-going and --fail-fast: give one of both")
    apart = "gang" not in options and "fail_fast" not in options
    return {
        "count": array.size,
        "array": array.tasks,
        "at_once": options.get("at_once", array.at_once),
        "keep_going": apart or "keep_going" in options,
    }


def _ray_program(command_line: tuple[str, ...], options: Mapping[str, Any]) -> Submission:
    """A driver that starts a Ray cluster in its containers, and runs the program there."""
    refuse(options, ("driver", *names_of("driver")), "a Ray program has a driver of its own")
    refuse(options, ("hosts", "racks", "max_attempts", "time_limit_ms"), "workers run anywhere")
    refuse(options, ("image", "mounts"), "workers run in the server's own environment")
    refuse(
        options,
        ("at_once", "keep_going", "fail_fast", "array"),
        "the workers of a Ray program start together",
    )
    others = set(names_of("tasks", "work")) - _OF_RAY_PROGRAMS
    refuse(options, tuple(sorted(others)), "a Ray program does not take it along")
    program = Program(
        workers=options.get("count", 1),
        more=options.get("more", 0),
        resources=_resources(options),
        gang_timeout_ms=options.get("gang_timeout_ms", GANG_TIMEOUT_MS),
        command=command_line,
        **{name: options[name] for name in ("grace_ms", "end_signal") if name in options},
    )
    return Submission(
        **{"name": Path(command_line[0]).name, **_job(options)},
        driver=DriverCommand(
            arguments=program_arguments(program, sys.executable),
            environment=dict(options.get("environment", ())),
            directory=chosen_directory(options),
            **chosen_files(options),
            grace_ms=options.get("grace_ms"),
            end_signal=container_signal(program.end_signal.name),
        ),
        master=Master(resources=dict(DEFAULT_RESOURCES)),
    )


_OF_RAY_PROGRAMS: Final = frozenset(
    (
        *("count", "gang", "gang_timeout_ms", "memory", "vcores", "gpus", "resources"),
        *("grace_ms", "end_signal", "directory", "output", "error", "input"),
    )
)
"""The options of tasks and commands that reach a Ray program; a new one is refused until it
does."""


def unwarned(submission: Submission) -> Submission:
    """A Ray program as NodeManagers run it: they send SIGTERM to all processes, and no other
    signal."""
    assert submission.driver is not None
    driver = msgspec.structs.replace(submission.driver, end_signal=None)
    return msgspec.structs.replace(submission, driver=driver)


def _resources(options: Mapping[str, Any]) -> dict[str, int]:
    further = dict(options.get("resources", ()))
    if "gpus" in options and GPU in further:
        raise click.UsageError(f"--gpus and --resource {GPU}: give one of both")
    return container_size(
        options.get("memory"), options.get("vcores"), options.get("gpus"), further
    )


def _job(options: Mapping[str, object]) -> dict[str, Any]:
    """The fields of the whole application that options set."""
    if "notify" not in options:
        refuse(options, ("notify_on",), "it has a meaning with --notify only")
    return fields_of(options, "job")


def from_file(path: Path, command_line: tuple[str, ...], options: Mapping[str, Any]) -> Submission:
    """The application of a job file, with the fields that options replace."""
    if command_line:
        raise click.UsageError("a command and --job: give one of both")
    refuse(
        options,
        names_of("way", "driver", "tasks", "work"),
        "set it in the job file, for each group",
    )
    from fairshare.cli.jobs import read_job  # it loads the YAML library

    job = read_job(path)
    replaced = _job(options)
    more = dict(options.get("environment", ()))
    if more:
        replaced["tasks"] = tuple(
            msgspec.structs.replace(group, environment=group.environment | more)
            for group in job.tasks
        )
        if job.driver is not None:
            replaced["driver"] = msgspec.structs.replace(
                job.driver, environment=job.driver.environment | more
            )
    of_user = _defaults_beside(options)
    if job.queue is None and "queue" in of_user:
        replaced.setdefault("queue", of_user["queue"])
    if not job.notify and "notify" in of_user and "notify" not in replaced:
        replaced |= {name: of_user[name] for name in ("notify", "notify_on") if name in of_user}
    if job.name is None and "name" not in replaced:
        replaced["name"] = path.stem
    return msgspec.structs.replace(job, **replaced)
