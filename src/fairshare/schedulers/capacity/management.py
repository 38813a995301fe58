"""Owns the capacities of leaves that are made on demand in the older way (27.4): each has that of
its parent's template, or none, by Hadoop's GuaranteedOrZeroCapacityOverTimePolicy.

A new leaf has it if the parent has so much left. Then a round every 1.5 s takes it from leaves
without applications, and gives it to those whose applications have waited longest; where leaves
must not exceed their parent, there are no rounds. A reload gives everything anew. Decides by
`step.emit` alone.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairshare.model.events import QueueEntitled
from fairshare.schedulers.capacity.applications import Stage
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.settings import (
    LabelCapacity,
    Percentage,
    QueueSettings,
    Template,
    Vector,
)
from fairshare.schedulers.protocol import Refusal
from fairshare.schedulers.rounding import single

if TYPE_CHECKING:
    from fairshare.schedulers.capacity.cluster import CapacityCluster
    from fairshare.schedulers.protocol import Step

EPSILON = 0.0001
"""Hadoop's tolerance when it asks whether a parent has enough left."""

Entitlement = tuple[CapacityQueue, tuple[str, ...]]


def makes_leaves(queue: CapacityQueue | None) -> bool:
    """Whether a queue makes its leaves in the older way."""
    return queue is not None and bool(queue.settings.legacy_dynamic_leaves)


def is_made(queue: CapacityQueue) -> bool:
    """Whether a leaf was made so."""
    return queue.dynamic and makes_leaves(queue.parent)


def _template(state: "CapacityCluster", parent: CapacityQueue) -> QueueSettings:
    return state.settings.templates.get(parent.name, Template()).legacy_leaf


def _labels(state: "CapacityCluster", parent: CapacityQueue) -> list[str]:
    template = _template(state, parent)
    return [label for label in state.labels if not label or label in template.label_capacities]


def part(state: "CapacityCluster", parent: CapacityQueue, label: str) -> float:
    """The template's part of a whole partition: 10 % below a parent of 50 % are 0.05."""
    template = _template(state, parent)
    capacity = template.capacity
    if label:
        capacity = template.label_capacities.get(label, LabelCapacity()).capacity
    above = parent.shares[label]
    match capacity:
        case Percentage(percent):
            fraction = single(percent / 100)
        case Vector() as vector if vector.absolute is not None and above.configured_minimum:
            if not any(state.total):
                return 0.0
            fraction = state.calculator.divide(
                state.total, vector.absolute, above.configured_minimum
            )
        case _:
            return 0.0
    return single(fraction * above.absolute_capacity)


def _left(state: "CapacityCluster", parent: CapacityQueue, label: str) -> float:
    """What a parent has not given to its leaves yet, as a part of the partition."""
    given = 0.0
    for leaf in parent.children.values():
        if label in leaf.entitled:
            given = single(given + part(state, parent, label))
    return parent.shares[label].absolute_capacity - given


def begin(state: "CapacityCluster", step: "Step", leaf: CapacityQueue) -> None:
    """A leaf has been made: it has the template's capacity where its parent has so much left."""
    parent = leaf.parent
    assert parent is not None
    labels = tuple(
        label
        for label in _labels(state, parent)
        if _left(state, parent, label) + EPSILON >= part(state, parent, label)
    )
    if labels:
        step.emit(QueueEntitled(leaf.name, labels))


def check_room(state: "CapacityCluster", parent: CapacityQueue, name: str) -> None:
    """Raise Refusal if another leaf would exceed the parent's capacity, where that is forbidden."""
    if not parent.settings.legacy_fail_on_exceeding or not parent.children:
        return  # as in Hadoop the template's part is not known before the first leaf
    given = 0.0
    for leaf in parent.children.values():
        given = single(given + leaf.share.absolute_capacity)
    if single(part(state, parent, "") + given) > parent.share.absolute_capacity:
        raise Refusal(
            "parent-capacity",
            f"Cannot auto create leaf queue {name}. Child queues capacities have reached parent"
            f" queue : {parent.name}'s guaranteed capacity",
        )


def run(state: "CapacityCluster", step: "Step") -> None:
    """One round over all parents that make leaves in the older way."""
    for leaf, labels in tuple(changes(state)):
        step.emit(QueueEntitled(leaf.name, labels))


def run_after_reload(state: "CapacityCluster", step: "Step") -> None:
    """All leaves have lost their parts; those with applications get them, the oldest first."""
    for leaf, labels in tuple(changes(state, reloaded=True)):
        step.emit(QueueEntitled(leaf.name, labels))


def changes(state: "CapacityCluster", *, reloaded: bool = False) -> Iterator[Entitlement]:
    """What a round would change: leaves, and the partitions of which each has a part afterwards.

    Example: a parent of 50 % with a template of 50 % has room for two leaves. Of three made, the
    third has nothing until one of the others is without applications.
    """
    for parent in state.queues.values():
        if not makes_leaves(parent) or not parent.children:
            continue
        if parent.settings.legacy_fail_on_exceeding and not reloaded:
            continue
        after = {leaf.name: set(leaf.entitled) for leaf in parent.children.values()}
        for label in _labels(state, parent):
            _balance(state, parent, label, after)
        for leaf in parent.children.values():
            if after[leaf.name] != leaf.entitled:
                ordered = tuple(label for label in state.labels if label in after[leaf.name])
                yield leaf, ordered


def _balance(
    state: "CapacityCluster", parent: CapacityQueue, label: str, after: dict[str, set[str]]
) -> None:
    each = part(state, parent, label)
    available = _left(state, parent, label) + EPSILON
    for leaf in parent.children.values():
        if label in leaf.entitled and not (leaf.active or leaf.waiting or leaf.held):
            after[leaf.name].discard(label)
            available += each
    if available < each or each <= 0:
        return
    waiting = sorted(
        (application.submitted_ms, application.id, leaf.name)
        for leaf in parent.children.values()
        for application in leaf.applications.values()
        if application.stage in (Stage.WAITING, Stage.ACTIVE)
    )
    most = min(int(available / each), len(waiting))
    chosen: dict[str, None] = {}
    for _, _, name in waiting:
        if len(chosen) >= most:
            break
        if label not in state.queues[name].entitled:
            chosen[name] = None
    for name in chosen:
        after[name].add(label)
