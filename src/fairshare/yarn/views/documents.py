"""The structures of which YARN's documents are made: their kinds of values, resources, and what is
given by partition (node label).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from fairshare.core.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.core.schedulers.calculators import single


class Document(msgspec.Struct, gc=False):
    """A part of an answer: fields in the order in which they are written.

    A field `type_` names the kind of an object whose place could hold others: JSON's natural
    dialect writes it as the first key `type`, XML as an attribute.
    """


class Entries:
    """A Java map. Natural JSON repeats the key `entry`, once for each pair; all parsers take it.

    A plain class, so that the encoder asks its hook what to write.
    """

    __slots__ = ("pairs",)

    def __init__(self, pairs: tuple[tuple[Any, Any], ...] = ()) -> None:
        self.pairs = pairs


class Pair(Document):
    """One pair of a map."""

    key: Any
    value: Any


Written = Callable[[Document], Document | msgspec.Raw]
"""What becomes of a part of a document as soon as it is made: JSON, if the whole will be JSON."""


def unwritten(part: Document) -> Document:
    """The part itself, for documents that become XML, or JSON later."""
    return part


MOST_VCORES = 2**31 - 1


class Nothing(Document):
    """An empty object."""


NOTHING = Nothing()


class ResourceInformation(Document):
    """The amount of one type. Limits are those of the type, not of a queue."""

    attributes: Nothing
    maximumAllocation: int
    minimumAllocation: int
    name: str
    resourceType: str
    units: str
    value: int


class ResourceInformations(Document):
    """All types of a resource."""

    resourceInformation: list[ResourceInformation]


class ResourceInfo(Document):
    """A resource: the two types that always exist, and then all types again."""

    memory: int
    vCores: int
    resourceInformations: ResourceInformations


@lru_cache(4096)
def resource_info(
    types: ResourceTypes, amounts: Resource, limits: tuple[Resource, Resource] | None = None
) -> ResourceInfo:
    """A vector as YARN writes it; `limits` are the least and the most of each type.

    Callers must not change the result: it is cached.
    """
    informations = [
        ResourceInformation(
            attributes=NOTHING,
            maximumAllocation=UNBOUNDED if limits is None else limits[1][index],
            minimumAllocation=0 if limits is None else limits[0][index],
            name=name,
            resourceType="COUNTABLE",
            units=types.units[index],
            value=amounts[index],
        )
        for index, name in enumerate(types.names)
    ]
    return ResourceInfo(
        memory=amounts[0],
        vCores=min(amounts[1], MOST_VCORES),
        resourceInformations=ResourceInformations(informations),
    )


def entries(types: ResourceTypes, amounts: Resource) -> Entries:
    """A vector as a Java map from type to amount."""
    return Entries(
        tuple((name, str(amount)) for name, amount in zip(types.names, amounts, strict=True))
    )


@lru_cache(8192)
def shortest(value: float) -> float:
    """The number with the fewest digits that names the same 32-bit number, as Java prints it.

    >>> shortest(single(41.666666))
    41.666664
    """
    near = single(value)
    for digits in range(1, 10):
        found = float(f"{near:.{digits}g}")
        if single(found) == near:
            return found
    return near


def percent(fraction: float) -> float:
    """A 32-bit fraction as a percentage: the product is rounded to 32 bits too."""
    return shortest(single(fraction * 100.0))


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
