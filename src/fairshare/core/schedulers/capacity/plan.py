"""The queues that settings name, the tree that these settings alone would create, and the kinds of
siblings' capacities: percentages, weights, amounts (Hadoop:
ParentQueue.getCapacityConfigurationTypeForQueues).

The tree is a state of its own without nodes and applications, so that new settings can be checked
as a whole before anything changes.
"""

from collections.abc import Sequence

import msgspec

from fairshare.core.model.events import (
    ConfigurationLoaded,
    LabelsChanged,
    NodeAdded,
    NodesLabelled,
    QueueCreated,
    QueuesConfigured,
)
from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity.queues import ABSOLUTE, PERCENTAGE, WEIGHT, CapacityQueue
from fairshare.core.schedulers.capacity.settings import (
    CapacitySettings,
    LabelCapacity,
    Percentage,
    QueueSettings,
)
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.hash_order import in_hash_order, table_size, text_code


def is_parent(own: QueueSettings) -> bool:
    """Whether a queue is a parent: it has children, or creates them on demand."""
    return bool(own.children) or bool(own.dynamic_children) or bool(own.legacy_dynamic_leaves)


def named_queues(settings: CapacitySettings) -> dict[str, bool]:
    """The paths of all queues that lists of children lead to, parents first, and whether each is a
    leaf. A name that two siblings share occurs once."""
    parents: dict[str, bool] = {}

    def visit(name: str) -> None:
        queue_settings = settings.queues.get(name, QueueSettings())
        if name in parents:
            return
        parents[name] = name != ROOT and not is_parent(queue_settings)
        for child in queue_settings.children or ():
            visit(f"{name}.{child}")

    visit(ROOT)
    return parents


def planned_tree(settings: CapacitySettings, live: CapacityState | None = None) -> CapacityState:
    """The queues of the settings, configured, in a state of their own with the nodes of `live`."""
    state = CapacityState(settings.types)
    state.apply(0, ConfigurationLoaded(msgspec.json.encode(settings), 0))
    if live is not None:
        state.apply(0, LabelsChanged(live.added_labels))
        state.apply(0, NodesLabelled(dict(live.assigned_labels)))
    for node in live.nodes.values() if live is not None else ():
        added = NodeAdded(node.name, node.total, node.rack, node.attributes, node.host)
        state.apply(0, added)
    for name, leaf in named_queues(settings).items():
        if name != ROOT:
            state.apply(0, QueueCreated(name, leaf, False))
    state.apply(0, QueuesConfigured(()))
    return state


_ALL = 100.0


def kinds_of(parent: CapacityQueue, labels: Sequence[str], live: CapacityState | None) -> set[str]:
    """The kinds of capacity that a queue's children have on any of these partitions; more than one
    is a mixture.

    As in Hadoop an amount hides percentages that were seen before it, so that the order matters: of
    a percentage followed by an amount only the amount is seen.
    """
    children = parent.children
    orders = [list(children.values())]
    before = live.queues.get(parent.name) if live is not None else None
    if before is not None and before.ranked:  # at a reload Hadoop also iterates over a hash map
        size = table_size(len(children), concurrent=False)
        orders.append([children[name] for name in in_hash_order(children, text_code, size)])
    return max((kinds_among(order, labels) for order in orders), key=len)


def kind_of(queue: CapacityQueue, labels: Sequence[str]) -> str:
    """The kind of a queue itself: a weight on any partition takes precedence over an amount."""
    kinds = kinds_among([queue], labels)
    return next((kind for kind in (WEIGHT, ABSOLUTE) if kind in kinds), PERCENTAGE)


def kinds_among(children: Sequence[CapacityQueue], labels: Sequence[str]) -> set[str]:
    """The kinds of capacity of these queues in this order."""
    kinds: set[str] = set()
    for child in children:
        for label in labels:
            kind = _kind(child, label)
            if kind == ABSOLUTE:
                kinds.discard(PERCENTAGE)
            kinds.add(kind)
    return kinds - {""}


def _kind(child: CapacityQueue, label: str) -> str:
    share = child.shares[label]
    if share.configured_minimum is not None:
        return ABSOLUTE
    if share.weight >= 0:
        return WEIGHT
    return PERCENTAGE if configured_percentage(child, label) > 0 else ""


def configured_percentage(child: CapacityQueue, label: str) -> float:
    """A queue's own percentage on a partition as a fraction: 0.25 for 25; 0 for any other kind."""
    own = child.settings
    part = own.label_capacities.get(label, LabelCapacity())
    capacity = part.capacity if label else own.capacity
    return single(capacity.percent / 100) if isinstance(capacity, Percentage) else 0.0


def percentages_text(parent: CapacityQueue, label: str, own: float) -> str:
    """The percentages of a queue's children, and what must change; `own` is the queue's own
    fraction.

    Of children with 40 and 30 it is `They have: root.a 40, root.b 30, together 70 percent: 30 are
    missing.`
    """
    children = parent.children
    parts = {
        children[name].name: 100 * configured_percentage(children[name], label)
        for name in sorted(children)
    }
    together = sum(parts.values())
    has = ", ".join(f"{name} {percent:.4g}" for name, percent in parts.items())
    summary = f"They have: {has}, together {together:.4g} percent"
    if own == 0 and f"{together:.4g}" == "100":
        return f"{summary} of {parent.name}, which has 0: give it a capacity, or all of them 0."
    if together > _ALL:
        return f"{summary}: {together - _ALL:.4g} are too many."
    why = (
        "" if together else f", because {parent.name} itself has a capacity: 0 is not allowed here"
    )
    return f"{summary}: {_ALL - together:.4g} are missing{why}."
