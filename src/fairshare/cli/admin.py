"""The verbs below `admin`, for administrators of the cluster: those that take nodes out of service
and return them, those of partitions (`admin labels`), and those that change the Capacity
Scheduler's properties (`admin config`). `tokens` has another.
"""

import re
import time
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from fairshare.api import routes
from fairshare.cli.nodes import node_table
from fairshare.cli.options import DURATION, json_option, print_json, with_client
from fairshare.cli.orders import Verb
from fairshare.cli.tables import open_output, print_all
from fairshare.cli.tokens import token
from fairshare.cli.users import user
from fairshare.cli.verbs import Failure
from fairshare.client import Client, Node
from fairshare.client.answers import Label
from fairshare.wording import plain, plain_lines

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


def _change(client: Client, update: Mapping[str, object], check: bool, as_json: bool) -> None:
    properties = client.change_configuration(update, check=check)
    if as_json:
        print_json(msgspec.to_builtins(properties))
        return
    for problem in properties.problems:
        click.echo(plain_lines(str(problem)), err=True)
    if check:
        click.echo("the change is valid; nothing has changed")
    else:
        click.echo(f"the configuration was changed: version {properties.version}")


_LABEL = re.compile(
    r"\s*([^()\s]+)\s*(?:\(\s*exclusive\s*=\s*(true|false)\s*\)\s*)?", re.IGNORECASE
)


@click.group()
def labels() -> None:
    """Node labels: partitions of the cluster, used only by applications that request them.

    Only with the Capacity Scheduler and yarn.node-labels.enabled.
    """


@labels.command("assign")
@click.option("--known", is_flag=True, help="Refuse absent nodes.")
@click.argument("pairs", metavar="NODE=LABEL...", nargs=-1, required=True)
@with_client
@json_option
def assign(client: Client, known: bool, pairs: tuple[str, ...], as_json: bool) -> None:
    """Assign nodes to labels; NODE= assigns one to the default partition.

    The label of an absent node takes effect when it joins.
    """
    nodes = {}
    for pair in pairs:
        node, equals, label = pair.partition("=")
        if not equals or not node:
            raise click.UsageError(f"{pair!r}: write NODE=LABEL, or NODE= for none")
        nodes[node] = label
    labelled = client.label_nodes(nodes, known=known)
    there = {node.name.partition(":")[0] for node in client.nodes()}
    for name in [one for one in nodes if one.partition(":")[0] not in there]:
        click.echo(
            f"{plain(name)} is absent (see `fairshare nodes`): it keeps the label for"
            " when it joins",
            err=True,
        )
    if as_json:
        print_json(_labels_json(labelled))
    else:
        click.echo(_labels_text(labelled))


def _labels_of(named: tuple[str, ...]) -> dict[str, bool]:
    """Whether each label is exclusive."""
    exclusive = {}
    for word in ",".join(named).split(","):
        label = _LABEL.fullmatch(word)
        if label is None:
            raise click.UsageError(f"{word!r} is not a label: write NAME or NAME(exclusive=false)")
        exclusive[label.group(1)] = (label.group(2) or "true").lower() == "true"
    return exclusive


def _labels_text(labels: list[Label], **_: object) -> str:
    lines = [
        f"{label.name}  {'exclusive' if label.exclusive else 'shared'}"
        f"  {' '.join(label.nodes) or '-'}"
        for label in labels
    ]
    return "\n".join(lines) or "There are no labels."


def _labels_json(labels: list[Label], **_: object) -> Any:
    return {"labels": msgspec.to_builtins(labels)}


_named = click.argument("named", metavar="LABEL...", nargs=-1, required=True)

for _verb in (
    Verb(
        "list",
        "Show all labels, and the nodes of each.",
        (),
        Client.labels,
        _labels_text,
        _labels_json,
    ),
    Verb(
        "add",
        """Add labels: gpu, or "spot(exclusive=false)", which lends idle resources to others.

        Names can also be separated by commas, as for `yarn rmadmin -addToClusterNodeLabels`.
        Existing labels do not change.
        """,
        (_named,),
        lambda client, named: client.add_labels(_labels_of(named)),
        _labels_text,
        _labels_json,
    ),
    Verb(
        "remove",
        "Remove labels that no queue names; their nodes return to the default partition.",
        (_named,),
        lambda client, named: client.remove_labels(",".join(named).split(",")),
        _labels_text,
        _labels_json,
    ),
):
    labels.add_command(_verb.command())


HOUR_MS = 3_600_000
PACE_S = 0.5

nodes_argument = click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
wait_option = click.option("--wait", is_flag=True, help="Wait until no container runs there.")


@click.command()
@nodes_argument
@wait_option
@with_client
@json_option
def drain(client: Client, nodes: tuple[str, ...], wait: bool, as_json: bool) -> None:
    """Stop allocating containers on nodes; running containers continue.

    The nodes stay drained, also after a restart of the server, until `fairshare admin undrain`.
    """
    found = client.order_nodes("drain", nodes)
    _finish(client, nodes, found, wait, as_json)


@click.command()
@nodes_argument
@click.option(
    "--timeout",
    "timeout_ms",
    type=DURATION,
    default=str(HOUR_MS) + "ms",
    show_default="1h",
    help="Containers that still run after this time are stopped, and their tasks wait again.",
)
@wait_option
@with_client
@json_option
def decommission(
    client: Client, nodes: tuple[str, ...], timeout_ms: int, wait: bool, as_json: bool
) -> None:
    """Decommission nodes: they are drained, and leave the cluster as soon as they are empty.

    `fairshare admin undrain` returns them.
    """
    found = client.order_nodes("decommission", nodes, timeout_ms=timeout_ms)
    _finish(client, nodes, found, wait, as_json)


@click.command()
@nodes_argument
@with_client
@json_option
def undrain(client: Client, nodes: tuple[str, ...], as_json: bool) -> None:
    """Return drained and decommissioned nodes to service."""
    _finish(client, nodes, client.order_nodes("undrain", nodes), False, as_json)


safe_mode = Verb(
    "safe-mode",
    "Switch the safe mode: while it is on, the server accepts no applications and allocates no"
    " containers; running containers continue.",
    (click.argument("order", type=click.Choice(["on", "off", "get"])),),
    lambda client, order: (
        client.safe_mode() if order == "get" else client.set_safe_mode(order == "on")
    ),
    lambda on, **_: f"safe mode is {'on' if on else 'off'}",
    lambda on, **_: {"safe_mode": on},
).command()


def _finish(
    client: Client, names: tuple[str, ...], nodes: tuple[Node, ...], wait: bool, as_json: bool
) -> None:
    while wait and any(node.name in names and node.containers for node in nodes):
        for node in nodes:
            if node.name in names and node.state == "RUNNING":
                raise Failure(
                    f"node {node.name} takes containers again: it was undrained meanwhile"
                )
        time.sleep(PACE_S)
        nodes = client.nodes()
    if as_json:
        rows: Any = client.connection.get(routes.LIST_NODES.path)
        print_json(rows)
        return
    # Imported lazily: the table of nodes is only needed here.
    console = open_output()
    table = node_table(console, nodes, attributes=False)
    print_all(console, table if nodes else "No node is left.")


@click.group()
def command() -> None:
    """Administer a running server."""


command.add_command(config)
command.add_command(token)
command.add_command(labels)
command.add_command(user)
for _order in (drain, undrain, decommission, safe_mode):
    command.add_command(_order)


@command.command("refresh-queues")
@with_client
@json_option
def refresh_queues(client: Client, as_json: bool) -> None:
    """Reload the server's configuration now.

    The server applies the allocation file, or capacity-scheduler.xml, and the maximum allocations
    of yarn-site.xml. Other changed settings need a restart, and are listed. If a file has errors,
    or a setting that cannot change while the server runs, all problems are printed, nothing
    changes, and the exit code is 1.
    """
    if as_json:
        print_json(msgspec.to_builtins(client.refresh_queues()))
        return
    found = client.refresh_queues()
    for problem in found.problems:
        click.echo(plain_lines(str(problem)), err=True)
    for name in found.needs_restart:
        click.echo(plain_lines(f"{name} has changed, and needs a restart of the server"), err=True)
    click.echo("the configuration was read again")
