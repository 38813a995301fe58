"""Owns the deadlines of nodes that became too small for their running containers.

Ends no container itself.
"""

from fairshare.model.inputs import OvercommitOver
from fairshare.schedulers.protocol import State


class Overcommits:
    """The nodes of a state with such a deadline. There are few, and the state lists them."""

    def __init__(self, state: State) -> None:
        self._state = state

    def next_ms(self) -> int | None:
        """The next deadline of a node; None if there is none."""
        return min(self._state.overcommits.values(), default=None)

    def take(self, now_ms: int) -> list[OvercommitOver]:
        """The nodes past their deadline, in the order in which they became smaller."""
        due = self._state.overcommits.items()
        return [OvercommitOver(name) for name, deadline_ms in due if deadline_ms <= now_ms]
