"""What the engine needs to know of registered nodes; `registered_nodes` keeps it."""

from collections.abc import Iterable
from typing import Any, Protocol

from fairshare.model.identifiers import ContainerId


class Node(Protocol):
    """A NodeManager."""

    name: str
    host: str
    port: int

    @property
    def web_address(self) -> str:
        """`host:port` of its web server."""


class Nodes(Protocol):
    """The nodes that have registered in this life of the server."""

    def get(self, name: str) -> Node | None:
        """A registered node; None: it is unknown, has not returned, or is lost."""

    def node_of(self, container: ContainerId) -> Node | None:
        """The node that runs a container; None if none has reported it."""

    def clean_up(self, container: ContainerId) -> None:
        """Have its node stop a container with the next heartbeat."""

    def signal(self, container: ContainerId, request: Any) -> bool:
        """Have its node send a container a signal (a SignalContainerRequestProto) with the next
        heartbeat; False if no node runs it."""

    def running(self) -> Iterable[ContainerId]:
        """All containers that nodes have reported as running."""
