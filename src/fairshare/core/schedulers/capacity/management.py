"""The capacities of leaves created by the older auto-creation: each has that of its parent's
template, or none, by Hadoop's GuaranteedOrZeroCapacityOverTimePolicy.

A new leaf gets the capacity if the parent has enough left. Then a round every 1.5 s takes it from
leaves without applications and gives it to those whose applications have waited longest; if leaves
must not exceed their parent, there are no rounds. A reload reassigns all capacities. Decides by
`step.emit` alone; the module also has the state changes of these events.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity import orders
from fairshare.core.schedulers.capacity.attempts import Stage
from fairshare.core.schedulers.capacity.calculators import smaller, truncate
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.events import QueueEntitled
from fairshare.core.schedulers.capacity.queues import ABSOLUTE, CapacityQueue
from fairshare.core.schedulers.capacity.settings import (
    LabelCapacity,
    Percentage,
    QueueSettings,
    Template,
    Vector,
)
from fairshare.core.schedulers.protocol import Refusal

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step

EPSILON = 0.0001
"""Hadoop's tolerance when it checks whether a parent has enough left."""

Entitlement = tuple[CapacityQueue, tuple[str, ...]]


def makes_leaves(queue: CapacityQueue | None) -> bool:
    """Whether a queue creates its leaves by the older auto-creation."""
    return queue is not None and bool(queue.settings.legacy_dynamic_leaves)


def is_made(queue: CapacityQueue) -> bool:
    """Whether a leaf was created that way."""
    return queue.dynamic and makes_leaves(queue.parent)


def has_capacity(state: CapacityCluster, leaf: CapacityQueue, label: str) -> bool:
    """Whether a leaf has its template's capacity on a partition when everything is recomputed.

    As in Hadoop amounts apply to every leaf after a reload. A round that takes them from a leaf
    does so permanently: a later entitlement does not restore them.
    """
    amounts = absolute_amounts(leaf.settings, label) is not None
    if amounts and state.settings.legacy_queue_mode:
        return label in leaf.funded
    return label in leaf.entitled


def _template(state: CapacityCluster, parent: CapacityQueue) -> QueueSettings:
    return state.settings.templates.get(parent.name, Template()).legacy_leaf


def _labels(state: CapacityCluster, parent: CapacityQueue) -> list[str]:
    template = _template(state, parent)
    return [label for label in state.labels if not label or label in template.label_capacities]


def part(state: CapacityCluster, parent: CapacityQueue, label: str) -> float:
    """The template's part of a whole partition: 10 % below a parent of 50 % are 0.05."""
    above = parent.shares[label]
    return single(_fraction(state, parent, label) * above.absolute_capacity)


def _capacity(own: QueueSettings, label: str) -> LabelCapacity:
    """A template's capacity and maximum on a partition."""
    if label:
        return own.label_capacities.get(label, LabelCapacity())
    return LabelCapacity(own.capacity, own.maximum_capacity)


def absolute_amounts(own: QueueSettings, label: str) -> Resource | None:
    """A template's absolute amounts on a partition, if it has them."""
    capacity = _capacity(own, label).capacity
    return capacity.absolute if isinstance(capacity, Vector) else None


def _fraction(state: CapacityCluster, parent: CapacityQueue, label: str) -> float:
    """The template's part of its parent."""
    template = _template(state, parent)
    capacity = _capacity(template, label).capacity
    if isinstance(capacity, Percentage):
        return single(capacity.percent / 100)
    if label in parent.template_worth:
        return parent.template_worth[label][0]
    return _fraction_of_amounts(state, parent, label)


def _fraction_of_amounts(state: CapacityCluster, parent: CapacityQueue, label: str) -> float:
    if label not in parent.shares:
        return 0.0
    amounts = absolute_amounts(_template(state, parent), label)
    above = parent.shares[label].configured_minimum
    if amounts is None or above is None or not any(state.total):
        return 0.0
    return state.calculator.divide(state.total, amounts, above)


def _most(queue: CapacityQueue, label: str) -> Resource | None:
    """The maximum of a queue with amounts: its own, else that of the nearest one above."""
    found = (above.shares[label].configured_maximum for above in queue.path)
    return next((most for most in found if most is not None), None)


def _maximum(state: CapacityCluster, parent: CapacityQueue, label: str) -> float:
    """The template's maximum as a part of its parent's; as in Hadoop it is 0 for amounts whose
    parent has no maximum."""
    maximum = _capacity(_template(state, parent), label).maximum_capacity
    if isinstance(maximum, Percentage) and maximum.percent != -1:
        return single(maximum.percent / 100)
    if parent.mode != ABSOLUTE:
        return 1.0
    above = _most(parent, label)
    if above is None or not any(state.total):
        return 0.0
    amount = maximum.absolute if isinstance(maximum, Vector) else None
    if amount is None or not any(amount):
        return 1.0
    c = state.calculator
    return c.divide(state.total, smaller(c, state.total, amount, above), above)


# State changes of events.


def weigh(state: CapacityCluster, parent: CapacityQueue) -> None:
    """A leaf has been created: as in Hadoop a template of amounts is computed now."""
    if makes_leaves(parent) and parent.mode == ABSOLUTE:
        parent.template_worth = {}
        parent.template_worth = {
            label: (_fraction(state, parent, label), part(state, parent, label))
            for label in _labels(state, parent)
        }


def forget(state: CapacityCluster, queue: CapacityQueue) -> None:
    """At a reload leaves lose their entitlement until it is reassigned, and their amounts apply
    again.

    As in Hadoop a new template of amounts is computed from its parent's previous minimum.
    """
    if makes_leaves(queue) and queue.mode == ABSOLUTE:
        queue.template_worth = {
            label: (_fraction_of_amounts(state, queue, label), 0.0)
            for label in _labels(state, queue)
        }
    queue.entitled = frozenset()
    queue.funded = frozenset(state.labels)
    queue.given = {}


def count(state: CapacityCluster, leaf: CapacityQueue, before: frozenset[str]) -> None:
    """Update a parent's count of what its leaves have after a change of a leaf's entitlement."""
    parent = leaf.parent
    if parent is None:
        return
    for label in leaf.entitled ^ before:
        each = part(state, parent, label)
        change = each if label in leaf.entitled else -each
        parent.given[label] = single(parent.given.get(label, 0.0) + change)


def merge(state: CapacityCluster, leaf: CapacityQueue, before: frozenset[str]) -> None:
    """Apply a round's change to a leaf. As in Hadoop only its capacities change, and for a leaf
    that lost its part also the maximum, until everything is recomputed."""
    parent = leaf.parent
    if parent is None:
        return
    orders.settle(parent)
    for label in leaf.entitled ^ before:
        share, above, whole = leaf.shares[label], parent.shares[label], state.total_of(label)
        share.maximum_capacity = _maximum(state, parent, label)
        amounts = None
        if label in leaf.entitled:
            share.capacity = _fraction(state, parent, label)
            share.absolute_capacity = part(state, parent, label)
            share.absolute_maximum = single(share.maximum_capacity * above.absolute_maximum)
            if share.absolute_capacity > 0:
                amounts = absolute_amounts(leaf.settings, label)
        else:
            share.capacity = share.absolute_capacity = share.absolute_maximum = 0.0
            share.configured_minimum = leaf.share.configured_minimum = None
            leaf.funded -= {label, ""}
        share.effective_minimum = amounts or truncate(whole, share.absolute_capacity)
        share.effective_maximum = truncate(whole, share.absolute_maximum)
        orders.refresh_use(leaf, label, state.calculator, whole, state.settings.minimum_allocation)
    leaf.reconsider()
    for label in leaf.entitled ^ before:
        orders.place(leaf, leaf.shares[label], label)


def _left(parent: CapacityQueue, label: str) -> float:
    """What a parent has not assigned to its leaves yet, as a fraction of the partition.

    As in Hadoop each assignment counts with its value at the time it was made.
    """
    return single(parent.shares[label].absolute_capacity - parent.given.get(label, 0.0))


def begin(state: CapacityCluster, step: "Step", leaf: CapacityQueue) -> None:
    """A leaf has been created: it gets the template's capacity where its parent has enough left."""
    parent = leaf.path[1]
    labels = tuple(
        label
        for label in _labels(state, parent)
        if single(_left(parent, label) + EPSILON) >= part(state, parent, label)
    )
    if labels:
        step.emit(QueueEntitled(leaf.name, labels))


def check_room(state: CapacityCluster, parent: CapacityQueue, name: str) -> None:
    """Raise Refusal if another leaf would exceed the parent's capacity, where that is forbidden, or
    if its amounts exceed their maximum."""
    _check_amounts(state, parent, name)
    if not parent.settings.legacy_fail_on_exceeding or not parent.children:
        return
    worth = part(state, parent, "")
    if parent.mode == ABSOLUTE:  # as in Hadoop it is unknown until a leaf is created
        worth = parent.template_worth.get("", (0.0, 0.0))[1]
    given = 0.0
    for leaf in parent.children.values():
        given = single(given + leaf.share.absolute_capacity)
    if single(worth + given) > parent.share.absolute_capacity:
        raise Refusal(
            "parent-capacity",
            f"Cannot auto create leaf queue {name}. Child queues capacities have reached parent"
            f" queue : {parent.name}'s guaranteed capacity",
        )


def _check_amounts(state: CapacityCluster, parent: CapacityQueue, name: str) -> None:
    """The maximum of amounts is the template's own, else the parent's, if that has one."""
    template, c = _template(state, parent), state.calculator
    for label in _labels(state, parent):
        amounts = absolute_amounts(template, label)
        maximum = _capacity(template, label).maximum_capacity
        most = maximum.absolute if isinstance(maximum, Vector) else None
        if most is None or not any(most):
            most = _most(parent, label)
        if amounts and most and c.compare(state.total, amounts, most) > 0:
            raise Refusal(
                "template-exceeds-maximum",
                f"Cannot auto create leaf queue {name}: the leaf-queue-template of {parent.name}"
                f" has a capacity of {state.types.mapping(amounts)}, which is more than its"
                f" maximum, {state.types.mapping(most)}",
            )


def run(state: CapacityCluster, step: "Step") -> None:
    """Run one round over all parents that create leaves by the older auto-creation."""
    for leaf, labels in tuple(changes(state)):
        step.emit(QueueEntitled(leaf.name, labels, in_round=True))


def run_after_reload(state: CapacityCluster, step: "Step") -> None:
    """After a reload took the entitlement of all leaves, give it to those with applications, the
    oldest first."""
    for leaf, labels in tuple(changes(state, reloaded=True)):
        step.emit(QueueEntitled(leaf.name, labels))


def changes(state: CapacityCluster, *, reloaded: bool = False) -> Iterator[Entitlement]:
    """What a round would change: leaves, and the partitions on which each has a part afterwards.

    Example: a parent of 50 % with a template of 50 % has room for two leaves. Of three created, the
    third has no capacity until one of the others has no applications.
    """
    for parent in state.queues.values():
        if not makes_leaves(parent) or not parent.children:
            continue
        if parent.settings.legacy_fail_on_exceeding and not reloaded:
            continue
        if reloaded and parent.mode == ABSOLUTE:
            continue  # as in Hadoop its amounts are not a fraction of the cluster yet
        after = {leaf.name: set(leaf.entitled) for leaf in parent.children.values()}
        for label in _labels(state, parent):
            _balance(state, parent, label, after)
        for leaf in parent.children.values():
            if after[leaf.name] != leaf.entitled:
                ordered = tuple(label for label in state.labels if label in after[leaf.name])
                yield leaf, ordered


def _balance(
    state: CapacityCluster, parent: CapacityQueue, label: str, after: dict[str, set[str]]
) -> None:
    each = part(state, parent, label)
    available = _left(parent, label)
    for leaf in parent.children.values():
        if label in leaf.entitled and not (leaf.active or leaf.waiting or leaf.held):
            after[leaf.name].discard(label)
            available = single(available + each)
    available = single(available + EPSILON)
    if available < each or each <= 0:
        return
    waiting = [
        (attempt.application.submitted_ms, leaf.name)
        for leaf in parent.children.values()
        for attempt in leaf.attempts.values()
        if attempt.stage in (Stage.WAITING, Stage.ACTIVE)
    ]
    waiting.sort(key=itemgetter(0))  # at the same time, the one of the older leaf is first
    most = min(int(single(available / each)), len(waiting))
    chosen: dict[str, None] = {}
    for _, name in waiting:
        if len(chosen) >= most:
            break
        if label not in state.queues[name].entitled:
            chosen[name] = None
    for name in chosen:
        after[name].add(label)
