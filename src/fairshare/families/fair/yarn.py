"""Owns what YARN's REST interface shows of the Fair Scheduler."""

from collections.abc import Mapping

import msgspec

from fairshare.families.fair import yarn_diagnostics
from fairshare.families.fair.yarn_documents import fair_scheduler
from fairshare.families.fair.yarn_limits import tested_master_limits
from fairshare.families.yarn.context import YarnContext
from fairshare.families.yarn.documents import Document, Written
from fairshare.families.yarn.interface import YarnInterface, counts_use, within_largest_node
from fairshare.families.yarn.master_limits import MasterLimit
from fairshare.families.yarn.queue_reports import QueueReport, QueueReports, reports_of_views
from fairshare.families.yarn.resources import percent
from fairshare.journal.record import Record
from fairshare.model.applications import Application
from fairshare.model.resources import Resource
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.protocol import State
from fairshare.schedulers.rounding import single
from fairshare.schedulers.steps import Steps


class FairYarn(YarnInterface):
    """Hadoop's Fair Scheduler."""

    title = "Fair Scheduler"
    class_name = "FairScheduler"

    def counts_vcores(self, state: State) -> bool:
        """Whatever the policies (FairScheduler.getSchedulingResourceTypes)."""
        return True

    def document_in_steps(self, context: YarnContext, written: Written) -> Steps[Document]:
        """All queues with their shares."""
        state = _own(context.scheduler.state)
        return fair_scheduler(context, state, self.allocation_limits(state)[1], written)

    def queue_reports(self, context: YarnContext) -> QueueReports:
        """Fair shares as parts of the cluster (Hadoop: FSQueue.getQueueInfo)."""
        reports, state = reports_of_views(context), _own(context.scheduler.state)

        def report(name: str) -> QueueReport | None:
            found = reports(name)
            return None if found is None else self._with_shares(found, state)

        return report

    @staticmethod
    def _with_shares(found: QueueReport, state: FairState) -> QueueReport:
        most = found.maximum
        queue = state.queues[found.name]
        available = tuple(
            max(0, share - used) for share, used in zip(queue.fair_share, queue.used, strict=True)
        )
        return msgspec.structs.replace(
            found,
            scheduler_type="FairScheduler",
            weight=queue.weight,
            max_running=min(queue.max_running, 2**31 - 1),
            available=available,
            preemption_disabled=not state.settings.preemption,
            maximum=None if most is None else tuple(map(min, most, state.total)),
        )

    def allocation_limits(self, state: State) -> tuple[Resource, Resource]:
        """As configured, and at most the largest node."""
        settings = _own(state).settings
        return within_largest_node(state, settings.minimum_allocation, settings.maximum_allocation)

    def configured_maximum(self, state: State) -> Resource:
        """`yarn.scheduler.maximum-allocation-*`."""
        return _own(state).settings.maximum_allocation

    def tested_master_limits(
        self, record: Record, state: State
    ) -> Mapping[str, MasterLimit | None]:
        """The Fair Scheduler tests the limit of a leaf when it grants a master there."""
        return tested_master_limits(record, _own(state))

    def usage_percentages(self, state: State, application: Application) -> tuple[float, float]:
        """Memory alone; the queue's part of the cluster is its fair share.

        For example 5120 MB in a queue with a fair share of 12288 MB, in a cluster of 40960 MB, are
        41.666664 and 12.5.
        """
        if not counts_use(state, application):
            return 0.0, 0.0
        used, cluster = application.used[0], state.total[0]
        queue = _own(state).queues[application.queue]
        base = int(cluster * single(queue.fair_share[0] / cluster))
        part = single(used / base) if base else 0.0
        return percent(part), percent(single(used / cluster))

    def why_waits(self, state: State, application: Application) -> str:
        """The limit on running applications that holds it back."""
        return yarn_diagnostics.why_waits(_own(state), application)

    def refusal(self, application: Application, name: str, code: str) -> str:
        """As Hadoop's Fair Scheduler words it."""
        return yarn_diagnostics.refusal(application, name, code)


def _own(state: State) -> FairState:
    assert isinstance(state, FairState)
    return state
