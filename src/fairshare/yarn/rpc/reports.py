"""Reports of applications, nodes, attempts, containers, queues and labels for Hadoop's clients.

They are filled from the documents of the REST interface: what a field means is decided in
`yarn/rest`. Source: Hadoop 3.4.1, ClientRMService, RMAppAttemptImpl and RMContainerImpl.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.resources import Resource, ResourceTypes, add, total
from fairshare.runtime.projections.attempt_history import Attempt
from fairshare.runtime.projections.container_history import ContainerRecord
from fairshare.yarn.rest.application_documents import (
    AppInfo,
    application_info,
    proxied_page,
    public_state,
)
from fairshare.yarn.rest.applications import AttemptDetail, attempt_detail, container_info
from fairshare.yarn.rest.callers import Caller, may_view
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.labels import assigned_labels, labels_of
from fairshare.yarn.rest.nodes import NodeInfo
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.records import resource_message
from fairshare.yarn.rpc.wire.calls import ATTEMPT_NOT_FOUND, YARN, RpcError
from fairshare.yarn.rpc.wire.messages import (
    ApplicationAttemptIdProto,
    ApplicationAttemptReportProto,
    ApplicationIdProto,
    ApplicationReportProto,
    ApplicationResourceUsageReportProto,
    ApplicationTimeoutTypeProto,
    ContainerReportProto,
    ContainerStateProto,
    ExecutionTypeProto,
    FinalApplicationStatusProto,
    GetApplicationAttemptReportRequestProto,
    GetApplicationAttemptReportResponseProto,
    GetApplicationAttemptsRequestProto,
    GetApplicationAttemptsResponseProto,
    GetClusterNodeLabelsRequestProto,
    GetClusterNodeLabelsResponseProto,
    GetContainerReportRequestProto,
    GetContainerReportResponseProto,
    GetContainersRequestProto,
    GetContainersResponseProto,
    GetLabelsToNodesRequestProto,
    GetLabelsToNodesResponseProto,
    GetNodesToLabelsRequestProto,
    GetNodesToLabelsResponseProto,
    LogAggregationStatusProto,
    NodeIdProto,
    NodeReportProto,
    NodeStateProto,
    QueueACLProto,
    QueueInfoProto,
    QueueStateProto,
    QueueStatisticsProto,
    QueueUserACLInfoProto,
    ResourceProto,
    TokenProto,
    YarnApplicationAttemptStateProto,
    YarnApplicationStateProto,
)
from fairshare.yarn.views.documents import ResourceInfo
from fairshare.yarn.views.queues import PartitionReport, QueueReport

NOT_AVAILABLE = "N/A"
NO_LABEL = "<Not set>"
DEFAULT_LABEL = "<DEFAULT_PARTITION>"

_NO_ATTEMPT = -1
_AMOUNTS = ("used", "reserved", "needed")
_LIFETIME = ApplicationTimeoutTypeProto.Value("APP_TIMEOUT_LIFETIME")

MasterToken = Callable[[Application], TokenProto | None]
"""The AMRMToken of an unmanaged application's attempt as a TokenProto; None: it has none."""


def application_report(
    gateway: Gateway, application: Application, caller: Caller, token_of: MasterToken
) -> ApplicationReportProto:
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


def _public_part(
    gateway: Gateway, application: Application, info: AppInfo
) -> ApplicationReportProto:
    """A report with what every caller sees."""
    epoch_ms = gateway.scheduler.state.epoch_ms
    report = ApplicationReportProto(
        applicationId=records.application_id_message(epoch_ms, application.id),
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
        applicationTags=application.brief.tags,
        unmanaged_application=info.unmanagedApplication,
        appNodeLabelExpression=_label(info.appNodeLabelExpression, NO_LABEL),
        launchTime=info.launchTime,
        submitTime=application.submitted_ms,
    )
    if not info.unmanagedApplication:
        report.amNodeLabelExpression = _label(info.amNodeLabelExpression, DEFAULT_LABEL)
    report.priority.priority = info.priority
    report.currentApplicationAttemptId.CopyFrom(
        records.attempt_id_message(epoch_ms, application.id, _NO_ATTEMPT)
    )
    if info.timeouts is not UNSET:
        for timeout in info.timeouts.timeout:
            entry = report.appTimeouts.add(application_timeout_type=_LIFETIME)
            entry.application_timeout.application_timeout_type = _LIFETIME
            entry.application_timeout.expire_time = timeout.expiryTime
            entry.application_timeout.remaining_time = timeout.remainingTimeInSeconds
    return report


def _add_attempt(
    report: ApplicationReportProto, gateway: Gateway, application: Application
) -> None:
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


def _label(found: object, default: str) -> str:
    return default if found is UNSET or not found else str(found)


def _add_usage(
    report: ApplicationReportProto,
    info: AppInfo,
    types: ResourceTypes,
    application: Application,
    gateway: Gateway,
) -> None:
    usage = report.app_resource_Usage
    attempted = gateway.attempt_history.of(application.id).attempted
    known = attempted and info.runningContainers >= 0
    if not known:
        amounts = dict.fromkeys(_AMOUNTS, _unknown(types))
    else:
        reserved = gateway.scheduler.state.none
        for reservation in application.attempt.reservations.values():
            reserved = add(reserved, reservation.resource)
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


def _add_amounts(
    usage: ApplicationResourceUsageReportProto,
    amounts: Mapping[str, Resource],
    types: ResourceTypes,
) -> None:
    usage.num_used_containers = usage.num_reserved_containers = -1
    for name, resource in amounts.items():
        getattr(usage, f"{name}_resources").CopyFrom(resource_message(resource, types))


def node_report(info: NodeInfo, types: ResourceTypes) -> NodeReportProto:
    """The NodeReportProto of one node."""
    report = NodeReportProto(
        httpAddress=info.nodeHTTPAddress,
        rackName=info.rack,
        numContainers=info.numContainers,
        node_state=NodeStateProto.Value(f"NS_{info.state}"),
        health_report=info.healthReport,
        last_health_report_time=info.lastHealthUpdate,
    )
    report.nodeId.CopyFrom(records.node_id_message(info.id))
    # Nothing of a node that is gone is in use.
    used = None if info.usedResource is UNSET else _named(info.usedResource, types)
    report.used.CopyFrom(used or resource_message((0,) * len(types.names), types))
    report.capability.CopyFrom(_named(info.totalResource, types))
    if info.nodeLabels is not UNSET:
        report.node_labels.extend(info.nodeLabels)
    if info.usedResource is UNSET:
        return report
    measured = info.resourceUtilization
    report.containers_utilization.pmem = measured.aggregatedContainersPhysicalMemoryMB
    report.containers_utilization.vmem = measured.aggregatedContainersVirtualMemoryMB
    report.containers_utilization.cpu = measured.containersCPUUsage
    report.node_utilization.pmem = measured.nodePhysicalMemoryMB
    report.node_utilization.vmem = measured.nodeVirtualMemoryMB
    report.node_utilization.cpu = measured.nodeCPUUsage
    return report


def _named(info: ResourceInfo, types: ResourceTypes) -> ResourceProto:
    amounts = {one.name: one.value for one in info.resourceInformations.resourceInformation}
    vector: Resource = tuple(amounts.get(name, 0) for name in types.names)
    return resource_message(vector, types)


def optional_resource(
    target: ResourceProto, resource: Resource | None, types: ResourceTypes
) -> None:
    """Fill a ResourceProto field, unless there is nothing to say."""
    if resource is not None:
        target.CopyFrom(resource_message(resource, types))


GUARANTEED = ExecutionTypeProto.Value("GUARANTEED")


class AttemptReports:
    """The handlers for reports of attempts and their containers."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def attempt(
        self, caller: Caller, request: GetApplicationAttemptReportRequestProto
    ) -> GetApplicationAttemptReportResponseProto:
        """getApplicationAttemptReport."""
        attempt_id = request.application_attempt_id
        what = f"attempt {records.attempt_text(attempt_id)}"
        application = self._seen(caller, attempt_id.application_id, what)
        report = _attempt_report(self._gateway, application, self._find(application, attempt_id))
        return GetApplicationAttemptReportResponseProto(application_attempt_report=report)

    async def attempts(
        self, caller: Caller, request: GetApplicationAttemptsRequestProto
    ) -> GetApplicationAttemptsResponseProto:
        """getApplicationAttempts: all of an application, the first one first."""
        application_id = request.application_id
        what = f"application {records.application_text(application_id)}"
        application = self._seen(caller, application_id, what)
        attempts = self._gateway.attempt_history.of(application.id).attempts
        return GetApplicationAttemptsResponseProto(
            application_attempts=[
                _attempt_report(self._gateway, application, attempt) for attempt in attempts
            ]
        )

    async def container(
        self, caller: Caller, request: GetContainerReportRequestProto
    ) -> GetContainerReportResponseProto:
        """getContainerReport: of a live container."""
        container_id = request.container_id
        attempt = container_id.app_attempt_id
        what = f"application {records.application_text(attempt.application_id)}"
        application = self._seen(caller, attempt.application_id, what)
        self._find(application, attempt)
        container = records.container_of(container_id, self._gateway.scheduler.state.epoch_ms)
        report = self.container_report(application, container)
        if report is None:
            raise records.container_not_found(container_id)
        return GetContainerReportResponseProto(container_report=report)

    async def containers(
        self, caller: Caller, request: GetContainersRequestProto
    ) -> GetContainersResponseProto:
        """getContainers: the live ones of the application, whichever of its attempts is named."""
        attempt_id = request.application_attempt_id
        what = f"application {records.application_text(attempt_id.application_id)}"
        application = self._seen(caller, attempt_id.application_id, what)
        self._find(application, attempt_id)
        return GetContainersResponseProto(
            containers=self.container_reports(application, attempt_id)
        )

    def container_report(
        self, application: Application, container: ContainerId | None
    ) -> ContainerReportProto | None:
        """The report of a live container of an application; None: it has no such one."""
        grant = None if container is None else application.containers.get(container)
        return None if grant is None else report_of_container(self._gateway, application, grant)

    def container_reports(
        self, application: Application, attempt: ApplicationAttemptIdProto
    ) -> list[ContainerReportProto]:
        """The reports of the live containers of an application."""
        return [
            report_of_container(self._gateway, application, grant)
            for grant in application.containers.values()
        ]

    def _seen(self, caller: Caller, application_id: ApplicationIdProto, what: str) -> Application:
        """The application, which the caller must be allowed to view; raises RpcError."""
        application = records.find_application(application_id, self._gateway.scheduler.state)
        if not may_view(self._gateway, caller, application):
            raise RpcError(YARN, f"User {caller.user} does not have privilege to see this {what}")
        return application

    def _find(self, application: Application, attempt_id: ApplicationAttemptIdProto) -> Attempt:
        for attempt in self._gateway.attempt_history.of(application.id).attempts:
            if attempt.number == attempt_id.attemptId:
                return attempt
        raise RpcError(
            ATTEMPT_NOT_FOUND,
            f"ApplicationAttempt with id '{records.attempt_text(attempt_id)}' doesn't exist in RM.",
        )


def _attempt_report(
    gateway: Gateway, application: Application, attempt: Attempt
) -> ApplicationAttemptReportProto:
    epoch_ms = gateway.scheduler.state.epoch_ms
    info = attempt_detail(gateway, application, attempt)
    report = ApplicationAttemptReportProto(
        application_attempt_id=records.attempt_id_message(epoch_ms, application.id, attempt.number),
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
        report.am_container_id.CopyFrom(records.container_id_message(epoch_ms, attempt.master))
    return report


def report_of_container(
    gateway: Gateway, application: Application, container: ContainerAllocated | ContainerRecord
) -> ContainerReportProto:
    """The report of a live container by its grant, or of one that has ended by its record."""
    state = gateway.scheduler.state
    info = container_info(gateway, application, container)
    report = ContainerReportProto(
        container_id=records.container_id_message(state.epoch_ms, container.container),
        resource=resource_message(container.resource, state.types),
        node_id=records.node_id_message(info.nodeId),
        creation_time=info.startedTime,
        finish_time=info.finishedTime,
        log_url=info.logUrl,
        container_exit_status=info.containerExitStatus,
        container_state=ContainerStateProto.Value(f"C_{info.containerState}"),
        node_http_address=info.nodeHttpAddress,
        executionType=GUARANTEED,
    )
    if isinstance(container, ContainerAllocated):
        report.priority.priority = info.priority
    else:
        report.diagnostics_info = container.diagnostics
    return report


_SUBMIT = QueueACLProto.Value("QACL_SUBMIT_APPLICATIONS")
_ADMINISTER = QueueACLProto.Value("QACL_ADMINISTER_QUEUE")


class Queues:
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

    def info(self, name: str, *, children: bool, recursive: bool) -> QueueInfoProto | None:
        """The QueueInfoProto of a queue; None: there is no such queue. `children`: with its
        children; `recursive`: and with theirs.
        """
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


def _add_settings(info: QueueInfoProto, report: QueueReport) -> None:
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


def _add_partition(info: QueueInfoProto, partition: PartitionReport, types: ResourceTypes) -> None:
    entry = info.queueConfigurationsMap.add(partitionName=partition.label)
    settings = entry.queueConfigurations
    settings.capacity = partition.capacity
    settings.absoluteCapacity = partition.absolute_capacity
    settings.maxCapacity = partition.maximum_capacity
    settings.absoluteMaxCapacity = partition.absolute_maximum
    settings.maxAMPercentage = partition.masters
    settings.effectiveMinCapacity.CopyFrom(resource_message(partition.effective_minimum, types))
    settings.effectiveMaxCapacity.CopyFrom(resource_message(partition.effective_maximum, types))
    optional_resource(settings.configuredMinCapacity, partition.configured_minimum, types)
    optional_resource(settings.configuredMaxCapacity, partition.configured_maximum, types)


def _add_statistics(
    statistics: QueueStatisticsProto,
    gateway: Gateway,
    report: QueueReport,
    applications: Sequence[Application],
) -> None:
    """What the applications that the server remembers come to; Hadoop counts since its start."""
    none = gateway.scheduler.state.none
    live = [application for application in applications if application.active]
    attempts = [application.attempt for application in live]
    ends = [
        public_state(application, gateway.attempt_history.of(application.id))
        for application in applications
        if application.over
    ]
    waiting = sum(
        application.managed and application.attempt.master is None for application in live
    )
    statistics.numAppsSubmitted = len(applications)
    statistics.numAppsRunning = len(live) - waiting
    statistics.numAppsPending = waiting
    statistics.numAppsCompleted = ends.count("FINISHED")
    statistics.numAppsKilled = ends.count("KILLED")
    statistics.numAppsFailed = ends.count("FAILED")
    wanting = [
        (application, key) for application in live for key in application.attempt.asks.wanting
    ]
    statistics.numActiveUsers = len({application.user for application, _ in wanting})
    reserved = [place for attempt in attempts for place in attempt.reservations.values()]
    size = len(none)
    sums: dict[str, Resource] = {
        "available": report.available or none,
        "allocated": total((application.used for application in live), size),
        "pending": total((attempt.asks.pending for attempt in attempts), size),
        "reserved": total((place.resource for place in reserved), size),
    }
    for name, amounts in sums.items():
        setattr(statistics, f"{name}MemoryMB", amounts[0])
        setattr(statistics, f"{name}VCores", amounts[1])
    statistics.allocatedContainers = sum(len(application.containers) for application in live)
    statistics.pendingContainers = sum(key.anywhere.count for _, key in wanting if key.anywhere)
    statistics.reservedContainers = len(reserved)


def queue_acls(gateway: Gateway, caller: Caller) -> list[QueueUserACLInfoProto]:
    """What a user may do in each queue, root first."""
    acls = []
    scheduler = gateway.scheduler
    for name in scheduler.state.queues:
        info = QueueUserACLInfoProto(queueName=name)
        open_to_all = not gateway.controls_access
        if open_to_all or scheduler.may_submit(name, caller.user, caller.groups):
            info.userAcls.append(_SUBMIT)
        if open_to_all or scheduler.may_administer(name, caller.user, caller.groups):
            info.userAcls.append(_ADMINISTER)
        acls.append(info)
    return acls


class LabelReports:
    """The handlers for node labels; a cluster without any answers empty lists."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def labels(
        self, caller: Caller, request: GetClusterNodeLabelsRequestProto
    ) -> GetClusterNodeLabelsResponseProto:
        """getClusterNodeLabels."""
        answer = GetClusterNodeLabelsResponseProto()
        labels = labels_of(self._gateway)
        for name, exclusive in {} if labels is None else labels.labels().items():
            answer.nodeLabels.add(name=name, isExclusive=exclusive)
            answer.deprecatedNodeLabels.append(name)
        return answer

    async def nodes_to_labels(
        self, caller: Caller, request: GetNodesToLabelsRequestProto
    ) -> GetNodesToLabelsResponseProto:
        """getNodeToLabels: of the nodes that have one."""
        answer = GetNodesToLabelsResponseProto()
        for node, label in self._assigned().items():
            answer.nodeToLabels.add(nodeId=records.node_id_message(node), nodeLabels=[label])
        return answer

    async def labels_to_nodes(
        self, caller: Caller, request: GetLabelsToNodesRequestProto
    ) -> GetLabelsToNodesResponseProto:
        """getLabelsToNodes: of the labels that are named, or of all."""
        named = frozenset(request.nodeLabels)
        nodes: dict[str, list[NodeIdProto]] = {}
        for node, label in self._assigned().items():
            if not named or label in named:
                nodes.setdefault(label, []).append(records.node_id_message(node))
        answer = GetLabelsToNodesResponseProto()
        for label, labelled in sorted(nodes.items()):
            answer.labelsToNodes.add(nodeLabels=label, nodeId=labelled)
        return answer

    def _assigned(self) -> dict[str, str]:
        labels = labels_of(self._gateway)
        return {} if labels is None else assigned_labels(self._gateway, labels)
