"""The data of nodes beside the core's state: their measurements, and the nodes that are gone.

Derived from records, and from what an engine measures.
"""

from typing import Final

import msgspec

from fairshare.core.model.events import NodeAdded, NodeDrained, NodeRemoved, NodeUndrained
from fairshare.core.model.inputs import NodeLost
from fairshare.core.model.resources import Resource
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.projection import Projection

MAX_INACTIVE: Final = 1_000
"""Nodes that are gone and remembered; the oldest go first."""


class Utilization(msgspec.Struct, frozen=True):
    """A node's own measurements: MB, and processors in use (2.5 is two and a half).

    `containers` are the same three of its containers alone; None: they are not measured apart.
    `machine` is the whole machine's memory in MB and its processors, of which a node may offer
    less; None: the node did not say.
    """

    physical_memory_mb: int = 0
    virtual_memory_mb: int = 0
    cpu: float = 0.0
    containers: tuple[int, int, float] | None = None
    machine: tuple[int, int] | None = None

    def of(self, total: Resource) -> tuple[float, float]:
        """The fractions of memory and processors in use: of the machine, else of what the node
        offers.

        >>> Utilization(4096, 0, 1.5, machine=(8192, 2)).of((2048, 1))
        (0.5, 0.75)
        """
        memory_mb, cores = self.machine or total[:2]
        return self.physical_memory_mb / max(1, memory_mb), self.cpu / max(1, cores)


class InactiveNode(msgspec.Struct, frozen=True):
    """A node that is gone: why (`LOST`, `UNHEALTHY`, ...), and what it was."""

    name: str
    rack: str
    total: Resource
    state: str
    report: str
    gone_ms: int


class NodeHistory(Projection):
    """Nodes by name. `joined_ms` has the registered ones, `inactive` those that are gone, and
    `draining` those that take no new containers, with the resources that they would offer."""

    def __init__(self) -> None:
        self.joined_ms: dict[str, int] = {}
        self.inactive: dict[str, InactiveNode] = {}
        self.draining: dict[str, Resource] = {}
        self.utilization: dict[str, Utilization] = {}
        self._added: dict[str, NodeAdded] = {}

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        observers.events(self._node_added, NodeAdded)
        observers.events(self._drained, NodeDrained)
        observers.events(self._undrained, NodeUndrained)
        observers.events(self._removed, NodeRemoved)

    def _node_added(self, record: Record, event: NodeAdded) -> None:
        self.joined_ms[event.node] = record.now_ms
        self._added[event.node] = event
        self.inactive.pop(event.node, None)

    def _drained(self, record: Record, event: NodeDrained) -> None:
        self.draining[event.node] = event.total

    def _undrained(self, record: Record, event: NodeUndrained) -> None:
        self.draining.pop(event.node, None)
        self.inactive.pop(event.node, None)

    def _removed(self, record: Record, event: NodeRemoved) -> None:
        self.joined_ms.pop(event.node, None)
        self.utilization.pop(event.node, None)
        was = self._added.pop(event.node, None)
        if was is None:
            return
        leaving = self.draining.pop(event.node, None)
        state, report = "LOST" if leaving is None else "DECOMMISSIONED", ""
        if isinstance(record.input, NodeLost):
            state, report = record.input.state, record.input.report
        self.inactive[event.node] = InactiveNode(
            event.node, was.rack, leaving or was.total, state, report, record.now_ms
        )
        if len(self.inactive) > MAX_INACTIVE:
            del self.inactive[next(iter(self.inactive))]
