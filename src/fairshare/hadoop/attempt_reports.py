"""Reports of attempts and containers for Hadoop's clients, from the REST interface's documents.

Source: Hadoop 3.4.1, ClientRMService, RMAppAttemptImpl and RMContainerImpl.
"""

from typing import Any

from msgspec import UNSET

from fairshare.hadoop import ids
from fairshare.hadoop.reports import tracking_url
from fairshare.hadoop.resources import resource_message
from fairshare.hadoop.wire.exceptions import ATTEMPT_NOT_FOUND, YARN, RpcError
from fairshare.hadoop.wire.messages import (
    ApplicationAttemptReportProto,
    ContainerReportProto,
    ContainerStateProto,
    ExecutionTypeProto,
    GetApplicationAttemptReportResponseProto,
    GetApplicationAttemptsResponseProto,
    GetContainerReportResponseProto,
    GetContainersResponseProto,
    YarnApplicationAttemptStateProto,
)
from fairshare.model.applications import Application
from fairshare.model.events import ContainerAllocated
from fairshare.projections.attempt_history import Attempt
from fairshare.web.yarn.access import may_view
from fairshare.web.yarn.attempts import attempt_detail, container_info
from fairshare.web.yarn.callers import Caller
from fairshare.web.yarn.gateway import Gateway

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
