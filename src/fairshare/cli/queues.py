"""Owns the verb `queues`, which shows the tree of queues with usage, shares and limits."""

from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairshare.cli.cells import NOTHING, amounts_text, bar, dominant_fraction, share_text
from fairshare.cli.lists import CSV, JSON, list_options, print_list
from fairshare.cli.options import with_client
from fairshare.cli.pools import pool_table
from fairshare.cli.tables import Column, ascii_only, bar_width, open_console, table
from fairshare.client import Client, Queue
from fairshare.client.answers import Amounts

COLUMNS = (
    Column("Queue"),
    Column("Use", whole=True),
    Column("Used", whole=True),
    Column("Fair", whole=True),
    Column("Steady", whole=True),
    Column("Min", whole=True),
    Column("Max", whole=True),
    Column("Run", right=True, whole=True),
    Column("Pend", right=True, whole=True),
    Column("Demand", whole=True, extra=True),
    Column("Weight", right=True, extra=True),
    Column("Policy", extra=True),
)


@click.command()
@with_client
@list_options
def command(client: Client, form: str) -> None:
    """Show the queues, their shares and their usage.

    Used, Fair (the current fair share), Steady (the fair share if every queue were busy), Min and
    Max are memory and vcores. Run and Pend count applications: the runnable ones, and those held
    back by a limit. A bar is the used fraction of the cluster, of memory or of vcores, whichever
    is larger; the mark in it is the fair share. For pools of MapReduce a second table shows slots.
    """
    console = open_console()
    queues = () if form == JSON else in_tree(client.queues())
    total = client.cluster().total if queues and form != CSV else {}
    print_list(
        form,
        queues,
        Queue,
        COLUMNS,
        lambda queue: _row(console, queue, total),
        answer=lambda: client.connection.get("/queues"),
        nothing="There are no queues.",
        more=pool_table(console, queues),
    )


def queue_table(console: Console, queues: Sequence[Queue], total: Amounts) -> Table:
    """The tree, one row for each queue; bars are fractions of `total`."""
    return table(console, COLUMNS, [_row(console, queue, total) for queue in in_tree(queues)])


def in_tree(queues: Sequence[Queue]) -> list[Queue]:
    """The queues in the given order, but with each one's children directly below it."""
    children: dict[str, list[Queue]] = {}
    known = {queue.name for queue in queues}
    for queue in queues:
        children.setdefault(queue.parent if queue.parent in known else "", []).append(queue)
    ordered: list[Queue] = []
    waiting = children.get("", [])[::-1]
    while waiting:
        queue = waiting.pop()
        ordered.append(queue)
        waiting.extend(children.get(queue.name, [])[::-1])
    return ordered


def _row(console: Console, queue: Queue, total: Amounts) -> list[str | Text]:
    depth = queue.name.count(".")
    fair = None if queue.fair_share is None else dominant_fraction(queue.fair_share, total)
    use = dominant_fraction(queue.used, total)
    return [
        "  " * depth + queue.name.rpartition(".")[2],
        Text(
            bar(use, bar_width(console), fair, ascii_only=ascii_only(console)),
            style="yellow" if fair is not None and use > fair else "green",
        ),
        amounts_text(queue.used),
        share_text(queue.fair_share),
        share_text(queue.steady_fair_share),
        amounts_text(queue.min_share),
        amounts_text(queue.max_share),
        str(queue.running_applications),
        str(queue.pending_applications),
        amounts_text(queue.demand),
        NOTHING if queue.weight is None else f"{queue.weight:g}",
        queue.policy or NOTHING,
    ]
