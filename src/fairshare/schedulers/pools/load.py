"""Owns the question how many tasks a node may run, so that a cluster that is not full is filled
evenly (spec/mapreduce.md 9.1).

Load managers of others are handed in with `register`; where they come from is not known here.
"""

from math import ceil
from typing import Protocol, runtime_checkable

import msgspec

from fairshare.schedulers.pools.settings import DEFAULT_LOAD_MANAGER


class NodeLoad(msgspec.Struct, frozen=True):
    """A node and the cluster, for one kind of slots. `wanted`: tasks running and to start."""

    node: str
    slots: str  # `map-slots` or `reduce-slots`
    node_slots: int
    node_running: int
    total_slots: int
    total_running: int
    wanted: int
    nodes: int
    largest_difference: float  # mapred.fairscheduler.load.max.diff


@runtime_checkable
class LoadManager(Protocol):
    """Whether a node may take more. Must be a pure function: same arguments, same answer."""

    name: str

    def may_take(self, load: NodeLoad) -> bool:
        """Whether the node may take one more task of this kind."""

    def may_launch(self, load: NodeLoad, application: int, properties: dict[str, str]) -> bool:
        """Whether it may take one of this job; asked in 1.2 before the job may start a task."""


LOAD_MANAGERS: dict[str, LoadManager] = {}
"""Load managers of installed packages by name; the default is built in."""


def register(manager: LoadManager) -> None:
    """Make a load manager known under its name."""
    LOAD_MANAGERS[manager.name] = manager


def even_cap(node_slots: int, wanted: int, nodes: int) -> int:
    """The cap of 0.19: every node as many as any other, as far as it has slots.

    >>> even_cap(4, 10, 4)
    3
    """
    return min(node_slots, ceil(wanted / nodes)) if nodes else 0


def proportional_cap(
    node_slots: int, wanted: int, total_slots: int, largest_difference: float = 0.0
) -> int:
    """The cap of 0.20 and 1.2: of each node's slots the part that the cluster needs.

    >>> proportional_cap(10, 1, 100), proportional_cap(5, 10, 50, 0.2)
    (1, 2)
    """
    if not total_slots:
        return 0
    return ceil(node_slots * min(1.0, largest_difference + wanted / total_slots))


def may_take(manager: str, generation: str, load: NodeLoad) -> bool:
    """Whether a node may take one more task of a kind."""
    if manager != DEFAULT_LOAD_MANAGER:
        return LOAD_MANAGERS[manager].may_take(load)
    if generation == "0.19":
        cap = even_cap(load.node_slots, load.wanted, load.nodes)
    elif generation == "0.20":
        cap = proportional_cap(load.node_slots, load.wanted, load.total_slots)
    else:
        cap = proportional_cap(
            load.node_slots, load.wanted, load.total_slots, load.largest_difference
        )
    return load.node_running < cap


def may_launch(manager: str, load: NodeLoad, application: int, properties: dict[str, str]) -> bool:
    """Whether a node may take a task of this job; the default has no objection."""
    if manager == DEFAULT_LOAD_MANAGER:
        return True
    return LOAD_MANAGERS[manager].may_launch(load, application, properties)
