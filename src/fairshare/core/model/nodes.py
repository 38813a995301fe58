"""A node as data: its total, its containers, and its reservation."""

import msgspec

from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.resources import Resource, subtract


class Reservation(msgspec.Struct, frozen=True):
    """The reservation of a node for one ask of one application; it uses no resources of the node
    until it is fulfilled."""

    application: ApplicationId
    node: str
    resource: Resource
    priority: int
    request: int


class Node:
    """One node. `host` is what requests and blacklists name; several nodes may share one.

    `available` may be negative after a node became smaller.

    `ending` has the completed containers that hold their room until the node reports their end.
    `promised` is the room kept free for applications on whose behalf containers were preempted.
    """

    __slots__ = (
        "attributes",
        "available",
        "containers",
        "ending",
        "host",
        "marked",
        "name",
        "promised",
        "rack",
        "reservation",
        "total",
    )

    def __init__(
        self,
        name: str,
        rack: str,
        total: Resource,
        attributes: dict[str, str],
        host: str = "",
    ) -> None:
        self.name = name
        self.host = host or name
        self.rack = rack
        self.total = total
        self.available = total
        self.attributes = attributes
        self.containers: dict[ContainerId, ContainerAllocated] = {}
        self.ending: dict[ContainerId, ContainerAllocated] = {}
        self.reservation: Reservation | None = None
        self.marked: dict[ContainerId, ContainerAllocated] = {}
        self.promised: dict[ApplicationId, Resource] = {}

    @property
    def used(self) -> Resource:
        """The resources of all its containers, including those that are ending."""
        return subtract(self.total, self.available)

    @property
    def occupants(self) -> int:
        """The number of containers that hold room on the node."""
        return len(self.containers) + len(self.ending)

    def resize(self, total: Resource) -> None:
        """Change the total; the containers stay."""
        self.available = subtract(total, self.used)
        self.total = total
