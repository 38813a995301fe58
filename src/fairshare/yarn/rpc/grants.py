"""What answers to masters are made of: containers with their tokens, ends, preemption, nodes.

Source: Hadoop 3.4.1, DefaultAMSProcessor, ApplicationMasterServiceUtils.
"""

from collections.abc import Callable, Iterable
from math import ceil
from typing import Any

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    NodeAdded,
    NodeDrained,
    NodeRemoved,
)
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.resources import Resource, add
from fairshare.core.model.work import ANYWHERE
from fairshare.core.schedulers.protocol import State
from fairshare.yarn.rpc import ids
from fairshare.yarn.rpc.attempt_deliveries import Deliveries
from fairshare.yarn.rpc.keys import TokenSigner
from fairshare.yarn.rpc.resources import resource_message
from fairshare.yarn.rpc.wire.messages import (
    ContainerProto,
    ContainerStateProto,
    ContainerStatusProto,
    ContainerSubStateProto,
    ExecutionTypeProto,
    NMTokenProto,
    NodeReportProto,
    NodeStateProto,
    NodeUpdateTypeProto,
    PreemptionMessageProto,
    PriorityProto,
)

_COMPLETE = ContainerStateProto.Value("C_COMPLETE")
_DONE = ContainerSubStateProto.Value("CSS_DONE")
_GUARANTEED = ExecutionTypeProto.Value("GUARANTEED")
_USABLE = NodeUpdateTypeProto.Value("NODE_USABLE")
_UNUSABLE = NodeUpdateTypeProto.Value("NODE_UNUSABLE")
_DECOMMISSIONING = NodeUpdateTypeProto.Value("NODE_DECOMMISSIONING")
_CHANGES = {
    NodeAdded: (NodeStateProto.Value("NS_RUNNING"), _USABLE),
    NodeRemoved: (NodeStateProto.Value("NS_LOST"), _UNUSABLE),
    NodeDrained: (NodeStateProto.Value("NS_DECOMMISSIONING"), _DECOMMISSIONING),
}
_UNDEFINED_PRIORITY = -1


class Grants:
    """Makes the parts of answers. `web_address_of` gives `host:port` of a node's web server."""

    def __init__(
        self, state: State, signer: TokenSigner, web_address_of: Callable[[str], str]
    ) -> None:
        self._state = state
        self._signer = signer
        self._web_address_of = web_address_of

    def container(self, granted: ContainerAllocated, user: str) -> Any:
        """A ContainerProto with the token by which it is started."""
        state = self._state
        return ContainerProto(
            id=ids.container_id_message(state.epoch_ms, granted.container),
            nodeId=self._signer.node_id(granted.node),
            node_http_address=self._web_address_of(granted.node),
            resource=resource_message(granted.resource, state.types),
            priority=PriorityProto(priority=granted.priority),
            container_token=self._signer.container(granted, user).message(),
            execution_type=_GUARANTEED,
            allocation_request_id=granted.request,
        )

    def node_tokens(
        self, application: Application, deliveries: Deliveries, nodes: Iterable[str]
    ) -> list[Any]:
        """An NMTokenProto for each of these nodes for which the attempt has none yet."""
        found = []
        for node in dict.fromkeys(nodes):
            if node in deliveries.node_tokens:
                continue
            deliveries.node_tokens.add(node)
            token = self._signer.node(application.id, deliveries.attempt, node, application.user)
            found.append(NMTokenProto(nodeId=self._signer.node_id(node), token=token.message()))
        return found

    def status(self, ended: ContainerCompleted, resource: Resource | None) -> Any:
        """A ContainerStatusProto of a container that has ended."""
        message = ContainerStatusProto(
            container_id=ids.container_id_message(self._state.epoch_ms, ended.container),
            state=_COMPLETE,
            diagnostics=ended.diagnostics,
            exit_status=ended.exit_code,
            executionType=_GUARANTEED,
            container_sub_state=_DONE,
        )
        if resource is not None:
            message.capability.CopyFrom(resource_message(resource, self._state.types))
        return message

    def preemption(
        self,
        application: Application,
        deliveries: Deliveries,
        least: Resource,
        *,
        negotiable: bool,
    ) -> Any | None:
        """The PreemptionMessageProto of containers that are to be preempted; None if none are.

        A strict contract names them in each answer until they have ended (FairScheduler.allocate).
        A negotiable one names each once, with the amount in containers of the least size: the
        master may give back others instead (FiCaSchedulerApp.getAllocation).
        """
        marked = deliveries.marked
        if negotiable:
            named = [one for one in marked if one not in deliveries.warned]
        else:
            named = list(marked)
        named = [one for one in named if one in application.containers]
        if not named:
            return None
        deliveries.warned.update(dict.fromkeys(named))
        message = PreemptionMessageProto()
        contract = message.contract if negotiable else message.strictContract
        for container in named:
            contract.container.add().id.CopyFrom(self._id(container))
        if negotiable:
            total = self._state.none
            for container in named:
                total = add(total, application.containers[container].resource)
            resource = message.contract.resource.add().resource
            resource.priority.priority = _UNDEFINED_PRIORITY
            resource.resource_name = ANYWHERE
            resource.capability.CopyFrom(resource_message(least, self._state.types))
            resource.num_containers = _containers(total, least)
        return message

    def node_change(self, change: NodeAdded | NodeRemoved | NodeDrained) -> Any:
        """A NodeReportProto of a node that joined, left, or is being drained."""
        kind, update = _CHANGES[type(change)]
        report = NodeReportProto(
            nodeId=self._signer.node_id(change.node),
            httpAddress=self._web_address_of(change.node),
            node_state=kind,
            node_update_type=update,
        )
        node = self._state.nodes.get(change.node)
        if node is not None:
            report.rackName = node.rack
            report.numContainers = len(node.containers)
            report.used.CopyFrom(resource_message(node.used, self._state.types))
            report.capability.CopyFrom(resource_message(node.total, self._state.types))
        return report

    def _id(self, container: ContainerId) -> Any:
        return ids.container_id_message(self._state.epoch_ms, container)


def _containers(total: Resource, least: Resource) -> int:
    """How many containers of the least size have this amount, in the type that needs most."""
    return max((ceil(t / one) for t, one in zip(total, least, strict=True) if one > 0), default=0)
