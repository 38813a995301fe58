"""What a master asks for, as inputs: its requests, releases and blacklist, checked as Hadoop does
before its scheduler sees them (RMServerUtils, SchedulerUtils); and the answers to requests to
change containers that run.

Requests are absolute: each replaces the outstanding number of its priority, request id and place.
Each request for a change gets an error with its reason, by Hadoop's own names where Hadoop refuses
it too: all containers are GUARANTEED, of the resources with which they were granted, and of version
0 (RMServerUtils.validateAndSplitUpdateResourceRequests).
"""

from collections.abc import Iterable
from typing import Any

from fairshare.core.manager.requests import MOST_OUTSTANDING
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ContainerId, application_of, attempt_of
from fairshare.core.model.inputs import ChangeBlacklist, Input, ReleaseContainers, RequestContainers
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.work import ANYWHERE, ContainerRequest
from fairshare.core.schedulers.protocol import State
from fairshare.documents.bounds import GROUP_REQUESTS
from fairshare.yarn.rpc import ids
from fairshare.yarn.rpc.node_checks import known_resources
from fairshare.yarn.rpc.resources import resource_of
from fairshare.yarn.rpc.wire.calls import (
    INVALID_BLACKLIST_REQUEST,
    INVALID_CONTAINER_RELEASE,
    INVALID_RESOURCE_REQUEST,
    YARN,
    RpcError,
)
from fairshare.yarn.rpc.wire.messages import (
    ContainerUpdateTypeProto,
    ExecutionTypeProto,
    UpdateContainerErrorProto,
)

_OPPORTUNISTIC = ExecutionTypeProto.Value("OPPORTUNISTIC")
_LONGEST_PLACE = 1_000


def inputs_of(request: Any, application: Application, state: State) -> list[Input]:
    """The inputs that follow from an AllocateRequestProto, in the order in which they count:
    releases, requests, blacklist. Raises RpcError; then nothing of it counts."""
    if not (request.ask or request.release or request.scheduling_requests) and not (
        request.HasField("blacklist_request") and _names_places(request.blacklist_request)
    ):
        return []
    _check_scheduling_requests(request, application, state)
    blacklist = _blacklist(request.blacklist_request, application)
    released = _released(request.release, application, state)
    asked = [requested(one, state.types) for one in request.ask]
    inputs: list[Input] = [ReleaseContainers(application.id, (one,)) for one in released]
    if asked:
        inputs.append(RequestContainers(application.id, tuple(asked)))
    if blacklist is not None:
        inputs.append(blacklist)
    return inputs


def requested(message: Any, types: ResourceTypes) -> ContainerRequest:
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
    found = []
    for (priority, number), key in application.attempt.asks.keys.items():
        for place, ask in (*key.places.items(), (ANYWHERE, key.anywhere)):
            if ask is not None and number < GROUP_REQUESTS:
                found.append(
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
    return tuple(found)


def _released(messages: Iterable[Any], application: Application, state: State) -> list[ContainerId]:
    """The containers that are live; others have ended already, or never existed."""
    keeps = application.submission.details.keep_containers
    found: dict[ContainerId, None] = {}
    for message in messages:
        container = ids.container_of(message, state.epoch_ms)
        if container is None or application_of(container) != application.id:
            own = False
        else:
            own = keeps or attempt_of(container) == application.attempt.number
        if not own:
            raise RpcError(
                INVALID_CONTAINER_RELEASE,
                f"Cannot release container : {ids.container_text(message)} not belonging to this"
                " application attempt : "
                + ids.attempt_text(
                    ids.attempt_id_message(
                        state.epoch_ms, application.id, application.attempt.number
                    )
                ),
            )
        if container in application.containers:
            found[container] = None
    return list(found)


def _blacklist(message: Any, application: Application) -> ChangeBlacklist | None:
    """What changes; None: nothing."""
    if ANYWHERE in message.blacklist_additions:
        raise RpcError(INVALID_BLACKLIST_REQUEST, "Cannot add * to the blacklist!")
    present = application.attempt.blacklist
    add = dict.fromkeys(one for one in message.blacklist_additions if one not in present)
    remove = dict.fromkeys(one for one in message.blacklist_removals if one in present)
    if not add and not remove:
        return None
    return ChangeBlacklist(application.id, tuple(add), tuple(remove))


def _names_places(message: Any) -> bool:
    return bool(message.blacklist_additions or message.blacklist_removals)


def _check_scheduling_requests(request: Any, application: Application, state: State) -> None:
    if request.scheduling_requests:
        attempt = ids.attempt_id_message(state.epoch_ms, application.id, application.attempt.number)
        raise RpcError(
            YARN,
            "Found non empty SchedulingRequest of AllocateRequest for application="
            f"{ids.attempt_text(attempt)}, but placement constraints are not supported by this"
            " ResourceManager; ask by ResourceRequest",
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
    requests: Iterable[Any], application: Application, state: State, largest: Resource
) -> list[Any]:
    """An UpdateContainerErrorProto for each UpdateContainerRequestProto, but for those that ask for
    what is so already. `largest` is the largest container."""
    found = []
    for request in requests:
        known = _is_own(request.container_id, application, state)
        reason = _refusal(request, largest) if known else "INVALID_CONTAINER_ID"
        if reason is not None:
            error = UpdateContainerErrorProto(reason=reason)
            error.update_request.CopyFrom(request)
            error.current_container_version = VERSION if known else UNKNOWN_VERSION
            found.append(error)
    return found


def _is_own(message: Any, application: Application, state: State) -> bool:
    """Whether a container runs for this application."""
    container = ids.container_of(message, state.epoch_ms)
    if container is None or application_of(container) != application.id:
        return False
    return container in application.containers


def _refusal(request: Any, largest: Resource) -> str | None:
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
