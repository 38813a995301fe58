"""ContainerManagementProtocol for the nodes of this machine: masters start and stop containers.

A start becomes the ordinary input LaunchContainer, so that the journal has it and a restarted
server adopts the container. Tokens are checked as a NodeManager checks them. Each node has a port
of its own, and all together one for MapReduce's shuffle (`NodePorts`). Source: Hadoop 3.4.1,
ContainerManagerImpl.
"""

import contextlib
import hmac
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import LaunchContainer
from fairshare.core.model.work import Command
from fairshare.errors import FairshareError
from fairshare.server.server import LiveServer
from fairshare.server.state_directory import write_file
from fairshare.wording import cause
from fairshare.yarn.rpc.keys import Kind, MasterKeys
from fairshare.yarn.rpc.own.engine import SHUFFLE, ContextEngine, unknown_service
from fairshare.yarn.rpc.own.shuffle import Shuffle
from fairshare.yarn.rpc.records import (
    container_id_message,
    container_of,
    container_text,
    node_id_message,
    resource_message,
)
from fairshare.yarn.rpc.wire import calls, tokens
from fairshare.yarn.rpc.wire.calls import CallContext, Handler, RpcError
from fairshare.yarn.rpc.wire.descriptors import CONTAINER_MANAGEMENT
from fairshare.yarn.rpc.wire.messages import (
    ContainerIdProto,
    ContainerLaunchContextProto,
    ContainerStateProto,
    ContainerTokenIdentifierProto,
    GetContainerStatusesRequestProto,
    GetContainerStatusesResponseProto,
    NodeIdProto,
    StartContainersRequestProto,
    StartContainersResponseProto,
    StopContainersRequestProto,
    StopContainersResponseProto,
    TokenProto,
)
from fairshare.yarn.rpc.wire.server import BACKLOG, RpcServer, TokenLogins, methods_of

NOT_SUPPORTED = (
    "increaseContainersResource",
    "updateContainer",
    "signalToContainer",
    "localize",
    "reInitializeContainer",
    "restartContainer",
    "rollbackLastReInitialization",
    "commitLastReInitialization",
    "getLocalizationStatuses",
)
"""Methods of a NodeManager that the nodes of this machine refuse by name."""


class NodeManager:
    """The handlers of one node. `address` is `host:port`, as its containers' tokens name it."""

    def __init__(
        self,
        server: LiveServer,
        engine: ContextEngine,
        keys: MasterKeys,
        node: str,
        address: str,
        shuffle: Shuffle,
    ) -> None:
        self._server = server
        self._engine = engine
        self._keys = keys
        self._node = node
        self._address = address
        self._shuffle = shuffle

    @property
    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of the protocol's methods."""
        return {
            "startContainers": self.start_containers,
            "stopContainers": self.stop_containers,
            "getContainerStatuses": self.get_statuses,
            **{name: _refusing(name) for name in NOT_SUPPORTED},
        }

    async def start_containers(
        self, context: CallContext, request: StartContainersRequestProto
    ) -> StartContainersResponseProto:
        """startContainers: each one by itself; a refusal does not concern the others."""
        answer = StartContainersResponseProto()
        answer.services_meta_data.add(key=SHUFFLE, value=self._shuffle.metadata)
        for start in request.start_container_request:
            identifier = ContainerTokenIdentifierProto()
            try:
                identifier = self._identifier(start.container_token)
                await self._start(context, identifier, start.container_launch_context)
            except RpcError as error:
                _add_failure(answer, identifier.containerId, error)
                if error.class_name == calls.INVALID_AUXILIARY_SERVICE:
                    self._server.refused_requests.refused(
                        _application_of(context), "launch", error.message
                    )
            except FairshareError as error:
                _add_failure(answer, identifier.containerId, RpcError(calls.YARN, str(error)))
            else:
                self._server.refused_requests.accepted(_application_of(context), "launch")
                answer.succeeded_requests.append(identifier.containerId)
        return answer

    def stop_containers(
        self, context: CallContext, request: StopContainersRequestProto
    ) -> StopContainersResponseProto:
        """stopContainers: the containers of the caller's application end with exit code -105."""
        answer = StopContainersResponseProto()
        for message in request.container_id:
            try:
                container = self._container(context, message)
            except RpcError as error:
                _add_failure(answer, message, error)
                continue
            self._engine.stop_for_master(container)
            answer.succeeded_requests.append(message)
        return answer

    def get_statuses(
        self, context: CallContext, request: GetContainerStatusesRequestProto
    ) -> GetContainerStatusesResponseProto:
        """getContainerStatuses, of the caller's application."""
        state = self._server.service.state
        answer = GetContainerStatusesResponseProto()
        for message in request.container_id:
            try:
                container = self._container(context, message)
                record = self._server.projections.history.container(container)
                if record is None or record.launched_ms is None:
                    raise _unknown(message)
            except RpcError as error:
                _add_failure(answer, message, error)
                continue
            over = record.exit_code is not None
            answer.status.add(
                container_id=container_id_message(state.epoch_ms, container),
                state=ContainerStateProto.Value("C_COMPLETE" if over else "C_RUNNING"),
                diagnostics=record.diagnostics,
                exit_status=-1000 if record.exit_code is None else record.exit_code,
                capability=resource_message(record.resource, state.types),
            )
        return answer

    # -- checks -----------------------------------------------------------------------------------

    def _identifier(self, message: TokenProto) -> ContainerTokenIdentifierProto:
        """The identifier of a container's token that this cluster has signed."""
        token = tokens.token_of(message)
        try:
            identifier = ContainerTokenIdentifierProto.FromString(token.identifier)
        except DecodeError as error:
            raise RpcError(
                calls.INVALID_TOKEN, f"the container's token cannot be read: {error}"
            ) from error
        key = self._keys.known(Kind.CONTAINER, identifier.masterKeyId)
        if key is None or not hmac.compare_digest(
            tokens.password(key, token.identifier), token.password
        ):
            raise RpcError(
                calls.INVALID_TOKEN,
                "Given Container "
                f"{container_text(identifier.containerId)} seems to have an illegally generated"
                " token.",
            )
        return identifier

    async def _start(
        self,
        context: CallContext,
        identifier: ContainerTokenIdentifierProto,
        launch: ContainerLaunchContextProto,
    ) -> None:
        name = container_text(identifier.containerId)
        container = self._container(context, identifier.containerId)
        if identifier.nmHostAddr != self._address:
            raise RpcError(
                calls.YARN,
                f"{name} was allocated on {identifier.nmHostAddr}, and this is {self._address}",
            )
        if identifier.rmIdentifier != self._server.started_ms:
            raise RpcError(
                calls.YARN,
                f"Container {name} rejected as it is allocated by a previous RM",
            )
        if identifier.expiryTimeStamp < self._server.service.now_ms():
            raise RpcError(
                calls.YARN,
                "Unauthorized request to start container. This token is expired. current time is"
                f" {self._server.service.now_ms()} found {identifier.expiryTimeStamp}",
            )
        for service in launch.service_data:
            if service.key != SHUFFLE:
                raise RpcError(calls.INVALID_AUXILIARY_SERVICE, unknown_service(service.key))
        command = Command(
            tuple(launch.command), callable=launch.SerializeToString(), is_launch_context=True
        )
        server = self._server
        async with server.payloads.of_command(command) as stored:
            application = application_of(container)
            for service in launch.service_data:
                name, _ = server.container_names(container)
                self._shuffle.secrets.keep(name, service.value)
            await server.service.ask(LaunchContainer(application, container, stored))

    def _container(self, context: CallContext, message: ContainerIdProto) -> ContainerId:
        """The container that a master names, which must be its application's."""
        container = container_of(message, self._server.service.state.epoch_ms)
        if container is None or application_of(container) != _application_of(context):
            raise RpcError(
                calls.YARN,
                f"Unauthorized request: {container_text(message)} is not of the application that"
                " the NMToken is for",
            )
        record = self._server.projections.history.container(container)
        if record is None or record.node != self._node:
            raise _unknown(message)
        return container


def _application_of(context: CallContext) -> ApplicationId:
    """The application of the master that calls."""
    assert context.token is not None, "this port takes only logins with tokens"
    number: ApplicationId = context.token.content.appAttemptId.application_id.id
    return number


def _unknown(message: ContainerIdProto) -> RpcError:
    return RpcError(
        calls.YARN, f"Container {container_text(message)} is not handled by this NodeManager"
    )


def _add_failure(
    answer: StartContainersResponseProto
    | StopContainersResponseProto
    | GetContainerStatusesResponseProto,
    container: ContainerIdProto,
    error: RpcError,
) -> None:
    failed = answer.failed_requests.add(container_id=container)
    failed.exception.message = error.message
    failed.exception.class_name = error.class_name


def _refusing(method: str) -> Handler:
    def handler(context: CallContext, request: object) -> Any:
        raise RpcError(
            calls.UNSUPPORTED_OPERATION,
            f"{method} is not supported by the nodes of this machine",
        )

    return handler


FILE = "hadoop-node-ports"


class NodePorts:
    """One port for each node and one for the shuffle, bound at once, so that tokens and containers
    can name them. `shuffle_port` 0: any free one.

    A server that starts again takes the same ports if they are free: masters know them. They are in
    a file of the state directory. Raises FairshareError if a port cannot be had.
    """

    def __init__(
        self, nodes: Sequence[str], host: str, state_directory: Path, shuffle_port: int = 0
    ) -> None:
        self._host = host
        self._listeners: dict[str, socket.socket] = {}
        self._opened = contextlib.AsyncExitStack()
        known = _read(state_directory / FILE)
        for node in (*nodes, SHUFFLE):
            try:
                if shuffle_port and node == SHUFFLE:
                    listener = _listener(host, shuffle_port)
                else:
                    listener = _remembered(host, known.get(node, 0))
            except OSError as error:
                self.release()
                port = f":{shuffle_port}" if node == SHUFFLE and shuffle_port else ""
                raise FairshareError(
                    f"{node} cannot listen on {host}{port}: {cause(error)}"
                ) from error
            self._listeners[node] = listener
        self._ports = {node: one.getsockname()[1] for node, one in self._listeners.items()}
        if self._ports != known:
            write_file(state_directory / FILE, msgspec.json.encode(self._ports))

    def address_of(self, node: str) -> tuple[str, int]:
        """Where a node listens, or SHUFFLE; port 0: it is not a node of this machine."""
        return self._host, self._ports.get(node, 0)

    def node_id(self, node: str) -> NodeIdProto:
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
        listeners = dict(self._listeners)
        shuffle = Shuffle(server, engine, listeners.pop(SHUFFLE))
        await shuffle.start()
        self._opened.push_async_callback(shuffle.stop)
        for node, listener in listeners.items():
            manager = NodeManager(server, engine, keys, node, self.service_of(node), shuffle)
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


def _remembered(host: str, port: int) -> socket.socket:
    """A socket on this port, or on any free one if it is in use."""
    try:
        return _listener(host, port)
    except OSError:
        if not port:
            raise
        return _listener(host, 0)


def _listener(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _read(path: Path) -> dict[str, int]:
    """The ports of the server before; none if they cannot be read."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except (OSError, msgspec.DecodeError):
        return {}
    return {node: port for node, port in found.items() if 0 < port < 65_536}
