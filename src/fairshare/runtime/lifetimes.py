"""Owns the deadlines of applications with a limited lifetime. Ends none of them itself."""

from collections.abc import Sequence

from fairshare.model.events import ApplicationEnded, ApplicationsForgotten, Event, LifetimeSet
from fairshare.model.identifiers import ApplicationId
from fairshare.runtime.instants import Instants
from fairshare.schedulers.protocol import State


class Lifetimes:
    """Created from a state, and kept in step with it by `note`, which must see all events."""

    def __init__(self, state: State) -> None:
        self._instants = Instants(
            {
                application.id: application.expires_ms
                for application in state.applications.values()
                if application.expires_ms is not None and not application.over
            }
        )
        self.at_ms = self._instants.at_ms
        """The instants, by application; others read them only."""

    def note(self, events: Sequence[Event]) -> None:
        """Take note of lifetimes that were set, and of applications that need none any more."""
        for event in events:
            if type(event) is LifetimeSet:
                self._instants.set(event.application, event.expires_ms)
            elif type(event) is ApplicationEnded:
                self._instants.drop(event.application)
            elif type(event) is ApplicationsForgotten:
                for number in event.applications:
                    self._instants.drop(number)

    def next_ms(self) -> int | None:
        """When the next application must end; None if none has to."""
        return self._instants.next_ms()

    def take(self, now_ms: int) -> list[ApplicationId]:
        """Those that must end now, in the order in which their time was over."""
        return self._instants.take(now_ms)
