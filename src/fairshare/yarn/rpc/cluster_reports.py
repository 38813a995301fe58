"""Queues, their access lists and statistics, and node labels for Hadoop's clients. Source: Hadoop
3.4.1, ClientRMService."""

from collections.abc import Sequence
from typing import Any

from fairshare.core.model.applications import Application
from fairshare.core.model.resources import Resource, ResourceTypes, total
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.labels import assigned_labels, labels_of
from fairshare.yarn.rest.states import public_state
from fairshare.yarn.rpc import ids
from fairshare.yarn.rpc.reports import optional_resource
from fairshare.yarn.rpc.resources import resource_message
from fairshare.yarn.rpc.wire.messages import (
    GetClusterNodeLabelsResponseProto,
    GetLabelsToNodesResponseProto,
    GetNodesToLabelsResponseProto,
    QueueACLProto,
    QueueInfoProto,
    QueueStateProto,
    QueueUserACLInfoProto,
)
from fairshare.yarn.views.queues import PartitionReport, QueueReport

_SUBMIT = QueueACLProto.Value("QACL_SUBMIT_APPLICATIONS")
_ADMINISTER = QueueACLProto.Value("QACL_ADMINISTER_QUEUE")


def queue_info(gateway: Gateway, name: str, *, children: bool, recursive: bool) -> Any | None:
    """The QueueInfoProto of a queue; None: there is no such queue. `children`: with its children;
    `recursive`: and with theirs.
    """
    return _Queues(gateway).info(name, children=children, recursive=recursive)


class _Queues:
    """The queues of one moment, with the applications of each and of those below it."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._reports = gateway.yarn.queue_reports(gateway)
        self._applications: dict[str, list[Application]] = {}
        for application in gateway.scheduler.state.applications.values():
            queue = application.queue
            while queue:
                self._applications.setdefault(queue, []).append(application)
                queue = queue.rpartition(".")[0]

    def info(self, name: str, *, children: bool, recursive: bool) -> Any | None:
        """The QueueInfoProto of a queue."""
        report = self._reports(name)
        if report is None:
            return None
        types = self._gateway.scheduler.state.types
        info = QueueInfoProto(
            queueName=report.name,
            queuePath=report.path,
            capacity=report.capacity,
            maximumCapacity=report.maximum_capacity,
            currentCapacity=report.current_capacity,
            state=QueueStateProto.Value(f"Q_{report.state}"),
            accessibleNodeLabels=report.labels,
        )
        _add_settings(info, report)
        for partition in report.partitions:
            _add_partition(info, partition, types)
        applications = self._applications.get(report.path, ())
        _add_statistics(info.queueStatistics, self._gateway, report, applications)
        for child in report.children if children else ():
            below = self.info(child, children=recursive, recursive=recursive)
            if below is not None:
                info.childQueues.append(below)
        return info


def _add_settings(info: Any, report: QueueReport) -> None:
    settings = {
        "defaultNodeLabelExpression": report.default_label,
        "preemptionDisabled": report.preemption_disabled,
        "intraQueuePreemptionDisabled": report.intra_queue_preemption_disabled,
        "weight": report.weight,
        "maxParallelApps": report.max_parallel,
        "maxRunningApp": report.max_running,
        "schedulerType": report.scheduler_type or None,
    }
    for field, value in settings.items():
        if value is not None:
            setattr(info, field, value)
    amounts = {
        "minResource": report.minimum,
        "maxResource": report.maximum,
        "reservedResource": report.reserved,
        "steadyFairShare": report.steady_share,
    }
    for field, resource in amounts.items():
        if resource is not None:
            setattr(info, f"{field}Memory", resource[0])
            setattr(info, f"{field}VCore", min(resource[1], 2**31 - 1))


def _add_partition(info: Any, partition: PartitionReport, types: ResourceTypes) -> None:
    entry = info.queueConfigurationsMap.add(partitionName=partition.label)
    found = entry.queueConfigurations
    found.capacity = partition.capacity
    found.absoluteCapacity = partition.absolute_capacity
    found.maxCapacity = partition.maximum_capacity
    found.absoluteMaxCapacity = partition.absolute_maximum
    found.maxAMPercentage = partition.masters
    found.effectiveMinCapacity.CopyFrom(resource_message(partition.effective_minimum, types))
    found.effectiveMaxCapacity.CopyFrom(resource_message(partition.effective_maximum, types))
    optional_resource(found.configuredMinCapacity, partition.configured_minimum, types)
    optional_resource(found.configuredMaxCapacity, partition.configured_maximum, types)


def _add_statistics(
    statistics: Any, gateway: Gateway, report: QueueReport, applications: Sequence[Application]
) -> None:
    """What the applications that the server remembers come to; Hadoop counts since its start."""
    live = [one for one in applications if one.attempt.active]
    none = gateway.scheduler.state.none
    states = [
        public_state(one, gateway.attempt_history.of(one.id)) for one in applications if one.over
    ]
    waiting = sum(one.managed and one.attempt.master is None for one in live)
    statistics.numAppsSubmitted = len(applications)
    statistics.numAppsRunning = len(live) - waiting
    statistics.numAppsPending = waiting
    statistics.numAppsCompleted = states.count("FINISHED")
    statistics.numAppsKilled = states.count("KILLED")
    statistics.numAppsFailed = states.count("FAILED")
    statistics.numActiveUsers = len({one.user for one in live if one.attempt.asks.wanting})
    reservations = [r for one in live for r in one.attempt.reservations.values()]
    size = len(none)
    sums: dict[str, Resource] = {
        "available": report.available or none,
        "allocated": total((one.used for one in live), size),
        "pending": total((one.attempt.asks.pending for one in live), size),
        "reserved": total((r.resource for r in reservations), size),
    }
    for name, amounts in sums.items():
        setattr(statistics, f"{name}MemoryMB", amounts[0])
        setattr(statistics, f"{name}VCores", amounts[1])
    statistics.allocatedContainers = sum(len(one.containers) for one in live)
    statistics.pendingContainers = sum(
        key.anywhere.count for one in live for key in one.attempt.asks.wanting if key.anywhere
    )
    statistics.reservedContainers = len(reservations)


def queue_acls(gateway: Gateway, caller: Caller) -> list[Any]:
    """What a user may do in each queue, root first."""
    found = []
    scheduler = gateway.scheduler
    for name in scheduler.state.queues:
        info = QueueUserACLInfoProto(queueName=name)
        open_to_all = not gateway.controls_access
        if open_to_all or scheduler.may_submit(name, caller.user, caller.groups):
            info.userAcls.append(_SUBMIT)
        if open_to_all or scheduler.may_administer(name, caller.user, caller.groups):
            info.userAcls.append(_ADMINISTER)
        found.append(info)
    return found


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
