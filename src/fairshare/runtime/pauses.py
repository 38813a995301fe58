"""Owns when what failed at once is due again: tasks of applications, and nodes.

Decides nothing about them; the manager does. The state says when each pause is over.
"""

from collections.abc import Iterator, Sequence

from fairshare.model.events import ApplicationEnded, Event, TaskPaused
from fairshare.model.identifiers import ApplicationId
from fairshare.model.inputs import NodeDue, TasksDue
from fairshare.runtime.instants import Instants
from fairshare.schedulers.protocol import State


class Pauses:
    """Created from a state, and kept in step with it by `note`, which must see all events."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._instants = Instants(dict(self._known()))
        self.at_ms = self._instants.at_ms
        """The instants of tasks, by application; others read them only."""

    def _known(self) -> Iterator[tuple[ApplicationId, int]]:
        for number, application in self._state.applications.items():
            next_ms = None if application.over else application.tasks.next_resume_ms
            if next_ms is not None:
                yield number, next_ms

    def note(self, events: Sequence[Event]) -> None:
        """Take note of tasks that pause, and of applications that end."""
        for event in events:
            if type(event) is TaskPaused:
                known_ms = self.at_ms.get(event.application, event.until_ms)
                self._instants.set(event.application, min(event.until_ms, known_ms))
            elif type(event) is ApplicationEnded:
                self._instants.drop(event.application)

    def next_ms(self) -> int | None:
        """When the next pause is over; None if there is none."""
        times = [one.until_ms for one in self._state.failing.values() if one.until_ms is not None]
        tasks_ms = self._instants.next_ms()
        return min(times if tasks_ms is None else (*times, tasks_ms), default=None)

    def take(self, now_ms: int) -> Iterator[TasksDue | NodeDue]:
        """What is tried again now."""
        for name, known in tuple(self._state.failing.items()):
            if known.until_ms is not None and known.until_ms <= now_ms:
                yield NodeDue(name)
        for number in self._instants.take(now_ms):
            yield TasksDue(number)
            application = self._state.applications.get(number)
            next_ms = None if application is None else application.tasks.next_resume_ms
            if next_ms is not None and next_ms > now_ms:
                self._instants.set(number, next_ms)
