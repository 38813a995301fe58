"""The latest records for event streams: as JSON, by their numbers.

The records of the last `KEPT_MS` are in memory, `KEPT` of them at most: readers that follow ask
within a second. Older ones are read from the journal's file, and those that it has dropped are
gone: readers that ask for them must start over. A record is encoded as JSON once, however many
readers it has, and only if it has any. Private data of tenants (commands, environments, output) is
left out, and is not kept in memory here: a record with such data is encoded at once.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from fairshare.core.model.events import Event
from fairshare.core.model.identifiers import application_name, container_name
from fairshare.core.model.resources import Resource
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.errors import JournalError
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.wording import without_output

KEPT = 10_000
"""The most records in memory."""

KEPT_MS = 10_000
"""How old a record in memory may be when the next one comes."""

PAGE = 500
"""Records that are read from the file at a time."""

PRIVATE = frozenset({"command", "settings", "submission", "requests", "tasks"})
"""Fields of events that are left out; of a submission only its user, name and queue are shown."""


class _PrivateFields(dict[type[Event], tuple[str, ...]]):
    """Those of each kind of event, as far as they have come."""

    def __missing__(self, kind: type[Event]) -> tuple[str, ...]:
        self[kind] = names = tuple(name for name in kind.__struct_fields__ if name in PRIVATE)
        return names


_PRIVATE_FIELDS = _PrivateFields()

Line = tuple[int, bytes]
"""A record's number, and its JSON."""

ShownRecord = tuple[int, int, str, tuple[Event, ...]]
"""The shown part of a record: its number, its time, the type of its input, its events. The input
itself may have megabytes."""

_encoder = msgspec.json.Encoder()


class Gone(Exception):
    """The requested record is no longer kept, or never was. `first` is the oldest one kept."""

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self.first = first


class EventFeed:
    """The newest records of one state, passed to `observe` in order; all in one loop.

    `start` is the number of the last record before the first one that is observed.
    """

    def __init__(self, state: State, directory: Path, start: int, kept: int = KEPT) -> None:
        self._state = state
        self._directory = directory
        self._records: deque[ShownRecord] = deque(maxlen=kept)  # of private ones without the events
        self._lines: deque[bytes | None] = deque(maxlen=kept)
        self.last = start

    def observe(self, records: Sequence[Record]) -> None:
        """Take notice of the records of a commit."""
        kept, lines = self._records, self._lines
        for record in records:
            events, line = record.events, None
            if _is_private(events):
                line, events = self._line(_shown(record)), ()
            kept.append((record.sequence, record.now_ms, type(record.input).__name__, events))
            lines.append(line)
        last = records[-1]
        self.last = last.sequence
        old_ms = last.now_ms - KEPT_MS
        while kept[0][1] < old_ms:
            kept.popleft()
            lines.popleft()

    def recent(self, after: int) -> list[Line] | None:
        """The records after number `after` that are in memory; None if the next one is not."""
        if after >= self.last:
            return []
        first = self.last - len(self._records) + 1
        if after + 1 < first:
            return None
        start = after + 1 - first
        lines: list[Line] = []
        for place in range(start, min(start + PAGE, len(self._records))):
            line = self._lines[place]
            if line is None:
                line = self._lines[place] = self._line(self._records[place])
            lines.append((first + place, line))
        return lines

    def older(self, after: int) -> list[Line]:
        """The records after number `after` from the journal's file; may be called in a thread.

        Raises Gone if the next one is no longer there, JournalError if the file is damaged.
        """
        journal = SqliteJournal(self._directory, read_only=True)
        try:
            first = journal.first_record()
            if after + 1 < first:
                raise Gone(first)
            records = islice(journal.records(after), PAGE)
            return [(record.sequence, self._line(_shown(record))) for record in records]
        finally:
            journal.close()

    def check(self, after: int) -> None:
        """Raise Gone for a future number: the reader knows another history."""
        if after > self.last:
            try:
                journal = SqliteJournal(self._directory, read_only=True)
            except JournalError:
                raise Gone(self.last + 1) from None
            try:
                raise Gone(journal.first_record())
            finally:
                journal.close()

    def _line(self, shown: ShownRecord) -> bytes:
        sequence, now_ms, kind, events = shown
        return _encoder.encode(
            {
                "sequence": sequence,
                "now_ms": now_ms,
                "input": kind,
                "events": [document(self._state, event) for event in events],
            }
        )


def _shown(record: Record) -> ShownRecord:
    return record.sequence, record.now_ms, type(record.input).__name__, record.events


def _is_private(events: Iterable[Event]) -> bool:
    """Whether some of these events have private data."""
    for event in events:
        for name in _PRIVATE_FIELDS[type(event)]:  # no any(): it comes for each container
            if getattr(event, name):
                return True
    return False


def document(state: State, event: Event) -> dict[str, Any]:
    """An event in its shown form: its type, its fields, names in place of numbers.

    `{"type": "NodeRemoved", "node": "n1"}`
    """
    shown: dict[str, Any] = {"type": type(event).__name__}
    submission = getattr(event, "submission", None)
    if submission is not None:
        shown.update(user=submission.user, name=submission.name, queue=submission.queue)
    epoch_ms = state.epoch_ms
    for name, vector in _fields(type(event)):
        value = getattr(event, name)
        match name:
            case "application" | "beneficiary":
                value = application_name(epoch_ms, value) if value else None
            case "applications":
                value = [application_name(epoch_ms, number) for number in value]
            case "container":
                value = container_name(epoch_ms, value)
            case "diagnostics" | "reason":
                value = without_output(value)
            case _ if vector and len(value) == len(state.types.names):
                value = state.types.mapping(value)
            case _:
                pass
        shown[name] = value
    return shown


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, bool], ...]:
    """The fields that are shown, and whether each is a vector."""
    return tuple(
        (field.name, field.type == Resource)
        for field in msgspec.structs.fields(kind)
        if field.name not in PRIVATE
    )
