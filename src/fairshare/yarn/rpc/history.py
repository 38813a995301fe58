"""ApplicationHistoryProtocol, for clients that ask a timeline server for what the ResourceManager
no longer has: the reports are those of the clients' protocol, with containers that have ended.

Source: Hadoop 3.4.1, ApplicationHistoryClientService.
"""

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ContainerId, attempt_of
from fairshare.yarn.rpc.reports import AttemptReports, report_of_container
from fairshare.yarn.rpc.wire.messages import ApplicationAttemptIdProto, ContainerReportProto


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
