"""Reports of applications, nodes, attempts and containers for Hadoop's clients, filled from the
documents of the REST interface.

There is one source for both: what a field means is decided in `yarn/rest`. Source: Hadoop 3.4.1,
ClientRMService, RMAppAttemptImpl and RMContainerImpl.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.resources import Resource, ResourceTypes, add
from fairshare.runtime.projections.attempt_history import Attempt
from fairshare.yarn.rest.access import may_view
from fairshare.yarn.rest.application_documents import application_info, proxied_page
from fairshare.yarn.rest.attempts import AttemptDetail, attempt_detail, container_info
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.nodes import NodeInfo
from fairshare.yarn.rpc import ids
from fairshare.yarn.rpc.resources import resource_message
from fairshare.yarn.rpc.wire.calls import ATTEMPT_NOT_FOUND, YARN, RpcError
from fairshare.yarn.rpc.wire.messages import (
    ApplicationAttemptReportProto,
    ApplicationReportProto,
    ApplicationTimeoutTypeProto,
    ContainerReportProto,
    ContainerStateProto,
    ExecutionTypeProto,
    FinalApplicationStatusProto,
    GetApplicationAttemptReportResponseProto,
    GetApplicationAttemptsResponseProto,
    GetContainerReportResponseProto,
    GetContainersResponseProto,
    LogAggregationStatusProto,
    NodeReportProto,
    NodeStateProto,
    YarnApplicationAttemptStateProto,
    YarnApplicationStateProto,
)

NOT_AVAILABLE = "N/A"
NO_LABEL = "<Not set>"
DEFAULT_LABEL = "<DEFAULT_PARTITION>"

_NO_ATTEMPT = -1
_AMOUNTS = ("used", "reserved", "needed")
_LIFETIME = ApplicationTimeoutTypeProto.Value("APP_TIMEOUT_LIFETIME")

MasterToken = Callable[[Application], Any]
"""The AMRMToken of an unmanaged application's attempt as a TokenProto; None: it has none."""


def application_report(
    gateway: Gateway, application: Application, caller: Caller, token_of: MasterToken
) -> Any:
    """The ApplicationReportProto of one application, with what the caller may see of it
    (Hadoop: RMAppImpl.createAndGetApplicationReport)."""
    full = may_view(gateway, caller, application)
    info = application_info(gateway, application, full=True, without=("resourcerequests",))
    types = gateway.scheduler.state.types
    report = _public_part(gateway, application, info)
    if not full:
        _add_amounts(report.app_resource_Usage, dict.fromkeys(_AMOUNTS, _unknown(types)), types)
        return report
    report.diagnostics = info.diagnostics
    report.progress = info.progress / 100.0
    logs = f"LOG_{info.logAggregationStatus}"
    report.log_aggregation_status = LogAggregationStatusProto.Value(logs)
    if info.amRPCAddress is not UNSET:
        report.host, _, digits = info.amRPCAddress.rpartition(":")
        report.rpc_port = int(digits)
    _add_attempt(report, gateway, application)
    _add_usage(report, info, types, application, gateway)
    if (
        info.unmanagedApplication
        and caller.user == application.user
        and not application.attempt.registered
    ):
        token = token_of(application)
        if token is not None:
            report.am_rm_token.CopyFrom(token)
    return report


def _public_part(gateway: Gateway, application: Application, info: Any) -> Any:
    """A report with what every caller sees."""
    epoch_ms = gateway.scheduler.state.epoch_ms
    report = ApplicationReportProto(
        applicationId=ids.application_id_message(epoch_ms, application.id),
        user=info.user,
        queue=info.queue,
        name=info.name,
        host=NOT_AVAILABLE,
        rpc_port=-1,
        yarn_application_state=YarnApplicationStateProto.Value(info.state),
        trackingUrl=NOT_AVAILABLE,
        diagnostics=NOT_AVAILABLE,
        startTime=application.submitted_ms,
        finishTime=info.finishedTime,
        final_application_status=FinalApplicationStatusProto.Value(f"APP_{info.finalStatus}"),
        originalTrackingUrl=NOT_AVAILABLE,
        progress=0.0,
        applicationType=info.applicationType,
        applicationTags=application.submission.tags,
        unmanaged_application=info.unmanagedApplication,
        appNodeLabelExpression=_label(info.appNodeLabelExpression, NO_LABEL),
        launchTime=info.launchTime,
        submitTime=application.submitted_ms,
    )
    if not info.unmanagedApplication:
        report.amNodeLabelExpression = _label(info.amNodeLabelExpression, DEFAULT_LABEL)
    report.priority.priority = info.priority
    report.currentApplicationAttemptId.CopyFrom(
        ids.attempt_id_message(epoch_ms, application.id, _NO_ATTEMPT)
    )
    if info.timeouts is not UNSET:
        for one in info.timeouts.timeout:
            entry = report.appTimeouts.add(application_timeout_type=_LIFETIME)
            entry.application_timeout.application_timeout_type = _LIFETIME
            entry.application_timeout.expire_time = one.expiryTime
            entry.application_timeout.remaining_time = one.remainingTimeInSeconds
    return report


def _add_attempt(report: Any, gateway: Gateway, application: Application) -> None:
    """The last attempt, and its pages."""
    attempt = gateway.attempt_history.of(application.id).attempt
    if attempt is None:
        report.trackingUrl = proxied_page(gateway, application)
        return
    report.currentApplicationAttemptId.attemptId = attempt.number
    detail = attempt_detail(gateway, application, attempt)
    report.originalTrackingUrl = detail.originalTrackingUrl
    report.trackingUrl = tracking_url(application, detail)


def tracking_url(application: Application, detail: AttemptDetail) -> str:
    """The page of an attempt; that of an unmanaged master is not shown by this server."""
    return detail.originalTrackingUrl if application.unmanaged else detail.trackingUrl


def _label(found: Any, default: str) -> str:
    return default if found is UNSET or not found else str(found)


def _add_usage(
    report: Any, info: Any, types: ResourceTypes, application: Application, gateway: Gateway
) -> None:
    usage = report.app_resource_Usage
    attempted = gateway.attempt_history.of(application.id).attempt is not None
    known = attempted and info.runningContainers >= 0
    if not known:
        amounts = dict.fromkeys(_AMOUNTS, _unknown(types))
    else:
        reserved = gateway.scheduler.state.none
        for one in application.attempt.reservations.values():
            reserved = add(reserved, one.resource)
        needed = add(application.used, reserved)
        amounts = {"used": application.used, "reserved": reserved, "needed": needed}
    _add_amounts(usage, amounts, types)
    if known:
        usage.num_used_containers = info.runningContainers
        usage.num_reserved_containers = len(application.attempt.reservations)
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


def _unknown(types: ResourceTypes) -> Resource:
    """What a report has for amounts that are not known, or not for the caller."""
    return tuple(-1 for _ in types.names)


def _add_amounts(usage: Any, amounts: Mapping[str, Resource], types: ResourceTypes) -> None:
    usage.num_used_containers = usage.num_reserved_containers = -1
    for name, resource in amounts.items():
        getattr(usage, f"{name}_resources").CopyFrom(resource_message(resource, types))


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


_GUARANTEED = ExecutionTypeProto.Value("GUARANTEED")


class AttemptReports:
    """The handlers for reports of attempts and their containers."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def attempt(self, caller: Caller, request: Any) -> Any:
        """getApplicationAttemptReport."""
        wanted = request.application_attempt_id
        what = f"attempt {ids.attempt_text(wanted)}"
        application = self._seen(caller, wanted.application_id, what)
        report = _attempt_report(self._gateway, application, self._find(application, wanted))
        return GetApplicationAttemptReportResponseProto(application_attempt_report=report)

    async def attempts(self, caller: Caller, request: Any) -> Any:
        """getApplicationAttempts: all of an application, the first one first."""
        wanted = request.application_id
        what = f"application {ids.application_text(wanted)}"
        application = self._seen(caller, wanted, what)
        attempts = self._gateway.attempt_history.of(application.id).attempts
        return GetApplicationAttemptsResponseProto(
            application_attempts=[
                _attempt_report(self._gateway, application, attempt) for attempt in attempts
            ]
        )

    async def container(self, caller: Caller, request: Any) -> Any:
        """getContainerReport: of a live container."""
        wanted = request.container_id
        attempt = wanted.app_attempt_id
        what = f"application {ids.application_text(attempt.application_id)}"
        application = self._seen(caller, attempt.application_id, what)
        self._find(application, attempt)
        container = ids.container_of(wanted, self._gateway.scheduler.state.epoch_ms)
        grant = None if container is None else application.containers.get(container)
        if grant is None:
            raise ids.container_not_found(wanted)
        report = _container_report(self._gateway, application, grant)
        return GetContainerReportResponseProto(container_report=report)

    async def containers(self, caller: Caller, request: Any) -> Any:
        """getContainers: the live ones of the application, whichever of its attempts is named."""
        wanted = request.application_attempt_id
        what = f"application {ids.application_text(wanted.application_id)}"
        application = self._seen(caller, wanted.application_id, what)
        self._find(application, wanted)
        return GetContainersResponseProto(
            containers=[
                _container_report(self._gateway, application, grant)
                for grant in application.containers.values()
            ]
        )

    def _seen(self, caller: Caller, wanted: Any, what: str) -> Application:
        """The application, which the caller must be allowed to view; raises RpcError."""
        application = ids.find_application(wanted, self._gateway.scheduler.state)
        if not may_view(self._gateway, caller, application):
            raise RpcError(YARN, f"User {caller.user} does not have privilege to see this {what}")
        return application

    def _find(self, application: Application, wanted: Any) -> Attempt:
        for attempt in self._gateway.attempt_history.of(application.id).attempts:
            if attempt.number == wanted.attemptId:
                return attempt
        raise RpcError(
            ATTEMPT_NOT_FOUND,
            f"ApplicationAttempt with id '{ids.attempt_text(wanted)}' doesn't exist in RM.",
        )


def _attempt_report(gateway: Gateway, application: Application, attempt: Attempt) -> Any:
    epoch_ms = gateway.scheduler.state.epoch_ms
    info = attempt_detail(gateway, application, attempt)
    report = ApplicationAttemptReportProto(
        application_attempt_id=ids.attempt_id_message(epoch_ms, application.id, attempt.number),
        host=info.host,
        rpc_port=info.rpcPort,
        tracking_url=tracking_url(application, info),
        diagnostics=info.diagnosticsInfo,
        yarn_application_attempt_state=YarnApplicationAttemptStateProto.Value(
            f"APP_ATTEMPT_{info.appAttemptState}"
        ),
        original_tracking_url=info.originalTrackingUrl,
        startTime=info.startedTime,
        finishTime=info.finishedTime,
    )
    if attempt.master is not None and info.amContainerId is not UNSET:
        report.am_container_id.CopyFrom(ids.container_id_message(epoch_ms, attempt.master))
    return report


def _container_report(gateway: Gateway, application: Application, grant: ContainerAllocated) -> Any:
    state = gateway.scheduler.state
    info = container_info(gateway, application, grant)
    report = ContainerReportProto(
        container_id=ids.container_id_message(state.epoch_ms, grant.container),
        resource=resource_message(grant.resource, state.types),
        node_id=ids.node_id_message(info.nodeId),
        creation_time=info.startedTime,
        finish_time=info.finishedTime,
        log_url=info.logUrl,
        container_exit_status=info.containerExitStatus,
        container_state=ContainerStateProto.Value(f"C_{info.containerState}"),
        node_http_address=info.nodeHttpAddress,
        executionType=_GUARANTEED,
    )
    if info.exposedPorts:
        report.exposed_ports = info.exposedPorts
    report.priority.priority = info.priority
    return report
