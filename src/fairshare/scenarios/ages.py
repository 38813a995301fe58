"""Owns which containers of an application are its oldest. Ends none of them.

As in Hadoop a container is as old as its reservation: it was named when a node was reserved for it,
and containers that were granted elsewhere in the meantime are younger.
"""

from collections.abc import Iterable
from itertools import count

from fairshare.model.events import (
    AttemptEnded,
    ContainerAllocated,
    ContainerCompleted,
    ContainerReserved,
    Event,
    NodeRemoved,
    NodeTotalChanged,
    ReservationDropped,
)
from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.scenarios.cluster import Cluster

Ask = tuple[ApplicationId, int, int]
"""Application, priority and request id."""


class Ages:
    """Hears of all containers; `by_age` puts them in order."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._births = count()
        self._born: dict[ContainerId, int] = {}
        self._reserved: dict[str, tuple[Ask, int]] = {}  # by node
        cluster.listeners.append(self._hear)

    def by_age(self, containers: Iterable[ContainerId]) -> list[ContainerId]:
        """Live containers, the oldest first."""
        return sorted(containers, key=self._born.__getitem__)

    def _hear(self, events: tuple[Event, ...]) -> None:
        for event in events:
            match event:
                case ContainerReserved():
                    ask = (event.application, event.priority, event.request)
                    if event.node not in self._reserved or self._reserved[event.node][0] != ask:
                        self._reserved[event.node] = (ask, next(self._births))
                case ReservationDropped() | NodeRemoved():
                    self._reserved.pop(event.node, None)
                case NodeTotalChanged() if not self._is_reserved(event.node):
                    self._reserved.pop(event.node, None)
                case AttemptEnded():
                    self._forget_reservations(event.application)
                case ContainerAllocated():
                    reserved = self._reserved.pop(event.node, None) if event.reserved else None
                    born = next(self._births) if reserved is None else reserved[1]
                    self._born[event.container] = born
                case ContainerCompleted():
                    del self._born[event.container]
                case _:
                    pass

    def _is_reserved(self, node: str) -> bool:
        """Some schedulers drop the reservation of a node that gets another size."""
        found = self._cluster.state.nodes.get(node)
        return found is not None and found.reservation is not None

    def _forget_reservations(self, application: ApplicationId) -> None:
        nodes = [node for node, (ask, _) in self._reserved.items() if ask[0] == application]
        for node in nodes:
            del self._reserved[node]
