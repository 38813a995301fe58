"""The verb `queues`: the tree of queues with usage, shares and limits, and for MapReduce the job
tracker's view of pools, jobs and slots.
"""

from collections.abc import Sequence

import click

from fairshare.api import routes
from fairshare.cli.cells import NOTHING, amounts_text, bar, dominant_fraction, share_text
from fairshare.cli.lists import CSV, JSON, Shown, list_options, list_table, print_list
from fairshare.cli.options import with_client
from fairshare.cli.tables import (
    Cell,
    Column,
    Listing,
    Output,
    Styled,
    ascii_only,
    bar_width,
    open_output,
)
from fairshare.client import Client, Queue
from fairshare.client.answers import Amounts, JobFigures, JobSlots, PoolSlots


@click.command()
@with_client
@list_options
def command(client: Client, form: str) -> None:
    """Show the queues, their shares and their usage.

    Used, Fair (the current fair share), Steady (the fair share if every queue were busy), Min and
    Max are memory and vcores. Run and Pend count applications: the runnable ones, and those held
    back by a limit. A bar is the used fraction of the cluster, of memory or of vcores, whichever
    is larger; the mark in it is the fair share. While the past counts, Past is what was used on
    average, and Factor what that does to the share. Booked is what bookings that are on promise.
    For pools of MapReduce a second table shows slots.
    """
    console = open_output()
    queues = () if form == JSON else in_tree(client.queues())
    total = client.cluster().total if queues and form != CSV else {}
    print_list(
        form,
        queues,
        Queue,
        columns(console, total, queues),
        answer=lambda: client.connection.get(routes.LIST_QUEUES.path),
        nothing="There are no queues.",
        more=pool_table(queues),
    )


def columns(console: Output, total: Amounts, queues: Sequence[Queue]) -> tuple[Shown[Queue], ...]:
    """The columns of the tree of these queues; bars are fractions of `total`."""
    return (
        Shown(
            "Queue", of=lambda queue: "  " * queue.name.count(".") + queue.name.rpartition(".")[2]
        ),
        Shown("Use", whole=True, of=lambda queue: _use(console, queue, total)),
        Shown("Used", whole=True, of=lambda queue: amounts_text(queue.used)),
        Shown("Fair", whole=True, of=lambda queue: share_text(queue.fair_share)),
        Shown("Steady", whole=True, of=lambda queue: share_text(queue.steady_fair_share)),
        Shown("Min", whole=True, of=lambda queue: amounts_text(queue.min_share)),
        Shown("Max", whole=True, of=lambda queue: amounts_text(queue.max_share)),
        *(_OF_THE_PAST if any(queue.past for queue in queues) else ()),
        *(_OF_BOOKINGS if any(queue.booked for queue in queues) else ()),
        Shown("Run", right=True, whole=True, of=lambda queue: queue.running_applications),
        Shown("Pend", right=True, whole=True, of=lambda queue: queue.pending_applications),
        Shown("Demand", whole=True, extra=True, of=lambda queue: amounts_text(queue.demand)),
        Shown("Weight", right=True, extra=True, of=_weight),
        Shown("Policy", extra=True, of=lambda queue: queue.policy or None),
    )


def queue_table(console: Output, queues: Sequence[Queue], total: Amounts) -> Listing:
    """The tree, one row for each queue."""
    return list_table(columns(console, total, queues), in_tree(queues))


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


def _use(console: Output, queue: Queue, total: Amounts) -> Styled:
    # The share of root is everything: a mark at the end of its bar says nothing.
    known = queue.parent and queue.fair_share is not None
    fair = dominant_fraction(queue.fair_share, total) if known else None
    use = dominant_fraction(queue.used, total)
    return Styled(
        bar(use, bar_width(console), fair, ascii_only=ascii_only(console)),
        style="yellow" if fair is not None and use > fair else "green",
    )


def _past(queue: Queue) -> str | None:
    if queue.past is None:
        return None
    return amounts_text({name: round(amount) for name, amount in queue.past.average.items()})


def _factor(queue: Queue) -> str | None:
    factor = None if queue.past is None else queue.past.factor
    return None if factor is None else f"{factor:.2f}"


_OF_THE_PAST = (
    Shown("Past", whole=True, of=_past),
    Shown("Factor", right=True, whole=True, of=_factor),
)


def _booked(queue: Queue) -> str | None:
    return None if queue.booked is None else amounts_text(queue.booked)


_OF_BOOKINGS = (Shown("Booked", whole=True, of=_booked),)


def _weight(queue: Queue) -> str | None:
    return None if queue.weight is None else f"{queue.weight:g}"


_OF_A_KIND = ("run", "want", "fair", "min", "max")
COLUMNS = (
    Column("Pool"),
    Column("Jobs", right=True, whole=True),
    *(
        Column(f"{kind} {what}", right=True, extra=what == "max")
        for kind in ("Maps", "Reduces")
        for what in _OF_A_KIND
    ),
    Column("Mode", extra=True),
)


def pool_table(queues: Sequence[Queue]) -> Listing | None:
    """One row for each pool; None if the scheduler has no pools."""
    rows: list[list[Cell]] = [
        [
            queue.name.removeprefix("root."),
            str(queue.pool.jobs),
            *_slot_cells(queue.pool.maps),
            *_slot_cells(queue.pool.reduces),
            queue.policy or NOTHING,
        ]
        for queue in queues
        if queue.pool is not None and queue.parent
    ]
    return Listing(COLUMNS, rows) if rows else None


def _slot_cells(slots: PoolSlots) -> list[str]:
    return [
        str(slots.running),
        str(slots.demand),
        f"{slots.fair_share:.1f}",
        str(slots.min_share),
        NOTHING if slots.max_share is None else str(slots.max_share),
    ]


def job_lines(job: JobFigures) -> list[tuple[str, Cell]]:
    """The names and values of a job's fields in the job tracker."""
    return [
        ("Job priority", job.priority),
        ("Maps", job_line(job.maps)),
        ("Reduces", job_line(job.reduces)),
    ]


def job_line(slots: JobSlots) -> str:
    """`3 run, 5 to start, 2 done; fair share 4.0, minimum 1, weight 1.0, deficit 12s`.

    A deficit is in whole seconds, and only shown for a job with startable or running tasks.
    """
    line = (
        f"{slots.running} run, {slots.needed} to start, {slots.finished} done;"
        f" fair share {slots.fair_share:.1f}, minimum {slots.min_share}, weight {slots.weight:.1f}"
    )
    if slots.deficit is None:
        return line
    owed = f"{int(slots.deficit / 1000)}s" if slots.needed else "--"
    return f"{line}, deficit {owed}"
