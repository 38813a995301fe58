"""What describes an application: one table of the options of `submit` and the keys of job files.

A field that is added to the task groups of requests (`GroupFields` or `CommandFields` in
`api/work.py`) needs a row here to be an option and a key, and a row in docs/jobs.md.
`server/web/submissions.py` hands it on by its name. `jobs` has the keys that a file writes in
another form than an option.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import click

from fairshare.api.work import DEFAULT_RESOURCES
from fairshare.cli.arrays import parse_array
from fairshare.cli.instants import parse_instant_ms
from fairshare.cli.options import MOST_ATTEMPTS, MOST_TASKS, PRIORITY, Whole, checked
from fairshare.cli.units import (
    absolute_mount,
    parse_amount,
    parse_dependency,
    parse_duration_ms,
    parse_end_signal,
    parse_grace_ms,
    parse_lifetime_s,
    parse_name,
    parse_names,
    parse_notify,
    parse_slurm_time_ms,
    parse_tag,
    parse_umask,
    parse_variable,
)
from fairshare.cli.user_defaults import template_option
from fairshare.documents.bounds import GANG_RESTARTS, NOTICE_EVENTS
from fairshare.documents.gpus import GPU
from fairshare.documents.images import check_image
from fairshare.documents.sizes import parse_memory_mb

_ALIASES: Final = {
    "array": ("-a",),
    "count": ("--ntasks", "-n"),
    "directory": ("--chdir", "-D"),
    "error": ("-e",),
    "gpus": ("--gpu",),
    "memory": ("--mem",),
    "name": ("--job-name", "-J"),
    "output": ("-o",),
    "queue": ("--partition", "-p"),
    "nodelist": ("-w",),
    "time_ms": ("-t",),
    "vcores": ("--cpus-per-task", "-c"),
}
"""Further names of options: Slurm's."""

Where = Literal["job", "work", "tasks", "driver", "way", "caller"]


class InFolder(NamedTuple):
    """Parses a text which may name a file relative to a folder."""

    parse: Callable[[str, Path], Any]


Parse = Callable[[str], Any] | click.ParamType[Any] | InFolder | type[bool]


class Opt(NamedTuple):
    """An option, a key of job files, or both.

    `field` is its name in a request, and in the options of a verb. `where`: in the whole "job"; in
    its "work", be it tasks or a driver; in groups of "tasks"; in the "driver"; the "way" in which a
    command runs, which a job file says by its form; or what is taken along of the "caller".

    `parse` makes its value of a text; bool: it is a flag; None: only files have it, in a form of
    their own. Without `help` it is a key alone, and with `key` None an option alone. `flag` and
    `key` are what it is called, if not as its field is, without the unit.
    """

    field: str
    where: Where
    parse: Parse | None = None
    metavar: str | None = None
    help: str = ""
    flag: str = ""
    key: str | None = ""
    several: bool = False

    @property
    def key_name(self) -> str:
        """What it is called in job files."""
        unit = self.field.rpartition("_")[2] in ("ms", "s")
        return self.key or (self.field.rpartition("_")[0] if unit else self.field).replace("_", "-")

    @property
    def flag_name(self) -> str:
        """What it is called on the command line."""
        return self.flag or f"--{self.key_name}"

    def option(self) -> click.Option:
        """The option of a verb."""
        names = (self.flag_name, *_ALIASES.get(self.field, ()), self.field)
        if self.parse is bool:
            return click.Option(names, is_flag=True, help=self.help)
        kind: Any = self.parse
        if isinstance(kind, InFolder):
            in_folder = kind.parse
            kind = checked(lambda text: in_folder(text, Path.cwd()))
        elif kind is not str and not isinstance(kind, click.ParamType):
            kind = checked(kind)
        return click.Option(
            names, type=kind, metavar=self.metavar, multiple=self.several, help=self.help
        )


OPTIONS: Final = (
    Opt("queue", "job", parse_name, "Q", "The queue. [default: selected by the placement rules]"),
    Opt("user", "job", parse_name, "U", "The application's user. [default: the current user]"),
    Opt("name", "job", parse_name, "N", "The application's name. [default: the command's name]"),
    Opt("priority", "job", PRIORITY, "P", "The priority of the application in its queue."),
    Opt(
        "lifetime_s",
        "job",
        parse_lifetime_s,
        "T",
        "Kill the application if it has not ended after 10m, 2h ...; a queue may allow less.",
    ),
    Opt(
        "after",
        "job",
        parse_dependency,
        "APP[:ok|failed|any]",
        "Start when APP has succeeded (ok), failed or ended (any); repeatable. [default: ok]",
        several=True,
    ),
    Opt(
        "begin_ms",
        "job",
        parse_instant_ms,
        "T",
        "Start at this instant or later: 22:30, 2026-11-24T06:00, +2h.",
    ),
    Opt(
        "deadline_ms",
        "job",
        parse_instant_ms,
        "T",
        "Kill the application if it has not ended at this instant, written as for --begin.",
    ),
    Opt("held", "job", bool, help="Do not start before `fairshare release`.", key="hold"),
    Opt("label", "job", str, "L", "The partition (node label) to run on. [default: the queue's]"),
    Opt(
        "tags",
        "job",
        parse_tag,
        "T",
        "A tag, by which to find the application; repeatable.",
        flag="--tag",
        several=True,
    ),
    Opt(
        "notify",
        "job",
        parse_notify,
        "T",
        "https://..., mailto:ann@example.org or 'cmd:LINE' to notify of the end; repeatable.",
        several=True,
    ),
    Opt(
        "notify_on",
        "job",
        click.Choice(NOTICE_EVENTS),
        help="The events to notify of; repeatable. [default: end]",
        several=True,
    ),
    Opt(
        "memory",
        "work",
        parse_memory_mb,
        "M",
        "The memory of each task: 512m, 1g, or MB. [default: 1g]",
    ),
    Opt("vcores", "work", Whole(1), "V", "The vcores of each task. [default: 1]"),
    Opt("gpus", "work", Whole(1), "N", "The number of GPUs: the same as --resource yarn.io/gpu=N."),
    Opt(
        "resources",
        "work",
        parse_amount,
        "R=N",
        "An amount of a further resource type, such as yarn.io/fpga=1; repeatable.",
        "--resource",
        several=True,
    ),
    Opt(
        "count",
        "tasks",
        Whole(1, MOST_TASKS),
        "N",
        "The number of tasks. FAIRSHARE_TASK_INDEX has a task's number. [default: 1]",
    ),
    Opt(
        "max_attempts",
        "tasks",
        Whole(1, MOST_ATTEMPTS),
        "N",
        "The number of failures of a task that fail the application. [default: 4; 1 of a task that"
        " exceeds its time limit or its memory without --signal]",
    ),
    Opt(
        "array",
        "tasks",
        InFolder(parse_array),
        "FILE|1-9[%N]",
        "A task for each line of FILE (- is stdin), or for each index of 1-1000 or 1,5,9-13:2."
        " The line or the index replaces {} in the command. %N: N tasks at once.",
    ),
    Opt(
        "at_once",
        "tasks",
        Whole(1, MOST_TASKS),
        "N",
        "The maximum number of tasks that run at the same time. [default: what the queue's"
        " share allows]",
    ),
    Opt(
        "keep_going",
        "tasks",
        bool,
        help="A task that fails too often ends the application only after all the others."
        " [default: for --array]",
    ),
    Opt(
        "fail_fast",
        "tasks",
        bool,
        help="A task of --array that fails too often ends all at once.",
        key=None,
    ),
    Opt(
        "time_limit_ms",
        "tasks",
        parse_duration_ms,
        "T",
        "The time limit of one attempt: 90s, 10m, 2h, 1-12:00:00.",
    ),
    Opt(
        "time_ms",
        "tasks",
        parse_slurm_time_ms,
        "T",
        "The same as Slurm writes it: 30 are minutes, 1:30 minutes and seconds, 2-12"
        " days and hours.",
        key=None,
    ),
    Opt(
        "grace_ms",
        "work",
        parse_grace_ms,
        "T",
        "The time from SIGTERM, or --signal, to SIGKILL. [default: the server's setting, 10s]",
    ),
    Opt(
        "end_signal",
        "work",
        parse_end_signal,
        "[B:]S[@T]",
        "The signal before the end instead of SIGTERM, such as USR1; with @60 also 60 s before the"
        " time limit, with B: to the first process only.",
        key="signal",
    ),
    Opt(
        "gang",
        "tasks",
        bool,
        help="Start all tasks together or not at all; if one fails, all restart.",
    ),
    Opt(
        "gang_timeout_ms",
        "tasks",
        parse_duration_ms,
        "T",
        "How long --gang holds containers while others are missing. [default: 1m]",
    ),
    Opt(
        "ray",
        "way",
        bool,
        help="The command is a Ray program: it gets its own Ray cluster with COUNT workers,"
        " which start together.",
        key=None,
    ),
    Opt(
        "more",
        "way",
        Whole(1, MOST_TASKS),
        "N",
        "With --ray: up to N further workers, which start and stop with the queue's share.",
        key=None,
    ),
    Opt("hosts", "tasks", str, "H", "A preferred node; repeatable.", "--host", several=True),
    Opt(
        "nodelist",
        "tasks",
        parse_names,
        "H,H",
        "The only nodes that are used; --host names preferred ones.",
        key=None,
    ),
    Opt(
        "exclusive",
        "work",
        bool,
        help="All memory and vcores of a node: of the smallest one of --nodelist, or of the"
        " largest one.",
        key=None,
    ),
    Opt("racks", "tasks", str, "R", "A preferred rack; repeatable.", "--rack", several=True),
    Opt(
        "environment",
        "caller",
        parse_variable,
        "K[=V]",
        "An environment variable; without a value, the one of your shell; repeatable.",
        "--env",
        key=None,
        several=True,
    ),
    Opt(
        "export",
        "caller",
        parse_name,
        "all|none|K,K",
        "The variables to pass on. [default: PATH and others if the server is on this machine]",
        key=None,
    ),
    Opt(
        "python",
        "caller",
        parse_name,
        "P",
        "The Python that `python` and `python3` mean, first in PATH.",
        key=None,
    ),
    Opt(
        "venv",
        "caller",
        parse_name,
        "D",
        "Run in this virtualenv, as if it were activated.",
        key=None,
    ),
    Opt(
        "conda",
        "caller",
        parse_name,
        "N|D",
        "Run in this conda environment: a name, or its path.",
        key=None,
    ),
    Opt(
        "image",
        "work",
        check_image,
        "I",
        "Run in this container image, such as python:3.12 or /images/python.sif, which sees the"
        " working directory and --mount; takes along only variables of --env and --export.",
    ),
    Opt(
        "mounts",
        "work",
        InFolder(absolute_mount),
        "S[:T][:ro]",
        "With --image: a directory or file to mount at T, read-only with ro; repeatable.",
        "--mount",
        several=True,
    ),
    Opt(
        "directory",
        "work",
        parse_name,
        "D",
        "The working directory; `new` creates one for each container. [default: the current"
        " directory if the server is on this machine and the container can enter it, else a new"
        " one]",
    ),
    Opt(
        "output",
        "work",
        parse_name,
        "F",
        "Append stdout to this file: job-%j-%t.out. %j is the application's number, %t the task's"
        " index; %a, %n and %u are its id, name and user. [default: `fairshare logs` only]",
    ),
    Opt("error", "work", parse_name, "F", "Append stderr to this file."),
    Opt("input", "work", parse_name, "F", "Read this file as standard input."),
    Opt(
        "driver",
        "way",
        bool,
        help="The command is a driver, which requests further containers itself.",
        key=None,
    ),
    Opt(
        "keep_containers",
        "driver",
        bool,
        help="With --driver: if the driver is lost, its containers continue for its next attempt.",
    ),
    Opt("groups", "job", str, key="user-groups", several=True),
    Opt("command", "work", str),
    Opt("arguments", "work"),
    Opt("environment", "work"),
    Opt("umask", "work", parse_umask),
    Opt("limits", "work"),
    Opt("name", "tasks", str),
    Opt("after", "tasks", str, several=True),
    Opt("slow_start", "tasks"),
    Opt("priority", "tasks", PRIORITY),
    Opt("relax", "tasks", bool),
    Opt("label", "tasks", str),
    Opt("gang_restart", "tasks", click.Choice(GANG_RESTARTS)),
)
"""The options in the order in which the help of `submit` has them, then what only job files say."""


def options_without(*names: str) -> list[click.Parameter]:
    """The options of a verb that has all except some."""
    shown = [opt.option() for opt in OPTIONS if opt.help and opt.field not in names]
    return [*shown, template_option()]


def fields_of(options: Mapping[str, object], where: Where) -> dict[str, Any]:
    """The fields of one part of a request that options set as they are."""
    return {
        opt.field: options[opt.field]
        for opt in OPTIONS
        if opt.where == where and opt.help and opt.field in options and opt.field not in OTHER_FORM
    }


OTHER_FORM: Final = frozenset(
    {
        *("memory", "vcores", "gpus", "resources", "exclusive"),
        *("array", "fail_fast", "keep_containers", "nodelist", "time_ms"),
    }
)
"""Fields that a request has in another form, or elsewhere."""


def names_of(*where: Where) -> tuple[str, ...]:
    """The options that say something about parts of a job."""
    return tuple(opt.field for part in where for opt in OPTIONS if opt.where == part and opt.help)


def refuse(options: Mapping[str, object], names: tuple[str, ...], reason: str) -> None:
    """Raise a usage error for options that would have no effect."""
    flags = {opt.field: opt.flag_name for opt in OPTIONS if opt.help}
    wrong = [flags[name] for name in names if name in options]
    if wrong:
        raise click.UsageError(f"{', '.join(wrong)} cannot be given here: {reason}")


def container_size(
    memory_mb: int | None, vcores: int | None, gpus: int | None, further: Mapping[str, int]
) -> dict[str, int]:
    """The resources of a container; None: the default."""
    sizes = {"memory-mb": memory_mb, "vcores": vcores, GPU: gpus}
    return {
        **DEFAULT_RESOURCES,
        **{name: size for name, size in sizes.items() if size is not None},
        **further,
    }
