"""Which records of a journal were decided together, and at which pace its machine went on.

Inputs that came together are one turn. A record of one says how many turns began without one
(`Record.pace`): those are turns, too, and timers fire in them.
"""

from math import inf

from fairshare.core.model.inputs import ContainerExited, UpdateShares
from fairshare.core.record import Record
from fairshare.lab.simulate.world import Pace
from fairshare.runtime.pace import AGAIN, BEGAN, QUIET, TIMERS, UPDATED
from fairshare.wording import STOPPED


class Turns:
    """The turns of a history, as far as it was read.

    `number` is that of the present turn, and `ahead` the record of an update of shares that was
    decided before the inputs of the turn after it. `timers` are the instants at which the runtime
    did something by itself, `decided_ms` the first of them, and `pauses` begin where a server was
    stopped with its containers, and end with the next record.
    """

    def __init__(self, begin_ms: int = 0) -> None:
        self.number = 0
        self.ahead: Record | None = None
        self.timers: list[int] = []
        self.decided_ms: int | None = None
        self.pauses: list[tuple[int, int]] = []
        self._apart = True  # the next input begins a turn
        self._now_ms = begin_ms
        self._turn_ms = -1  # when the last turn of inputs came
        self._paused_ms: int | None = None
        self._paced = False
        self._wakes: set[int] = set()
        self._left: dict[int, tuple[int, int]] = {}
        self._bare: list[tuple[int, int, int, bool]] = []
        self._server_ends: list[tuple[int, int]] = []
        self._fired: dict[int, list[int]] = {timer: [] for timer in TIMERS}

    def take(self, record: Record, *, own: bool) -> bool:
        """Read the next record, of an input of the runtime's `own` or of others; whether it is
        apart from the inputs before."""
        now_ms = record.now_ms
        pace = record.pace or ()
        if (0, BEGAN) in pace and now_ms > self._now_ms:
            self._server_ends.append((record.sequence - 1, self._now_ms))
        again = pace.count((0, AGAIN))
        if own or again or now_ms != self._now_ms:
            self._apart = True
            self._begin_without_inputs()
        ahead = type(record.input) is UpdateShares and (0, UPDATED) in pace
        self._pace(record, again, with_inputs=not own or ahead)
        self.ahead = record if ahead else None
        if own:
            if self.decided_ms is None:
                self.decided_ms = now_ms
            if not self.timers or self.timers[-1] != now_ms:
                self.timers.append(now_ms)
        if self._paused_ms is not None and now_ms > self._paused_ms:
            self.pauses.append((self._paused_ms, now_ms))
            self._paused_ms = None
        if type(record.input) is ContainerExited and record.input.diagnostics == STOPPED:
            self._paused_ms = now_ms
        self._now_ms = now_ms
        apart = self._apart
        if apart and not own:
            self.number += 1
            self._turn_ms = now_ms
            self._apart = False
        return apart

    def pace(self) -> Pace | None:
        """What the records say of the machine; None if they say nothing of it."""
        if not self._paced:
            return None
        self._begin_without_inputs()
        fired = {timer: tuple(sorted(instants)) for timer, instants in self._fired.items()}
        return Pace(
            tuple(sorted(self._wakes)),
            self._left,
            tuple(self._bare),
            tuple(self._server_ends),
            fired,
            min((instants[0] for instants in fired.values() if instants), default=inf),
        )

    def _pace(self, record: Record, again: int, *, with_inputs: bool) -> None:
        """Take what a record says of the machine: how many turns began within this millisecond
        after another one and since the record before; the last of them `with_inputs`."""
        self._wakes.add(record.now_ms)
        if record.pace is None:
            return
        self._paced = True
        for before_ms, what in record.pace:
            if what == AGAIN and before_ms:
                self._add_bare(record, record.now_ms - before_ms)
        for before_ms, what in record.pace:
            at_ms = record.now_ms - before_ms
            self._wakes.add(at_ms)
            if what == UPDATED:
                if before_ms:
                    self._bare.append((at_ms, record.sequence, 0, True))
            elif what in TIMERS:
                self._fired[what].append(at_ms)
            elif what not in (QUIET, AGAIN, BEGAN):
                self._left[at_ms] = (what, self.number if self._turn_ms == at_ms else 0)
        if again:
            first = self._turn_ms != record.now_ms  # the first turn of this instant had no inputs
            for _ in range(first + again - with_inputs):
                self._add_bare(record, record.now_ms)

    def _begin_without_inputs(self) -> None:
        """Nothing came of the inputs before which shares were updated."""
        if self.ahead is not None:
            self._add_bare(self.ahead, self.ahead.now_ms, updated=True)
            self.ahead = None

    def _add_bare(self, record: Record, at_ms: int, *, updated: bool = False) -> None:
        self.number += 1
        self._turn_ms = at_ms
        self._bare.append((at_ms, record.sequence, self.number, updated))
