"""The partitions (node labels): which exist, the partition of each node, and the operations on
them: creation, removal, assignment to nodes, and the checks of asks. Refuses in Hadoop's words
(Hadoop: RMNodeLabelsManager).

A node that changes its partition takes its containers along: queues and users use them there from
then on, a reservation on it is dropped, and a master counts towards the masters' limit there.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairshare.core.model.applications import Application
from fairshare.core.model.events import LabelsChanged, NodesLabelled
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import subtract
from fairshare.core.schedulers.capacity import accounting, activation
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.queues import CapacityQueue, Share
from fairshare.core.schedulers.capacity.settings import ALL_LABELS, CapacitySettings
from fairshare.core.schedulers.protocol import Refusal

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step


NODE_ATTRIBUTE = "partition"
"""The key in a node's attributes of the partition that the node reports."""


def configured(settings: CapacitySettings) -> dict[str, None]:
    """Partitions that the file names for a queue or a template, whether the cluster has them or
    not."""
    sources = list(settings.queues.values())
    for template in settings.templates.values():
        sources += (template.common, template.leaf, template.parent, template.legacy_leaf)
    return {label: None for own in sources for label in own.label_capacities if label}


def belongs(state: CapacityCluster, node: Node) -> str:
    """A node's partition: assigned by an administrator, else by the configuration, else as
    reported.

    A partition that the cluster does not have counts as the default one. If nodes report their
    partitions (`configuration-type` distributed), only the report counts.
    """
    settings = state.settings
    label = node.attributes.get(NODE_ATTRIBUTE, "")
    if not settings.labels_distributed:
        label = settings.label_of_node.get(node.name, label)
        label = state.assigned_labels.get(node.name, label)
    return label if label in state.partitions else ""


def change_something(state: CapacityCluster, nodes: Mapping[str, str]) -> bool:
    """Whether a node's partition would change or a node is not registered yet: then Hadoop
    recomputes all shares. It skips nodes whose assignment is unchanged."""
    for name, label in nodes.items():
        node = state.nodes.get(name)
        before = state.assigned_labels.get(name)
        if before is None and node is not None:
            before = belongs(state, node)
        if label != before:
            return True
    return False


def follow(state: CapacityCluster) -> bool:
    """Update the state to the present partitions; returns whether a node's partition changed.

    A removed partition stays known, since applications may still ask for it.
    """
    names = ("", *configured(state.settings), *state.partitions, *state.labels)
    state.labels = tuple(dict.fromkeys(names))
    for queue in state.all_queues():
        for label in state.labels:
            if label not in queue.shares:
                queue.shares[label] = Share(state.none)
    moved = False
    for node in state.nodes.values():
        before, after = state.partition_of.get(node.name, ""), belongs(state, node)
        if before != after:
            _move(state, node, before, after)
            moved = True
    state.count_totals()
    return moved


def _move(state: CapacityCluster, node: Node, before: str, after: str) -> None:
    state.drop_reservation(node)
    for container, record in node.containers.items():
        attempt = state.attempts[record.application]
        leaf = attempt.leaf
        amount = record.resource
        released = subtract(state.none, amount)
        accounting.charge(state, leaf, attempt.user, before, released)
        accounting.charge(state, leaf, attempt.user, after, amount)
        if container in node.marked:
            accounting.change_killable(leaf, before, released)
            accounting.change_killable(leaf, after, amount)
        if container == attempt.master:
            accounting.move_master(attempt, after)
    state.partition_of[node.name] = after


_NAME = re.compile(r"[0-9a-zA-Z][0-9a-zA-Z_-]*")
_LONGEST = 255


def _refuse(reason: str) -> Refusal:
    return Refusal("invalid-label", reason)


def _check_enabled(state: CapacityCluster) -> None:
    if not state.settings.labels_enabled:
        raise Refusal(
            "labels-disabled",
            "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled",
        )


def add(state: CapacityCluster, step: "Step", labels: dict[str, bool]) -> None:
    """Create partitions; existing ones with the same exclusivity are skipped."""
    _check_enabled(state)
    partitions = state.partitions
    for name, exclusive in labels.items():
        if not _NAME.fullmatch(name) or len(name) > _LONGEST:
            raise _refuse(
                "label name should only contains {0-9, a-z, A-Z, -, _} and should not started with"
                f" {{-,_}}, now it is= {name}"
            )
        if partitions.get(name, exclusive) != exclusive:
            wanted = f"<{name}:exclusivity={'true' if exclusive else 'false'}>"
            raise _refuse(f"Exclusivity cannot be modified for an existing label with : {wanted}")
    new = {name: exclusive for name, exclusive in labels.items() if name not in partitions}
    if new:
        step.emit(LabelsChanged({**state.added_labels, **new}))


def remove(state: CapacityCluster, step: "Step", labels: Sequence[str]) -> None:
    """Remove partitions that no queue names; their nodes return to the default one."""
    _check_enabled(state)
    known = state.partitions
    for name in labels:
        if name not in known:
            raise _refuse(
                f"Node label={name} to be removed doesn't existed in cluster node labels"
                " collection."
            )
        if name not in state.added_labels:
            raise _refuse(
                f"Cannot remove label={name}: the configuration names it. Take it out of [labels]"
                " in fairshare.toml"
            )
    for queue in state.queues.values():
        for name in labels:
            if name in queue.accessible:
                raise _refuse(
                    f"Cannot remove label={name}, because queue={queue.name} is using this label."
                    " Please remove label on queue before remove the label"
                )
    gone = set(labels)
    if gone:
        left = {name: own for name, own in state.added_labels.items() if name not in gone}
        step.emit(LabelsChanged(left))


def assign(state: CapacityCluster, step: "Step", nodes: dict[str, str], *, known: bool) -> None:
    """Assign nodes to partitions. `known`: only registered nodes may be named."""
    _check_enabled(state)
    if state.settings.labels_distributed:
        raise Refusal(
            "labels-distributed",
            "Error when invoke method=replaceLabelsOnNode because centralized node label"
            " configuration is not enabled.",
        )
    labels = state.partitions
    unknown = list(dict.fromkeys(name for name in nodes.values() if name and name not in labels))
    if unknown:
        raise _refuse(
            "Not all labels being replaced contained by known label collections, please check, new"
            f" labels=[{', '.join(unknown)}]"
        )
    missing = [name for name in nodes if name not in state.nodes]
    if known and missing:
        raise Refusal("unknown-node", f"Unknown node(s): {', '.join(missing)}")
    changed = {
        node: label for node, label in nodes.items() if state.assigned_labels.get(node) != label
    }
    if not changed:
        return
    looks_again = change_something(state, changed)
    step.emit(NodesLabelled(changed))
    if looks_again:
        activation.activate_everywhere(state, step)


# Partitions of asks.


def resolve(
    state: CapacityCluster,
    leaf: CapacityQueue,
    submission: SubmitApplication,
    wanted: str | None = None,
    *,
    master: bool,
) -> str:
    """The partition of an ask in a leaf, unchecked: the requested one, else the queue's default.
    Blanks around a name are ignored."""
    wanted = _requested(state, submission, wanted, master=master)
    return (leaf.default_label if wanted is None else wanted).strip()


def _requested(
    state: CapacityCluster, submission: SubmitApplication, wanted: str | None, *, master: bool
) -> str | None:
    """The partition that an ask names, else the application's. For a master the cluster's own
    default takes precedence over the application's."""
    if wanted is None and master:
        wanted = submission.own_master_label or state.settings.master_default_label or None
    return submission.wanted_label(master=False) if wanted is None else wanted


def needs_default(state: CapacityCluster, submission: SubmitApplication) -> bool:
    """Whether a submission has a master whose partition is that of its queue by default."""
    master = submission.master is not None
    return master and _requested(state, submission, None, master=True) is None


def check_label(
    state: CapacityCluster, leaf: CapacityQueue, label: str, *, requested: bool = True
) -> None:
    """Raise Refusal if a leaf's applications cannot ask for a partition. As in Hadoop, the queue's
    default, which is not `requested`, is checked although labels are off."""
    if not label:
        return
    where = f"Invalid resource request, queue={leaf.name}"
    if requested and not state.settings.labels_enabled:
        raise _refuse(
            "Invalid resource request, node label not enabled but request contains label expression"
        )
    if "&&" in label:
        raise _refuse(
            f"{where} specified more than one node label in a node label expression, node label"
            f" expression = {label}"
        )
    if label not in state.partitions:
        raise _refuse(f"Invalid label resource request, cluster do not contain , label= {label}")
    if not leaf.may_use(label):
        raise _refuse(
            f"{where} doesn't have permission to access all labels in resource request."
            f" labelExpression of resource request={label}. Queue labels="
            f"{','.join(sorted(leaf.accessible))}"
        )


def check_submission(
    state: CapacityCluster, leaf: CapacityQueue, submission: SubmitApplication, *, created: bool
) -> None:
    """Raise Refusal if the leaf may not use the partitions of a submission's master or tasks.

    As in Hadoop other asks are checked when they become live, and the default of a leaf that was
    `created` for the submission is not.
    """
    asks = [(None, True)] if submission.master is not None else []
    for wanted, master in [*asks, *((group.label, False) for group in submission.tasks)]:
        requested = _requested(state, submission, wanted, master=master)
        if requested is not None or not created:
            label = resolve(state, leaf, submission, wanted, master=master)
            check_label(state, leaf, label, requested=requested is not None)


def check_move(attempt: CapacityAttempt, target: CapacityQueue) -> None:
    """Raise Refusal if a leaf may not use a partition that an application has asked for
    (Hadoop: CapacityScheduler.checkQueuePartition)."""
    labels = [label for label in attempt.asked if label]
    if ALL_LABELS in target.accessible or all(label in target.accessible for label in labels):
        return
    raise _refuse(
        f"Specified queue={target.name} can't satisfy following apps label expressions"
        f" =[{', '.join(labels)}] accessible node labels ="
        f"[{', '.join(sorted(target.accessible))}]"
    )


class PartitionMethods:
    """The methods of the scheduler that the manager calls for partitions."""

    _state: CapacityCluster

    def label_of(
        self, application: Application, wanted: str | None, *, master: bool, check: bool
    ) -> str:
        """The partition of an ask: the requested one, else the default of the cluster, the
        application or the queue."""
        state = self._state
        leaf = state.queue_of(application.queue)
        label = resolve(state, leaf, application.submission, wanted, master=master)
        requested = _requested(state, application.submission, wanted, master=master)
        if master and requested is None and label not in state.labels:
            return ""  # as in Hadoop the first master of a created leaf does not have its default
        if check:
            check_label(state, leaf, label, requested=requested is not None)
        return label

    def check_labels(self, submission: SubmitApplication) -> None:
        """Each request is checked when the queue is known."""

    def labels(self) -> dict[str, bool]:
        """The cluster's partitions, by name: whether each is exclusive."""
        return self._state.partitions

    def add_labels(self, step: "Step", new: dict[str, bool]) -> None:
        """Create partitions; as in Hadoop no activation pass follows for one without nodes."""
        before = dict(self._state.partition_of)
        add(self._state, step, new)
        if self._state.partition_of != before:
            activation.activate_everywhere(self._state, step)

    def remove_labels(self, step: "Step", names: Sequence[str]) -> None:
        """Remove partitions that no queue names."""
        remove(self._state, step, names)
        activation.activate_everywhere(self._state, step)

    def label_nodes(self, step: "Step", nodes: dict[str, str], *, known: bool) -> None:
        """Assign nodes to partitions."""
        assign(self._state, step, nodes, known=known)
