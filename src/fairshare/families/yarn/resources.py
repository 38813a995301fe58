"""Owns YARN's format of resources and 32-bit numbers. Knows no path."""

from functools import lru_cache

from fairshare.families.yarn.documents import Document, Entries
from fairshare.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.schedulers.rounding import single

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
