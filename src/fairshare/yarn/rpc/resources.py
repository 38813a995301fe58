"""Resources in Hadoop's messages and ours, both ways.

A ResourceProto has memory (MB) and vcores as fields of their own, and all types once more as a list
of named amounts with units; the list wins, as in Hadoop (ResourcePBImpl.initResources).
"""

from functools import lru_cache
from typing import Any

from fairshare.core.model.resources import MEMORY, VCORES, Resource, ResourceTypes
from fairshare.documents.units import convert
from fairshare.yarn.rpc.wire.calls import ILLEGAL_ARGUMENT, INVALID_RESOURCE_REQUEST, RpcError
from fairshare.yarn.rpc.wire.messages import (
    ResourceInformationProto,
    ResourceProto,
    ResourceTypeInfoProto,
    ResourceTypesProto,
)

MOST_INT = 2**31 - 1
MOST_LONG = 2**63 - 1

_COUNTABLE = ResourceTypesProto.Value("COUNTABLE")
_CACHED = 4_096


@lru_cache(_CACHED)
def resource_message(resource: Resource, types: ResourceTypes) -> Any:
    """A ResourceProto; shared, so to be copied and not changed.

    Example: (1024, 1) has memory 1024 and virtual_cores 1, and the same as memory-mb in Mi and
    vcores.
    """
    message = ResourceProto(memory=resource[0], virtual_cores=min(resource[1], MOST_INT))
    for name, unit, amount in zip(types.names, types.units, resource, strict=True):
        message.resource_value_map.append(
            ResourceInformationProto(key=name, value=amount, units=unit, type=_COUNTABLE)
        )
    return message


def resource_of(message: Any, types: ResourceTypes) -> Resource:
    """The vector of a ResourceProto. Types that it does not name are 0.

    Raises RpcError if it names an unknown type, a unit that the type cannot have, or an amount that
    is too large.
    """
    amounts = [0] * len(types.names)
    amounts[0], amounts[1] = message.memory, message.virtual_cores
    for named in message.resource_value_map:
        try:
            place = types.names.index(named.key)
        except ValueError:
            raise RpcError(
                INVALID_RESOURCE_REQUEST,
                f"Unknown resource type '{named.key}'; this cluster has {', '.join(types.names)}",
            ) from None
        amounts[place] = _amount(named, types.units[place])
    return tuple(amounts)


def too_large(wanted: Resource, most: Resource, types: ResourceTypes) -> RpcError | None:
    """The refusal of a container below 0 or above the largest one; None: it may be asked for
    (Hadoop: SchedulerUtils.checkResourceRequestAgainstAvailableResource)."""
    for name, amount, limit in zip(types.names, wanted, most, strict=True):
        if amount < 0:
            return _refused(name, "less than 0!", f"{_written(wanted, types)}")
        if amount > limit:
            return _refused(
                name,
                "greater than maximum allowed allocation.",
                f"{_written(wanted, types)}, maximum allowed allocation={_written(most, types)},"
                " please note that maximum allowed allocation is calculated by scheduler based on"
                " maximum resource of registered NodeManagers, which might be less than configured"
                f" maximum allocation={_written(most, types)}",
            )
    return None


def _refused(name: str, why: str, wanted: str) -> RpcError:
    return RpcError(
        INVALID_RESOURCE_REQUEST,
        "Invalid resource request! Cannot allocate containers as requested resource is"
        f" {why} Requested resource type=[{name}], Requested resource={wanted}",
    )


def _written(resource: Resource, types: ResourceTypes) -> str:
    """`<memory:1024, vCores:1>`, as Hadoop writes a resource."""
    more = "".join(
        f", {name}: {amount}{unit}"
        for name, amount, unit in zip(types.names[2:], resource[2:], types.units[2:], strict=True)
    )
    return f"<memory:{resource[0]}, vCores:{resource[1]}{more}>"


def _amount(named: Any, unit: str) -> int:
    if named.units == unit:
        return int(named.value)
    try:
        amount = convert(named.value, named.units, unit)
    except KeyError:
        raise RpcError(
            ILLEGAL_ARGUMENT, f"Unknown unit '{named.units}' of the resource '{named.key}'"
        ) from None
    if abs(amount) > MOST_LONG:
        raise RpcError(
            ILLEGAL_ARGUMENT,
            f"{named.value} {named.units} of the resource '{named.key}' are too much",
        )
    return amount


@lru_cache(16)
def type_messages(types: ResourceTypes) -> tuple[Any, ...]:
    """The ResourceTypeInfoProto of each type, in order: masters replace their own table by it."""
    return tuple(
        ResourceTypeInfoProto(name=name, units=unit, type=_COUNTABLE)
        for name, unit in zip(types.names, types.units, strict=True)
    )


assert ResourceTypes().names == (MEMORY, VCORES), "the first two types have fields of their own"
