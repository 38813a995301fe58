"""Owns the queues that settings name, and the tree that these settings alone would create.

The tree is a state of its own without nodes and applications, so that new settings can be checked
as a whole before anything changes. Pure.
"""

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
from fairshare.core.schedulers.capacity.settings import CapacitySettings, QueueSettings
from fairshare.core.schedulers.capacity.state import CapacityState


def is_parent(own: QueueSettings) -> bool:
    """Whether a queue is a parent: it has children, or creates them on demand."""
    return bool(own.children) or bool(own.dynamic_children) or bool(own.legacy_dynamic_leaves)


def named_queues(settings: CapacitySettings) -> dict[str, bool]:
    """The paths of all queues that lists of children lead to, parents first, and whether each is a
    leaf. A name that two siblings share occurs once."""
    found: dict[str, bool] = {}

    def visit(name: str) -> None:
        own = settings.queues.get(name, QueueSettings())
        if name in found:
            return
        found[name] = name != ROOT and not is_parent(own)
        for child in own.children or ():
            visit(f"{name}.{child}")

    visit(ROOT)
    return found


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
