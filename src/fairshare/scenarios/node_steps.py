"""Owns the steps about nodes that all scenarios have in common: each becomes inputs of the manager.

Knows no application and no record.
"""

from fairshare.errors import InputError
from fairshare.model import inputs
from fairshare.model.resources import ResourceTypes
from fairshare.scenarios import steps
from fairshare.scenarios.asks import vector
from fairshare.scenarios.cluster import Cluster


def apply_node_step(step: steps.Step, cluster: Cluster, types: ResourceTypes) -> None:
    """Apply a step about nodes; raises InputError where it is refused."""
    match step:
        case steps.AddNodes(nodes=group):
            add_nodes(group, cluster, types)
        case steps.RemoveNode(name=name):
            need_node(name, cluster)
            cluster.call(inputs.NodeLost(name))
        case steps.ResizeNode(name=name, resources=resources):
            need_node(name, cluster)
            cluster.call(inputs.NodeResized(name, vector(types, resources)))
        case steps.DrainNode(name=name, on=on):
            cluster.call(inputs.DrainNode(name) if on else inputs.UndrainNode(name))
        case steps.SafeMode(on=on):
            cluster.call(inputs.SetSafeMode(on))
        case _:
            raise NotImplementedError(type(step).__name__)


def add_nodes(group: steps.NodeGroup, cluster: Cluster, types: ResourceTypes) -> None:
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
