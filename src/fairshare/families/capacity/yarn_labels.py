"""Owns the node labels of the Capacity Scheduler, as YARN's paths read them, and the use of an
application by label.
"""

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from fairshare.families.yarn.partitions import ResourceUsages, partition_usage
from fairshare.model.applications import Application
from fairshare.model.nodes import Node
from fairshare.model.resources import Resource
from fairshare.schedulers.capacity.state import CapacityState


class CapacityNodeLabels:
    """The partitions of a cluster."""

    def __init__(self, state: CapacityState) -> None:
        self._state = state

    @property
    def nodes_report(self) -> bool:
        """Whether nodes report their labels themselves (`configuration-type` distributed)."""
        return self._state.settings.labels_distributed

    def labels(self) -> Mapping[str, bool]:
        """All labels, sorted: whether each is exclusive."""
        return dict(sorted(self._state.partitions.items()))

    def of_node(self, node: Node) -> str:
        """The label of a registered node."""
        return self._state.label_of(node)

    def assigned(self) -> Mapping[str, str]:
        """The labels that administrators have assigned, by the name of the node."""
        return self._state.assigned_labels

    def total_of(self, label: str) -> Resource:
        """The resources of the nodes with a label."""
        return self._state.total_of(label)


def application_usages(
    state: CapacityState, application: Application, *, reserved: bool
) -> ResourceUsages | UnsetType:
    """The use of an application in its partition; UNSET once it has left its queue."""
    attempt = state.attempts.get(application.id)
    if attempt is None:
        return UNSET
    types, none = state.types, state.none
    usage = partition_usage(
        types,
        attempt.label,
        attempt.used,
        attempt.reserved,
        attempt.asks.pending,
        (attempt.master_resource, none, none),
    )
    usages = [usage]
    if reserved:
        usages.append(partition_usage(types, "*", none, none, none, (none, none, none)))
    return ResourceUsages(usages)
