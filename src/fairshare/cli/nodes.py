"""Owns the verb `nodes`, which lists the nodes with their resources and usage."""

from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairshare.api.nodes import Gpu
from fairshare.cli.cells import NOTHING, amounts_text, bar, dominant_fraction, memory_text, plain
from fairshare.cli.lists import JSON, list_options, print_list
from fairshare.cli.options import with_client
from fairshare.cli.tables import Column, ascii_only, bar_width, is_wide, open_console, table
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

GPU_COLUMNS = (
    Column("Node"),
    Column("GPU", whole=True),
    Column("Busy", whole=True),
    Column("Memory", whole=True),
    Column("Container"),
    Column("Model", extra=True),
)
GPU_BAR = 8


@click.command()
@with_client
@list_options
def command(client: Client, form: str) -> None:
    """List nodes with their resources, usage and reservations."""
    console = open_console()
    nodes = () if form == JSON else client.nodes()
    print_list(
        form,
        nodes,
        Node,
        COLUMNS,
        lambda node: _row(console, node),
        answer=lambda: client.connection.get("/nodes"),
        nothing="No node has joined yet.",
        more=gpu_table(console, nodes) if any(node.gpus for node in nodes) else None,
    )


def node_table(console: Console, nodes: Sequence[Node]) -> Table:
    """One row for each node."""
    return table(console, COLUMNS, [_row(console, node) for node in nodes])


def gpu_table(console: Console, nodes: Sequence[Node]) -> Table:
    """One row for each GPU."""
    rows: list[list[str | Text]] = [
        [
            node.name,
            gpu.name,
            NOTHING
            if gpu.utilization_percent is None
            else Text(
                bar(gpu.utilization_percent / 100, GPU_BAR, ascii_only=ascii_only(console))
                + f" {gpu.utilization_percent}%",
                style="green",
            ),
            gpu_memory(gpu),
            gpu.container or NOTHING,
            plain(gpu.model) or NOTHING,
        ]
        for node in nodes
        for gpu in node.gpus
    ]
    return table(console, GPU_COLUMNS, rows)


def gpu_memory(gpu: Gpu) -> str:
    """Used and total memory of a GPU, as far as they are known: `3.5G of 80G`."""
    total = memory_text(gpu.memory_mb) if gpu.memory_mb else ""
    if gpu.used_mb is None:
        return total or NOTHING
    used = memory_text(gpu.used_mb)
    return f"{used} of {total}" if total else used


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
