"""Owns what YARN's paths of node labels read of a scheduler that has partitions."""

from collections.abc import Mapping
from typing import Protocol

from fairshare.model.nodes import Node
from fairshare.model.resources import Resource


class NodeLabels(Protocol):
    """The labels of a cluster and of its nodes; the label of the default partition is empty."""

    @property
    def nodes_report(self) -> bool:
        """Whether nodes report their labels themselves (`configuration-type` distributed)."""

    def labels(self) -> Mapping[str, bool]:
        """All labels, sorted: whether each is exclusive."""

    def of_node(self, node: Node) -> str:
        """The label of a registered node."""

    def assigned(self) -> Mapping[str, str]:
        """The labels that administrators have assigned, by the name of the node, registered or
        not."""

    def total_of(self, label: str) -> Resource:
        """The resources of the nodes with a label."""
