"""Owns when applications must end whose lifetime is limited. Ends none of them itself."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from fairshare.model.events import Event, LifetimeSet
from fairshare.model.identifiers import ApplicationId
from fairshare.schedulers.protocol import State


class Lifetimes:
    """Made for a state as it is, and kept in step with it by `note`, which must see all events."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._ends = [
            (application.expires_ms, application.id)
            for application in state.applications.values()
            if application.expires_ms is not None and not application.over
        ]
        heapify(self._ends)

    def note(self, events: Sequence[Event]) -> None:
        """Take note of lifetimes that were set."""
        for event in events:
            if type(event) is LifetimeSet:
                heappush(self._ends, (event.expires_ms, event.application))

    def next_ms(self) -> int | None:
        """When the next application must end; None if none has to."""
        ends = self._ends
        while ends and not self._holds(*ends[0]):
            heappop(ends)
        return ends[0][0] if ends else None

    def take(self, now_ms: int) -> list[ApplicationId]:
        """Those that must end now, in the order in which their time was over."""
        due: list[ApplicationId] = []
        while (next_ms := self.next_ms()) is not None and next_ms <= now_ms:
            due.append(heappop(self._ends)[1])
        return due

    def _holds(self, expires_ms: int, number: ApplicationId) -> bool:
        """Whether an entry is still true: the application lives, and its end was not changed."""
        application = self._state.applications[number]
        return not application.over and application.expires_ms == expires_ms
