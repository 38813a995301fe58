"""Owns the part of documents that the Capacity Scheduler gives by partition (node label)."""

from msgspec import UNSET, UnsetType

from fairshare.model.applications import Application
from fairshare.model.resources import Resource
from fairshare.schedulers.capacity.applications import CapacityApplication
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.web.yarn.gateway import Gateway
from fairshare.web.yarn.rendering import Document
from fairshare.web.yarn.resources import ResourceInfo, resource_info


class PartitionUsage(Document):
    """The use of one partition; the last three fields only where masters are counted."""

    partitionName: str
    used: ResourceInfo
    reserved: ResourceInfo
    pending: ResourceInfo
    amUsed: ResourceInfo | UnsetType = UNSET
    amLimit: ResourceInfo | UnsetType = UNSET
    userAmLimit: ResourceInfo | UnsetType = UNSET


class ResourceUsages(Document):
    """The use, by partition."""

    resourceUsagesByPartition: list[PartitionUsage]


def partition_usage(
    state: CapacityState,
    label: str,
    used: Resource,
    reserved: Resource,
    pending: Resource,
    masters: tuple[Resource, Resource, Resource] | None = None,
) -> PartitionUsage:
    """One partition's; `masters` are their use, the queue's limit, and a user's limit."""

    def info(resource: Resource) -> ResourceInfo:
        return resource_info(state.types, resource)

    found = PartitionUsage(label, info(used), info(reserved), info(pending))
    if masters is not None:
        found.amUsed, found.amLimit, found.userAmLimit = (info(one) for one in masters)
    return found


def application_usages(gateway: Gateway, application: Application) -> ResourceUsages | UnsetType:
    """The use of an application in its partition; UNSET with other schedulers."""
    state = gateway.scheduler.state
    if not isinstance(state, CapacityState) or not isinstance(application, CapacityApplication):
        return UNSET
    if not application.active:
        return UNSET
    none = state.none
    usage = partition_usage(
        state,
        application.label,
        application.used,
        application.reserved,
        application.asks.pending,
        (application.master_resource, none, none),
    )
    usages = [usage]
    if gateway.biographies.of(application.id).reserved:
        usages.append(partition_usage(state, "*", none, none, none, (none, none, none)))
    return ResourceUsages(usages)
