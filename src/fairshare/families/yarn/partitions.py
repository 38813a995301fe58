"""Owns the part of documents that is given by partition (node label)."""

from msgspec import UNSET, UnsetType

from fairshare.families.yarn.documents import Document
from fairshare.families.yarn.resources import ResourceInfo, resource_info
from fairshare.model.resources import Resource, ResourceTypes


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
    types: ResourceTypes,
    label: str,
    used: Resource,
    reserved: Resource,
    pending: Resource,
    masters: tuple[Resource, Resource, Resource] | None = None,
) -> PartitionUsage:
    """One partition's; `masters` are their use, the queue's limit, and a user's limit."""

    def info(resource: Resource) -> ResourceInfo:
        return resource_info(types, resource)

    found = PartitionUsage(label, info(used), info(reserved), info(pending))
    if masters is not None:
        found.amUsed, found.amLimit, found.userAmLimit = (info(one) for one in masters)
    return found
