"""Owns a node as data: what it offers, what runs there, whom it is kept free for."""

import msgspec

from fairshare.model.events import ContainerAllocated
from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.model.resources import Resource, subtract


class Reservation(msgspec.Struct, frozen=True):
    """A node kept free for one ask of one application; it uses nothing until it is fulfilled."""

    application: ApplicationId
    node: str
    resource: Resource
    priority: int
    request: int


class Node:
    """One node. `available` may be negative after a node became smaller.

    `ending` has the containers that are over and hold their room until the node reports their end.
    `promised` is what stays free for applications that others were preempted for.
    """

    __slots__ = (
        "attributes",
        "available",
        "containers",
        "ending",
        "marked",
        "name",
        "promised",
        "rack",
        "reservation",
        "total",
    )

    def __init__(self, name: str, rack: str, total: Resource, attributes: dict[str, str]) -> None:
        self.name = name
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
        """What its containers have together, those that are ending among them."""
        return subtract(self.total, self.available)

    @property
    def occupants(self) -> int:
        """How many containers have room there."""
        return len(self.containers) + len(self.ending)

    def resize(self, total: Resource) -> None:
        """Offer another amount; what runs stays."""
        self.available = subtract(total, self.used)
        self.total = total
