"""Owns how jobs that train on GPUs become tasks, for traces that have GPUs and little else.

Knows no format.
"""

from fairshare.model.resources import MEMORY, VCORES
from fairshare.simulate.traces.records import GPU, TraceGroup

PER_NODE = 8
"""The GPUs of a node."""
MOST_GPUS = 100_000
"""Of one job: a larger number is a mistake."""
ALONE = "The trace has GPUs alone: each comes with 1 vcore and 1 GB."


def with_cpus(gpus: int) -> dict[str, int]:
    """GPUs, and what comes with them."""
    return {MEMORY: 1024 * gpus, VCORES: gpus, GPU: gpus}


def tasks_of(gpus: int) -> int:
    """The least number of tasks that divide the GPUs evenly, none larger than a node.

    >>> [tasks_of(gpus) for gpus in (1, 8, 12, 16, 13)]
    [1, 1, 2, 2, 13]
    """
    count = -(-gpus // PER_NODE)
    while gpus % count:
        count += 1
    return count


def workers(gpus: int, run_ms: int) -> tuple[TraceGroup, ...]:
    """The tasks of a job, which start together; raises ValueError for a number that cannot be."""
    if not 0 < gpus <= MOST_GPUS:
        raise ValueError(f"{gpus:,} is not a number of GPUs from 1 to {MOST_GPUS:,}")
    count = tasks_of(gpus)
    return (TraceGroup("workers", count, run_ms, with_cpus(gpus // count), gang=count > 1),)
