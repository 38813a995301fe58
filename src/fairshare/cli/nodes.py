"""The verb `nodes`, which lists the nodes with their resources and usage."""

from collections.abc import Sequence

import click

from fairshare.api import routes
from fairshare.api.nodes import Gpu
from fairshare.cli.cells import (
    NOTHING,
    amounts_text,
    bar,
    dominant_fraction,
    duration_text,
    memory_text,
)
from fairshare.cli.lists import JSON, Shown, list_options, list_table, print_list
from fairshare.cli.options import with_client
from fairshare.cli.tables import (
    Cell,
    Column,
    Listing,
    Output,
    Styled,
    ascii_only,
    bar_width,
    is_wide,
    open_output,
)
from fairshare.client import Client, Node
from fairshare.wording import plain

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
    console = open_output()
    nodes = () if form == JSON else client.nodes()
    print_list(
        form,
        nodes,
        Node,
        columns(console),
        answer=lambda: client.connection.get(routes.LIST_NODES.path),
        nothing="No node has joined yet.",
        more=gpu_table(console, nodes) if any(node.gpus for node in nodes) else None,
    )


def columns(console: Output) -> tuple[Shown[Node], ...]:
    """The columns of a list of nodes."""
    return (
        Shown("Node", of=lambda node: node.name),
        Shown("State", of=_state),
        Shown("Rack", of=lambda node: node.rack or None),
        Shown("Use", whole=True, of=lambda node: _use(console, node)),
        Shown("Used", whole=True, of=lambda node: amounts_text(node.used)),
        Shown("Total", whole=True, of=lambda node: amounts_text(node.total)),
        Shown("Containers", right=True, of=lambda node: node.containers),
        Shown("Reserved for", of=lambda node: _reserved_for(console, node)),
        Shown("Attributes", extra=True, of=_attributes),
    )


def node_table(console: Output, nodes: Sequence[Node], *, attributes: bool = True) -> Listing:
    """One row for each node; the last column, which is the widest, only with `attributes`."""
    shown = columns(console)
    return list_table(shown if attributes else shown[:-1], nodes)


def gpu_table(console: Output, nodes: Sequence[Node]) -> Listing:
    """One row for each GPU."""
    rows: list[list[Cell]] = [
        [
            node.name,
            gpu.name,
            NOTHING
            if gpu.utilization_percent is None
            else Styled(
                bar(gpu.utilization_percent / 100, GPU_BAR, ascii_only=ascii_only(console))
                + f" {gpu.utilization_percent}%"
                + (f" for {duration_text(gpu.idle_ms)}" if gpu.idle_ms is not None else ""),
                style="green",
            ),
            gpu_memory(gpu),
            "(used outside of fairshare)" if gpu.elsewhere else gpu.container or NOTHING,
            plain(gpu.model) or NOTHING,
        ]
        for node in nodes
        for gpu in node.gpus
    ]
    return Listing(GPU_COLUMNS, rows)


def gpu_memory(gpu: Gpu) -> str:
    """Used and total memory of a GPU, as far as they are known: `3.5G of 80G`."""
    total = memory_text(gpu.memory_mb) if gpu.memory_mb else ""
    if gpu.used_mb is None:
        return total or NOTHING
    used = memory_text(gpu.used_mb)
    return f"{used} of {total}" if total else used


def _state(node: Node) -> str:
    state = node.state.lower()
    return f"{state}: {plain(node.health_report)}" if node.state == "UNHEALTHY" else state


def _use(console: Output, node: Node) -> Styled:
    use = dominant_fraction(node.used, node.total)
    return Styled(bar(use, bar_width(console), ascii_only=ascii_only(console)), style="green")


def _reserved_for(console: Output, node: Node) -> str | None:
    if node.reserved_for is None or is_wide(console):
        return node.reserved_for
    return node.reserved_for.rpartition("_")[2]  # the number alone identifies the application too


def _attributes(node: Node) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(node.attributes.items()))
