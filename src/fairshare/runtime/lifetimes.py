"""Owns the deadlines of applications with a limited lifetime. Ends none of them itself."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from fairshare.model.events import ApplicationEnded, ApplicationsForgotten, Event, LifetimeSet
from fairshare.model.identifiers import ApplicationId
from fairshare.schedulers.protocol import State

_SLACK = 64
"""Outdated entries of the heap that are not worth making it again."""


class Lifetimes:
    """Created from a state, and kept in step with it by `note`, which must see all events.

    `_expires_ms` has the unfinished applications. The heap may also have outdated entries: of
    changed deadlines, of applications that are finished or forgotten.
    """

    def __init__(self, state: State) -> None:
        self._expires_ms: dict[ApplicationId, int] = {
            application.id: application.expires_ms
            for application in state.applications.values()
            if application.expires_ms is not None and not application.over
        }
        self._ends: list[tuple[int, ApplicationId]] = []
        self._rebuild()

    def note(self, events: Sequence[Event]) -> None:
        """Take note of lifetimes that were set, and of applications that need none any more."""
        for event in events:
            if type(event) is LifetimeSet:
                self._expires_ms[event.application] = event.expires_ms
                heappush(self._ends, (event.expires_ms, event.application))
            elif type(event) is ApplicationEnded:
                self._expires_ms.pop(event.application, None)
            elif type(event) is ApplicationsForgotten:
                for number in event.applications:
                    self._expires_ms.pop(number, None)
        if len(self._ends) > 2 * len(self._expires_ms) + _SLACK:
            self._rebuild()

    def next_ms(self) -> int | None:
        """When the next application must end; None if none has to."""
        ends = self._ends
        while ends and self._expires_ms.get(ends[0][1]) != ends[0][0]:
            heappop(ends)
        return ends[0][0] if ends else None

    def take(self, now_ms: int) -> list[ApplicationId]:
        """Those that must end now, in the order in which their time was over."""
        due: list[ApplicationId] = []
        while (next_ms := self.next_ms()) is not None and next_ms <= now_ms:
            due.append(heappop(self._ends)[1])
        return due

    def _rebuild(self) -> None:
        self._ends = [(expires_ms, number) for number, expires_ms in self._expires_ms.items()]
        heapify(self._ends)
