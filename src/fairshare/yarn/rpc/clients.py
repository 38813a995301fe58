"""ApplicationClientProtocol, the protocol of Hadoop's clients: submissions, reports, kills; and
ApplicationHistoryProtocol, for clients that ask a timeline server for what the ResourceManager no
longer has: the same reports, with containers that have ended.

What a call means is decided where the REST interface decides it; this room converts messages.
Source: Hadoop 3.4.1, ClientRMService, ApplicationHistoryClientService.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationNumberTaken
from fairshare.core.model.identifiers import ContainerId, attempt_of
from fairshare.core.model.inputs import ReserveApplication
from fairshare.errors import InputError
from fairshare.server.web.actors import check_account, with_tagged_groups
from fairshare.server.web.limits import submission_slot
from fairshare.yarn.rest.callers import Caller, may_view
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.nodes import all_nodes, node_states
from fairshare.yarn.rest.parameters import MOST_MS, Filter, select
from fairshare.yarn.rest.submission import NO_RESERVATIONS, denial_of
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.applications import ApplicationChanges, submission_of
from fairshare.yarn.rpc.records import resource_message, type_messages
from fairshare.yarn.rpc.reports import (
    AttemptReports,
    LabelReports,
    MasterToken,
    Queues,
    application_report,
    node_report,
    queue_acls,
    report_of_container,
)
from fairshare.yarn.rpc.user_calls import Denied, audited, caller_of, rpc_error
from fairshare.yarn.rpc.wire.calls import (
    FEATURE_NOT_ENABLED,
    INPUT_OUTPUT,
    INVALID_LABEL_REQUEST,
    YARN,
    CallContext,
    Handler,
    Handlers,
    RpcError,
)
from fairshare.yarn.rpc.wire.descriptors import APPLICATION_CLIENT, APPLICATION_HISTORY, METHODS
from fairshare.yarn.rpc.wire.messages import (
    ApplicationAttemptIdProto,
    ApplicationsRequestScopeProto,
    ContainerReportProto,
    GetAllResourceProfilesRequestProto,
    GetAllResourceProfilesResponseProto,
    GetAllResourceTypeInfoRequestProto,
    GetAllResourceTypeInfoResponseProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetApplicationsRequestProto,
    GetApplicationsResponseProto,
    GetClusterMetricsRequestProto,
    GetClusterMetricsResponseProto,
    GetClusterNodesRequestProto,
    GetClusterNodesResponseProto,
    GetNewApplicationRequestProto,
    GetNewApplicationResponseProto,
    GetQueueInfoRequestProto,
    GetQueueInfoResponseProto,
    GetQueueUserAclsInfoRequestProto,
    GetQueueUserAclsInfoResponseProto,
    NodeStateProto,
    SubmitApplicationRequestProto,
    SubmitApplicationResponseProto,
    YarnApplicationStateProto,
)


class HistoryReports(AttemptReports):
    """The handlers for reports of attempts, and of all their containers that are remembered."""

    def container_report(
        self, application: Application, container: ContainerId | None
    ) -> ContainerReportProto | None:
        """The report of a live or ended container of an application; None: it has no such one."""
        live = super().container_report(application, container)
        if live is not None or container is None:
            return live
        record = self._gateway.server.projections.history.container(container)
        return None if record is None else report_of_container(self._gateway, application, record)

    def container_reports(
        self, application: Application, attempt: ApplicationAttemptIdProto
    ) -> list[ContainerReportProto]:
        """The reports of the containers of one attempt, in the order of their allocation."""
        history = self._gateway.server.projections.history.application(application.id)
        reports = (
            self.container_report(application, container)
            for container in history.containers
            if attempt_of(container) == attempt.attemptId
        )
        return [report for report in reports if report is not None]


Answering = Callable[[Caller, Any], Awaitable[Any]]

AT_ONCE = 100
"""The number of reports that are made before other calls get their turn."""

NO_TOKENS = "Delegation tokens need Kerberos, which is not supported"

DELEGATION = ("getDelegationToken", "renewDelegationToken", "cancelDelegationToken")

NOT_SUPPORTED: Mapping[str, RpcError] = {
    **dict.fromkeys(
        (
            "getNewReservation",
            "submitReservation",
            "updateReservation",
            "deleteReservation",
            "listReservations",
        ),
        RpcError(YARN, NO_RESERVATIONS),
    ),
    **dict.fromkeys(DELEGATION, RpcError(INPUT_OUTPUT, NO_TOKENS)),
}
"""Methods that are refused, in Hadoop's words where a default cluster refuses them too."""

CHANGING = frozenset(
    (
        "getNewApplication",
        "submitApplication",
        "forceKillApplication",
        "failApplicationAttempt",
        "moveApplicationAcrossQueues",
        "updateApplicationPriority",
        "updateApplicationTimeouts",
        "signalToContainer",
    )
)
"""Methods that the audit log has a line for."""

NO_ATTRIBUTES = ("getClusterNodeAttributes", "getAttributesToNodes", "getNodesToAttributes")
"""Methods about attributes of nodes, which none has: the answers are empty lists."""

_NO_PROFILES = (
    "Resource profile is not enabled, please enable resource profile feature before using its"
    " functions. (by setting yarn.resourcemanager.resource-profiles.enabled to true)"
)
_LABEL_REFUSALS = frozenset(("invalid-label", "labels-disabled"))
_OWN = ApplicationsRequestScopeProto.Value("OWN")
_VIEWABLE = ApplicationsRequestScopeProto.Value("VIEWABLE")


class Clients:
    """The handlers for clients. `token_of` gives the token of an unmanaged application's master."""

    def __init__(self, gateway: Gateway, token_of: MasterToken) -> None:
        self._gateway = gateway
        self._token_of = token_of

    @property
    def handlers(self) -> Handlers:
        """The handlers by protocol and method."""
        methods: dict[str, Answering] = {
            "getNewApplication": self.new_application,
            "submitApplication": self.submit,
            "getApplicationReport": self.report,
            "getApplications": self.applications,
            "getClusterMetrics": self.metrics,
            "getClusterNodes": self.nodes,
            "getQueueInfo": self.queue,
            "getQueueUserAcls": self.acls,
            "getResourceTypeInfo": self.resource_types,
            "getResourceProfiles": self.no_profiles,
            "getResourceProfile": self.no_profiles,
        }
        changes = ApplicationChanges(self._gateway)
        methods |= {
            "forceKillApplication": changes.kill,
            "moveApplicationAcrossQueues": changes.move,
            "updateApplicationPriority": changes.set_priority,
            "updateApplicationTimeouts": changes.set_timeouts,
            "failApplicationAttempt": changes.fail_attempt,
            "signalToContainer": changes.signal,
        }
        attempts = AttemptReports(self._gateway)
        methods |= {
            "getApplicationAttemptReport": attempts.attempt,
            "getApplicationAttempts": attempts.attempts,
            "getContainerReport": attempts.container,
            "getContainers": attempts.containers,
        }
        labels = LabelReports(self._gateway)
        methods |= {
            "getClusterNodeLabels": labels.labels,
            "getNodeToLabels": labels.nodes_to_labels,
            "getLabelsToNodes": labels.labels_to_nodes,
        }
        methods |= {name: _empty(name) for name in NO_ATTRIBUTES}
        methods |= {name: _refusing(error) for name, error in NOT_SUPPORTED.items()}
        return self._served(APPLICATION_CLIENT, methods)

    @property
    def history_handlers(self) -> Handlers:
        """The handlers for those who ask a timeline server."""
        attempts = HistoryReports(self._gateway)
        methods: dict[str, Answering] = {
            "getApplicationReport": self.report,
            "getApplications": self.applications,
            "getApplicationAttemptReport": attempts.attempt,
            "getApplicationAttempts": attempts.attempts,
            "getContainerReport": attempts.container,
            "getContainers": attempts.containers,
        }
        methods |= {name: _refusing(NOT_SUPPORTED[name]) for name in DELEGATION}
        return self._served(APPLICATION_HISTORY, methods)

    def _served(self, protocol: str, methods: Mapping[str, Answering]) -> Handlers:
        handlers = {(protocol, name): self._for_caller(method) for name, method in methods.items()}
        return audited(self._gateway.server, handlers, methods.keys() - CHANGING)

    def _for_caller(self, method: Answering) -> Handler:
        async def handle(context: CallContext, request: object) -> Any:
            try:
                return await method(await caller_of(context, self._gateway), request)
            except InputError as error:
                raise rpc_error(error) from None

        return handle

    # Submissions.

    async def new_application(
        self, caller: Caller, request: GetNewApplicationRequestProto
    ) -> GetNewApplicationResponseProto:
        """getNewApplication: a number, and the largest container."""
        gateway = self._gateway
        events = await gateway.ask(ReserveApplication())
        number = next(e.application for e in events if isinstance(e, ApplicationNumberTaken))
        state = gateway.scheduler.state
        most = gateway.yarn.allocation_limits(state)[1]
        return GetNewApplicationResponseProto(
            application_id=records.application_id_message(state.epoch_ms, number),
            maximumCapability=resource_message(most, state.types),
        )

    async def submit(
        self, caller: Caller, request: SubmitApplicationRequestProto
    ) -> SubmitApplicationResponseProto:
        """submitApplication: a repetition succeeds, and changes nothing."""
        context = request.application_submission_context
        gateway, server = self._gateway, self._gateway.server
        name = records.application_text(context.application_id)
        epoch_ms = gateway.scheduler.state.epoch_ms
        if context.application_id.cluster_timestamp != epoch_ms or context.application_id.id < 1:
            raise RpcError(YARN, f"{name} is not an application of this cluster, {epoch_ms}")
        answer = SubmitApplicationResponseProto()
        if context.application_id.id in gateway.scheduler.state.applications:
            return answer
        submission = submission_of(context, caller, gateway)
        try:
            await check_account(server, submission.user)
            submission = await with_tagged_groups(server, submission)
            async with (
                submission_slot(server, submission),
                server.payloads.of_submission(submission) as stored,
            ):
                await gateway.ask(stored)
        except InputError as error:
            if error.code == "repeated-number":
                return answer
            raise
        found = gateway.scheduler.state.applications.get(context.application_id.id)
        if found is not None:
            # Raise what a client gets at once; other refusals it finds in the report.
            denial = denial_of(self._gateway, found, name)
            if denial:
                raise Denied(denial)
            if self._gateway.attempt_history.of(found.id).refusal in _LABEL_REFUSALS:
                raise RpcError(INVALID_LABEL_REQUEST, found.diagnostics)
        return answer

    # Reports.

    async def report(
        self, caller: Caller, request: GetApplicationReportRequestProto
    ) -> GetApplicationReportResponseProto:
        """getApplicationReport."""
        application = records.find_application(
            request.application_id, self._gateway.scheduler.state
        )
        report = application_report(self._gateway, application, caller, self._token_of)
        return GetApplicationReportResponseProto(application_report=report)

    async def applications(
        self, caller: Caller, request: GetApplicationsRequestProto
    ) -> GetApplicationsResponseProto:
        """getApplications: with filters; a queue is one of the named ones, or below it while the
        application lives."""
        answer = GetApplicationsResponseProto()
        applications = self._gateway.scheduler.state.applications
        for number, application in enumerate(list(self._chosen(caller, request))):
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)  # nodes and masters wait
            if application.id in applications:
                report = application_report(self._gateway, application, caller, self._token_of)
                answer.applications.append(report)
        return answer

    def _chosen(
        self, caller: Caller, request: GetApplicationsRequestProto
    ) -> Iterator[Application]:
        gateway = self._gateway
        words = [YarnApplicationStateProto.Name(state) for state in request.application_states]
        conditions = Filter(
            states=frozenset(words),
            types=frozenset(type_name.lower() for type_name in request.application_types),
            tags=frozenset(tag.lower() for tag in request.applicationTags),
            started_ms=_range(request, "start"),
            finished_ms=_range(request, "finish"),
            name=request.name if request.HasField("name") else None,
        )
        limit = request.limit if request.HasField("limit") else 2**63 - 1
        users = frozenset(request.users)
        queues = {self._queue_of_filter(name) for name in request.queues}
        known = gateway.scheduler.state.applications.values()
        for application in select(conditions, known, gateway.attempt_history, ""):
            if limit <= 0:
                return
            if users and application.user not in users:
                continue
            if request.queues and not self._is_in(application, queues):
                continue
            if request.scope == _OWN and application.user != caller.user:
                continue
            sees = may_view(gateway, caller, application)
            if not sees and (request.scope == _VIEWABLE or gateway.settings.filter_by_user):
                continue
            limit -= 1
            yield application

    def _queue_of_filter(self, name: str) -> str:
        """The full name of a queue; else the name as it is: refused applications have it."""
        gateway = self._gateway
        try:
            return gateway.yarn.queue_of_filter(gateway.scheduler.state, name) or name
        except InputError:
            return name

    def _is_in(self, application: Application, queues: set[str]) -> bool:
        """Whether an application is in one of the queues, or below it while it lives."""
        if application.queue in queues or self._gateway.yarn.shown_queue(application) in queues:
            return True
        return application.active and any(_is_below(application.queue, one) for one in queues)

    async def metrics(
        self, caller: Caller, request: GetClusterMetricsRequestProto
    ) -> GetClusterMetricsResponseProto:
        """getClusterMetrics: the numbers of nodes by state."""
        nodes = node_states(self._gateway)
        answer = GetClusterMetricsResponseProto()
        metrics = answer.cluster_metrics
        present = ("RUNNING", "UNHEALTHY", "DECOMMISSIONING")
        metrics.num_node_managers = sum(nodes[state] for state in present)
        metrics.num_decommissioned_nms = nodes["DECOMMISSIONED"]
        metrics.num_active_nms = nodes["RUNNING"]
        metrics.num_lost_nms = nodes["LOST"]
        metrics.num_unhealthy_nms = nodes["UNHEALTHY"]
        metrics.num_rebooted_nms = nodes["REBOOTED"]
        metrics.num_decommissioning_nms = nodes["DECOMMISSIONING"]
        metrics.num_shutdown_nms = nodes["SHUTDOWN"]
        return answer

    async def nodes(
        self, caller: Caller, request: GetClusterNodesRequestProto
    ) -> GetClusterNodesResponseProto:
        """getClusterNodes: of the named states, or all."""
        states = {NodeStateProto.Name(one).removeprefix("NS_") for one in request.nodeStates}
        state = self._gateway.scheduler.state
        types = state.types
        timeouts_s = {
            self._gateway.node_address(name): (drain.deadline_ms - drain.since_ms) // 1000
            for name, drain in state.drains.items()
            if drain.deadline_ms is not None and name in state.nodes
        }
        answer = GetClusterNodesResponseProto()
        for number, info in enumerate(all_nodes(self._gateway)):
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
            if not states or info.state in states:
                report = answer.nodeReports.add()
                report.CopyFrom(node_report(info, types))
                if info.id in timeouts_s:
                    report.decommissioning_timeout = timeouts_s[info.id]
        return answer

    async def queue(
        self, caller: Caller, request: GetQueueInfoRequestProto
    ) -> GetQueueInfoResponseProto:
        """getQueueInfo: with the applications in the queue and below that the caller may view. Of a
        queue that does not exist the answer is empty."""
        info = Queues(self._gateway).info(
            request.queueName, children=request.includeChildQueues, recursive=request.recursive
        )
        if info is None:
            return GetQueueInfoResponseProto()
        if request.includeApplications:
            path = info.queuePath
            for application in self._gateway.scheduler.state.applications.values():
                if not application.active or not _is_below(application.queue, path):
                    continue
                if may_view(self._gateway, caller, application):
                    report = application_report(self._gateway, application, caller, self._token_of)
                    info.applications.append(report)
        return GetQueueInfoResponseProto(queueInfo=info)

    async def acls(
        self, caller: Caller, request: GetQueueUserAclsInfoRequestProto
    ) -> GetQueueUserAclsInfoResponseProto:
        """getQueueUserAcls."""
        return GetQueueUserAclsInfoResponseProto(queueUserAcls=queue_acls(self._gateway, caller))

    async def resource_types(
        self, caller: Caller, request: GetAllResourceTypeInfoRequestProto
    ) -> GetAllResourceTypeInfoResponseProto:
        """getResourceTypeInfo."""
        types = self._gateway.scheduler.state.types
        return GetAllResourceTypeInfoResponseProto(resource_type_info=type_messages(types))

    async def no_profiles(
        self, caller: Caller, request: GetAllResourceProfilesRequestProto
    ) -> GetAllResourceProfilesResponseProto:
        """getResourceProfiles and getResourceProfile: not enabled, as by default in Hadoop."""
        raise RpcError(FEATURE_NOT_ENABLED, _NO_PROFILES)


def _refusing(error: RpcError) -> Answering:
    async def refuse(caller: Caller, request: object) -> Any:
        raise RpcError(error.class_name, error.message)

    return refuse


def _empty(name: str) -> Answering:
    response = METHODS[APPLICATION_CLIENT, name].response

    async def answer(caller: Caller, request: object) -> Any:
        return response()

    return answer


def _range(request: GetApplicationsRequestProto, name: str) -> tuple[int, int]:
    first = getattr(request, f"{name}_begin") if request.HasField(f"{name}_begin") else 0
    last = getattr(request, f"{name}_end") if request.HasField(f"{name}_end") else MOST_MS
    return first, last


def _is_below(queue: str, other: str) -> bool:
    return queue == other or queue.startswith(f"{other}.")
