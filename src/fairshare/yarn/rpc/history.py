"""ApplicationHistoryProtocol, for clients that ask a timeline server for what the ResourceManager
no longer has: the reports are those of the clients' protocol, with containers that have ended.

Source: Hadoop 3.4.1, ApplicationHistoryClientService.
"""

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ContainerId, attempt_of, container_name
from fairshare.runtime.projections.container_history import ContainerRecord
from fairshare.yarn.rest.application_documents import logs_url
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.records import resource_message
from fairshare.yarn.rpc.reports import GUARANTEED, AttemptReports
from fairshare.yarn.rpc.wire.messages import (
    ApplicationAttemptIdProto,
    ContainerReportProto,
    ContainerStateProto,
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
        return None if record is None else self._ended(application, record)

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

    def _ended(self, application: Application, record: ContainerRecord) -> ContainerReportProto:
        gateway = self._gateway
        state = gateway.scheduler.state
        name = container_name(state.epoch_ms, record.container)
        return ContainerReportProto(
            container_id=records.container_id_message(state.epoch_ms, record.container),
            resource=resource_message(record.resource, state.types),
            node_id=records.node_id_message(gateway.node_address(record.node)),
            creation_time=record.allocated_ms,
            finish_time=record.finished_ms or 0,
            diagnostics_info=record.diagnostics,
            log_url=logs_url(gateway, record.node, name, application.user),
            container_exit_status=-1_000 if record.exit_code is None else record.exit_code,
            container_state=ContainerStateProto.Value("C_COMPLETE"),
            node_http_address=f"http://{gateway.node_web_address(record.node)}",
            executionType=GUARANTEED,
        )
