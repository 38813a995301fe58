"""Identifiers and resources in Hadoop's messages and ours, both ways.

A container number whose upper 24 bits are not 0 was given out by a ResourceManager that counts its
restarts (epochs); ours never repeats a number, and so gives out none of these.

A ResourceProto has memory (MB) and vcores as fields of their own, and all types once more as a list
of named amounts with units; the list wins, as in Hadoop (ResourcePBImpl.initResources).
"""

from functools import lru_cache

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import (
    NUMBER_MASK,
    ApplicationId,
    ContainerId,
    application_name,
    application_of,
    attempt_name,
    attempt_of,
    container_id,
    number_of,
)
from fairshare.core.model.resources import MEMORY, VCORES, Resource, ResourceTypes
from fairshare.core.schedulers.protocol import State
from fairshare.documents.units import convert
from fairshare.yarn.rpc.wire.calls import (
    APPLICATION_NOT_FOUND,
    ATTEMPT_NOT_FOUND,
    CONTAINER_NOT_FOUND,
    ILLEGAL_ARGUMENT,
    INVALID_RESOURCE_REQUEST,
    RpcError,
)
from fairshare.yarn.rpc.wire.messages import (
    ApplicationAttemptIdProto,
    ApplicationIdProto,
    ContainerIdProto,
    NodeIdProto,
    ResourceInformationProto,
    ResourceProto,
    ResourceTypeInfoProto,
    ResourceTypesProto,
)

_MOST_ATTEMPT = 0xFF
_EPOCH_SHIFT = 40
_CACHED = 65_536


@lru_cache(_CACHED)
def application_id_message(epoch_ms: int, application: ApplicationId) -> ApplicationIdProto:
    """An ApplicationIdProto; shared, so to be copied and not changed."""
    return ApplicationIdProto(id=application, cluster_timestamp=epoch_ms)


def attempt_id_message(
    epoch_ms: int, application: ApplicationId, attempt: int
) -> ApplicationAttemptIdProto:
    """An ApplicationAttemptIdProto."""
    return ApplicationAttemptIdProto(
        application_id=application_id_message(epoch_ms, application), attemptId=attempt
    )


@lru_cache(_CACHED)
def container_id_message(epoch_ms: int, container: ContainerId) -> ContainerIdProto:
    """A ContainerIdProto; shared, so to be copied and not changed."""
    return ContainerIdProto(
        app_attempt_id=attempt_id_message(
            epoch_ms, application_of(container), attempt_of(container)
        ),
        id=number_of(container),
    )


def application_text(message: ApplicationIdProto) -> str:
    """`application_<cluster timestamp>_<number>`, as Hadoop writes it."""
    return application_name(message.cluster_timestamp, message.id)


def attempt_text(message: ApplicationAttemptIdProto) -> str:
    """`appattempt_<cluster timestamp>_<application>_<attempt>`, as Hadoop writes it."""
    application = message.application_id
    return attempt_name(application.cluster_timestamp, application.id, message.attemptId)


def container_text(message: ContainerIdProto) -> str:
    """`container_<cluster timestamp>_<application>_<attempt>_<number>`, with the epoch if it has
    one."""
    attempt = message.app_attempt_id
    application = attempt.application_id
    epoch = message.id >> _EPOCH_SHIFT
    number = message.id & ((1 << _EPOCH_SHIFT) - 1)
    return (
        f"container_{f'e{epoch:02d}_' if epoch else ''}{application.cluster_timestamp}"
        f"_{application.id:04d}_{attempt.attemptId:02d}_{number:06d}"
    )


def find_application(message: ApplicationIdProto, state: State) -> Application:
    """The application that a message names; raises RpcError if this cluster has none such."""
    application = state.applications.get(message.id)
    if application is None or message.cluster_timestamp != state.epoch_ms:
        raise RpcError(
            APPLICATION_NOT_FOUND,
            f"Application with id '{application_text(message)}' doesn't exist in RM. Please check"
            " that the job submission was successful.",
        )
    return application


def find_attempt(message: ApplicationAttemptIdProto, state: State) -> tuple[Application, int]:
    """The application of an attempt, and the attempt's number, which it has had; raises
    RpcError."""
    application = find_application(message.application_id, state)
    if not 1 <= message.attemptId <= application.attempt.number:
        raise RpcError(
            ATTEMPT_NOT_FOUND,
            f"ApplicationAttempt with id '{attempt_text(message)}' doesn't exist in RM.",
        )
    return application, message.attemptId


def container_of(message: ContainerIdProto, epoch_ms: int) -> ContainerId | None:
    """The container that a message names; None if this cluster can never have had it."""
    attempt = message.app_attempt_id
    application = attempt.application_id
    if (
        application.cluster_timestamp != epoch_ms
        or application.id < 1
        or not 1 <= attempt.attemptId <= _MOST_ATTEMPT
        or not 1 <= message.id <= NUMBER_MASK
    ):
        return None
    return container_id(application.id, attempt.attemptId, message.id)


def container_not_found(message: ContainerIdProto) -> RpcError:
    """What a client gets that names a container which does not exist."""
    return RpcError(
        CONTAINER_NOT_FOUND, f"Container with id '{container_text(message)}' doesn't exist in RM."
    )


@lru_cache(_CACHED)
def node_id_message(node: str) -> NodeIdProto:
    """The NodeIdProto of `host:port`; shared, so to be copied and not changed. A name without a
    port, as nodes of the local engine have, gets 0."""
    host, _, port = node.rpartition(":")
    if not host or not port.isdigit():
        return NodeIdProto(host=node, port=0)
    return NodeIdProto(host=host, port=int(port))


def node_name(message: NodeIdProto) -> str:
    """A node's name here: `host:port`."""
    port = message.port
    return f"{message.host}:{port}" if port else str(message.host)


MOST_INT = 2**31 - 1
MOST_LONG = 2**63 - 1

_COUNTABLE = ResourceTypesProto.Value("COUNTABLE")
_CACHED_RESOURCES = 4_096


@lru_cache(_CACHED_RESOURCES)
def resource_message(resource: Resource, types: ResourceTypes) -> ResourceProto:
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


def resource_of(message: ResourceProto, types: ResourceTypes) -> Resource:
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


def _amount(named: ResourceInformationProto, unit: str) -> int:
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
def type_messages(types: ResourceTypes) -> tuple[ResourceTypeInfoProto, ...]:
    """The ResourceTypeInfoProto of each type, in order: masters replace their own table by it."""
    return tuple(
        ResourceTypeInfoProto(name=name, units=unit, type=_COUNTABLE)
        for name, unit in zip(types.names, types.units, strict=True)
    )


assert ResourceTypes().names == (MEMORY, VCORES), "the first two types have fields of their own"
