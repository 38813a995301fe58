"""Owns the queues as queue mappings see them (`placement/mapping`)."""

from fairshare.core.schedulers.capacity import naming
from fairshare.core.schedulers.capacity.state import CapacityState


class QueueIndex:
    """Lookups in the queues of a state."""

    def __init__(self, state: CapacityState) -> None:
        self._state = state

    def find(self, name: str) -> str | None:
        """The path of the queue with this path or unique short name."""
        queue = naming.find(self._state, name)
        return None if queue is None else queue.name

    def is_ambiguous(self, name: str) -> bool:
        """Whether several queues have this short name."""
        return naming.ambiguous(self._state, name)

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
