"""The ports of this machine's nodes, on which masters start their containers."""

import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from fairshare.errors import FairshareError
from fairshare.server.server import LiveServer
from fairshare.server.state_directory import write_file
from fairshare.wording import cause
from fairshare.yarn.rpc.ids import node_id_message
from fairshare.yarn.rpc.keys import Kind, MasterKeys
from fairshare.yarn.rpc.own.engine import ContextEngine
from fairshare.yarn.rpc.own.node_manager import NodeManager
from fairshare.yarn.rpc.wire import tokens
from fairshare.yarn.rpc.wire.descriptors import CONTAINER_MANAGEMENT
from fairshare.yarn.rpc.wire.server import BACKLOG, RpcServer, TokenLogins, methods_of

FILE = "hadoop-node-ports"


class NodePorts:
    """One port for each node, bound at once, so that tokens and containers can name it.

    A server that starts again takes the same ports if they are free: masters know them. They are in
    a file of the state directory. Raises FairshareError if a port cannot be had.
    """

    def __init__(self, nodes: Sequence[str], host: str, state_directory: Path) -> None:
        self._host = host
        self._listeners: dict[str, socket.socket] = {}
        self._opened = contextlib.AsyncExitStack()
        known = _read(state_directory / FILE)
        for node in nodes:
            try:
                self._listeners[node] = _bound(host, known.get(node, 0))
            except OSError as error:
                self.release()
                raise FairshareError(
                    f"node {node} cannot listen on {host}: {cause(error)}"
                ) from error
        self._ports = {node: one.getsockname()[1] for node, one in self._listeners.items()}
        if self._ports != known:
            write_file(state_directory / FILE, msgspec.json.encode(self._ports))

    def address_of(self, node: str) -> tuple[str, int]:
        """Where a node listens; port 0: it is not a node of this machine."""
        return self._host, self._ports.get(node, 0)

    def node_id(self, node: str) -> Any:
        """The NodeIdProto by which masters reach a node."""
        host, port = self.address_of(node)
        return node_id_message(f"{host}:{port}" if port else node)

    def service_of(self, node: str) -> str:
        """`IP:port` of a node, which its tokens name."""
        host, port = self.address_of(node)
        return f"{host}:{port}"

    async def start(self, server: LiveServer, engine: ContextEngine, keys: MasterKeys) -> None:
        """Serve masters."""
        logins = TokenLogins(tokens.NM_TOKEN, lambda found: keys.known(Kind.NODE, found.keyId))
        for node, listener in self._listeners.items():
            manager = NodeManager(server, engine, keys, node, self.service_of(node))
            handlers = methods_of(CONTAINER_MANAGEMENT, manager.handlers)
            served = RpcServer(f"node {node}", handlers, logins)
            await served.start(listener)
            self._opened.push_async_callback(served.stop)

    async def stop(self) -> None:
        """Close the ports."""
        await self._opened.aclose()
        self.release()

    def release(self) -> None:
        """Close what is bound."""
        for listener in self._listeners.values():
            listener.close()


def _bound(host: str, port: int) -> socket.socket:
    """A socket on this port, or on any free one if it is in use."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        if not port:
            raise
        return _bound(host, 0)
    listener.setblocking(False)
    return listener


def _read(path: Path) -> dict[str, int]:
    """The ports of the server before; none if they cannot be read."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except (OSError, msgspec.DecodeError):
        return {}
    return {node: port for node, port in found.items() if 0 < port < 65_536}
