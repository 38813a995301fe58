"""Three nodes that leave a cluster, beside its real ones: `lost:1` falls silent, `shutdown:1` says
that it leaves, `excluded:1` beats until it is sent away. Too small for any container.

python -m tests.hadoop.departing PORT, until its input ends
"""

import asyncio
import sys
import time
from typing import Any

from fairshare.yarn.rpc.wire.client import RpcClient
from fairshare.yarn.rpc.wire.descriptors import RESOURCE_TRACKER
from fairshare.yarn.rpc.wire.messages import (
    NodeHeartbeatRequestProto,
    RegisterNodeManagerRequestProto,
    UnRegisterNodeManagerRequestProto,
)

LOST, SHUTDOWN, EXCLUDED = "lost", "shutdown", "excluded"
MEMORY_MB = 128
BEAT_S = 0.5
_NORMAL = 0


class Node:
    """A node that calls the tracker at a port."""

    def __init__(self, client: RpcClient, port: int, host: str) -> None:
        self._client = client
        self._address = ("127.0.0.1", port)
        self._host = host

    async def register(self) -> None:
        """Join the cluster."""
        request = RegisterNodeManagerRequestProto(http_port=1, nm_version="3.4.1")
        self._name(request.node_id)
        request.resource.memory, request.resource.virtual_cores = MEMORY_MB, 1
        answer = await self._call("registerNodeManager", request)
        assert answer.nodeAction == _NORMAL, answer

    async def leave(self) -> None:
        """Leave it."""
        request = UnRegisterNodeManagerRequestProto()
        self._name(request.node_id)
        await self._call("unRegisterNodeManager", request)

    async def beat(self) -> None:
        """Beat until the server sends it away."""
        number = 0
        while True:
            request = NodeHeartbeatRequestProto()
            self._name(request.node_status.node_id)
            request.node_status.response_id = number
            health = request.node_status.nodeHealthStatus
            health.is_node_healthy = True
            health.health_report = ""
            health.last_health_report_time = time.time_ns() // 1_000_000
            answer = await self._call("nodeHeartbeat", request)
            if answer.nodeAction != _NORMAL:
                return
            number = answer.response_id
            await asyncio.sleep(BEAT_S)

    def _name(self, message: Any) -> None:
        message.host, message.port = self._host, 1

    async def _call(self, method: str, request: Any) -> Any:
        return await self._client.call(self._address, RESOURCE_TRACKER, method, request)


async def main(port: int) -> None:
    """Let all of them join, and say so; then they leave."""
    client = RpcClient("yarn")
    nodes = {host: Node(client, port, host) for host in (LOST, SHUTDOWN, EXCLUDED)}
    for node in nodes.values():
        await node.register()
    await nodes[SHUTDOWN].leave()
    print("joined", flush=True)
    beating = asyncio.create_task(nodes[EXCLUDED].beat())
    await asyncio.to_thread(sys.stdin.read)
    beating.cancel()
    await client.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
