"""ResourceManagerAdministrationProtocol and HAServiceProtocol: what `yarn rmadmin` calls.

Only administrators are served (`yarn.admin.acl`). Source: Hadoop 3.4.1, AdminService.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from fairshare.core.model.inputs import (
    AddLabels,
    DecommissionNode,
    Input,
    LabelNodes,
    NodeResized,
    RemoveLabels,
    UndrainNode,
)
from fairshare.errors import ConfigurationError, InputError
from fairshare.yarn.rest.callers import Caller, is_administrator
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.submission import LATER
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.configuration import HostLists
from fairshare.yarn.rpc.records import resource_of
from fairshare.yarn.rpc.user_calls import Denied, audited, caller_of, rpc_error, wrapped
from fairshare.yarn.rpc.wire.calls import (
    INPUT_OUTPUT,
    SERVICE_FAILED,
    YARN,
    CallContext,
    Handler,
    Handlers,
    RpcError,
)
from fairshare.yarn.rpc.wire.descriptors import ADMINISTRATION, HIGH_AVAILABILITY, METHODS
from fairshare.yarn.rpc.wire.messages import (
    AddToClusterNodeLabelsRequestProto,
    CheckForDecommissioningNodesRequestProto,
    CheckForDecommissioningNodesResponseProto,
    DecommissionTypeProto,
    GetGroupsForUserRequestProto,
    GetGroupsForUserResponseProto,
    GetServiceStatusRequestProto,
    GetServiceStatusResponseProto,
    HAServiceStateProto,
    MonitorHealthRequestProto,
    RefreshNodesRequestProto,
    RefreshUserToGroupsMappingsRequestProto,
    RemoveFromClusterNodeLabelsRequestProto,
    ReplaceLabelsOnNodeRequestProto,
    UpdateNodeResourceRequestProto,
)

Answering = Callable[[Caller, Any], Awaitable[None] | Awaitable[Any]]

NO_LABELS = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled"

NOT_SUPPORTED = {
    "mapAttributesToNodes": "nodes have no attributes: use node labels",
    "refreshServiceAcls": "Service Authorization (hadoop.security.authorization) not enabled.",
    "deregisterSubCluster": "there is no federation",
    "saveFederationQueuePolicy": "there is no federation",
    "batchSaveFederationQueuePolicies": "there is no federation",
    "listFederationQueuePolicies": "there is no federation",
    "deleteFederationApplication": "there is no federation",
    "getFederationSubClusters": "there is no federation",
    "deleteFederationPoliciesByQueues": "there is no federation",
}
"""Methods that are refused, and why."""

LOOKING = frozenset(
    ("getGroupsForUser", "checkForDecommissioningNodes", "getServiceStatus", "monitorHealth")
)
"""Methods that change nothing."""

_GRACEFUL = DecommissionTypeProto.Value("DECOMMISSION_GRACEFUL")


class Administration:
    """The handlers for administrators. `graceful_timeout_s` is what a graceful decommissioning has
    if the caller names none."""

    def __init__(self, gateway: Gateway, host_lists: HostLists, graceful_timeout_s: int) -> None:
        self._gateway = gateway
        self._host_lists = host_lists
        self._graceful_timeout_s = graceful_timeout_s

    @property
    def handlers(self) -> Handlers:
        """The handlers by protocol and method."""
        methods: dict[str, Answering] = {
            "refreshQueues": self.refresh_queues,
            "refreshNodes": self.refresh_nodes,
            "refreshSuperUserGroupsConfiguration": self.refresh_queues,
            "refreshUserToGroupsMappings": self.refresh_groups,
            "refreshAdminAcls": self.refresh_queues,
            "refreshClusterMaxPriority": self.refresh_queues,
            "refreshNodesResources": self.refresh_queues,
            "getGroupsForUser": self.groups,
            "updateNodeResource": self.resize,
            "addToClusterNodeLabels": self.add_labels,
            "removeFromClusterNodeLabels": self.remove_labels,
            "replaceLabelsOnNodes": self.replace_labels,
            "checkForDecommissioningNodes": self.decommissioning,
        }
        methods |= {name: self._refuse(name, why) for name, why in NOT_SUPPORTED.items()}
        availability: dict[str, Answering] = {
            "getServiceStatus": self.status,
            "monitorHealth": self.healthy,
            "transitionToActive": self.healthy,
            "transitionToStandby": self._refuse_transition,
            "transitionToObserver": self._refuse_transition,
        }
        of_methods: dict[tuple[str, str], Handler] = {}
        for protocol, handlers in ((ADMINISTRATION, methods), (HIGH_AVAILABILITY, availability)):
            for name, method in handlers.items():
                of_methods[protocol, name] = self._for_administrator(protocol, name, method)
        return audited(self._gateway.server, of_methods, LOOKING)

    def _for_administrator(self, protocol: str, name: str, method: Answering) -> Handler:
        response = METHODS[protocol, name].response

        async def handle(context: CallContext, request: object) -> Any:
            caller = await caller_of(context, self._gateway)
            if not is_administrator(self._gateway, caller):
                raise Denied(f"User {caller.user} doesn't have permission to call '{name}'")
            answer = await method(caller, request)
            return response() if answer is None else answer

        return handle

    def _refuse(self, name: str, why: str) -> Answering:
        async def refuse(caller: Caller, request: object) -> None:
            raise RpcError(YARN, f"{name} is not supported: {why}")

        return refuse

    # Files.

    async def refresh_queues(self, caller: Caller, request: object) -> None:
        """refreshQueues, and all that reads a part of the files in Hadoop: reads all files again;
        nothing changes if one has an error."""
        try:
            await self._gateway.server.configuration.refresh()
        except ConfigurationError as error:
            raise RpcError(YARN, str(error)) from None
        except InputError as error:
            raise rpc_error(error) from None

    async def refresh_groups(
        self, caller: Caller, request: RefreshUserToGroupsMappingsRequestProto
    ) -> None:
        """refreshUserToGroupsMappings: groups are looked up again when they are needed."""
        self._gateway.server.groups.forget()

    async def groups(
        self, caller: Caller, request: GetGroupsForUserRequestProto
    ) -> GetGroupsForUserResponseProto:
        """getGroupsForUser."""
        return GetGroupsForUserResponseProto(groups=await self._gateway.groups_of(request.user))

    # Nodes.

    async def refresh_nodes(self, caller: Caller, request: RefreshNodesRequestProto) -> None:
        """refreshNodes: reads the include and exclude files, and lets go of nodes that they no
        longer admit, gracefully if so wanted; admits others again."""
        problems = self._host_lists.refresh()
        if problems:
            raise RpcError(INPUT_OUTPUT, "; ".join(problems))
        timeout_s = 0
        if request.decommissionType == _GRACEFUL:
            named = request.HasField("decommissionTimeout")
            timeout_s = request.decommissionTimeout if named else self._graceful_timeout_s
        state = self._gateway.scheduler.state
        inputs: list[Input] = []
        for name in {**state.nodes, **state.drains}:
            host = name.rpartition(":")[0] or name
            drain = state.drains.get(name)
            if not self._host_lists.allows(host):
                own = self._host_lists.hosts.excluded.get(host)
                wait_s = timeout_s if own is None or not timeout_s else own
                if name in state.nodes and (drain is None or drain.deadline_ms is None):
                    inputs.append(self._decommission(caller, name, wait_s))
            elif drain is not None and drain.deadline_ms is not None:
                inputs.append(UndrainNode(name))
        await self._feed(inputs)

    @staticmethod
    def _decommission(caller: Caller, node: str, timeout_s: int) -> Input:
        most_ms = 2**53  # negative: without limit, as in Hadoop
        timeout_ms = timeout_s * 1_000 if timeout_s >= 0 else most_ms
        return DecommissionNode(node, timeout_ms)

    async def decommissioning(
        self, caller: Caller, request: CheckForDecommissioningNodesRequestProto
    ) -> CheckForDecommissioningNodesResponseProto:
        """checkForDecommissioningNodes: those that are on their way out."""
        state = self._gateway.scheduler.state
        leaving = [name for name in state.drains if name in state.nodes]
        return CheckForDecommissioningNodesResponseProto(
            decommissioningNodes=[records.node_id_message(name) for name in leaving]
        )

    async def resize(self, caller: Caller, request: UpdateNodeResourceRequestProto) -> None:
        """updateNodeResource: the totals of nodes, which must be registered."""
        state = self._gateway.scheduler.state
        inputs: list[Input] = []
        for entry in request.node_resource_map:
            name = records.node_name(entry.node_id)
            if name not in state.nodes:
                raise RpcError(
                    YARN,
                    "Resource update get failed on all nodes due to change resource on an"
                    f" unrecognized node: {name}",
                )
            option = entry.resource_option
            total = resource_of(option.resource, state.types)
            if min(total) < 0:
                raise RpcError(YARN, f"{name}: a resource must not be negative")
            inputs.append(NodeResized(name, total, max(-1, option.over_commit_timeout)))
        await self._feed(inputs)

    # Labels.

    async def add_labels(self, caller: Caller, request: AddToClusterNodeLabelsRequestProto) -> None:
        """addToClusterNodeLabels."""
        labels = {label.name: label.isExclusive for label in request.nodeLabels}
        if not labels:  # newer clients fill both lists, and this one says less
            labels = dict.fromkeys(request.deprecatedNodeLabels, True)
        await self._change_labels(AddLabels(labels))

    async def remove_labels(
        self, caller: Caller, request: RemoveFromClusterNodeLabelsRequestProto
    ) -> None:
        """removeFromClusterNodeLabels."""
        labels = tuple(request.nodeLabels)
        await self._change_labels(RemoveLabels(labels))

    async def replace_labels(
        self, caller: Caller, request: ReplaceLabelsOnNodeRequestProto
    ) -> None:
        """replaceLabelsOnNodes: a node without a port names all nodes of its host."""
        nodes: dict[str, str] = {}
        for entry in request.nodeToLabels:
            if len(entry.nodeLabels) > 1:
                raise wrapped(
                    INPUT_OUTPUT,
                    f"{len(entry.nodeLabels)} labels specified on host={entry.nodeId.host}, please"
                    " note that we do not support specifying multiple labels on a single host"
                    " for now.",
                )
            host = entry.nodeId.host
            if entry.nodeId.port:
                names = [records.node_name(entry.nodeId)]
            else:
                known = self._gateway.scheduler.state.nodes.values()
                names = [node.name for node in known if node.host == host] or [host]
            nodes |= dict.fromkeys(names, entry.nodeLabels[0] if entry.nodeLabels else "")
        given = LabelNodes(nodes, request.failOnUnknownNodes)
        await self._change_labels(given)

    async def _change_labels(self, input_: Input) -> None:
        gateway = self._gateway
        if gateway.yarn.node_labels(gateway.scheduler.state) is None:
            raise wrapped(INPUT_OUTPUT, NO_LABELS)
        try:
            await gateway.ask(input_)
        except InputError as error:
            later = error.code in LATER
            raise (rpc_error(error) if later else wrapped(INPUT_OUTPUT, str(error))) from None

    async def _feed(self, inputs: list[Input]) -> None:
        for given in inputs:
            try:
                await self._gateway.ask(given)
            except InputError as error:
                raise rpc_error(error) from None

    # High availability.

    async def status(
        self, caller: Caller, request: GetServiceStatusRequestProto
    ) -> GetServiceStatusResponseProto:
        """getServiceStatus: a server that answers is the active one."""
        return GetServiceStatusResponseProto(
            state=HAServiceStateProto.Value("ACTIVE"), readyToBecomeActive=True
        )

    async def healthy(self, caller: Caller, request: MonitorHealthRequestProto) -> None:
        """monitorHealth, and transitionToActive, which changes nothing."""

    async def _refuse_transition(self, caller: Caller, request: object) -> None:
        raise RpcError(
            SERVICE_FAILED,
            "a standby takes over when this server ends: stop it, or start another one with"
            " --standby",
        )
