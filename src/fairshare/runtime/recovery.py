"""Owns the way back from a journal to a state, and the proof that the same would be decided again.

`recover` applies what was recorded and decides nothing. `replay` decides everything again on a new
manager and compares.
"""

from collections.abc import Iterable

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import Event
from fairshare.core.model.inputs import Input
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.errors import JournalError


class Position(msgspec.Struct, frozen=True):
    """How far a journal reaches: its last record's number and instant; 0 when it is empty."""

    sequence: int = 0
    now_ms: int = 0


class Difference(msgspec.Struct, frozen=True):
    """The first record whose input gives other events today than it gave then."""

    sequence: int
    now_ms: int
    input: Input
    recorded: tuple[Event, ...]
    decided: tuple[Event, ...]

    def __str__(self) -> str:
        place, then, now = self._first()
        return (
            f"record {self.sequence} at {self.now_ms} ms ({type(self.input).__name__}), "
            f"event {place + 1}: recorded {then}, decided {now}"
        )

    def _first(self) -> tuple[int, object, object]:
        for place, (then, now) in enumerate(zip(self.recorded, self.decided, strict=False)):
            if then != now:
                return place, then, now
        place = min(len(self.recorded), len(self.decided))
        then_rest, now_rest = self.recorded[place:], self.decided[place:]
        return (
            place,
            then_rest[0] if then_rest else "nothing",
            now_rest[0] if now_rest else "nothing",
        )


def recover(records: Iterable[Record], state: State, since: Position | None = None) -> Position:
    """Bring a state to where the records end: an empty one, or one of a snapshot at `since`.

    Raises JournalError if a record does not fit the state: it belongs to another scheduler, or to
    other resource types.
    """
    position = since or Position()
    for record in records:
        for event in record.events:
            try:
                state.apply(record.now_ms, event)
            except (LookupError, ValueError) as error:
                raise JournalError(
                    f"record {record.sequence} ({type(event).__name__}) does not fit the state "
                    f"before it: {error!r}; the journal belongs to another scheduler or to other "
                    "resource types, or it was changed"
                ) from error
        state.settle()
        position = Position(record.sequence, record.now_ms)
    return position


def replay(records: Iterable[Record], manager: ResourceManager) -> Difference | None:
    """Decide again on a new manager; the first record that differs, or None."""
    for record in records:
        decided = manager.handle(record.now_ms, record.input)
        if decided != record.events:
            return Difference(record.sequence, record.now_ms, record.input, record.events, decided)
    return None
