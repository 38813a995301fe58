"""Owns when nodes that became too small for what runs there may keep it no longer.

Ends no container itself.
"""

from fairshare.model.inputs import OvercommitOver
from fairshare.schedulers.protocol import State


class Overcommits:
    """The nodes of a state with such a time. There are few, and they stand in the state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def next_ms(self) -> int | None:
        """When the next node's time is over; None if none has one."""
        return min(self._state.overcommits.values(), default=None)

    def take(self, now_ms: int) -> list[OvercommitOver]:
        """Those whose time is over, in the order in which they became smaller."""
        due = self._state.overcommits.items()
        return [OvercommitOver(name) for name, deadline_ms in due if deadline_ms <= now_ms]
