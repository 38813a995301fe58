"""Node labels for Hadoop's clients. Source: Hadoop 3.4.1, ClientRMService."""

from typing import Any

from fairshare.hadoop import ids
from fairshare.hadoop.wire.messages import (
    GetClusterNodeLabelsResponseProto,
    GetLabelsToNodesResponseProto,
    GetNodesToLabelsResponseProto,
)
from fairshare.web.yarn.callers import Caller
from fairshare.web.yarn.gateway import Gateway
from fairshare.web.yarn.labels import assigned_labels, labels_of


class LabelReports:
    """The handlers for node labels; a cluster without any answers empty lists."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def labels(self, caller: Caller, request: Any) -> Any:
        """getClusterNodeLabels."""
        answer = GetClusterNodeLabelsResponseProto()
        labels = labels_of(self._gateway)
        for name, exclusive in {} if labels is None else labels.labels().items():
            answer.nodeLabels.add(name=name, isExclusive=exclusive)
            answer.deprecatedNodeLabels.append(name)
        return answer

    async def nodes_to_labels(self, caller: Caller, request: Any) -> Any:
        """getNodeToLabels: of the nodes that have one."""
        answer = GetNodesToLabelsResponseProto()
        for node, label in self._assigned().items():
            answer.nodeToLabels.add(nodeId=ids.node_id_message(node), nodeLabels=[label])
        return answer

    async def labels_to_nodes(self, caller: Caller, request: Any) -> Any:
        """getLabelsToNodes: of the labels that are named, or of all."""
        wanted = frozenset(request.nodeLabels)
        nodes: dict[str, list[Any]] = {}
        for node, label in self._assigned().items():
            if not wanted or label in wanted:
                nodes.setdefault(label, []).append(ids.node_id_message(node))
        answer = GetLabelsToNodesResponseProto()
        for label, found in sorted(nodes.items()):
            answer.labelsToNodes.add(nodeLabels=label, nodeId=found)
        return answer

    def _assigned(self) -> dict[str, str]:
        labels = labels_of(self._gateway)
        return {} if labels is None else assigned_labels(self._gateway, labels)
