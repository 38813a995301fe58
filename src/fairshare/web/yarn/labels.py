"""Owns the paths of node labels: the list of them, and the labels of nodes (rest.md 1.8.24).

A label is a partition of the cluster; only the Capacity Scheduler has any.
"""

from msgspec import UNSET, UnsetType
from starlette.requests import Request

from fairshare.errors import InputError
from fairshare.families.yarn.documents import Document, Entries
from fairshare.families.yarn.resources import ResourceInfo, resource_info
from fairshare.model.inputs import AddLabels, Input, LabelNodes, RemoveLabels
from fairshare.model.resources import Resource
from fairshare.schedulers.capacity import partitions
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.web.yarn.access import is_administrator
from fairshare.web.yarn.answering import Answer, YarnRoute
from fairshare.web.yarn.bodies import as_list, read_object, text_of, truth
from fairshare.web.yarn.callers import Caller
from fairshare.web.yarn.errors import bad_request, unauthorized
from fairshare.web.yarn.filters import words
from fairshare.web.yarn.gateway import Gateway, gateway_of

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


def _enabled(gateway: Gateway) -> CapacityState | None:
    state = gateway.scheduler.state
    return state if isinstance(state, CapacityState) and state.settings.labels_enabled else None


def _labels(state: CapacityState) -> dict[str, bool]:
    return dict(sorted(partitions.of_cluster(state).items()))


def _offered(state: CapacityState, label: str) -> Resource:
    return state.total_of(label)


def _partition(state: CapacityState, label: str) -> PartitionInfo:
    return PartitionInfo(resource_info(state.types, _offered(state, label)))


def _assigned(gateway: Gateway, state: CapacityState) -> dict[str, str]:
    """The label of each node that has one, by the node's identifier; also of nodes that have not
    registered yet."""
    found = {}
    for name, node in state.nodes.items():
        label = state.label_of(node)
        if label:
            found[gateway.node_address(name)] = label
    for name, label in state.assigned_labels.items():
        if label and name not in state.nodes:
            found[gateway.unknown_node_address(name)] = label
    return found


def _info(state: CapacityState, label: str) -> NodeLabelInfo:
    return NodeLabelInfo(label, partitions.of_cluster(state).get(label, True))


async def list_labels(request: Request, caller: Caller) -> Answer:
    """GET /get-node-labels."""
    state = _enabled(gateway_of(request))
    found = (
        []
        if state is None
        else [
            NodeLabelInfo(label, exclusive, _partition(state, label))
            for label, exclusive in _labels(state).items()
        ]
    )
    return Answer(NodeLabelInfos(found or UNSET), "nodeLabelsInfo", "mapped")


async def list_active_labels(request: Request, caller: Caller) -> Answer:
    """GET /get-rm-node-labels: with the default partition, and how many nodes each has."""
    gateway = gateway_of(request)
    state = _enabled(gateway)
    if state is None:
        every = gateway.scheduler.state
        counted = isinstance(every, CapacityState)  # the other schedulers count no partition
        amount = resource_info(every.types, every.total if counted else every.none)
        count = len(every.nodes) if counted else 0
        found = [NodeLabelInfo(DEFAULT_PARTITION, True, PartitionInfo(amount), count)]
        return Answer(NodeLabelInfos(found), "nodeLabelsInfo", "mapped")
    counts = dict.fromkeys(["", *_labels(state)], 0)
    for node in state.nodes.values():
        counts[state.label_of(node)] = counts.get(state.label_of(node), 0) + 1
    exclusive = {"": True, **_labels(state)}
    found = [
        NodeLabelInfo(
            label or DEFAULT_PARTITION, exclusive[label], _partition(state, label), counts[label]
        )
        for label in exclusive
    ]
    return Answer(NodeLabelInfos(found), "nodeLabelsInfo", "mapped")


async def list_nodes_with_labels(request: Request, caller: Caller) -> Answer:
    """GET /get-node-to-labels."""
    gateway = gateway_of(request)
    state = _enabled(gateway)
    pairs = (
        ()
        if state is None
        else tuple(
            (node, NodeLabelInfos([_info(state, label)]))
            for node, label in _assigned(gateway, state).items()
        )
    )
    return Answer(NodeToLabels(Entries(pairs)), "nodeToLabelsInfo", "mapped")


async def list_labels_with_nodes(request: Request, caller: Caller) -> Answer:
    """GET /label-mappings: of the labels that are named, or of all."""
    gateway = gateway_of(request)
    state = _enabled(gateway)
    wanted = words(request, "labels")
    nodes: dict[str, list[str]] = {}
    if state is not None:
        for node, label in _assigned(gateway, state).items():
            if not wanted or label in wanted:
                nodes.setdefault(label, []).append(node)
    pairs = (
        ()
        if state is None
        else tuple(
            (_info(state, label), NodesOfLabel(found, _partition(state, label)))
            for label, found in sorted(nodes.items())
        )
    )
    return Answer(LabelsToNodes(Entries(pairs)), "labelsToNodesInfo", "mapped")


async def show_labels_of_node(request: Request, caller: Caller) -> Answer:
    """GET /nodes/ID/get-labels."""
    gateway = gateway_of(request)
    state = _enabled(gateway)
    label = ""
    if state is not None:
        label = _assigned(gateway, state).get(request.path_params["node"], "")
    found = [_info(state, label)] if label and state is not None else UNSET
    return Answer(NodeLabelInfos(found), "nodeLabelsInfo", "mapped")


async def add_labels(request: Request, caller: Caller) -> Answer:
    """POST /add-node-labels."""
    gateway = gateway_of(request)
    body = await read_object(request, "nodeLabelsInfo")
    wanted = {
        text_of(one.get("name")): truth(one.get("exclusivity"), True)
        for one in as_list(body.get("nodeLabelInfo"))
        if isinstance(one, dict)
    }
    return await _change(gateway, caller, "add-node-labels", AddLabels(wanted) if wanted else None)


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
    wanted = {
        gateway.node_name(text_of(one.get("nodeId"))): [
            text_of(x) for x in as_list(one.get("labels"))
        ]
        for one in as_list(body.get("nodeToLabels"))
        if isinstance(one, dict)
    }
    return await _change(gateway, caller, "replace-node-to-labels", _of_nodes(wanted))


def _of_nodes(wanted: dict[str, list[str]]) -> LabelNodes:
    for node, labels in wanted.items():
        if len(labels) > 1:
            raise bad_request(
                f"{len(labels)} labels specified on host={node}, please note that we do not"
                " support specifying multiple labels on a single host for now.",
                _IO,
            )
    return LabelNodes({node: (labels or [""])[0] for node, labels in wanted.items()})


async def _change(gateway: Gateway, caller: Caller, path: str, wish: Input | None) -> Answer:
    if not is_administrator(gateway, caller):
        raise unauthorized(f"User {caller.user} not authorized for post to .../{path} ")
    if _enabled(gateway) is None:
        raise bad_request(_DISABLED, _IO)
    if wish is not None:
        try:
            await gateway.ask(wish)
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
