"""What masters are answered when they ask to change containers that run.

Each request gets an error with its reason, by Hadoop's own names where Hadoop refuses it too. All
containers are GUARANTEED, of the resources with which they were granted, and of version 0.
Source: Hadoop 3.4.1, RMServerUtils.validateAndSplitUpdateResourceRequests.
"""

from collections.abc import Iterable
from typing import Any

from fairshare.hadoop import ids
from fairshare.hadoop.wire.messages import (
    ContainerUpdateTypeProto,
    ExecutionTypeProto,
    UpdateContainerErrorProto,
)
from fairshare.model.applications import Application
from fairshare.model.identifiers import application_of
from fairshare.model.resources import Resource
from fairshare.schedulers.protocol import State

VERSION = 0
"""Of each container: it counts the updates."""

UNKNOWN_VERSION = -1
NOT_SUPPORTED = "UPDATE_NOT_SUPPORTED"

_OPPORTUNISTIC = ExecutionTypeProto.Value("OPPORTUNISTIC")
_EXECUTION_TYPES = frozenset(
    ContainerUpdateTypeProto.Value(name)
    for name in ("PROMOTE_EXECUTION_TYPE", "DEMOTE_EXECUTION_TYPE")
)


def errors(
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
        if request.execution_type != _OPPORTUNISTIC:
            return None
        return f"{NOT_SUPPORTED}: containers stay GUARANTEED here, none becomes OPPORTUNISTIC"
    amounts = request.capability.memory, request.capability.virtual_cores
    if any(not 0 <= amount <= most for amount, most in zip(amounts, largest[:2], strict=True)):
        return "RESOURCE_OUTSIDE_ALLOWED_RANGE"
    return (
        f"{NOT_SUPPORTED}: containers keep the resources with which they were granted; ask for one"
        " of the new size, then release this one"
    )
