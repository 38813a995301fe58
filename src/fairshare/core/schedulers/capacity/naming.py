"""The lookup of a queue by its path, or by its short name if that is unique (Hadoop: CSQueueStore),
and the queues as queue mappings see them (`core/placement/mapping.py`)."""

from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.capacity import management
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.state import CapacityState


def carriers(state: CapacityState, short: str) -> list[CapacityQueue]:
    """All queues, leaves or parents, with a short name, except root."""
    return [q for q in state.queues.values() if q.name != ROOT and q.short_name == short]


def find(state: CapacityState, name: str) -> CapacityQueue | None:
    """A queue by its path or its short name; None if it does not exist or the name is ambiguous."""
    queue = state.queues.get(name)
    if queue is not None or "." in name:
        return queue
    found = carriers(state, name)
    return found[0] if len(found) == 1 else None


def in_full(state: CapacityState, name: str) -> str:
    """The path of a queue that is still to be created: of `b.new` it is `root.b.new` if only one
    queue is called b, and submissions may create queues below it; else the name itself
    (Hadoop: CapacitySchedulerQueueManager.determineMissingParents).

    As in Hadoop blanks around the last part and around what precedes it do not count. Where Hadoop
    would create a second queue of the same path, the path is that of the existing one.
    """
    above, _, short = name.rpartition(".")
    parts = [*above.strip().split("."), short.strip()]
    for end in range(len(parts) - 1, 0, -1):
        queue = find(state, ".".join(parts[:end]))
        if queue is not None:
            creates = queue.dynamic_eligible or management.makes_leaves(queue)
            return ".".join((queue.name, *parts[end:])) if creates else name
    return name


def ambiguous(state: CapacityState, name: str) -> bool:
    """Whether several queues have this short name."""
    return name not in state.queues and "." not in name and len(carriers(state, name)) > 1


class QueueIndex:
    """Lookups in the queues of a state."""

    def __init__(self, state: CapacityState) -> None:
        self._state = state

    def find(self, name: str) -> str | None:
        """The path of the queue with this path or unique short name."""
        queue = find(self._state, name)
        return None if queue is None else queue.name

    def is_ambiguous(self, name: str) -> bool:
        """Whether several queues have this short name."""
        return ambiguous(self._state, name)

    def is_leaf(self, path: str) -> bool:
        """Whether the queue of this path is a leaf."""
        return self._state.queues[path].leaf

    def makes_leaves(self, path: str) -> bool:
        """Whether leaves may be created directly below a queue."""
        queue = self._state.queues[path]
        return queue.dynamic_eligible or bool(queue.settings.legacy_dynamic_leaves)

    def makes_parents(self, path: str) -> bool:
        """Whether a parent with a leaf may be created below a queue."""
        return self._state.queues[path].dynamic_eligible
