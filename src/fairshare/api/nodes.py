"""The records of nodes and their partitions (node labels)."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from fairshare.api.values import EMPTY, ActorBody, Amounts, LabelName, Place


class Gpu(msgspec.Struct, frozen=True):
    """A GPU that is assigned to containers. `used_mb` and `utilization_percent` are of the last
    few seconds, None if they cannot be measured; `memory_mb` is 0 if it is unknown.

    `elsewhere`: what does not run in a container uses it, and no container gets it meanwhile.
    `idle_ms` is for how long its container has not used it."""

    name: str
    model: str = ""
    memory_mb: int = 0
    used_mb: int | None = None
    utilization_percent: int | None = None
    container: str | None = None  # the one that has it
    elsewhere: bool = False
    idle_ms: int | None = None


class Node(msgspec.Struct, frozen=True):
    """One node. `reserved_for` is the application that has a reservation on it."""

    name: str
    rack: str = ""
    total: Amounts = EMPTY
    used: Amounts = EMPTY
    available: Amounts = EMPTY
    containers: int = 0
    reserved_for: str | None = None
    attributes: dict[str, str] = {}
    label: str = ""  # the partition that it belongs to
    # or DRAINING, DRAINED (it is empty), DECOMMISSIONING, UNHEALTHY (it cannot start containers)
    state: str = "RUNNING"
    health_report: str = ""  # why it could not start containers lately
    leaves_ms: int | None = None  # when it leaves at the latest, if it is decommissioned
    gpus: tuple[Gpu, ...] = ()
    host: str = ""  # the name of its machine


class NodesPage(msgspec.Struct, frozen=True):
    """Where rows stand in a list of nodes, and sums over all that match. `counts` has those that
    are reserved or draining, `labels` those of each label, whatever `only` was."""

    at_ms: int | None
    known: int
    matching: int
    counts: dict[str, int]
    labels: dict[str, int]
    used: Amounts
    total: Amounts
    containers: int
    idle: int
    offset: int


class Nodes(msgspec.Struct, frozen=True):
    """The nodes in the order of registration or as they were asked for, and the names of those that
    administrators have decommissioned; `page` if `offset` was given."""

    nodes: tuple[Node, ...]
    decommissioned: tuple[str, ...] = ()
    page: NodesPage | UnsetType = UNSET


class NodeContainer(msgspec.Struct, frozen=True):
    """A container of a node. `marked`: the scheduler is about to preempt it. `gpus`: the names of
    those that it has."""

    id: str
    application: str
    name: str
    user: str
    queue: str
    resources: Amounts
    master: bool
    allocated_ms: int
    marked: bool
    gpus: tuple[str, ...] = ()


class NodeDetails(Node, frozen=True):
    """One node, the time it registered, and its containers in the order of their allocation.

    One of a past moment has `at_ms`, and `forgotten`: how many of its containers are no longer
    remembered."""

    joined_ms: int | None = None
    running: tuple[NodeContainer, ...] = ()
    at_ms: int | UnsetType = UNSET
    forgotten: int | UnsetType = UNSET


class NodesBody(ActorBody, frozen=True, kw_only=True):
    """Some nodes, by name."""

    nodes: Annotated[tuple[Place, ...], msgspec.Meta(min_length=1, max_length=10_000)]


class DecommissionBody(NodesBody, frozen=True, kw_only=True):
    """Nodes to decommission; the default timeout is an hour, as in Hadoop."""

    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 3_600_000


class Label(msgspec.Struct, frozen=True):
    """One partition and its nodes; one that is not exclusive lends what is idle."""

    name: str
    exclusive: bool = True
    nodes: tuple[str, ...] = ()


class Labels(msgspec.Struct, frozen=True):
    """All partitions but the default one."""

    labels: list[Label] = []


class AddLabelsBody(ActorBody, frozen=True, kw_only=True):
    """Partitions to create: by name, whether each is exclusive."""

    labels: Annotated[dict[Place, bool], msgspec.Meta(min_length=1, max_length=1_000)]


class RemoveLabelsBody(ActorBody, frozen=True, kw_only=True):
    """Partitions to remove."""

    labels: Annotated[tuple[Place, ...], msgspec.Meta(min_length=1, max_length=1_000)]


class LabelNodesBody(ActorBody, frozen=True, kw_only=True):
    """The partitions of nodes; with `known` only of registered nodes."""

    nodes: Annotated[dict[Place, LabelName], msgspec.Meta(min_length=1, max_length=10_000)]
    known: bool = False
