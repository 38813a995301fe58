"""The limit on the tasks of a node, by which a partly used cluster is filled evenly (Hadoop:
CapBasedLoadManager).

Other packages add load managers with `register`; this module does not know where they come from.
"""

from math import ceil
from typing import Protocol, runtime_checkable

import msgspec

from fairshare.core.schedulers.pools.settings import DEFAULT_LOAD_MANAGER


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
    """Whether a node may take more. Must be a pure function: the same arguments give the same
    result."""

    name: str

    def may_take(self, load: NodeLoad) -> bool:
        """Whether the node may take one more task of this kind."""

    def may_launch(self, load: NodeLoad, attempt: int, properties: dict[str, str]) -> bool:
        """Whether it may take one of this job; called in 1.2 before the job may start a task."""


LOAD_MANAGERS: dict[str, LoadManager] = {}
"""Load managers of installed packages by name; the default is built in."""


def register(manager: LoadManager) -> None:
    """Register a load manager under its name."""
    LOAD_MANAGERS[manager.name] = manager


def even_cap(node_slots: int, wanted: int, nodes: int) -> int:
    """The limit of 0.19: the same for every node, at most its number of slots.

    >>> even_cap(4, 10, 4)
    3
    """
    return min(node_slots, ceil(wanted / nodes)) if nodes else 0


def proportional_cap(
    node_slots: int, wanted: int, total_slots: int, largest_difference: float = 0.0
) -> int:
    """The limit of 0.20 and 1.2: the part of each node's slots that the cluster needs.

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


def may_launch(manager: str, load: NodeLoad, attempt: int, properties: dict[str, str]) -> bool:
    """Whether a node may take a task of this job; the default always allows it."""
    if manager == DEFAULT_LOAD_MANAGER:
        return True
    return LOAD_MANAGERS[manager].may_launch(load, attempt, properties)
