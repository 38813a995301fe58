"""Owns how a scenario's asks, and the steps about nodes that all scenarios have, become inputs of
the manager.

Knows no application and no record. How counts add up is the manager's rule (`core/model/work.py`,
ContainerRequest).
"""

from collections.abc import Iterable

from fairshare.core.model import inputs
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.work import ContainerRequest
from fairshare.documents.values import unknown_word
from fairshare.errors import InputError
from fairshare.lab.scenarios import steps
from fairshare.lab.scenarios.cluster import Cluster
from fairshare.lab.scenarios.steps import Amounts, Ask


def vector(types: ResourceTypes, amounts: Amounts) -> Resource:
    """Named amounts as a vector; raises InputError for a type that the cluster does not have."""
    try:
        return types.vector(amounts)
    except KeyError as error:
        message = unknown_word("resource type", str(error.args[0]), types.names)
        raise InputError("unknown-resource-type", message) from error


def requests(types: ResourceTypes, asks: Iterable[Ask]) -> tuple[ContainerRequest, ...]:
    """One request for each ask, in their order."""
    return tuple(
        ContainerRequest(
            count=ask.count,
            resource=vector(types, ask.resources),
            priority=ask.priority,
            hosts=ask.hosts,
            racks=ask.racks,
            relax=ask.relax,
            request=ask.request,
            location=ask.location,
            label=ask.label,
        )
        for ask in asks
    )


def apply_node_step(step: steps.Step, cluster: Cluster, types: ResourceTypes) -> None:
    """Apply a step about nodes; raises InputError where it is refused."""
    match step:
        case steps.ChangeNode(add=steps.Node() as node):
            add_nodes(node, cluster, types)
        case steps.ChangeNode(remove=str(name)):
            need_node(name, cluster)
            cluster.call(inputs.NodeLost(name))
        case steps.ChangeNode(resize=steps.Resized(name=name, resources=resources)):
            need_node(name, cluster)
            cluster.call(inputs.NodeResized(name, vector(types, resources)))
        case steps.ChangeNode(drain=str(name)):
            cluster.call(inputs.DrainNode(name))
        case steps.ChangeNode(undrain=str(name)):
            cluster.call(inputs.UndrainNode(name))
        case steps.SafeMode(on=on):
            cluster.call(inputs.SetSafeMode(on))
        case _:
            raise NotImplementedError(type(step).__name__)


def add_nodes(group: steps.Node, cluster: Cluster, types: ResourceTypes) -> None:
    """Let the nodes of a group join."""
    total = vector(types, group.resources)
    for name in group.names:
        if name in cluster.state.nodes:
            raise InputError("repeated-name", f"there is a node {name} already")
        attributes = {"partition": group.label} if group.label else {}
        cluster.call(inputs.NodeJoined(name, total, group.rack, attributes))


def need_node(name: str, cluster: Cluster) -> None:
    """Raise InputError for a node that is not there."""
    if name not in cluster.state.nodes:
        raise InputError("unknown-node", f"no node {name}")
