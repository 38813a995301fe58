"""The verb `update`, which changes an application that waits or runs."""

from collections.abc import Callable
from typing import Any, Final

import click
import msgspec

from fairshare.api.work import Dependency
from fairshare.cli.options import (
    MOST_TASKS,
    NAME,
    Whole,
    checked,
    json_option,
    print_json,
    with_client,
)
from fairshare.cli.placement_notes import no_priorities
from fairshare.cli.units import parse_dependency, parse_duration_ms, parse_slurm_time_ms
from fairshare.cli.verbs import Failure
from fairshare.cli.work_options import OPTIONS
from fairshare.client import Client, Refused
from fairshare.documents.gpus import GPU

NONE: Final = "none"


def _or_none(parse: Callable[[str], Any], without: object) -> Callable[[str], Any]:
    """The same, or the word `none`, which is `without`."""
    return checked(lambda text: without if text.strip().casefold() == NONE else parse(text))


def _whole(text: str) -> int:
    return Whole(1, MOST_TASKS).convert(text, None, None)


@click.command()
@click.argument("application", metavar="APP")
@click.option(
    "--time",
    "-t",
    "time_ms",
    metavar="T|none",
    type=_or_none(parse_slurm_time_ms, 0),
    help="The same as Slurm writes it: 30 are minutes, 1:30 minutes and seconds, 2-12"
    " days and hours.",
)
@click.option(
    "--time-limit",
    "time_limit_ms",
    metavar="T|none",
    type=_or_none(parse_duration_ms, 0),
    help="The time limit of each attempt, from its start, also of those that run; none removes it.",
)
@click.option(
    "--at-once",
    metavar="N|none",
    type=_or_none(_whole, 0),
    help="The maximum number of tasks that run at the same time; more of them go on;"
    " none removes it.",
)
@click.option(
    "--after",
    metavar="APP[:ok|failed|any]|none",
    type=_or_none(parse_dependency, None),
    multiple=True,
    help="What it starts after, instead of what it waits for; none: nothing; repeatable.",
)
@click.option(
    "--group", metavar="G", type=NAME, help="Change sizes and limits of this group of tasks only."
)
@with_client
@json_option
def command(
    client: Client,
    application: str,
    time_limit_ms: int | None,
    time_ms: int | None,
    at_once: int | None,
    after: tuple[Dependency | None, ...],
    group: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Change an application that waits or runs.

    --memory, --vcores, --gpus and --resource are for the tasks that wait: a container keeps the
    size that it has. --after and --begin are for an application that has not started. --tag
    replaces all tags. Either all changes are made, or none.
    """
    if time_ms is not None:
        if time_limit_ms is not None:
            raise click.UsageError("--time and --time-limit: give one of both")
        time_limit_ms = time_ms
    resources = dict(options.pop("resources"))
    sizes = {"memory-mb": "memory", "vcores": "vcores", GPU: "gpus"}
    for name, option in sizes.items():
        if (amount := options.pop(option)) is not None:
            resources[name] = amount
    changes = {
        **{name: value for name, value in options.items() if value not in (None, ())},
        **({"time_limit_ms": time_limit_ms} if time_limit_ms is not None else {}),
        **({"at_once": at_once} if at_once is not None else {}),
        **({"after": tuple(filter(None, after))} if after else {}),
        **({"resources": resources} if resources else {}),
    }
    if not changes:
        raise click.UsageError("nothing to change: name what it shall be, such as --time-limit 2h")
    if group is not None:
        if not changes.keys() & {"resources", "time_limit_ms", "at_once"}:
            raise click.UsageError("--group has a meaning with a size, --time-limit or --at-once")
        changes["group"] = group
    try:
        row = client.update(application, **changes)
    except Refused as error:
        if error.code != "not-supported" or "priority" not in changes:
            raise
        scheduler = client.cluster().scheduler
        raise Failure(no_priorities(changes["priority"], scheduler)) from error
    if as_json:
        print_json(msgspec.to_builtins(row))
    else:
        click.echo(f"updated {row.id}")


_OF_SUBMISSIONS: Final = {
    ("job", "name"): "The application's name.",
    ("job", "tags"): "A tag of the application, instead of all that it has; repeatable.",
    ("job", "priority"): "",
    ("job", "begin_ms"): "",
    ("work", "memory"): "512m, 1g, or MB.",
    ("work", "vcores"): "The number of vcores.",
    ("work", "gpus"): "",
    ("work", "resources"): "",
}
"""The options that are those of `submit`, and their help where it is another one."""

command.params[1:1] = [
    opt._replace(help=_OF_SUBMISSIONS[opt.where, opt.field] or opt.help).option()
    for opt in OPTIONS
    if opt.help and (opt.where, opt.field) in _OF_SUBMISSIONS
]
