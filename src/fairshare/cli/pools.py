"""The display of pools and jobs of MapReduce: the job tracker's view of slots."""

from collections.abc import Sequence

from fairshare.cli.cells import NOTHING
from fairshare.cli.tables import Cell, Column, Listing
from fairshare.client import Queue
from fairshare.client.answers import JobFigures, JobSlots, PoolSlots

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
