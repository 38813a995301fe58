"""Owns what the manager does about partitions (node labels): who may change them, which one an ask
is for.

What a partition is worth, and whether a queue may use it, the scheduler knows; most know none
(spec/capacity.md 28).
"""

from collections.abc import Sequence

from fairshare.model.applications import Application
from fairshare.model.inputs import AddLabels, LabelNodes, RemoveLabels, SubmitApplication
from fairshare.model.tasks import GROUP_REQUESTS
from fairshare.model.work import ContainerRequest, TaskGroup
from fairshare.schedulers.protocol import Partitioned, Refusal, Scheduler, Step


def change(step: Step, scheduler: Scheduler, given: AddLabels | RemoveLabels | LabelNodes) -> None:
    """Make or remove partitions, or put nodes into them; raises Refusal."""
    user = given.user
    if user and not scheduler.may_administer("", user, given.groups):
        raise Refusal("access-denied", f"User {user} does not administer the cluster")
    if not isinstance(scheduler, Partitioned):
        raise Refusal("labels-disabled", f"the {scheduler.name} scheduler has no node labels")
    match given:
        case AddLabels():
            scheduler.add_labels(step, given.labels)
        case RemoveLabels():
            scheduler.remove_labels(step, given.labels)
        case LabelNodes():
            scheduler.label_nodes(step, given.nodes, known=given.known)


def check_submission(scheduler: Scheduler, submission: SubmitApplication) -> None:
    """Refuse a partition where the scheduler knows none."""
    labels = [submission.wanted_label(master=True), submission.wanted_label(master=False)]
    labels += [request.label for request in submission.requests]
    labels += [group.label for group in submission.tasks]
    for label in labels:
        if label and not isinstance(scheduler, Partitioned):
            raise _unknown(scheduler, label)


def check_tasks(scheduler: Scheduler, application: Application, tasks: Sequence[TaskGroup]) -> None:
    """Refuse groups for a partition that the application's queue may not use."""
    for group in tasks:
        wanted = application.submission.wanted_label(master=False)
        wanted = wanted if group.label is None else group.label
        if isinstance(scheduler, Partitioned):
            scheduler.label_of(application, wanted, master=False, check=True)
        elif wanted:
            raise _unknown(scheduler, wanted)


def label_of(scheduler: Scheduler, application: Application, request: ContainerRequest) -> str:
    """The partition that a wish is for: its own, the application's, or as the queue says.

    Raises Refusal if the queue may not use it. Groups of tasks were judged when they came; what
    has become unusable since then they wait for.
    """
    wanted = request.label
    master = application.managed and application.master is None
    if wanted is None:
        wanted = application.submission.wanted_label(master=master)
    group = request.request >= GROUP_REQUESTS
    if isinstance(scheduler, Partitioned):
        return scheduler.label_of(application, wanted, master=master, check=not group)
    if wanted and not group:
        raise _unknown(scheduler, wanted)
    return ""


def _unknown(scheduler: Scheduler, label: str) -> Refusal:
    return Refusal(
        "invalid-label",
        f"there is no partition {label!r}: the {scheduler.name} scheduler has no node labels, the"
        " capacity scheduler has",
    )
