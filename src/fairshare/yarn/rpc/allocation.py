"""What a master asks for, as inputs, and what the answers to it are made of.

Requests, releases and the blacklist are checked as Hadoop does before its scheduler sees them
(RMServerUtils, SchedulerUtils). Requests are absolute: each replaces the outstanding number of its
priority, request id and place. Each request for a change of a running container gets an error with
its reason, by Hadoop's own names where Hadoop refuses it too: all containers are GUARANTEED, of the
resources with which they were granted, and of version 0
(RMServerUtils.validateAndSplitUpdateResourceRequests).

Answers have containers with their tokens, ends, preemption and nodes (DefaultAMSProcessor,
ApplicationMasterServiceUtils).
"""

from collections.abc import Callable, Iterable
from math import ceil
from typing import Any

from fairshare.core.manager.requests import MOST_OUTSTANDING
from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    NodeAdded,
    NodeDrained,
    NodeRemoved,
)
from fairshare.core.model.identifiers import (
    NUMBER_MASK,
    ContainerId,
    application_of,
    attempt_name,
    attempt_of,
    number_of,
)
from fairshare.core.model.inputs import ChangeBlacklist, Input, ReleaseContainers, RequestContainers
from fairshare.core.model.resources import Resource, ResourceTypes, add
from fairshare.core.model.work import ANYWHERE, ContainerRequest
from fairshare.core.schedulers.protocol import State
from fairshare.documents.bounds import GROUP_REQUESTS
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.attempt_deliveries import Deliveries
from fairshare.yarn.rpc.keys import TokenSigner
from fairshare.yarn.rpc.records import resource_message, resource_of
from fairshare.yarn.rpc.registered_nodes import known_resources
from fairshare.yarn.rpc.wire.calls import (
    INVALID_BLACKLIST_REQUEST,
    INVALID_CONTAINER_RELEASE,
    INVALID_RESOURCE_REQUEST,
    YARN,
    RpcError,
)
from fairshare.yarn.rpc.wire.messages import (
    AllocateRequestProto,
    ContainerIdProto,
    ContainerProto,
    ContainerStateProto,
    ContainerStatusProto,
    ContainerSubStateProto,
    ContainerUpdateTypeProto,
    ExecutionTypeProto,
    NMTokenProto,
    NodeReportProto,
    NodeStateProto,
    NodeUpdateTypeProto,
    PreemptionMessageProto,
    PriorityProto,
    ResourceBlacklistRequestProto,
    ResourceRequestProto,
    UpdateContainerErrorProto,
    UpdateContainerRequestProto,
)

_OPPORTUNISTIC = ExecutionTypeProto.Value("OPPORTUNISTIC")
_LONGEST_PLACE = 1_000


def inputs_of(request: AllocateRequestProto, application: Application, state: State) -> list[Input]:
    """The inputs that follow from an AllocateRequestProto, in the order in which they count:
    releases, requests, blacklist. Raises RpcError; then nothing of it counts."""
    if not (
        request.ask
        or request.release
        or request.scheduling_requests
        or _names_places(request.blacklist_request)
    ):
        return []
    _check_scheduling_requests(request, application, state)
    message = request.blacklist_request
    if ANYWHERE in message.blacklist_additions:
        raise RpcError(INVALID_BLACKLIST_REQUEST, "Cannot add * to the blacklist!")
    add, remove = message.blacklist_additions, message.blacklist_removals
    blacklist = ChangeBlacklist(application.id, tuple(add), tuple(remove))
    released = _released(request.release, application, state)
    asked = [requested(one, state.types) for one in request.ask]
    inputs: list[Input] = [ReleaseContainers(application.id, (one,)) for one in released]
    if asked:
        inputs.append(RequestContainers(application.id, tuple(asked)))
    if _names_places(request.blacklist_request):
        inputs.append(blacklist)
    return inputs


def requested(message: ResourceRequestProto, types: ResourceTypes) -> ContainerRequest:
    """One ResourceRequestProto; raises RpcError."""
    count, number = message.num_containers, message.allocation_request_id
    if count < 0:
        raise _invalid(f"a negative number of containers: {count}")
    if count > MOST_OUTSTANDING:
        raise _invalid(f"too many containers at once: {MOST_OUTSTANDING} are the most")
    if number >= GROUP_REQUESTS:
        raise _invalid(f"the allocation request id {number}: it must be below {GROUP_REQUESTS}")
    place = message.resource_name
    if not place or len(place) > _LONGEST_PLACE:
        raise _invalid("a request without the name of a host or rack, or *")
    wanted = message.execution_type_request
    if wanted.execution_type == _OPPORTUNISTIC and wanted.enforce_execution_type:
        raise _invalid(
            "the execution type OPPORTUNISTIC is enforced: containers are GUARANTEED here"
        )
    resource = resource_of(known_resources(message.capability, types), types)
    if any(amount < 0 for amount in resource):
        raise _invalid(f"a negative amount of a resource: {types.mapping(resource)}")
    return ContainerRequest(
        count=count,
        resource=resource,
        priority=message.priority.priority,
        relax=message.relax_locality,
        request=number,
        location=place,
        label=message.node_label_expression.strip() or None,
    )


def withdrawals(application: Application) -> tuple[ContainerRequest, ...]:
    """Requests that withdraw all that an application has outstanding."""
    withdrawn = []
    for (priority, number), key in application.attempt.asks.keys.items():
        for place, ask in (*key.places.items(), (ANYWHERE, key.anywhere)):
            if ask is not None and number < GROUP_REQUESTS:
                withdrawn.append(
                    ContainerRequest(
                        0,
                        ask.resource,
                        priority=priority,
                        relax=ask.relax,
                        request=number,
                        location=place,
                        label=key.label or None,
                    )
                )
    return tuple(withdrawn)


def _released(
    messages: Iterable[ContainerIdProto], application: Application, state: State
) -> list[ContainerId]:
    """The containers that are live; others have ended already, or never existed."""
    keeps = application.submission.details.keep_containers
    found: dict[ContainerId, None] = {}
    for message in messages:
        container = records.container_of(message, state.epoch_ms)
        if container is None or application_of(container) != application.id:
            own = False
        else:
            own = keeps or attempt_of(container) == application.attempt.number
        if not own:
            raise RpcError(
                INVALID_CONTAINER_RELEASE,
                f"Cannot release container : {records.container_text(message)} not belonging to"
                " this application attempt : "
                + attempt_name(state.epoch_ms, application.id, application.attempt.number),
            )
        if container in application.containers:
            found[container] = None
    return list(found)


def _names_places(message: ResourceBlacklistRequestProto) -> bool:
    return bool(message.blacklist_additions or message.blacklist_removals)


def _check_scheduling_requests(
    request: AllocateRequestProto, application: Application, state: State
) -> None:
    if request.scheduling_requests:
        name = attempt_name(state.epoch_ms, application.id, application.attempt.number)
        raise RpcError(
            YARN,
            f"Found non empty SchedulingRequest of AllocateRequest for application={name}, but"
            " placement constraints are not supported by this ResourceManager; ask by"
            " ResourceRequest",
        )


def _invalid(what: str) -> RpcError:
    return RpcError(INVALID_RESOURCE_REQUEST, f"Invalid resource request, {what}")


VERSION = 0
"""Of each container: it counts the updates."""

UNKNOWN_VERSION = -1
NOT_SUPPORTED = "UPDATE_NOT_SUPPORTED"

_OPPORTUNISTIC_TYPE = ExecutionTypeProto.Value("OPPORTUNISTIC")
_EXECUTION_TYPES = frozenset(
    ContainerUpdateTypeProto.Value(name)
    for name in ("PROMOTE_EXECUTION_TYPE", "DEMOTE_EXECUTION_TYPE")
)


def update_errors(
    requests: Iterable[UpdateContainerRequestProto],
    application: Application,
    state: State,
    largest: Resource,
) -> list[UpdateContainerErrorProto]:
    """An UpdateContainerErrorProto for each UpdateContainerRequestProto, but for those that ask for
    what is so already. `largest` is the largest container."""
    found = []
    for request in requests:
        own_container = _is_own(request.container_id, application, state)
        reason = _refusal(request, largest) if own_container else "INVALID_CONTAINER_ID"
        if reason is not None:
            error = UpdateContainerErrorProto(reason=reason)
            error.update_request.CopyFrom(request)
            error.current_container_version = VERSION if own_container else UNKNOWN_VERSION
            found.append(error)
    return found


def _is_own(message: ContainerIdProto, application: Application, state: State) -> bool:
    """Whether a container runs for this application."""
    container = records.container_of(message, state.epoch_ms)
    if container is None or application_of(container) != application.id:
        return False
    return container in application.containers


def _refusal(request: UpdateContainerRequestProto, largest: Resource) -> str | None:
    """The reason; None: nothing is to be changed."""
    if request.container_version != VERSION:
        return "INCORRECT_CONTAINER_VERSION_ERROR"
    if request.update_type in _EXECUTION_TYPES:
        if request.execution_type != _OPPORTUNISTIC_TYPE:
            return None
        return f"{NOT_SUPPORTED}: containers stay GUARANTEED here, none becomes OPPORTUNISTIC"
    amounts = request.capability.memory, request.capability.virtual_cores
    if any(not 0 <= amount <= most for amount, most in zip(amounts, largest[:2], strict=True)):
        return "RESOURCE_OUTSIDE_ALLOWED_RANGE"
    return (
        f"{NOT_SUPPORTED}: containers keep the resources with which they were granted; ask for one"
        " of the new size, then release this one"
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
        self._alike: tuple[object, ...] = ()
        self._container = ContainerProto()

    def container(self, granted: ContainerAllocated, user: str) -> ContainerProto:
        """A ContainerProto with the token by which it is started; to be copied, since the next one
        is the same message: what containers of one ask have in common is kept."""
        state = self._state
        number = granted.container
        alike = (number & ~NUMBER_MASK, granted.resource, granted.priority, granted.request)
        if alike != self._alike:
            self._alike = alike
            self._container = ContainerProto(
                id=records.container_id_message(state.epoch_ms, number),
                resource=resource_message(granted.resource, state.types),
                priority=PriorityProto(priority=granted.priority),
                execution_type=_GUARANTEED,
                allocation_request_id=granted.request,
            )
        message = self._container
        message.id.id = number_of(number)
        message.nodeId.CopyFrom(self._signer.node_id(granted.node))
        message.node_http_address = self._web_address_of(granted.node)
        token = self._signer.container(granted, user)
        signed = message.container_token
        signed.identifier, signed.password = token.identifier, token.password
        signed.kind, signed.service = token.kind, token.service
        return message

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

    def status(self, ended: ContainerCompleted, resource: Resource | None) -> ContainerStatusProto:
        """A ContainerStatusProto of a container that has ended."""
        message = ContainerStatusProto(
            container_id=records.container_id_message(self._state.epoch_ms, ended.container),
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
            contract.container.add().id.CopyFrom(
                records.container_id_message(self._state.epoch_ms, container)
            )
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

    def node_change(self, change: NodeAdded | NodeRemoved | NodeDrained) -> NodeReportProto:
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


def _containers(total: Resource, least: Resource) -> int:
    """How many containers of the least size have this amount, in the type that needs most."""
    return max((ceil(t / one) for t, one in zip(total, least, strict=True) if one > 0), default=0)
