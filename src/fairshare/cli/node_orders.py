"""Owns the verbs below `admin` that take nodes out of service and return them."""

import time
from typing import Any

import click

from fairshare.cli.json_output import print_json
from fairshare.cli.options import DURATION, json_option, with_client
from fairshare.cli.tables import open_console, print_all
from fairshare.cli.verbs import Failure
from fairshare.client import Client, Node

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


@click.command("safe-mode")
@click.argument("order", type=click.Choice(["on", "off", "get"]))
@with_client
@json_option
def safe_mode(client: Client, order: str, as_json: bool) -> None:
    """Switch the safe mode: while it is on, the server accepts no applications and allocates no
    containers; running containers continue."""
    on = client.safe_mode() if order == "get" else client.set_safe_mode(order == "on")
    if as_json:
        print_json({"safe_mode": on})
    else:
        click.echo(f"safe mode is {'on' if on else 'off'}")


def _finish(
    client: Client, names: tuple[str, ...], found: tuple[Node, ...], wait: bool, as_json: bool
) -> None:
    while wait and any(node.name in names and node.containers for node in found):
        _check_drained(names, found)
        time.sleep(PACE_S)
        found = client.nodes()
    if as_json:
        rows: Any = client.connection.get("/nodes")
        print_json(rows)
        return
    # Imported lazily: the table of nodes is only needed here.
    from fairshare.cli.nodes import node_table

    console = open_console()
    print_all(console, node_table(console, found) if found else "No node is left.")


def _check_drained(names: tuple[str, ...], found: tuple[Node, ...]) -> None:
    """Raise Failure if a node was undrained while this command waits."""
    for node in found:
        if node.name in names and node.state == "RUNNING":
            raise Failure(f"node {node.name} takes containers again: it was undrained meanwhile")
