"""The validation of settings as a whole: sums, modes, weights, limits, states, mappings.

Checks a planned tree and, at a reload, what must not change at run time. Reports all faults, in
Hadoop's words, and changes nothing (Hadoop: CapacitySchedulerConfigValidator).
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.model.resources import Resource, fits, total
from fairshare.core.placement.mapping import faults as mapping_faults
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity import partitions
from fairshare.core.schedulers.capacity.configuration import absolute_amount, configure, mode_of
from fairshare.core.schedulers.capacity.management import makes_leaves
from fairshare.core.schedulers.capacity.naming import QueueIndex
from fairshare.core.schedulers.capacity.plan import (
    configured_percentage,
    kind_of,
    kinds_among,
    kinds_of,
    named_queues,
    percentages_text,
    planned_tree,
)
from fairshare.core.schedulers.capacity.queues import (
    ABSOLUTE,
    PERCENTAGE,
    RUNNING,
    STOPPED,
    WEIGHT,
    CapacityQueue,
)
from fairshare.core.schedulers.capacity.settings import (
    ALL_LABELS,
    PARENT_POLICIES,
    CapacitySettings,
    LabelCapacity,
    Percentage,
    Template,
    Unit,
    Vector,
    Weight,
)
from fairshare.core.schedulers.capacity.state import CapacityState

TOLERANCE = 0.0005
HEAVIEST = 10_000.0

_NO_CHILDREN = (
    "Queue configuration missing child queue names for root: set"
    " yarn.scheduler.capacity.root.queues to the names of the queues below it, such as default"
)
_LEAF_POLICIES = ("fifo", "fair", "fifo-with-partitions", "fifo-for-pending-apps")


_OVERRIDDEN = ("maximum_allocation_mb", "maximum_allocation_vcores")
"""Fields that are not read where `maximum_allocation` is set."""


class Fault(NamedTuple):
    """A property and its fault. `queue` is a path, `suffix` what follows it in the property's name;
    both may be empty."""

    queue: str
    suffix: str
    message: str


def refusals(settings: CapacitySettings, live: CapacityState | None = None) -> Iterator[Fault]:
    """All faults for which settings are refused; `live` is the state that they would change."""
    simple = [*sizes(settings), *_numbers(settings)]
    yield from simple
    if simple:
        return
    planned = planned_tree(settings, live)
    if not planned.root.children and not (
        planned.root.settings.dynamic_children or planned.root.settings.legacy_dynamic_leaves
    ):
        yield Fault(ROOT, "queues", _NO_CHILDREN)
    for queue in planned.queues.values():
        yield from _siblings(planned, queue, live)
        yield from _queue(planned, queue)
        yield from _template(planned, queue)
    index = QueueIndex(planned)
    for fault in mapping_faults(settings.mappings, index):
        yield Fault("", "queue-mappings", fault.message)
    if live is not None and ROOT in live.queues:
        yield from _changes(planned, live)
        yield from dict.fromkeys(_created(planned, live))


def sizes(settings: CapacitySettings) -> Iterator[Fault]:
    names = settings.types.names
    for name, least, most in zip(
        names, settings.minimum_allocation, settings.maximum_allocation, strict=True
    ):
        if name in names[:2] and least <= 0:
            yield Fault("", "", f"Invalid minimum allocation of {name}: {least}, must be positive")
        if least > most:
            yield Fault(
                "", "", f"Invalid allocation of {name}: minimum {least} is above maximum {most}"
            )


def _numbers(settings: CapacitySettings) -> Iterator[Fault]:
    for name in named_queues(settings):
        queue_settings = settings.queues.get(name)
        if queue_settings is None:
            continue
        children = queue_settings.children or ()
        for child in sorted(child for child, count in Counter(children).items() if count > 1):
            yield Fault(name, "queues", f"Queue {name} has two children called {child}")
        parts = {
            "": LabelCapacity(queue_settings.capacity, queue_settings.maximum_capacity),
            **queue_settings.label_capacities,
        }
        absolute = {isinstance(part.capacity, Vector) for part in parts.values()}
        if len(absolute) > 1 and name != ROOT and settings.legacy_queue_mode:
            yield Fault(
                name,
                "capacity",
                f"Queue {name} should use either percentages and weights or absolute amounts: for"
                " all partitions the same",
            )
        for label, part in parts.items():
            place = f"accessible-node-labels.{label}." if label else ""
            yield from _number(settings, name, f"{place}capacity", part.capacity)
            yield from _number(settings, name, f"{place}maximum-capacity", part.maximum_capacity)
            if isinstance(part.maximum_capacity, Weight):
                weight = part.maximum_capacity.weight
                yield Fault(
                    name,
                    f"{place}maximum-capacity",
                    f"Illegal maximum capacity {weight:g}w of queue {name}: no weights here",
                )


def _number(
    settings: CapacitySettings, name: str, suffix: str, capacity: object
) -> Iterator[Fault]:
    match capacity:
        case Percentage() if suffix == "maximum-capacity":
            pass  # as in Hadoop any number is accepted, including more than 100 % and negative ones
        case Percentage(percent) if name != ROOT and not 0.0 <= percent <= 100.0:
            yield Fault(
                name, suffix, f"Illegal {suffix} of {percent} for queue {name}: 0 to 100 is allowed"
            )
        case Weight(weight) if not 0.0 <= weight <= HEAVIEST:
            yield Fault(name, suffix, f"Illegal weight {weight:g}w of queue {name}")
        case Vector(amounts):
            units = {amount.unit for amount in amounts}
            if settings.legacy_queue_mode and units != {Unit.ABSOLUTE}:
                yield Fault(
                    name,
                    suffix,
                    f"Illegal {suffix} of queue {name}: units for each resource need"
                    " legacy-queue-mode.enabled=false",
                )
            if suffix.endswith("maximum-capacity") and Unit.WEIGHT in units:
                yield Fault(
                    name, suffix, f"Illegal maximum capacity of queue {name}: no weights here"
                )
        case _:
            pass


def _siblings(
    planned: CapacityState, parent: CapacityQueue, live: CapacityState | None
) -> Iterator[Fault]:
    """Check the capacities of a queue's children together (Hadoop: ParentQueue.setChildQueues), in
    legacy mode only."""
    children = list(parent.children.values())
    if not planned.settings.legacy_queue_mode:
        return
    if not children:
        yield from _childless(parent, live)
        return
    where = f"children of queue {parent.name}"
    # Children's capacities on a partition of which their parent has nothing are not checked.
    configured = ("", *partitions.configured(planned.settings))
    labels = [label for label in configured if parent.has_part(label)]
    kinds = kinds_of(parent, labels, live)
    if len(kinds) > 1:
        yield Fault(
            parent.name,
            "queues",
            f"Parent queue {parent.name} has children of mixed modes"
            f" ({', '.join(sorted(kinds))}), which is not allowed: give all {where} a"
            " percentage, a weight or an absolute amount",
        )
        return
    kind = kinds.pop() if kinds else PERCENTAGE
    parent_kind = kind_of(parent, labels)
    if parent.parent is not None and ABSOLUTE in (kind, parent_kind) and kind != parent_kind:
        yield Fault(
            parent.name,
            "capacity",
            f"Parent queue {parent.name} and its children must both be in absolute mode",
        )
    elif kind == ABSOLUTE:
        for label in labels:
            yield from _absolute_sum(planned, parent, label)
        for label in sorted(set(configured).difference(labels)):
            yield from _amounts_of_nothing(parent, label)
    elif kind == PERCENTAGE:
        for label in labels:
            yield from _percentage_sum(parent, label, parent_kind, live)


def _childless(parent: CapacityQueue, live: CapacityState | None) -> Iterator[Fault]:
    """At a reload Hadoop compares amounts with the kind of created queues, which is percentages if
    there are none."""
    before = live.queues.get(parent.name) if live is not None else None
    if before is None or parent.leaf or makes_leaves(parent) or parent.mode != ABSOLUTE:
        return
    if kinds_among([*before.children.values()], [""]) != {ABSOLUTE}:
        message = (
            f"Parent={parent.name}: When absolute minResource is used, we must make sure both"
            " parent and child all use absolute minResource, which created children do not"
        )
        yield Fault(parent.name, "capacity", message)


def _percentage_sum(
    parent: CapacityQueue, label: str, kind: str, live: CapacityState | None
) -> Iterator[Fault]:
    summed = 0.0
    for child in parent.children.values():
        summed = single(summed + configured_percentage(child, label))
    allowed = parent.allow_zero_sum
    if live is not None and parent.name in live.queues:
        allowed = live.queues[parent.name].allow_zero_sum  # it is read when a queue is made
    percentage = 1.0 if parent.parent is None else configured_percentage(parent, label)
    if kind == WEIGHT:
        wrong = abs(summed) > TOLERANCE and abs(1 - summed) > TOLERANCE
    elif abs(summed) <= TOLERANCE:
        wrong = percentage > 0 and not allowed
    elif abs(1 - summed) > TOLERANCE:
        wrong = True
    else:
        wrong = percentage == 0 and not allowed
    if wrong:
        yield Fault(
            parent.name,
            "queues",
            f"Illegal capacity sum of {summed:g} for children of queue {parent.name} for"
            f" label={label}. It should be either 0 or 1.0."
            f" {percentages_text(parent, label, percentage)}",
        )


def _absolute_sum(planned: CapacityState, parent: CapacityQueue, label: str) -> Iterator[Fault]:
    configured = parent.shares[label].configured_minimum
    if configured is None or parent.parent is None:
        return
    needed = total(
        (c.shares[label].configured_minimum or planned.none for c in parent.children.values()),
        len(planned.none),
    )
    if planned.calculator.compare(planned.total, needed, configured) > 0:
        yield Fault(
            parent.name,
            "capacity",
            f"Parent Queues capacity: {configured} is less than to its children: {needed} of queue"
            f" {parent.name}",
        )


def _amounts_of_nothing(parent: CapacityQueue, label: str) -> Iterator[Fault]:
    """Hadoop does not start if a child has amounts of a partition of which its parent has nothing:
    it compares the two (ParentQueue.calculateEffectiveResourcesAndCapacity)."""
    if parent.parent is None:
        return
    for child in parent.children.values():
        share = child.shares.get(label)
        if share is not None and share.configured_minimum is not None:
            yield Fault(
                child.name,
                f"accessible-node-labels.{label}.capacity",
                f"Queue {child.name} has amounts of the label {label}, and its parent {parent.name}"
                " has no capacity of it: give it amounts, too",
            )


def faults_of_created(
    state: CapacityState, above: CapacityQueue, names: Sequence[tuple[str, bool]]
) -> Iterator[Fault]:
    """Check queues that a submission creates, each a name and whether it is a leaf, from the parent
    `above` down. Changes nothing: the queues are made aside, and so are all above them."""
    chain = [(one.name, one.leaf, one.dynamic) for one in reversed(above.path)]
    chain += [(name, leaf, True) for name, leaf in names]
    queue: CapacityQueue | None = None
    for number, (name, leaf, dynamic) in enumerate(chain):
        queue = CapacityQueue(name, leaf, dynamic, queue, state.none)
        configure(state, queue, first=True)
        if number >= len(chain) - len(names):
            yield from _queue(state, queue)
            if state.settings.legacy_queue_mode:
                first = number == len(chain) - len(names)
                yield from _beside(state, above if first else queue.path[1], queue)


def _beside(state: CapacityState, above: CapacityQueue, queue: CapacityQueue) -> Iterator[Fault]:
    """Check the kind of a created queue's capacity against those of its siblings, and against the
    weight that as in Hadoop it has besides until it is configured."""
    siblings = [child for child in above.children.values() if child.name != queue.name]
    labels = [label for label in state.labels if above.has_part(label)]
    kinds = kinds_among([*siblings, queue], labels) | {WEIGHT}
    if len(kinds) > 1 and not makes_leaves(above):
        message = (
            f"Parent queue '{above.name}' have children queue used mixed of weight mode, percentage"
            f" and absolute mode ({', '.join(sorted(kinds))}), it is not allowed"
        )
        yield Fault(queue.name, "capacity", message)


def _created(planned: CapacityState, live: CapacityState) -> Iterator[Fault]:
    """Check the queues that submissions have created, and that are kept, by their new settings."""
    for queue in live.queues.values():
        created = [(one.name, one.leaf) for one in reversed(queue.path) if one.dynamic]
        above = planned.queues.get(parent_name(created[0][0])) if created else None
        if above is not None and not above.leaf:
            yield from faults_of_created(planned, above, created)


def _template(planned: CapacityState, queue: CapacityQueue) -> Iterator[Fault]:
    """Check the older template of a queue against the queue (Hadoop:
    ManagedParentQueue.setAbsoluteResourceTemplates, GuaranteedOrZeroCapacityOverTimePolicy)."""
    if not queue.settings.legacy_dynamic_leaves:
        return
    template = planned.settings.templates.get(queue.name, Template()).legacy_leaf
    parts = {"": template.capacity}
    parts |= {label: part.capacity for label, part in template.label_capacities.items()}
    for label, capacity in parts.items():
        place = f"leaf-queue-template.{f'accessible-node-labels.{label}.' if label else ''}capacity"
        if absolute_amount(capacity) is not None and queue.mode != ABSOLUTE:
            message = (
                f"Managed Parent Queue {queue.name} config type is different from leaf queue"
                " template config type: the template has amounts, and the queue has none"
            )
            yield Fault(queue.name, place, message)
        every = ALL_LABELS in queue.accessible
        if label and not (queue.has_part(label) if every else label in queue.accessible):
            message = (
                f"Invalid node label {label} on configured leaf template on parent queue"
                f" {queue.name}, which {'has no capacity of it' if every else 'may not use it'}"
            )
            yield Fault(queue.name, place, message)


def _queue(planned: CapacityState, queue: CapacityQueue) -> Iterator[Fault]:
    queue_settings = queue.settings
    kind = "leaf" if queue.leaf else "parent"
    for key, message in queue_settings.unreadable.items():
        overridden = queue_settings.maximum_allocation is not None and key.endswith(_OVERRIDDEN)
        if key.startswith(f"{kind}:") and not overridden:
            yield Fault(queue.name, "", message)
    settings = planned.settings
    names = planned.types.names
    for name, amount, most in zip(
        names, queue.maximum_allocation, settings.maximum_allocation, strict=True
    ):
        if amount > most:
            yield Fault(
                queue.name,
                "maximum-allocation",
                f"Queue maximum allocation cannot be larger than the cluster setting for queue"
                f" {queue.name}: {name} {amount} is above {most}",
            )
    allowed = _LEAF_POLICIES if queue.leaf else PARENT_POLICIES
    if queue_settings.ordering_policy is not None and queue_settings.ordering_policy not in allowed:
        yield Fault(
            queue.name,
            "ordering-policy",
            f"Unable to construct ordering policy for queue {queue.name}: there is none called"
            f" {queue_settings.ordering_policy}",
        )
    yield from _labels(queue)
    yield from _bounds(planned, queue)
    yield from _state(queue)
    if queue.maximum_lifetime_s > 0 and queue.default_lifetime_s > queue.maximum_lifetime_s:
        yield Fault(
            queue.name,
            "default-application-lifetime",
            f"Default lifetime {queue.default_lifetime_s} of queue {queue.name} can't exceed"
            f" maximum lifetime {queue.maximum_lifetime_s}",
        )
    if queue.leaf:
        percent = min(100.0, queue.user_limit_percent)
        most_weight = single(100.0 / percent) if percent else math.inf
        for user, weight in queue.users.weights.items():
            if not 0.0 <= weight <= most_weight:
                yield Fault(
                    queue.name,
                    f"user-settings.{user}.weight",
                    f'Weight ({weight:.7g}) for user "{user}" must be between 0 and 100 /'
                    f" {queue.user_limit_percent:g} (= {most_weight:g}) in leaf queue {queue.name}",
                )


def _labels(queue: CapacityQueue) -> Iterator[Fault]:
    """Check the labels of a queue against those of its parent, and a leaf's default against its own
    (Hadoop: QueueNodeLabelsSettings.validateNodeLabels, AbstractLeafQueue.setupQueueConfigs)."""
    parent = queue.parent
    if parent is not None and ALL_LABELS not in parent.accessible:
        beyond = queue.accessible - parent.accessible
        message = ""
        if ALL_LABELS in beyond:
            message = "Parent's accessible queue is not ANY(*), but child's accessible queue is *"
        elif beyond:
            message = (
                "Some labels of child queue is not a subset of parent queue, these"
                f" labels=[{','.join(sorted(beyond))}]"
            )
        if message:
            where = f"{queue.name} below {parent.name}, which may use"
            allowed = ",".join(sorted(parent.accessible)) or "no label"
            fault = f"{message}: {where} {allowed}"
            yield Fault(queue.name, "accessible-node-labels", fault)
    named = [label.strip() for label in queue.default_label.split("&&")]
    if queue.leaf and not all(queue.may_use(label) for label in named):
        yield Fault(
            queue.name,
            "default-node-label-expression",
            f"Invalid default label expression of queue={queue.name} doesn't have permission to"
            f" access all labels in default label expression. labelExpression of resource"
            f" request={queue.default_label}. Queue labels={','.join(sorted(queue.accessible))}",
        )


def _bounds(planned: CapacityState, queue: CapacityQueue) -> Iterator[Fault]:
    """Check the absolute minimum and maximum of a queue against those of its parent
    (Hadoop: AbstractCSQueue.updateConfigurableResourceLimits)."""
    c = planned.calculator
    share = queue.share
    minimum, maximum = share.configured_minimum, share.configured_maximum
    if mode_of(queue.settings.capacity) != ABSOLUTE and not maximum:
        return
    above = queue.parent.share.configured_maximum if queue.parent is not None else None
    if above is not None and maximum is not None and c.compare(planned.total, maximum, above) > 0:
        yield Fault(
            queue.name,
            "maximum-capacity",
            f"Max resource configuration {maximum} is greater than parents maxvalue: {above} for"
            f" queue {queue.name}",
        )
    if minimum is None:
        return
    most = maximum or above
    if most is not None and c.compare(planned.total, minimum, most) > 0:
        yield Fault(
            queue.name,
            "capacity",
            f"Min resource configuration {minimum} is greater than its max value: {most} in queue"
            f" {queue.name}",
        )


def _state(queue: CapacityQueue) -> Iterator[Fault]:
    configured = queue.settings.state
    if configured is None:
        return
    if configured not in (RUNNING, STOPPED):
        yield Fault(
            queue.name,
            "state",
            f"Invalid queue state {configured} for queue {queue.name}: only RUNNING and STOPPED"
            " can be configured",
        )
    elif configured == RUNNING and any(q.settings.state == STOPPED for q in queue.path[1:]):
        yield Fault(
            queue.name,
            "state",
            f"The parent queue of {queue.name} is not RUNNING, so {queue.name} cannot be",
        )


def _changes(planned: CapacityState, live: CapacityState) -> Iterator[Fault]:
    """Check what must not change while the scheduler runs
    (Hadoop: CapacitySchedulerConfigValidator.validateQueueHierarchy)."""
    configured = planned.settings.queues
    for name in live.departed:
        if name in planned.queues and planned.queues[name].leaf:
            yield Fault(name, "", f"{name} cannot be a leaf again yet: {still_held(live, name)}")
    for name, queue in live.queues.items():
        new = planned.queues.get(name)
        stopped = name in configured and configured[name].state == STOPPED
        if new is None:
            if not queue.dynamic and queue.state != STOPPED and not stopped:
                yield Fault(
                    name,
                    "state",
                    f"{name} is deleted from the new capacity scheduler configuration, but the"
                    f" queue is not yet in stopped state. Current State : {queue.state}",
                )
        elif queue.leaf and not new.leaf:
            if queue.state != STOPPED and not stopped:
                yield Fault(
                    name,
                    "state",
                    f"Can not convert the leaf queue: {name} to parent queue since it is not yet"
                    f" in stopped state. Current State : {queue.state}",
                )
        elif queue.leaf and not fits(queue.maximum_allocation, new.maximum_allocation):
            yield Fault(
                name,
                "maximum-allocation",
                f"Trying to reinitialize {name} the maximum allocation size can not be decreased!"
                f" Current setting: {_text(queue.maximum_allocation)}, trying to set it to:"
                f" {_text(new.maximum_allocation)}",
            )
        elif new.settings.state == RUNNING and not _will_run(new, live):
            yield Fault(
                name, "state", f"The parent queue of {name} is not RUNNING, so {name} cannot be"
            )
        if new is not None and queue.settings.legacy_dynamic_leaves is not None:
            was = bool(queue.settings.legacy_dynamic_leaves)
            if was != bool(new.settings.legacy_dynamic_leaves) and not queue.leaf:
                yield Fault(
                    name,
                    "auto-create-child-queue.enabled",
                    f"Can not convert parent queue {name} to or from an auto-creating one",
                )


def still_held(live: CapacityState, name: str) -> str:
    """Why a queue that a reload has removed cannot be created again."""
    count = live.departed[name].number_of_applications
    return (
        f"applications of the queue of this name that a reload has taken away are left ({count});"
        " move or end them first"
    )


def _will_run(new: CapacityQueue, live: CapacityState) -> bool:
    """Whether all ancestors of a queue are running after the reload."""
    for above in new.path[1:]:
        state = above.settings.state
        if state is None and above.name in live.queues:
            state = live.queues[above.name].state
        if state not in (None, RUNNING):
            return False
    return True


def _text(resource: Resource) -> str:
    return "<" + ", ".join(str(amount) for amount in resource) + ">"
