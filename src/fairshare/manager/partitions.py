"""Owns how the manager handles partitions (node labels): permission to change them, and the
partition of each request.

The scheduler knows the capacities of a partition and which queues have access to it; most
schedulers have no partitions (Hadoop: RMNodeLabelsManager). The type of scheduler is determined
once, since `isinstance` of a protocol costs more than handling a request.
"""

from collections.abc import Sequence

from fairshare.model.applications import Application
from fairshare.model.inputs import AddLabels, LabelNodes, RemoveLabels, SubmitApplication
from fairshare.model.tasks import GROUP_REQUESTS
from fairshare.model.work import ContainerRequest, TaskGroup
from fairshare.schedulers.protocol import Partitioned, Refusal, Scheduler, Step


class Partitions:
    """The partitions of one scheduler, which may not support any."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._partitioned = scheduler if isinstance(scheduler, Partitioned) else None

    def change(self, step: Step, given: AddLabels | RemoveLabels | LabelNodes) -> None:
        """Add or remove partitions, or assign nodes to them; raises Refusal."""
        user = given.user
        if user and not self._scheduler.may_administer("", user, given.groups):
            raise Refusal("access-denied", f"User {user} does not administer the cluster")
        partitioned = self._partitioned
        if partitioned is None:
            name = self._scheduler.name
            raise Refusal("labels-disabled", f"the {name} scheduler has no node labels")
        match given:
            case AddLabels():
                partitioned.add_labels(step, given.labels)
            case RemoveLabels():
                partitioned.remove_labels(step, given.labels)
            case LabelNodes():
                partitioned.label_nodes(step, given.nodes, known=given.known)

    def check_submission(self, submission: SubmitApplication) -> None:
        """Raise Refusal for a partition if the scheduler does not support partitions."""
        if self._partitioned is not None:
            return  # it checks each request when the queue is known
        label = submission.wanted_label(master=True) or submission.wanted_label(master=False)
        if label:
            raise self._unknown(label)
        for asking in (submission.requests, submission.tasks):
            for one in asking:
                if one.label:
                    raise self._unknown(one.label)

    def check_tasks(self, application: Application, tasks: Sequence[TaskGroup]) -> None:
        """Raise Refusal for groups in a partition that the application's queue has no access to."""
        for group in tasks:
            if self._partitioned is not None:
                self._partitioned.label_of(application, group.label, master=False, check=True)
                continue
            wanted = group.label
            if wanted is None:
                wanted = application.submission.wanted_label(master=False)
            if wanted:
                raise self._unknown(wanted)

    def label_of(self, application: Application, request: ContainerRequest) -> str:
        """The partition of a request: its own label, the application's, or the queue's default.

        Raises Refusal if the queue has no access to it. Task groups were checked on arrival; if
        their partition has become unusable since, they wait.
        """
        wanted = request.label
        master = application.managed and application.attempt.master is None
        group = request.request >= GROUP_REQUESTS
        if self._partitioned is not None:
            return self._partitioned.label_of(application, wanted, master=master, check=not group)
        if wanted is None:
            wanted = application.submission.wanted_label(master=master)
        if wanted and not group:
            raise self._unknown(wanted)
        return ""

    def _unknown(self, label: str) -> Refusal:
        return Refusal(
            "invalid-label",
            f"there is no partition {label!r}: the {self._scheduler.name} scheduler has no node"
            " labels, the capacity scheduler has",
        )
