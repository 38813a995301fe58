"""Owns the verb `nodes`, which lists the nodes with their resources and usage."""

from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairshare.cli.cells import NOTHING, amounts_text, bar, dominant_fraction
from fairshare.cli.options import json_option, with_client
from fairshare.cli.tables import (
    Column,
    ascii_only,
    bar_width,
    is_wide,
    open_console,
    print_all,
    print_json,
    table,
)
from fairshare.client import Client, Node

COLUMNS = (
    Column("Node"),
    Column("State"),
    Column("Rack"),
    Column("Use", whole=True),
    Column("Used", whole=True),
    Column("Total", whole=True),
    Column("Containers", right=True),
    Column("Reserved for"),
    Column("Attributes", extra=True),
)


@click.command()
@with_client
@json_option
def command(client: Client, as_json: bool) -> None:
    """List nodes with their resources, usage and reservations."""
    if as_json:
        print_json(client.connection.get("/nodes"))
        return
    console = open_console()
    nodes = client.nodes()
    print_all(console, node_table(console, nodes) if nodes else "No node has joined yet.")


def node_table(console: Console, nodes: Sequence[Node]) -> Table:
    """One row for each node."""
    return table(console, COLUMNS, [_row(console, node) for node in nodes])


def _row(console: Console, node: Node) -> list[str | Text]:
    use = dominant_fraction(node.used, node.total)
    reserved = node.reserved_for or NOTHING
    if not is_wide(console):
        reserved = reserved.rpartition("_")[2]  # the number alone identifies the application too
    return [
        node.name,
        node.state.lower(),
        node.rack or NOTHING,
        Text(bar(use, bar_width(console), ascii_only=ascii_only(console)), style="green"),
        amounts_text(node.used),
        amounts_text(node.total),
        str(node.containers),
        reserved,
        " ".join(f"{name}={value}" for name, value in sorted(node.attributes.items())),
    ]
