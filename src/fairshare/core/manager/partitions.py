"""Owns how the manager handles partitions (node labels): permission to change them, and the
partition of each request.

The scheduler knows the capacities of a partition and which queues have access to it; most
schedulers have no partitions (Hadoop: RMNodeLabelsManager).
"""

from collections.abc import Sequence

from fairshare.core.model.applications import Application
from fairshare.core.model.inputs import AddLabels, LabelNodes, RemoveLabels
from fairshare.core.model.tasks import GROUP_REQUESTS
from fairshare.core.model.work import ContainerRequest, TaskGroup
from fairshare.core.schedulers.protocol import Refusal, Scheduler, Step


def change_labels(
    scheduler: Scheduler, step: Step, given: AddLabels | RemoveLabels | LabelNodes
) -> None:
    """Add or remove partitions, or assign nodes to them; raises Refusal."""
    user = given.user
    if user and not scheduler.may_administer("", user, given.groups):
        raise Refusal("access-denied", f"User {user} does not administer the cluster")
    match given:
        case AddLabels():
            scheduler.add_labels(step, given.labels)
        case RemoveLabels():
            scheduler.remove_labels(step, given.labels)
        case LabelNodes():
            scheduler.label_nodes(step, given.nodes, known=given.known)


def check_tasks(scheduler: Scheduler, application: Application, tasks: Sequence[TaskGroup]) -> None:
    """Raise Refusal for groups in a partition that the application's queue has no access to."""
    for group in tasks:
        scheduler.label_of(application, group.label, master=False, check=True)


def label_of(scheduler: Scheduler, application: Application, request: ContainerRequest) -> str:
    """The partition of a request: its own label, the application's, or the queue's default.

    Raises Refusal if the queue has no access to it. Task groups were checked on arrival; if
    their partition has become unusable since, they wait.
    """
    master = application.managed and application.attempt.master is None
    check = request.request < GROUP_REQUESTS
    return scheduler.label_of(application, request.label, master=master, check=check)
