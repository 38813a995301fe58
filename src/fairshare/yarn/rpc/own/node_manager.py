"""ContainerManagementProtocol for the nodes of this machine: masters start and stop containers.

A start becomes the ordinary input LaunchContainer, so that the journal has it and a restarted
server adopts the container. Tokens are checked as a NodeManager checks them. Source: Hadoop 3.4.1,
ContainerManagerImpl.
"""

import hmac
from typing import Any

from google.protobuf.message import DecodeError

from fairshare.core.model.identifiers import ContainerId, application_of
from fairshare.core.model.inputs import LaunchContainer
from fairshare.core.model.work import Command
from fairshare.errors import InputError
from fairshare.runtime.projections.container_history import ContainerRecord
from fairshare.server.server import LiveServer
from fairshare.yarn.rpc.ids import container_id_message, container_of, container_text
from fairshare.yarn.rpc.keys import Kind, MasterKeys
from fairshare.yarn.rpc.own.engine import ContextEngine
from fairshare.yarn.rpc.resources import resource_message
from fairshare.yarn.rpc.wire import calls, tokens
from fairshare.yarn.rpc.wire.calls import CallContext, Handler, RpcError
from fairshare.yarn.rpc.wire.messages import (
    ContainerStateProto,
    ContainerStatusProto,
    ContainerTokenIdentifierProto,
    GetContainerStatusesResponseProto,
    StartContainersResponseProto,
    StopContainersResponseProto,
)

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

_NO_SERVICES = (
    "nodes of this machine have no auxiliary services. A MapReduce job runs here within its master,"
    " if it is small (-Dmapreduce.job.ubertask.enable=true: up to 9 maps and 1 reduce); others need"
    " NodeManagers (fairshare serve --engine nodemanagers)"
)


class NodeManager:
    """The handlers of one node. `address` is `host:port`, as its containers' tokens name it."""

    def __init__(
        self,
        server: LiveServer,
        engine: ContextEngine,
        keys: MasterKeys,
        node: str,
        address: str,
    ) -> None:
        self._server = server
        self._engine = engine
        self._keys = keys
        self._node = node
        self._address = address

    @property
    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of the protocol's methods."""
        return {
            "startContainers": self.start_containers,
            "stopContainers": self.stop_containers,
            "getContainerStatuses": self.get_statuses,
            **{name: _refusing(name) for name in NOT_SUPPORTED},
        }

    async def start_containers(self, context: CallContext, request: Any) -> Any:
        """startContainers: each one by itself; a refusal does not concern the others."""
        answer = StartContainersResponseProto()
        for start in request.start_container_request:
            identifier = ContainerTokenIdentifierProto()
            try:
                identifier = self._identifier(start.container_token)
                await self._start(context, identifier, start.container_launch_context)
            except RpcError as error:
                _add_failure(answer, identifier.containerId, error)
            except InputError as error:
                _add_failure(answer, identifier.containerId, RpcError(calls.YARN, str(error)))
            else:
                answer.succeeded_requests.append(identifier.containerId)
        return answer

    def stop_containers(self, context: CallContext, request: Any) -> Any:
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

    def get_statuses(self, context: CallContext, request: Any) -> Any:
        """getContainerStatuses, of the caller's application."""
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
            answer.status.append(self._status(container, record))
        return answer

    # -- checks -----------------------------------------------------------------------------------

    def _identifier(self, message: Any) -> Any:
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

    async def _start(self, context: CallContext, identifier: Any, launch: Any) -> None:
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
            raise RpcError(
                calls.INVALID_AUXILIARY_SERVICE,
                f"The auxService:{service.key} does not exist: {_NO_SERVICES}",
            )
        command = Command(
            tuple(launch.command), callable=launch.SerializeToString(), is_launch_context=True
        )
        server = self._server
        async with server.payloads.of_command(command) as stored:
            application = application_of(container)
            await server.service.ask(LaunchContainer(application, container, stored))

    def _container(self, context: CallContext, message: Any) -> ContainerId:
        """The container that a master names, which must be its application's."""
        container = container_of(message, self._server.service.state.epoch_ms)
        assert context.token is not None, "this port takes only logins with tokens"
        caller = context.token.content.appAttemptId.application_id
        if container is None or application_of(container) != caller.id:
            raise RpcError(
                calls.YARN,
                f"Unauthorized request: {container_text(message)} is not of the application that"
                " the NMToken is for",
            )
        record = self._server.projections.history.container(container)
        if record is None or record.node != self._node:
            raise _unknown(message)
        return container

    def _status(self, container: ContainerId, record: ContainerRecord) -> Any:
        state = self._server.service.state
        over = record.exit_code is not None
        return ContainerStatusProto(
            container_id=container_id_message(state.epoch_ms, container),
            state=ContainerStateProto.Value("C_COMPLETE" if over else "C_RUNNING"),
            diagnostics=record.diagnostics,
            exit_status=-1000 if record.exit_code is None else record.exit_code,
            capability=resource_message(record.resource, state.types),
        )


def _unknown(message: Any) -> RpcError:
    return RpcError(
        calls.YARN, f"Container {container_text(message)} is not handled by this NodeManager"
    )


def _add_failure(answer: Any, container: Any, error: RpcError) -> None:
    failed = answer.failed_requests.add(container_id=container)
    failed.exception.message = error.message
    failed.exception.class_name = error.class_name


def _refusing(method: str) -> Handler:
    def handler(context: CallContext, request: Any) -> Any:
        raise RpcError(
            calls.UNSUPPORTED_OPERATION,
            f"{method} is not supported by the nodes of this machine",
        )

    return handler
