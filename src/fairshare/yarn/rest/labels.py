"""The paths of node labels: the list of them, and the labels of nodes (Hadoop:
RMWebServices.getClusterNodeLabels).

A label is a partition of the cluster; only some schedulers have any.
"""

from collections import Counter

from msgspec import UNSET, UnsetType
from starlette.requests import Request

from fairshare.core.model.inputs import AddLabels, Input, LabelNodes, RemoveLabels
from fairshare.core.model.resources import Resource
from fairshare.errors import InputError
from fairshare.yarn.rest.answering import Answer, YarnRoute
from fairshare.yarn.rest.callers import Caller, is_administrator
from fairshare.yarn.rest.errors import bad_request, unauthorized
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.parameters import as_list, read_object, text_of, truth, words
from fairshare.yarn.views.documents import Document, Entries, ResourceInfo, resource_info
from fairshare.yarn.views.interface import NodeLabels

DEFAULT_PARTITION = "<DEFAULT_PARTITION>"
_DISABLED = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled"
_IO = "java.io.IOException"


class PartitionInfo(Document):
    """The resources of a partition's nodes."""

    resourceAvailable: ResourceInfo


class NodeLabelInfo(Document):
    """One label."""

    name: str
    exclusivity: bool
    partitionInfo: PartitionInfo | UnsetType = UNSET
    activeNMs: int | UnsetType = UNSET


class NodeLabelInfos(Document):
    """Some labels."""

    nodeLabelInfo: list[NodeLabelInfo] | UnsetType


class NodeToLabels(Document):
    """The labels of each node that has one."""

    nodeToLabels: Entries


class NodesOfLabel(Document):
    """The nodes of one label, and their resources."""

    nodes: list[str]
    partitionInfo: PartitionInfo


class LabelsToNodes(Document):
    """The nodes of each label."""

    labelsToNodes: Entries


def labels_of(gateway: Gateway) -> NodeLabels | None:
    """The labels of the cluster; None where there are none."""
    return gateway.yarn.node_labels(gateway.scheduler.state)


def _partition(gateway: Gateway, resources: Resource) -> PartitionInfo:
    return PartitionInfo(resource_info(gateway.scheduler.state.types, resources))


def assigned_labels(gateway: Gateway, labels: NodeLabels) -> dict[str, str]:
    """The label of each node that has one, by the node's identifier; also of nodes that have not
    registered yet."""
    nodes = gateway.scheduler.state.nodes
    present = {gateway.node_address(name): labels.of_node(node) for name, node in nodes.items()}
    others = {
        gateway.unknown_node_address(name): label
        for name, label in labels.assigned().items()
        if name not in nodes
    }
    return {node: label for node, label in {**present, **others}.items() if label}


def _info(found: NodeLabels, label: str) -> NodeLabelInfo:
    return NodeLabelInfo(label, found.labels().get(label, True))


async def list_labels(request: Request, caller: Caller) -> Answer:
    """GET /get-node-labels."""
    gateway = gateway_of(request)
    labels = labels_of(gateway)
    node_labels = (
        []
        if labels is None
        else [
            NodeLabelInfo(label, exclusive, _partition(gateway, labels.total_of(label)))
            for label, exclusive in labels.labels().items()
        ]
    )
    return Answer(NodeLabelInfos(node_labels or UNSET), "nodeLabelsInfo", "mapped")


async def list_active_labels(request: Request, caller: Caller) -> Answer:
    """GET /get-rm-node-labels: with the default partition, and how many nodes each has."""
    gateway = gateway_of(request)
    state, labels = gateway.scheduler.state, labels_of(gateway)
    if labels is None:
        counted = gateway.yarn.counts_partitions
        whole = _partition(gateway, state.total if counted else state.none)
        count = len(state.nodes) if counted else 0
        node_labels = [NodeLabelInfo(DEFAULT_PARTITION, True, whole, count)]
        return Answer(NodeLabelInfos(node_labels), "nodeLabelsInfo", "mapped")
    counts = Counter(labels.of_node(node) for node in state.nodes.values())
    node_labels = [
        NodeLabelInfo(
            label or DEFAULT_PARTITION,
            exclusive,
            _partition(gateway, labels.total_of(label)),
            counts[label],
        )
        for label, exclusive in {"": True, **labels.labels()}.items()
    ]
    return Answer(NodeLabelInfos(node_labels), "nodeLabelsInfo", "mapped")


async def list_nodes_with_labels(request: Request, caller: Caller) -> Answer:
    """GET /get-node-to-labels."""
    gateway = gateway_of(request)
    labels = labels_of(gateway)
    pairs = (
        ()
        if labels is None
        else tuple(
            (node, NodeLabelInfos([_info(labels, label)]))
            for node, label in assigned_labels(gateway, labels).items()
        )
    )
    return Answer(NodeToLabels(Entries(pairs)), "nodeToLabelsInfo", "mapped")


async def list_labels_with_nodes(request: Request, caller: Caller) -> Answer:
    """GET /label-mappings: of the labels that are named, or of all."""
    gateway = gateway_of(request)
    labels = labels_of(gateway)
    asked = words(request, "labels")
    nodes: dict[str, list[str]] = {}
    if labels is not None:
        for node, label in assigned_labels(gateway, labels).items():
            if not asked or label in asked:
                nodes.setdefault(label, []).append(node)
    pairs = (
        ()
        if labels is None
        else tuple(
            (
                _info(labels, label),
                NodesOfLabel(found, _partition(gateway, labels.total_of(label))),
            )
            for label, found in sorted(nodes.items())
        )
    )
    return Answer(LabelsToNodes(Entries(pairs)), "labelsToNodesInfo", "mapped")


async def show_labels_of_node(request: Request, caller: Caller) -> Answer:
    """GET /nodes/ID/get-labels."""
    gateway = gateway_of(request)
    labels = labels_of(gateway)
    label = ""
    if labels is not None:
        label = assigned_labels(gateway, labels).get(request.path_params["node"], "")
    found = [_info(labels, label)] if label and labels is not None else UNSET
    return Answer(NodeLabelInfos(found), "nodeLabelsInfo", "mapped")


async def add_labels(request: Request, caller: Caller) -> Answer:
    """POST /add-node-labels."""
    gateway = gateway_of(request)
    body = await read_object(request, "nodeLabelsInfo")
    labels = {
        text_of(one.get("name")): truth(one.get("exclusivity"), True)
        for one in as_list(body.get("nodeLabelInfo"))
        if isinstance(one, dict)
    }
    return await _change(gateway, caller, "add-node-labels", AddLabels(labels) if labels else None)


async def remove_labels(request: Request, caller: Caller) -> Answer:
    """POST /remove-node-labels."""
    gateway = gateway_of(request)
    return await _change(
        gateway, caller, "remove-node-labels", RemoveLabels(tuple(words(request, "labels")))
    )


async def replace_labels(request: Request, caller: Caller) -> Answer:
    """POST /nodes/ID/replace-labels."""
    gateway = gateway_of(request)
    labels = words(request, "labels")
    node = gateway.node_name(request.path_params["node"])
    return await _change(gateway, caller, "replace-labels", _of_nodes({node: labels}))


async def replace_many(request: Request, caller: Caller) -> Answer:
    """POST /replace-node-to-labels."""
    gateway = gateway_of(request)
    body = await read_object(request, "nodeToLabelsName")
    labels = {
        gateway.node_name(text_of(entry.get("nodeId"))): [
            text_of(x) for x in as_list(entry.get("labels"))
        ]
        for entry in as_list(body.get("nodeToLabels"))
        if isinstance(entry, dict)
    }
    return await _change(gateway, caller, "replace-node-to-labels", _of_nodes(labels))


def _of_nodes(wanted: dict[str, list[str]]) -> LabelNodes:
    for node, labels in wanted.items():
        if len(labels) > 1:
            raise bad_request(
                f"{len(labels)} labels specified on host={node}, please note that we do not"
                " support specifying multiple labels on a single host for now.",
                _IO,
            )
    return LabelNodes({node: (labels or [""])[0] for node, labels in wanted.items()})


async def _change(gateway: Gateway, caller: Caller, path: str, input_: Input | None) -> Answer:
    if not is_administrator(gateway, caller):
        raise unauthorized(f"User {caller.user} not authorized for post to .../{path} ")
    if labels_of(gateway) is None:
        raise bad_request(_DISABLED, _IO)
    if input_ is not None:
        try:
            await gateway.ask(input_)
        except InputError as error:
            raise bad_request(str(error), _IO) from None
    return Answer()


ROUTES = [
    YarnRoute("/get-node-labels", get=list_labels),
    YarnRoute("/get-rm-node-labels", get=list_active_labels),
    YarnRoute("/get-node-to-labels", get=list_nodes_with_labels),
    YarnRoute("/label-mappings", get=list_labels_with_nodes),
    YarnRoute("/add-node-labels", post=add_labels),
    YarnRoute("/remove-node-labels", post=remove_labels),
    YarnRoute("/replace-node-to-labels", post=replace_many),
    YarnRoute("/nodes/{node}/get-labels", get=show_labels_of_node),
    YarnRoute("/nodes/{node}/replace-labels", post=replace_labels),
]
