"""The NodeManagers that have registered since the server started: what each reported, and what its
next heartbeat's answer must say; and why one that registers is sent away, in Hadoop's words
(ResourceTrackerService.registerNodeManager).

This is the memory of one server: after a restart nodes register again. The engine asks it where
nodes are, and has it clean up containers; the tracker fills and empties it.
"""

import re
from collections.abc import Iterator

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.yarn.rpc.configuration import NodeSettings
from fairshare.yarn.rpc.wire.messages import (
    ApplicationIdProto,
    ContainerIdProto,
    NodeHeartbeatResponseProto,
    RegisterNodeManagerRequestProto,
    ResourceProto,
    SignalContainerRequestProto,
)


class RegisteredNode:
    """One NodeManager.

    `statuses` are the serialized container statuses of its last heartbeat, `running` the containers
    of ours among them that run. `response_id` counts its heartbeats, and `answer` is the last one's
    answer. What waits for the next answer: `clean_up` (containers to stop, until their end is
    reported), `foreign` (ids of such containers that never were ours), `removable` (ids of finished
    containers that it need not report any more), `finished` (ids of applications that are over),
    `signals` (requests to signal containers), `resource` (a total that an administrator changed).
    `busy`: any of these, so that an idle heartbeat looks at one flag. `unhealthy`: its health
    report took it out of the cluster, and it keeps its registration. `machine`: the memory in MB
    and the processors of its machine, if it said them; `measured`: what the node, and then its
    containers, used at its last heartbeat (serialized ResourceUtilizationProto).
    """

    __slots__ = (
        "answer",
        "busy",
        "clean_up",
        "finished",
        "foreign",
        "health_report",
        "heard_ms",
        "host",
        "label",
        "machine",
        "measured",
        "name",
        "port",
        "removable",
        "resource",
        "response_id",
        "running",
        "signals",
        "silent",
        "statuses",
        "total",
        "unhealthy",
        "version",
        "web_port",
    )

    def __init__(self, host: str, port: int, web_port: int, version: str, total: Resource) -> None:
        self.name = f"{host}:{port}"
        self.host = host
        self.port = port
        self.web_port = web_port
        self.version = version
        self.total = total
        self.label = ""
        self.machine: tuple[int, int] | None = None
        self.measured: tuple[bytes, bytes] | None = None
        self.heard_ms = 0
        self.silent = False
        self.unhealthy = False
        self.health_report = ""
        self.response_id = 0
        self.answer: NodeHeartbeatResponseProto | None = None
        self.statuses: list[bytes] = []
        self.running: dict[ContainerId, None] = {}
        self.busy = False
        self.clean_up: dict[ContainerId, None] = {}
        self.foreign: list[ContainerIdProto] = []
        self.removable: list[ContainerIdProto] = []
        self.finished: list[ApplicationIdProto] = []
        self.signals: list[SignalContainerRequestProto] = []
        self.resource: Resource | None = None

    @property
    def web_address(self) -> str:
        """`host:port` of its web server, which shows its containers' logs."""
        return f"{self.host}:{self.web_port}"


class RegisteredNodes:
    """All registered nodes by name (`host:port`), the one that was silent longest first."""

    def __init__(self) -> None:
        self._nodes: dict[str, RegisteredNode] = {}
        self._node_of: dict[ContainerId, RegisteredNode] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[RegisteredNode]:
        return iter(self._nodes.values())

    def get(self, name: str) -> RegisteredNode | None:
        """A registered node; None: it is unknown, has not returned, or is lost."""
        return self._nodes.get(name)

    def add(self, node: RegisteredNode) -> None:
        """Register a node, in place of the one of the same name."""
        self.remove(node.name)
        self._nodes[node.name] = node

    def remove(self, name: str) -> RegisteredNode | None:
        """Forget a node: it must register again."""
        node = self._nodes.pop(name, None)
        if node is not None:
            for container in node.running:
                self._node_of.pop(container, None)
        return node

    def heard(self, node: RegisteredNode, now_ms: int) -> None:
        """A node gave a sign of life: it is the last one to expire now."""
        node.heard_ms = now_ms
        nodes = self._nodes
        del nodes[node.name]
        nodes[node.name] = node

    def silent_since(self, before_ms: int) -> list[RegisteredNode]:
        """The nodes that were last heard before an instant, the longest silent first."""
        silent = []
        for node in self._nodes.values():
            if node.heard_ms >= before_ms:
                break
            silent.append(node)
        return silent

    # Containers.

    def runs(self, node: RegisteredNode, container: ContainerId) -> None:
        """A node reports that it runs a container."""
        node.running[container] = None
        self._node_of[container] = node

    def ended(self, node: RegisteredNode, container: ContainerId) -> None:
        """A node reports the end of a container, or no longer reports the container."""
        node.running.pop(container, None)
        node.clean_up.pop(container, None)
        if self._node_of.get(container) is node:
            del self._node_of[container]

    def node_of(self, container: ContainerId) -> RegisteredNode | None:
        """The node that runs a container; None if none has reported it."""
        return self._node_of.get(container)

    def clean_up(self, container: ContainerId) -> None:
        """Have its node stop a container with the next heartbeat.

        One that no node reports is stopped as soon as a node reports it.
        """
        node = self._node_of.get(container)
        if node is not None:
            node.clean_up[container] = None
            node.busy = True

    def signal(self, container: ContainerId, request: SignalContainerRequestProto) -> bool:
        """Have its node send a container a signal (a SignalContainerRequestProto) with the next
        heartbeat; False if no node runs it."""
        node = self._node_of.get(container)
        if node is None:
            return False
        node.signals.append(request)
        node.busy = True
        return True

    def running(self) -> frozenset[ContainerId]:
        """All containers that nodes have reported as running."""
        return frozenset(self._node_of)


LONGEST_HOST = 255
_MOST_PORT = 65_535
_NUMBER = re.compile(r"\d{1,9}")


def reason_to_shut_down(
    request: RegisterNodeManagerRequestProto,
    settings: NodeSettings,
    total: Resource,
    least: Resource,
    *,
    decommissioned: bool,
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


def known_resources(message: ResourceProto, types: ResourceTypes) -> ResourceProto:
    """A ResourceProto without the types that this cluster does not count, as Hadoop skips them."""
    if all(entry.key in types.names for entry in message.resource_value_map):
        return message
    resource = ResourceProto(memory=message.memory, virtual_cores=message.virtual_cores)
    resource.resource_value_map.extend(
        entry for entry in message.resource_value_map if entry.key in types.names
    )
    return resource
