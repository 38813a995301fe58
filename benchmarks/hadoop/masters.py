"""Pretended application masters: unmanaged applications that hold a number of containers, end
the oldest ones at a steady rate, and request others for them.
"""

import asyncio
import time
from collections import deque
from typing import Any

from benchmarks.hadoop.nodes import PretendedNodes
from fairshare.yarn.rpc.wire.client import RpcClient
from fairshare.yarn.rpc.wire.messages import (
    AllocateRequestProto,
    FinishApplicationMasterRequestProto,
    GetApplicationReportRequestProto,
    GetNewApplicationRequestProto,
    RegisterApplicationMasterRequestProto,
    SubmitApplicationRequestProto,
)
from fairshare.yarn.rpc.wire.tokens import Token, token_of

CLIENT = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
MASTER = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
BEAT_S = 1.0


class PretendedMaster:
    """One unmanaged application. `latencies_s` has how long each allocate took."""

    def __init__(
        self, nodes: PretendedNodes, ports: dict[str, int], target: int, ended_per_s: float
    ) -> None:
        self._nodes = nodes
        self._addresses = {name: ("127.0.0.1", port) for name, port in ports.items()}
        self._target = target
        self._ended_per_s = ended_per_s
        self._client = RpcClient("bench")
        self._token: Token
        self._running: deque[Any] = deque()
        self._response_id = 0
        self._owed = 0.0
        self.granted = 0
        self.steady = False
        self.latencies_s: list[float] = []

    @property
    def full(self) -> bool:
        """Whether it holds all containers that it wants."""
        return len(self._running) >= self._target

    async def start(self) -> None:
        """Submit the application, and register its master."""
        new = await self._ask("getNewApplication", GetNewApplicationRequestProto())
        request = SubmitApplicationRequestProto()
        context = request.application_submission_context
        context.application_id.CopyFrom(new.application_id)
        context.application_name, context.queue, context.unmanaged_am = "bench", "default", True
        context.priority.priority = 0
        context.am_container_spec.SetInParent()
        context.resource.memory, context.resource.virtual_cores = 1024, 1
        await self._ask("submitApplication", request)
        report = GetApplicationReportRequestProto()
        report.application_id.CopyFrom(new.application_id)
        for _ in range(600):
            found = (await self._ask("getApplicationReport", report)).application_report
            if found.am_rm_token.identifier:
                break
            await asyncio.sleep(0.1)
        self._token = token_of(found.am_rm_token)
        register = RegisterApplicationMasterRequestProto(host="127.0.0.1", rpc_port=0)
        await self._tell("registerApplicationMaster", register)

    async def run(self, after_s: float) -> None:
        """Beat for ever, from then on: masters of a real cluster do not call all at once."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(after_s)
        due = loop.time()
        asked = 0
        while True:
            request = AllocateRequestProto(response_id=self._response_id, progress=0.5)
            if self.steady:
                self._owed += self._ended_per_s * BEAT_S
                while self._owed >= 1 and self._running:
                    self._owed -= 1
                    container = self._running.popleft()
                    self._nodes.on_port(container.nodeId.port).end(container.id)
            # What was granted while a request was on its way comes on top: it is given back.
            while len(self._running) > self._target:
                container = self._running.pop()
                self._nodes.on_port(container.nodeId.port).end(container.id)
            missing = self._target - len(self._running)
            if missing != asked:
                ask = request.ask.add(
                    resource_name="*", num_containers=missing, relax_locality=True
                )
                ask.allocation_request_id = 0
                ask.priority.priority = 1
                ask.capability.memory, ask.capability.virtual_cores = 1024, 1
                asked = missing
            began = time.perf_counter()
            answer = await self._tell("allocate", request)
            if self.steady:
                self.latencies_s.append(time.perf_counter() - began)
            self._response_id = answer.response_id
            for container in answer.allocated_containers:
                self._nodes.on_port(container.nodeId.port).start(container.id)
                self._running.append(container)
            self.granted += len(answer.allocated_containers)
            asked = max(0, asked - len(answer.allocated_containers))
            due = max(due + BEAT_S, loop.time())
            await asyncio.sleep(due - loop.time())

    async def close(self) -> None:
        """Unregister and disconnect."""
        request = FinishApplicationMasterRequestProto(final_application_status=1)
        await self._tell("finishApplicationMaster", request)
        await self._client.close()

    async def _ask(self, name: str, request: Any) -> Any:
        return await self._client.call(self._addresses["client"], CLIENT, name, request)

    async def _tell(self, name: str, request: Any) -> Any:
        return await self._client.call(
            self._addresses["scheduler"], MASTER, name, request, token=self._token, timeout_s=120
        )
