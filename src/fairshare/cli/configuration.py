"""The verbs below `admin config`, which change the Capacity Scheduler's properties.

Converts options to the server's documents; does not know the properties.
"""

from typing import Any

import click
import msgspec

from fairshare.cli.cells import plain_lines
from fairshare.cli.options import json_option, print_json, with_client
from fairshare.cli.orders import Verb
from fairshare.client import Client

_PREFIX = "yarn.scheduler.capacity."

check_option = click.option(
    "--check", is_flag=True, help="Only check whether the change is valid; change nothing."
)
others_option = click.option(
    "--set",
    "others",
    multiple=True,
    metavar="QUEUE:NAME=VALUE",
    help="A property of another queue in the same change: siblings must add up to 100.",
)


@click.group()
def config() -> None:
    """Show and change the Capacity Scheduler's properties while the server runs.

    For servers with yarn.scheduler.configuration.store.class in yarn-site.xml: `memory` (until the
    server ends), or `leveldb` (kept in the state directory). With `file`, edit
    capacity-scheduler.xml and run `fairshare admin refresh-queues`.

    A change is applied as a whole or not at all: in the latter case all problems are printed, and
    the exit code is 1.
    """


@config.command()
@with_client
@json_option
@click.argument("prefix", default="", metavar="[NAME]")
def show(client: Client, prefix: str, as_json: bool) -> None:
    """Print the properties in force, or those whose names contain NAME."""
    found = client.properties()
    picked = [(name, value) for name, value in found.properties if prefix in name]
    if as_json:
        print_json({"version": found.version, "properties": dict(picked)})
        return
    if not picked:
        what = f"no property has {plain_lines(prefix)} in its name" if prefix else "none"
        click.echo(f"not set: {what}", err=True)
    for name, value in picked:
        click.echo(f"{plain_lines(name)}={plain_lines(value)}")


@config.command("set")
@with_client
@json_option
@check_option
@click.option(
    "--queue", metavar="QUEUE", help="The full name of a queue, to which NAME then belongs."
)
@click.argument("settings", nargs=-1, required=True, metavar="NAME=VALUE...")
def set_properties(
    client: Client, settings: tuple[str, ...], queue: str | None, check: bool, as_json: bool
) -> None:
    """Set properties; `NAME=` removes one.

    With --queue a NAME is what follows the queue: capacity, state, user-limit-factor. Without,
    `yarn.scheduler.capacity.` may be left out.
    """
    params = _params(settings)
    if queue is not None:
        update: dict[str, Any] = {"update-queue": [{"queue-name": queue, "params": params}]}
    else:
        for entry in params["entry"]:
            if not entry["key"].startswith("yarn."):
                entry["key"] = _PREFIX + entry["key"]
        update = {"global-updates": params}
    _change(client, update, check, as_json)


@config.command("add-queue")
@with_client
@json_option
@check_option
@others_option
@click.argument("queue")
@click.argument("settings", nargs=-1, metavar="[NAME=VALUE...]")
def add_queue(
    client: Client,
    queue: str,
    settings: tuple[str, ...],
    others: tuple[str, ...],
    check: bool,
    as_json: bool,
) -> None:
    """Add QUEUE (its full name), with properties such as capacity=10."""
    added = {"queue-name": queue, "params": _params(settings)}
    _change(client, {"add-queue": [added], **_others(others)}, check, as_json)


@config.command("remove-queue")
@with_client
@json_option
@check_option
@others_option
@click.argument("queue")
def remove_queue(
    client: Client, queue: str, others: tuple[str, ...], check: bool, as_json: bool
) -> None:
    """Remove QUEUE (its full name) and all below it. It must be STOPPED."""
    _change(client, {"remove-queue": [queue], **_others(others)}, check, as_json)


config.add_command(
    Verb(
        "format",
        "Discard all changes: the current capacity-scheduler.xml is in force again.",
        (),
        Client.format_configuration,
        lambda properties: f"all changes are discarded: version {properties.version}",
    ).command()
)


def _params(settings: tuple[str, ...]) -> dict[str, Any]:
    """`_params(("capacity=10",)) == {"entry": [{"key": "capacity", "value": "10"}]}`."""
    entries = []
    for setting in settings:
        name, separator, value = setting.partition("=")
        if not separator or not name.strip():
            raise click.BadParameter(
                f"{setting!r} is not NAME=VALUE; write for example capacity=10"
            )
        entries.append({"key": name.strip(), "value": value.strip()})
    return {"entry": entries}


def _others(settings: tuple[str, ...]) -> dict[str, Any]:
    changes = []
    for setting in settings:
        queue, separator, rest = setting.partition(":")
        if not separator or not queue.strip():
            raise click.BadParameter(
                f"{setting!r} is not QUEUE:NAME=VALUE; write for example root.a:capacity=40"
            )
        changes.append({"queue-name": queue.strip(), "params": _params((rest,))})
    return {"update-queue": changes} if changes else {}


def _change(client: Client, update: dict[str, Any], check: bool, as_json: bool) -> None:
    found = client.change_configuration(update, check=check)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    for problem in found.problems:
        click.echo(plain_lines(str(problem)), err=True)
    if check:
        click.echo("the change is valid; nothing has changed")
    else:
        click.echo(f"the configuration was changed: version {found.version}")
