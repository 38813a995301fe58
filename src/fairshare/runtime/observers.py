"""The observers of committed records: each of them names the kinds of events and inputs that it
reads, and one table calls it for these alone."""

from collections.abc import Callable, Sequence
from typing import Any

from fairshare.core.model.events import Event
from fairshare.core.model.inputs import Input
from fairshare.core.record import Record

EventHandler = Callable[[Record, Any], None]
"""Called with a record and one of its events, of a kind that the handler named."""

RecordHandler = Callable[[Record], None]
CommitHandler = Callable[[Sequence[Record]], None]


class Observers:
    """The table of one runtime.

    Handlers of one kind are called in the order in which they were added, and none may raise.
    """

    def __init__(self) -> None:
        self._before: dict[type[Input], list[RecordHandler]] = {}
        self._after: dict[type[Input], list[RecordHandler]] = {}
        self._events: dict[type[Event], list[EventHandler]] = {}
        self._commits: list[CommitHandler] = []

    def before(self, handler: RecordHandler, *kinds: type[Input]) -> None:
        """Call for each record with an input of these kinds, before its events."""
        for kind in kinds:
            self._before.setdefault(kind, []).append(handler)

    def after(self, handler: RecordHandler, *kinds: type[Input]) -> None:
        """Call for each record with an input of these kinds, when its events were called for."""
        for kind in kinds:
            self._after.setdefault(kind, []).append(handler)

    def events(self, handler: EventHandler, *kinds: type[Event]) -> None:
        """Call for each event of these kinds."""
        for kind in kinds:
            self._events.setdefault(kind, []).append(handler)

    def commits(self, handler: CommitHandler) -> None:
        """Call with all records of each commit: what needs only the last value, or a count."""
        self._commits.append(handler)

    def observe(self, records: Sequence[Record]) -> None:
        """Call the handlers of all that the records of a commit contain."""
        before, after, events = self._before.get, self._after.get, self._events.get
        for record in records:
            kind = type(record.input)
            for handler in before(kind, ()):
                handler(record)
            for event in record.events:
                for on_event in events(type(event), ()):
                    on_event(record, event)
            for handler in after(kind, ()):
                handler(record)
        for commit in self._commits:
            commit(records)
