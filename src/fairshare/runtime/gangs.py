"""Owns when gangs are due: those that hold containers for too long, and those that paused.

Decides nothing about them; the manager does.
"""

from collections.abc import Iterator, Sequence

from fairshare.model.events import (
    ContainerCompleted,
    Event,
    NodeAdded,
    NodeTotalChanged,
    NodeUndrained,
    RoomFreed,
)
from fairshare.model.gangs import GangId
from fairshare.model.inputs import GangDue
from fairshare.schedulers.protocol import State

LOOK_MS = 1_000
"""The shortest time between two looks at whether there is room for a paused gang."""

_FREEING = frozenset((ContainerCompleted, NodeAdded, NodeTotalChanged, NodeUndrained, RoomFreed))


class Gangs:
    """The incomplete gangs of a state. There are few, and the state lists them.

    `freed`: room has become free since the last look; until then `note` has nothing to see.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self.freed = True
        self._looked_ms = -LOOK_MS

    def note(self, events: Sequence[Event]) -> None:
        """See whether room has become free."""
        if not self.freed and any(type(event) in _FREEING for event in events):
            self.freed = True

    def next_ms(self) -> int | None:
        """When `take` is to be called next; None while no gang waits."""
        gangs = self._state.gangs.values()
        next_ms = min((one.due_ms for one in gangs if one.due_ms is not None), default=None)
        if next_ms is not None and self.freed and any(one.paused for one in gangs):
            return min(next_ms, self._looked_ms + LOOK_MS)
        return next_ms

    def take(self, now_ms: int) -> list[GangDue]:
        """At most one gang that gives up, and one whose pause is over.

        Of several gangs that held their containers for too long, the youngest gives up first: what
        it gives back may complete the others, for which the next call follows. For the same reason
        paused gangs try again one after the other, the oldest first.
        """
        gangs = self._state.gangs
        due = [key for key, one in gangs.items() if one.due_ms is not None and one.due_ms <= now_ms]
        holding = sorted(key for key in due if not gangs[key].paused)
        paused = sorted(key for key in due if gangs[key].paused)
        return [GangDue(*key) for key in (*holding[-1:], *paused[:1])]

    def look(self, now_ms: int) -> Iterator[GangDue]:
        """The paused gangs for which there may be room now, the oldest first. The caller stops
        after one that asks again: there may not be room for two."""
        if not self._state.gangs or not self.freed or now_ms - self._looked_ms < LOOK_MS:
            return
        self._looked_ms = now_ms
        yield from [GangDue(*key) for key in sorted(self._state.gangs) if self._is_paused(key)]
        self.freed = False

    def _is_paused(self, key: GangId) -> bool:
        return self._state.gangs[key].paused
