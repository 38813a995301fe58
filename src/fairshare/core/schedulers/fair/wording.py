"""Owns the words of Hadoop's refusals, which its clients and their logs contain. Decides
nothing."""

from collections.abc import Sequence

from fairshare.core.model.identifiers import ApplicationId, application_name
from fairshare.core.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.core.model.work import ResourceRequest
from fairshare.core.schedulers.resource_text import resource_text


def too_large(
    types: ResourceTypes, name: str, wanted: Resource, allowed: Resource, configured: Resource
) -> str:
    """A container that is larger than the queue's maximum."""
    return (
        "Invalid resource request! Cannot allocate containers as requested resource is greater"
        f" than maximum allowed allocation. Requested resource type=[{name}], Requested"
        f" resource={resource_text(wanted, types)}, maximum allowed"
        f" allocation={resource_text(allowed, types)}, please note that maximum allowed"
        " allocation is calculated by scheduler based on maximum resource of registered"
        " NodeManagers, which might be less than configured maximum"
        f" allocation={resource_text(configured, types)}"
    )


def zero_amount(
    types: ResourceTypes,
    epoch_ms: int,
    application: ApplicationId,
    queue: str,
    requests: Sequence[tuple[ResourceRequest, Sequence[str]]],
) -> str:
    """Requests for types (named with each) of which the queue's maximum is 0."""
    results = ", ".join(
        f"MaxResourceValidationResult{{resourceRequest={_request_text(types, request)},"
        f" invalidResources=[{', '.join(_type_text(types, name, request) for name in names)}]}}"
        for request, names in requests
    )
    return (
        f"Resource request is invalid for application {application_name(epoch_ms, application)}"
        f" because queue {queue} has 0 amount of resource for a resource type!"
        f" Validation result: [{results}]"
    )


def _request_text(types: ResourceTypes, request: ResourceRequest) -> str:
    relax = "true" if request.relax else "false"
    return (
        f"{{AllocationRequestId: {request.request}, Priority: {request.priority}, Capability:"
        f" {resource_text(request.resource, types)}, # Containers: {request.count}, Location:"
        f" {request.location}, Relax Locality: {relax}, Execution Type Request: {{Execution Type:"
        " GUARANTEED, Enforce Execution Type: false}, Node Label Expression: }"
    )


def _type_text(types: ResourceTypes, name: str, request: ResourceRequest) -> str:
    place = types.names.index(name)
    return (
        f"name: {name}, units: {types.units[place]}, type: COUNTABLE, value:"
        f" {request.resource[place]}, minimum allocation: 0, maximum allocation: {UNBOUNDED},"
        " tags: [], attributes {}"
    )
