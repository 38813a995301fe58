"""Reports for Hadoop's clients, filled from the documents of the REST interface.

There is one source for both: what a field means is decided in `web/yarn`.
"""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from fairshare.hadoop import ids
from fairshare.hadoop.resources import resource_message
from fairshare.hadoop.wire.messages import (
    ApplicationReportProto,
    ApplicationTimeoutTypeProto,
    FinalApplicationStatusProto,
    LogAggregationStatusProto,
    NodeReportProto,
    NodeStateProto,
    YarnApplicationStateProto,
)
from fairshare.model.applications import Application
from fairshare.model.resources import Resource, ResourceTypes, add
from fairshare.web.yarn.access import may_view
from fairshare.web.yarn.application_documents import application_info
from fairshare.web.yarn.callers import Caller
from fairshare.web.yarn.gateway import Gateway
from fairshare.web.yarn.nodes import NodeInfo

NOT_AVAILABLE = "N/A"
NO_LABEL = "<Not set>"
DEFAULT_LABEL = "<DEFAULT_PARTITION>"

_LIFETIME = ApplicationTimeoutTypeProto.Value("APP_TIMEOUT_LIFETIME")
_LOGS_DISABLED = LogAggregationStatusProto.Value("LOG_DISABLED")

MasterToken = Callable[[Application], Any]
"""The AMRMToken of an unmanaged application's attempt as a TokenProto; None: it has none."""


def application_report(
    gateway: Gateway, application: Application, caller: Caller, token_of: MasterToken
) -> Any:
    """The ApplicationReportProto of one application, with what the caller may see of it."""
    full = may_view(gateway, caller, application)
    info = application_info(gateway, application, full=full, without=("resourcerequests",))
    state = gateway.scheduler.state
    history = gateway.attempt_history.of(application.id)
    host, port = NOT_AVAILABLE, -1
    if info.amRPCAddress is not UNSET:
        host, _, digits = info.amRPCAddress.rpartition(":")
        port = int(digits)
    report = ApplicationReportProto(
        applicationId=ids.application_id_message(state.epoch_ms, application.id),
        user=info.user,
        queue=info.queue,
        name=info.name,
        host=host,
        rpc_port=port,
        yarn_application_state=YarnApplicationStateProto.Value(info.state),
        trackingUrl=NOT_AVAILABLE if info.trackingUrl is UNSET else info.trackingUrl,
        diagnostics=info.diagnostics,
        startTime=application.submitted_ms,
        finishTime=info.finishedTime,
        final_application_status=FinalApplicationStatusProto.Value(f"APP_{info.finalStatus}"),
        originalTrackingUrl=NOT_AVAILABLE,
        progress=info.progress / 100.0,
        applicationType=info.applicationType,
        applicationTags=application.submission.tags,
        log_aggregation_status=_LOGS_DISABLED,
        unmanaged_application=info.unmanagedApplication,
        appNodeLabelExpression=_label(info.appNodeLabelExpression, NO_LABEL),
        amNodeLabelExpression=_label(info.amNodeLabelExpression, DEFAULT_LABEL),
        launchTime=info.launchTime,
        submitTime=application.submitted_ms,
    )
    report.priority.priority = info.priority
    attempt = history.attempt
    if attempt is not None:
        report.currentApplicationAttemptId.CopyFrom(
            ids.attempt_id_message(state.epoch_ms, application.id, attempt.number)
        )
        report.originalTrackingUrl = attempt.tracking_url or NOT_AVAILABLE
    _add_usage(report, info, state.types, application, gateway)
    if info.timeouts is not UNSET:
        for one in info.timeouts.timeout:
            entry = report.appTimeouts.add(application_timeout_type=_LIFETIME)
            entry.application_timeout.application_timeout_type = _LIFETIME
            entry.application_timeout.expire_time = one.expiryTime
            entry.application_timeout.remaining_time = one.remainingTimeInSeconds
    if info.unmanagedApplication and caller.user == application.user:
        token = token_of(application)
        if token is not None:
            report.am_rm_token.CopyFrom(token)
    return report


def _label(found: Any, default: str) -> str:
    return default if found is UNSET or not found else str(found)


def _add_usage(
    report: Any, info: Any, types: ResourceTypes, application: Application, gateway: Gateway
) -> None:
    usage = report.app_resource_Usage
    usage.num_used_containers = info.runningContainers
    usage.num_reserved_containers = (
        -1 if info.runningContainers < 0 else len(application.reservations)
    )
    if info.runningContainers < 0:
        none = tuple(-1 for _ in types.names)
        used = reserved = needed = none
    else:
        used = application.used
        reserved = gateway.scheduler.state.none
        for one in application.reservations.values():
            reserved = add(reserved, one.resource)
        needed = add(used, reserved)
    for name, amounts in (("used", used), ("reserved", reserved), ("needed", needed)):
        getattr(usage, f"{name}_resources").CopyFrom(resource_message(amounts, types))
    usage.memory_seconds = info.memorySeconds
    usage.vcore_seconds = info.vcoreSeconds
    usage.queue_usage_percentage = info.queueUsagePercentage
    usage.cluster_usage_percentage = info.clusterUsagePercentage
    usage.preempted_memory_seconds = info.preemptedMemorySeconds
    usage.preempted_vcore_seconds = info.preemptedVcoreSeconds
    lost = dict(info.preemptedResourceSecondsMap.pairs)
    for name, amount in info.resourceSecondsMap.pairs:
        usage.application_resource_usage_map.add(key=name, value=int(amount))
        usage.application_preempted_resource_usage_map.add(key=name, value=int(lost.get(name, 0)))


def node_report(info: NodeInfo, types: ResourceTypes) -> Any:
    """The NodeReportProto of one node."""
    report = NodeReportProto(
        httpAddress=info.nodeHTTPAddress,
        rackName=info.rack,
        numContainers=info.numContainers,
        node_state=NodeStateProto.Value(f"NS_{info.state}"),
        health_report=info.healthReport,
        last_health_report_time=info.lastHealthUpdate,
    )
    report.nodeId.CopyFrom(ids.node_id_message(info.id))
    report.used.CopyFrom(_named(info.usedResource, types))
    report.capability.CopyFrom(_named(info.totalResource, types))
    if info.nodeLabels is not UNSET:
        report.node_labels.extend(info.nodeLabels)
    measured = info.resourceUtilization
    report.containers_utilization.pmem = measured.aggregatedContainersPhysicalMemoryMB
    report.containers_utilization.vmem = measured.aggregatedContainersVirtualMemoryMB
    report.containers_utilization.cpu = measured.containersCPUUsage
    report.node_utilization.pmem = measured.nodePhysicalMemoryMB
    report.node_utilization.vmem = measured.nodeVirtualMemoryMB
    report.node_utilization.cpu = measured.nodeCPUUsage
    return report


def _named(info: Any, types: ResourceTypes) -> Any:
    amounts = {one.name: one.value for one in info.resourceInformations.resourceInformation}
    vector: Resource = tuple(amounts.get(name, 0) for name in types.names)
    return resource_message(vector, types)


def optional_resource(target: Any, resource: Resource | None, types: ResourceTypes) -> None:
    """Fill a ResourceProto field, unless there is nothing to say."""
    if resource is not None:
        target.CopyFrom(resource_message(resource, types))
