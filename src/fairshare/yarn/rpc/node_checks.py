"""Why a NodeManager that registers is sent away, in Hadoop's words
(`ResourceTrackerService.registerNodeManager`)."""

import re
from typing import Any

from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.yarn.rpc.configuration import NodeSettings
from fairshare.yarn.rpc.wire.messages import ResourceProto

LONGEST_HOST = 255
_MOST_PORT = 65_535
_NUMBER = re.compile(r"\d{1,9}")


def reason_to_shut_down(
    request: Any, settings: NodeSettings, total: Resource, least: Resource, *, decommissioned: bool
) -> str:
    """Why a RegisterNodeManagerRequestProto is answered with SHUTDOWN; empty: it is not.

    `least` is the smallest container: a node that cannot hold it is of no use.
    """
    host, version = request.node_id.host, request.nm_version
    if not host.isprintable() or not 0 < len(host) <= LONGEST_HOST or " " in host:
        return f"No host can have this name: {host[:LONGEST_HOST]!r}"
    if not 0 < request.node_id.port <= _MOST_PORT:
        return f"{request.node_id.port} is not a port of a NodeManager"
    if settings.minimum_version and older(version, settings.minimum_version):
        return (
            f"Disallowed NodeManager Version {version or 'null'}, is less than the minimum version"
            f" {settings.minimum_version} sending SHUTDOWN signal to NodeManager."
        )
    if decommissioned or not settings.allowed(host):
        return f"Disallowed NodeManager from  {host}, Sending SHUTDOWN signal to the NodeManager."
    if total[0] < least[0] or total[1] < least[1] or any(amount < 0 for amount in total):
        return (
            f"NodeManager from  {host} doesn't satisfy minimum allocations, Sending SHUTDOWN signal"
            f" to the NodeManager. Node capabilities are <memory:{total[0]}, vCores:{total[1]}>;"
            f" minimums are {least[0]}mb and {least[1]} vcores"
        )
    return ""


def older(version: str, minimum: str) -> bool:
    """Whether a release of Hadoop comes before another; one without a number comes first.

    >>> older("3.3.6", "3.4.0"), older("3.10.0", "3.4.0"), older("", "3.4.0")
    (True, False, True)
    """
    return _numbers(version) < _numbers(minimum)


def _numbers(version: str) -> list[int]:
    return [int(digits) for digits in _NUMBER.findall(version)]


def known_resources(message: Any, types: ResourceTypes) -> Any:
    """A ResourceProto without the types that this cluster does not count, as Hadoop skips them."""
    if all(one.key in types.names for one in message.resource_value_map):
        return message
    found = ResourceProto(memory=message.memory, virtual_cores=message.virtual_cores)
    found.resource_value_map.extend(
        one for one in message.resource_value_map if one.key in types.names
    )
    return found
