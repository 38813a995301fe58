"""The future inputs of a simulation, and its faults: nodes that are lost and come back, and tasks
that fail.

    faults = part {"," part}         mtbf=7d,repair=2h,tasks=0.01
    part   = mtbf=TIME               the mean time from a node's arrival to its loss
           | repair=TIME             the mean time until it is back; 1h if it is not given
           | tasks=P                 the probability with which each attempt of a task fails

Times are distributed exponentially. All follows from a seed, and for each node and each attempt
from its name: the faults are the same under every configuration. They are inputs at instants of the
agenda, as in a cluster.
"""

import hashlib
import math
import random
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

import msgspec

from fairshare.core.model.identifiers import application_name, application_of
from fairshare.core.model.inputs import Input, NodeJoined, NodeLost
from fairshare.core.record import Record
from fairshare.documents.durations import parse_duration_ms
from fairshare.documents.ready import ready
from fairshare.engines.protocol import TaskLaunch
from fairshare.engines.simulated import Outcome
from fairshare.lab.simulate.workload import EPOCH_MS
from fairshare.wording import counted


class Agenda:
    """Entries by instant. Times are absolute milliseconds; delays are relative to `now_ms`."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._heap: list[tuple[int, int, Input]] = []
        self._sequence = 0
        self._cancelled: set[int] = set()

    def __len__(self) -> int:
        return len(self._heap) - len(self._cancelled)

    def at(self, at_ms: int, input_: Input) -> int:
        """Add an input for an instant, `now_ms` at the earliest; returns its number."""
        self._sequence += 1
        heappush(self._heap, (max(at_ms, self.now_ms), self._sequence, input_))
        return self._sequence

    def after(self, delay_ms: int, input_: Input) -> int:
        """Add an input for an instant `delay_ms` from now; returns its number."""
        self._sequence += 1
        heappush(self._heap, (self.now_ms + max(delay_ms, 0), self._sequence, input_))
        return self._sequence

    def cancel(self, number: int) -> None:
        """Remove an entry that was not taken yet."""
        # It stays in the heap, and is skipped when its instant comes.
        self._cancelled.add(number)

    def next_ms(self) -> int | None:
        """The instant of the first entry; None if the agenda is empty."""
        heap, cancelled = self._heap, self._cancelled
        while heap:
            if not cancelled or heap[0][1] not in cancelled:
                return heap[0][0]
            cancelled.discard(heappop(heap)[1])
        return None

    def take(self, now_ms: int) -> list[Input]:
        """Advance to an instant, and remove and return all inputs due by then."""
        self.now_ms = now_ms
        heap, cancelled = self._heap, self._cancelled
        taken = []
        while heap and heap[0][0] <= now_ms:
            _, number, input_ = heappop(heap)
            if number in cancelled:
                cancelled.discard(number)
            else:
                taken.append(input_)
        return taken


REPAIR_MS: Final = 3_600_000
HOW_TO_WRITE: Final = "write mtbf=7d,repair=2h,tasks=0.01, or some of these"
_WHOLE: Final = 1 << 64


class FaultSettings(msgspec.Struct, frozen=True):
    """How often what fails; `mtbf_ms` None: no node is lost."""

    mtbf_ms: int | None = None
    repair_ms: int = REPAIR_MS
    tasks: float = 0.0


def parse_faults(text: str) -> FaultSettings:
    """Faults by their words; raises ValueError.

    >>> parse_faults("mtbf=7d,tasks=0.01")
    FaultSettings(mtbf_ms=604800000, repair_ms=3600000, tasks=0.01)
    """
    values: dict[str, int | float] = {}
    for part in text.split(","):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or key not in ("mtbf", "repair", "tasks"):
            raise ValueError(f"{part.strip()!r} is not a kind of fault: {HOW_TO_WRITE}")
        name = "tasks" if key == "tasks" else f"{key}_ms"
        if name in values:
            raise ValueError(f"{key} is given twice: {HOW_TO_WRITE}")
        if key == "tasks":
            values[name] = _probability(value)
        else:
            values[name] = parse_duration_ms(value, least_ms=1)
    if "repair_ms" in values and "mtbf_ms" not in values:
        raise ValueError("repair without mtbf has no effect, since no node is lost: give mtbf=7d")
    found = msgspec.convert(values, ready(FaultSettings))
    if found.mtbf_ms is None and not found.tasks:
        raise ValueError(f"nothing would fail: {HOW_TO_WRITE}")
    return found


def _probability(text: str) -> float:
    try:
        probability = float(text)
    except ValueError:
        probability = math.nan
    if not 0 <= probability < 1:
        raise ValueError(f"tasks={text} is not a probability: write 0 or more, and less than 1")
    return probability


class Faults:
    """The faults of one run. Must observe every record of it, once `attach` has its agenda."""

    def __init__(self, settings: FaultSettings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        self.back_ms = 0
        """The latest instant at which a node comes back, of those drawn so far."""
        self.lost = 0
        """How often a node was lost."""
        self.failed = 0
        """How many attempts of tasks were made to fail."""
        self._agenda: Agenda | None = None
        self._chances: dict[str, random.Random] = {}
        self._joined: dict[str, NodeJoined] = {}

    @property
    def ahead(self) -> int:
        """How many entries of the agenda are faults and repairs: of each node the next one."""
        return len(self._joined)

    def attach(self, agenda: Agenda) -> None:
        """Set the agenda that gets the faults."""
        self._agenda = agenda

    def observe(self, record: Record) -> None:
        """Draw when a node that has joined is lost, and when one that was lost is back."""
        if self.settings.mtbf_ms is None or self._agenda is None:
            return
        recorded, now_ms = record.input, record.now_ms
        if type(recorded) is NodeJoined:
            self._joined[recorded.node] = recorded
            lost_ms = now_ms + self._time_ms(recorded.node, self.settings.mtbf_ms)
            self._agenda.at(lost_ms, NodeLost(recorded.node, report="a fault of the simulation"))
        elif type(recorded) is NodeLost and recorded.node in self._joined:
            self.lost += 1
            back_ms = now_ms + self._time_ms(recorded.node, self.settings.repair_ms)
            self._agenda.at(back_ms, self._joined[recorded.node])
            self.back_ms = max(self.back_ms, back_ms)

    def of_tasks(
        self, outcomes: Callable[[TaskLaunch], Outcome]
    ) -> Callable[[TaskLaunch], Outcome]:
        """The same outcomes, of which some are failures instead, after a part of their time."""
        probability = self.settings.tasks
        if not probability:
            return outcomes

        def changed(launch: TaskLaunch) -> Outcome:
            outcome = outcomes(launch)
            if launch.group < 0:
                return outcome
            key = "/".join(
                (
                    str(self.seed),
                    application_name(EPOCH_MS, application_of(launch.container)),
                    launch.group_name,
                    str(launch.task),
                    str(launch.attempt),
                )
            )
            drawn = hashlib.blake2b(key.encode(), digest_size=16).digest()
            if int.from_bytes(drawn[:8]) >= probability * _WHOLE:
                return outcome
            self.failed += 1
            return Outcome(outcome.duration_ms * int.from_bytes(drawn[8:]) // _WHOLE, 1)

        return changed

    def note(self) -> str:
        """What happened, for the report."""
        parts = []
        if self.settings.mtbf_ms is not None:
            parts.append(f"nodes were lost {counted(self.lost, 'time')}")
        if self.settings.tasks:
            verb = "was" if self.failed == 1 else "were"
            parts.append(f"{counted(self.failed, 'attempt')} of tasks {verb} made to fail")
        return f"Faults of seed {self.seed}: {' and '.join(parts)}."

    def _time_ms(self, node: str, mean_ms: int) -> int:
        """A time from the node's own sequence; at least 1 ms."""
        chance = self._chances.get(node)
        if chance is None:
            # A text as seed: the same on every machine, whatever the hashes of Python.
            chance = self._chances[node] = random.Random(f"{self.seed}/{node}")  # noqa: S311
        return max(1, round(chance.expovariate(1 / mean_ms)))
