"""A server whose local engine is a NodeManager for masters, which are tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from tests.waiting import until

from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.identifiers import ContainerId, attempt_of
from fairshare.core.model.inputs import RequestContainers, SubmitApplication
from fairshare.core.model.work import Command, ContainerRequest
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.server.engines import made_local
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.settings.limits import LimitSettings
from fairshare.yarn.rpc.configuration import KeySettings
from fairshare.yarn.rpc.keys import MasterKeys, TokenSigner
from fairshare.yarn.rpc.own.engine import ContextEngine
from fairshare.yarn.rpc.own.node_manager import NodePorts
from fairshare.yarn.rpc.wire import tokens
from fairshare.yarn.rpc.wire.client import RpcClient
from fairshare.yarn.rpc.wire.descriptors import CONTAINER_MANAGEMENT
from fairshare.yarn.rpc.wire.messages import (
    ContainerLaunchContextProto,
    StartContainersRequestProto,
)

LIFE_MS = 600_000


class Machine:
    """A server whose local engine is a NodeManager for masters, with one application that runs."""

    def __init__(
        self,
        path: Path,
        *,
        stop_containers: bool = True,
        account: str = "",
        limits: LimitSettings | None = None,
    ) -> None:
        """With an account, containers run under it."""
        fair = FairSettings(minimum_allocation=(128, 1), increment_allocation=(128, 1))
        settings = LiveSettings(
            scheduler="fair",
            types=fair.types,
            scheduler_settings=msgspec.json.encode(fair),
            state_directory=path / "state",
            memory_mb=2048,
            vcores=4,
            stop_containers=stop_containers,
            run_as="user" if account else "server",
            limits=limits or LimitSettings(),
        )
        self.user = account or "ann"
        self.path = path
        self.server = LiveServer(settings, self._engine)
        server = self.server
        self.keys = MasterKeys.open(server.directory.path, KeySettings(), 0)
        self.ports = NodePorts(("local",), "127.0.0.1", server.directory.path)
        self.signer = self.signer_of(server.started_ms)
        self.engine.connect(
            lambda: server.service.state, self.signer, self.ports.address_of, ("127.0.0.1", 8088)
        )
        self.client = RpcClient(self.user)

    def _engine(self, settings: LiveSettings, path: Path) -> ContextEngine:
        self.engine = made_local(ContextEngine, settings, path)
        return self.engine

    def signer_of(self, manager_id: int, life_ms: int = LIFE_MS) -> TokenSigner:
        return TokenSigner(
            self.keys,
            self.server.epoch_ms,
            manager_id,
            self.server.settings.types,
            life_ms,
            self.server.service.now_ms,
            self.ports.service_of,
            self.ports.node_id,
        )

    @property
    def containers(self) -> dict[ContainerId, ContainerAllocated]:
        return self.server.service.state.applications[1].containers

    async def submit(self, context: Any) -> None:
        driver = Command(("master",), callable=context.SerializeToString(), is_launch_context=True)
        given = SubmitApplication(self.user, "root.default", master=(128, 1), driver=driver)
        async with self.server.payloads.of_submission(given) as submission:
            await self.server.service.ask(submission)

    async def granted(self) -> ContainerAllocated:
        """One more container for the application."""
        before = set(self.containers)
        await self.server.service.ask(RequestContainers(1, (ContainerRequest(1, (128, 1)),)))
        await until(lambda: len(self.containers) > len(before))
        (found,) = set(self.containers) - before
        return self.containers[found]

    async def call(self, method: str, request: Any, granted: ContainerAllocated) -> Any:
        login = self.signer.node(1, attempt_of(granted.container), "local", self.user)
        return await self.client.call(
            self.ports.address_of("local"), CONTAINER_MANAGEMENT, method, request, token=login
        )

    async def start(
        self, granted: ContainerAllocated, context: Any, token: tokens.Token | None = None
    ) -> Any:
        request = StartContainersRequestProto()
        start = request.start_container_request.add()
        start.container_launch_context.CopyFrom(context)
        signed = token or self.signer.container(granted, self.user)
        start.container_token.CopyFrom(signed.message())
        return await self.call("startContainers", request, granted)


@asynccontextmanager
async def machine(path: Path, **options: Any) -> AsyncIterator[Machine]:
    made = Machine(path, **options)
    await made.server.start("http://127.0.0.1:1")
    await made.ports.start(made.server, made.engine, made.keys)
    try:
        yield made
    finally:
        await made.client.close()
        await made.ports.stop()
        await made.server.close()


def context(*commands: str) -> Any:
    return ContainerLaunchContextProto(command=commands)
