"""What the engine needs to know of registered nodes; the resource tracker keeps it."""

from collections.abc import Iterable
from typing import Protocol

from fairshare.model.identifiers import ContainerId


class RegisteredNodes(Protocol):
    """The nodes that have registered in this life of the server."""

    def address(self, node: str) -> tuple[str, int] | None:
        """Where a node's ContainerManagementProtocol listens; None: it is not registered."""

    def web_address(self, node: str) -> str:
        """`host:port` of the node's own web server; empty: it is not registered."""

    def stop(self, container: ContainerId) -> None:
        """Let the container's node end it with its next heartbeat, if it runs there."""

    def running(self) -> Iterable[tuple[ContainerId, str]]:
        """The containers that nodes reported as running with their last heartbeats, each with its
        node."""
