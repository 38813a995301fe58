"""Owns the FIFO scheduler: first come, first served. The baseline for comparisons.

Hadoop's FifoScheduler: one queue, regardless of the requested name; applications in the order of
their submission; a node is filled with the first one's containers before the second one is
considered.
"""

from fairshare.core.model.resources import Resource, fits
from fairshare.core.schedulers.base import BaseScheduler
from fairshare.core.schedulers.fifo.reasons import FifoLimits
from fairshare.core.schedulers.fifo.state import FifoAttempt, FifoState
from fairshare.core.schedulers.ordering import Entry
from fairshare.core.schedulers.protocol import Step


class FifoScheduler(BaseScheduler):
    """First in, first out."""

    name = "fifo"
    title = "FIFO scheduler"
    state_type = FifoState
    limits_type = FifoLimits

    _state: FifoState

    @property
    def state(self) -> FifoState:
        """The cluster; only events change it."""
        return self._state

    def normalise(self, step: Step, queue: str, resource: Resource) -> Resource:
        """At least the minimum of memory, in multiples of it, and one vcore regardless of the ask.

        Hadoop's FifoScheduler only considers memory: its calculator gives each container one vcore.
        It would drop further types; here they are kept, since a task must not run without its GPU.
        With steps of 1024 MB (1500, 4, 2) becomes (2048, 1, 2).
        """
        rounded = super().normalise(step, queue, resource)
        return (rounded[0], 1, *rounded[2:])

    def beat(self, step: Step, node: str) -> None:
        """Fill the node, first come first served."""
        state = self._state
        found = state.nodes.get(node)
        if found is None:
            return
        aside: list[tuple[FifoAttempt, Entry]] = []
        while fits(state.settings.minimum_allocation, found.available):
            attempt = state.line.first()
            if attempt is None:
                break
            if not self.serve(step, attempt, found) and attempt.entry is not None:
                aside.append((attempt, state.line.put_aside(attempt)))
        for attempt, entry in aside:
            state.line.enter_again(attempt, entry)
