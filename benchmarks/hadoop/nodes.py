"""Pretended NodeManagers: they register, send a heartbeat each second with the status of each
of their containers, and start what a pretended master tells them to.

All of them live in one event loop, on one connection each, as real ones do.
"""

import asyncio
from typing import Any

from fairshare.yarn.rpc.wire import framing
from fairshare.yarn.rpc.wire.messages import (
    ContainerStatusProto,
    IpcConnectionContextProto,
    NodeHeartbeatRequestProto,
    NodeHeartbeatResponseProto,
    NodeStatusProto,
    RegisterNodeManagerRequestProto,
    RegisterNodeManagerResponseProto,
    RequestHeaderProto,
    RpcRequestHeaderProto,
    RpcResponseHeaderProto,
)

TRACKER = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
FIRST_PORT = 10_001
TICK_S = 0.02
RUNNING, COMPLETE = 2, 3


class PretendedNode(asyncio.Protocol):
    """One NodeManager. `beats` counts the heartbeats that were answered."""

    def __init__(self, number: int, memory_mb: int, vcores: int) -> None:
        self.number = number
        self.port = FIRST_PORT + number
        self.beats = 0
        self.registered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.resyncs = 0
        self._size = (memory_mb, vcores)
        self._transport: Any = None
        self._received = bytearray()
        self._response_id = 0
        self._waiting = False
        self._call = 0
        self._statuses: dict[bytes, bytes] = {}  # as entries of NodeStatusProto
        self._container_key_id = 0
        self._nm_key_id = 0
        self._node_id = NodeStatusProto()
        self._node_id.node_id.host = "127.0.0.1"
        self._node_id.node_id.port = self.port
        self._naming = {
            name: RequestHeaderProto(
                methodName=name, declaringClassProtocolName=TRACKER, clientProtocolVersion=1
            ).SerializeToString()
            for name in ("registerNodeManager", "nodeHeartbeat")
        }

    def connection_made(self, transport: Any) -> None:
        """Log in as Hadoop's own user, and register."""
        self._transport = transport
        context = IpcConnectionContextProto(protocol=TRACKER)
        context.userInfo.effectiveUser = "yarn"
        header = RpcRequestHeaderProto(
            rpcKind=2, rpcOp=0, callId=framing.CONTEXT_CALL, clientId=b"", retryCount=-1
        )
        opening = framing.MAGIC + bytes((framing.VERSION, 0, framing.PLAIN))
        context_frame = framing.frame(header.SerializeToString(), context.SerializeToString())
        transport.write(opening + context_frame)
        request = RegisterNodeManagerRequestProto(http_port=8042, nm_version="3.4.1")
        request.node_id.CopyFrom(self._node_id.node_id)
        request.resource.memory, request.resource.virtual_cores = self._size
        request.nodeStatus.CopyFrom(self._status(0))
        self._send("registerNodeManager", request.SerializeToString())

    def _status(self, response_id: int) -> Any:
        status = NodeStatusProto(response_id=response_id)
        status.node_id.CopyFrom(self._node_id.node_id)
        status.nodeHealthStatus.is_node_healthy = True
        status.nodeHealthStatus.health_report = ""
        status.nodeHealthStatus.last_health_report_time = 1
        return status

    def _send(self, name: str, request: bytes) -> None:
        self._call += 1
        header = RpcRequestHeaderProto(
            rpcKind=2,
            rpcOp=0,
            callId=self._call,
            clientId=self.number.to_bytes(16, "big"),
            retryCount=0,
        )
        self._waiting = True
        self._transport.write(
            framing.frame(header.SerializeToString(), self._naming[name], request)
        )

    def beat(self) -> None:
        """Send a heartbeat, unless the last one is still unanswered."""
        if self._waiting or not self.registered.done():
            return
        request = NodeHeartbeatRequestProto()
        request.last_known_container_token_master_key.key_id = self._container_key_id
        request.last_known_nm_token_master_key.key_id = self._nm_key_id
        # Messages may be concatenated: the statuses are serialized once for each container.
        status = self._status(self._response_id).SerializeToString()
        status += b"".join(self._statuses.values())
        self._send(
            "nodeHeartbeat",
            b"\x0a" + framing.varint(len(status)) + status + bytes(request.SerializeToString()),
        )

    def start(self, container: Any) -> None:
        """Run a container that a master was granted."""
        self._report(container, RUNNING)

    def end(self, container: Any) -> None:
        """End a container with exit code 0."""
        self._report(container, COMPLETE)

    def _report(self, container: Any, state: int) -> None:
        status = ContainerStatusProto(state=state)
        status.container_id.CopyFrom(container)
        if state == COMPLETE:
            status.exit_status = 0
        content = status.SerializeToString()
        key = container.SerializeToString()
        self._statuses[key] = b"\x1a" + framing.varint(len(content)) + content

    def data_received(self, data: bytes) -> None:
        """Take answers."""
        received = self._received
        received += data
        while len(received) >= 4:
            length = framing.frame_length(received)
            if len(received) < 4 + length:
                return
            frame = bytes(received[4 : 4 + length])
            del received[: 4 + length]
            self._answered(frame)

    def _answered(self, frame: bytes) -> None:
        part, at = framing.take_part(frame, 0)
        header = RpcResponseHeaderProto.FromString(part)
        if header.status:
            raise SystemExit(f"a node was refused: {header.exceptionClassName} {header.errorMsg}")
        content, _ = framing.take_part(frame, at)
        self._waiting = False
        if not self.registered.done():
            registration = RegisterNodeManagerResponseProto.FromString(content)
            if registration.nodeAction:
                raise SystemExit(f"a node may not register: {registration.diagnostics_message}")
            self._container_key_id = registration.container_token_master_key.key_id
            self._nm_key_id = registration.nm_token_master_key.key_id
            self.registered.set_result(None)
            return
        answer = NodeHeartbeatResponseProto.FromString(content)
        self.beats += 1
        if answer.nodeAction:
            self.resyncs += 1
            return
        self._response_id = answer.response_id
        for removed in answer.containers_to_be_removed_from_nm:
            self._statuses.pop(removed.SerializeToString(), None)
        for ended in answer.containers_to_cleanup:
            self.end(ended)

    def connection_lost(self, error: Exception | None) -> None:
        """A benchmark whose nodes lose their connection measures nothing."""
        if not self.registered.done():
            self.registered.set_exception(error or ConnectionError("closed before registration"))

    def close(self) -> None:
        """Disconnect."""
        if self._transport is not None:
            self._transport.abort()


class PretendedNodes:
    """Many nodes whose heartbeats are spread evenly over each second."""

    def __init__(self, memory_mb: int, vcores: int) -> None:
        self._size = (memory_mb, vcores)
        self.nodes: list[PretendedNode] = []
        self._beating: asyncio.Task[None] | None = None

    async def start(self, count: int, port: int) -> None:
        """Register them, 200 at once, and begin to beat."""
        loop = asyncio.get_running_loop()
        for first in range(0, count, 200):
            batch = [PretendedNode(n, *self._size) for n in range(first, min(count, first + 200))]
            opened = [loop.create_connection(lambda n=n: n, "127.0.0.1", port) for n in batch]  # type: ignore[misc]
            await asyncio.gather(*opened)
            await asyncio.gather(*(node.registered for node in batch))
            self.nodes += batch
        self._beating = loop.create_task(self._beat())

    def on_port(self, port: int) -> PretendedNode:
        """The node that a granted container names."""
        return self.nodes[port - FIRST_PORT]

    @property
    def beats(self) -> int:
        """All heartbeats that were answered."""
        return sum(node.beats for node in self.nodes)

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        began, sent, count = loop.time(), 0, len(self.nodes)
        while True:
            due = int((loop.time() - began) * count)
            if due - sent > count:
                sent = due - count  # this process is too slow: no beat is sent twice
            for number in range(sent, due):
                self.nodes[number % count].beat()
            sent = due
            await asyncio.sleep(TICK_S)

    def close(self) -> None:
        """Disconnect all of them."""
        if self._beating is not None:
            self._beating.cancel()
        for node in self.nodes:
            node.close()
