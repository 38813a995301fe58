"""Owns what a trace says, whatever its format: nodes, and jobs in the order of their arrival.

Knows no file and no configuration: `fitting` turns a trace into the workload of a cluster.
"""

from collections.abc import Iterator

import msgspec

GPU = "yarn.io/gpu"


class TraceGroup(msgspec.Struct, frozen=True, gc=False):
    """`count` tasks that run at the same time, each with `amounts` by resource type.

    Memory is in MB. They start when the groups in `after` have ended. A `gang` starts as a whole.
    """

    name: str
    count: int
    durations_ms: int | tuple[int, ...]
    amounts: dict[str, int]
    after: tuple[str, ...] = ()
    gang: bool = False


class TraceJob(msgspec.Struct, frozen=True, gc=False):
    """One job, of the line `line` of its file, `at_ms` after the trace began.

    `queue` is what the trace's cluster had for a queue: a partition, a virtual cluster; None if the
    trace has no such thing. `waited_ms` is how long it waited there, None if that is not known.
    """

    line: int
    name: str
    at_ms: int
    user: str
    groups: tuple[TraceGroup, ...]
    queue: str | None = None
    waited_ms: int | None = None


class TraceNodes(msgspec.Struct, frozen=True):
    """`count` nodes alike; `name` is that of one, or what their numbers follow."""

    count: int
    amounts: dict[str, int]
    name: str = "node"
    rack: str | None = None


class Trace(msgspec.Struct):
    """A trace. `jobs` are read while they are iterated, and `notes` are complete only afterwards:
    they say what was assumed, and what was left out how often."""

    title: str
    nodes: tuple[TraceNodes, ...]
    jobs: Iterator[TraceJob]
    notes: list[str]
