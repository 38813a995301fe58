"""The pace of a runtime: what records do not say of the machine that it ran on.

Decisions follow from the inputs, their instants, and a little more: when a deadline was met that
had no effect but to set the next one, and after how many beats a turn ended because it was enough.
Both are noted here, and the next record takes them along, so that `fairshare plan` can simulate a
history exactly. An idle cluster still records nothing: of each kind only the last instant counts.
The next instant of a timer follows from that, and what it did before had no effect.
"""

from collections.abc import Callable
from typing import Final

from fairshare.core.record import Pace

QUIET: Final = -1
"""A turn without a record: something was due, or a turn that had been left was finished."""

UPDATED: Final = -2
"""Shares were updated before inputs."""

AGAIN: Final = -3
"""A turn began within the same millisecond as the one before."""

MONITORED: Final = -4
"""The monitor of preemption had a round. From here on each number is that of a timer, which notes
each time that it fires, and is set again to some time after that."""

OFFERED: Final = -5
"""All nodes were offered."""

TIDIED: Final = -6
"""Empty queues were looked for."""

LOOKED: Final = -7
"""Room for paused gangs was looked for."""

BEGAN: Final = -8
"""A server began with what the records before say."""

TIMERS: Final = frozenset((MONITORED, OFFERED, TIDIED, LOOKED))

Fires = Callable[[int, int], int]
"""When a timer fires that is due at an instant."""


def at_once(timer: int, due_ms: int) -> int:
    """A timer fires when it is due; a busy machine may be late."""
    return due_ms


FED: Final = 0
"""Inputs were only fed. Numbers above are the beats after which a turn was left."""


class Pacing:
    """The pace since the last record.

    `pending` says whether the next record has anything to take along. `fires` is asked when a timer
    fires that is due.
    """

    __slots__ = (
        "_again",
        "_begins",
        "_behind",
        "_fed_ms",
        "_fired",
        "_left",
        "_open",
        "_quiet",
        "_turn_ms",
        "_updated_ms",
        "fires",
        "pending",
    )

    def __init__(self, fires: Fires = at_once, *, begins: bool = False) -> None:
        self.fires = fires
        self._begins = self.pending = begins  # with records of a server before
        self._turn_ms = -1
        self._again = 0  # turns at that instant after the first one, of which nothing is recorded
        self._behind: list[tuple[int, int]] = []  # the same at the instant of the last record
        self._fired: dict[int, int] = {}
        self._quiet: dict[object, int] = {}
        self._left: list[tuple[int, int]] = []
        self._open = False  # whether the last of them has not been finished, and nothing recorded
        self._fed_ms: int | None = None
        self._updated_ms: int | None = None

    def begins(self, now_ms: int, recorded_ms: int) -> None:
        """A turn begins, which does all that is due; the last record is of an instant."""
        self.settled(now_ms)
        if now_ms == self._turn_ms:
            self._again += 1
            self.pending = True
            return
        if self._turn_ms == recorded_ms:
            self._behind += [(recorded_ms, AGAIN)] * self._again
        self._turn_ms = now_ms
        self._again = 0

    def fed(self, now_ms: int) -> None:
        """Inputs are fed at an instant, and nothing else is done."""
        self.settled(now_ms)
        self._fed_ms = now_ms

    def settled(self, now_ms: int) -> None:
        """All that is due is done, or more is fed."""
        if self._fed_ms is not None and self._fed_ms < now_ms:
            self._left.append((self._fed_ms, FED))
            self.quiet(FED, now_ms)
        self._fed_ms = None

    def quiet(self, kind: object, now_ms: int) -> None:
        """Something of a kind was done without an event."""
        self._quiet[kind] = now_ms
        self.pending = True

    def fired(self, timer: int, now_ms: int) -> None:
        """A timer fires."""
        self._fired[timer] = now_ms
        self.pending = True

    def updated(self, now_ms: int) -> None:
        """Shares are updated before inputs."""
        self._updated_ms = now_ms
        self.pending = True

    def left(self, now_ms: int, beats: int, *, recorded: bool) -> None:
        """A turn is left after some beats; whether it has recorded anything."""
        if self._open and not recorded:
            at_ms, before = self._left.pop()
            self._left.append((at_ms, before + beats))
        else:
            self._left.append((now_ms, beats))
        self._open = self.pending = True

    def finished(self, now_ms: int, *, begun_ms: int) -> None:
        """What was left is finished without a record; what began it was at `begun_ms`."""
        if not self._open:
            return
        self._open = False
        if self._left[-1][0] == begun_ms:
            self._left.append((now_ms, QUIET))
        else:
            self._left.pop()

    def taken(self, now_ms: int, recorded_ms: int) -> Pace:
        """The pace for a record at an instant, as instants before it; `recorded_ms` is that of the
        record before."""
        noted = [*self._left, *self._behind]
        for at_ms in set(self._quiet.values()):
            if at_ms > recorded_ms:
                noted.append((at_ms, QUIET))
        left = [(now_ms - at_ms, what) for at_ms, what in noted if at_ms < now_ms]
        left += [(now_ms - at_ms, timer) for timer, at_ms in self._fired.items()]
        left += [(0, AGAIN)] * self._again + [(0, BEGAN)] * self._begins
        if self._updated_ms is not None:
            left.append((now_ms - self._updated_ms, UPDATED))
        self._quiet.clear()
        self._fired.clear()
        self._left.clear()
        self._behind.clear()
        self._open = self.pending = self._begins = False
        self._updated_ms = None
        self._again = 0
        return tuple(sorted(left, reverse=True))
