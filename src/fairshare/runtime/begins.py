"""Owns the instants at which deferred applications begin. Starts none of them itself."""

from collections.abc import Sequence

from fairshare.model.events import ApplicationDeferred, ApplicationEnded, Event
from fairshare.model.identifiers import ApplicationId
from fairshare.runtime.instants import Instants
from fairshare.schedulers.protocol import State


class Begins:
    """Created from a state, and kept in step with it by `note`, which must see all events."""

    def __init__(self, state: State) -> None:
        self._instants = Instants(
            {number: start.begin_ms for number, start in state.deferred.items() if start.begin_ms}
        )
        self.at_ms = self._instants.at_ms
        """The instants, by application; others read them only."""

    def note(self, events: Sequence[Event]) -> None:
        """Take note of applications that begin later, and of those that do not any more."""
        for event in events:
            if type(event) is ApplicationDeferred:
                if event.start.begin_ms:
                    self._instants.set(event.application, event.start.begin_ms)
                else:
                    self._instants.drop(event.application)
            elif type(event) is ApplicationEnded:
                self._instants.drop(event.application)

    def next_ms(self) -> int | None:
        """When the next application begins; None if none does."""
        return self._instants.next_ms()

    def take(self, now_ms: int) -> list[ApplicationId]:
        """Those that begin now."""
        return self._instants.take(now_ms)
