"""A master of Hadoop's kind in Python: `python hadoop_master.py PORT COUNT LINE`.

Asks for COUNT containers, runs LINE in each, and finishes when all have ended; it registers again
when the ResourceManager was started again, and asks again for what it has not got. Its last line is
the exit codes.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fairshare.yarn.rpc.wire import calls, descriptors, tokens
from fairshare.yarn.rpc.wire.client import RemoteError, RpcClient, Unreachable
from fairshare.yarn.rpc.wire.messages import (
    AllocateRequestProto,
    FinalApplicationStatusProto,
    FinishApplicationMasterRequestProto,
    RegisterApplicationMasterRequestProto,
    StartContainersRequestProto,
)

PAUSE_S = 0.05


class Master:
    """The application as its master sees it."""

    def __init__(self, port: int, count: int, line: str) -> None:
        credentials = Path(os.environ["HADOOP_TOKEN_FILE_LOCATION"]).read_bytes()
        self.token = tokens.read_credentials(credentials).tokens[""]
        self.client = RpcClient("master")
        self.address = ("127.0.0.1", port)
        self.count = count
        self.line = line
        self.node_tokens: dict[str, tokens.Token] = {}
        self.started: set[int] = set()
        self.codes: dict[int, int] = {}
        self.response_id = 0
        self.asked = 0

    async def call(self, method: str, request: Any) -> Any:
        """A call to the ResourceManager, again while it does not answer."""
        protocol = descriptors.APPLICATION_MASTER
        while True:
            try:
                return await self.client.call(
                    self.address, protocol, method, request, token=self.token
                )
            except Unreachable:
                await asyncio.sleep(PAUSE_S)

    async def registered(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """A call that is made again after a registration if the ResourceManager is a new one."""
        while True:
            try:
                return await call()
            except RemoteError as error:
                if error.class_name != calls.MASTER_NOT_REGISTERED:
                    raise
                await self.register()

    async def register(self) -> None:
        request = RegisterApplicationMasterRequestProto(host="here", rpc_port=1, tracking_url="")
        await self.call("registerApplicationMaster", request)
        self.response_id, self.asked = 0, 0

    async def allocate(self) -> None:
        wanted = self.count - len(self.started)
        request = AllocateRequestProto(response_id=self.response_id, progress=0.5)
        if wanted != self.asked:
            ask = request.ask.add(resource_name="*", num_containers=wanted, relax_locality=True)
            ask.priority.priority = 1
            ask.capability.memory, ask.capability.virtual_cores = 64, 1
        answer = await self.call("allocate", request)
        self.response_id, self.asked = answer.response_id, wanted
        for one in answer.nm_tokens:
            where = f"{one.nodeId.host}:{one.nodeId.port}"
            self.node_tokens[where] = tokens.token_of(one.token)
        for container in answer.allocated_containers:
            await self.start(container)
        for status in answer.completed_container_statuses:
            if status.container_id.id in self.started:
                self.codes[status.container_id.id] = status.exit_status

    async def start(self, container: Any) -> None:
        request = StartContainersRequestProto()
        start = request.start_container_request.add()
        start.container_launch_context.command.append(self.line)
        start.container_token.CopyFrom(container.container_token)
        address = (container.nodeId.host, container.nodeId.port)
        token = self.node_tokens[f"{address[0]}:{address[1]}"]
        protocol = descriptors.CONTAINER_MANAGEMENT
        answer = await self.client.call(address, protocol, "startContainers", request, token=token)
        for failed in answer.failed_requests:
            raise RuntimeError(failed.exception.message)
        self.started.add(container.id.id)

    async def run(self) -> None:
        await self.register()
        while len(self.codes) < self.count:
            await self.registered(self.allocate)
            await asyncio.sleep(PAUSE_S)
        print("codes", sorted(self.codes.values()), flush=True)
        request = FinishApplicationMasterRequestProto(
            final_application_status=FinalApplicationStatusProto.Value("APP_SUCCEEDED"),
            diagnostics="all have ended",
        )
        await self.registered(lambda: self.call("finishApplicationMaster", request))


if __name__ == "__main__":
    asyncio.run(Master(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]).run())
