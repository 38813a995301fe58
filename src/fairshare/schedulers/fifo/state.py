"""Owns the FIFO scheduler's state: one queue, and applications in the order of arrival."""

from fairshare.model.applications import Application
from fairshare.model.events import (
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    ContainerAllocated,
)
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.base import DEFAULT, BaseState
from fairshare.schedulers.fifo.settings import FifoSettings
from fairshare.schedulers.ordering import Entry, Order


class FifoApplication(Application):
    """An application in the order of arrival."""

    __slots__ = ("entry", "rank")

    rank: int
    entry: Entry | None

    def begin_attempt(self, types: int) -> None:
        """Reset what belonged to the previous attempt."""
        super().begin_attempt(types)
        self.rank = 0
        self.entry = None


def _arrival(application: FifoApplication) -> Entry:
    return application.rank


class FifoState(BaseState[FifoApplication]):
    """The cluster as the FIFO scheduler sees it: `line` has the applications with asks."""

    settings_type = FifoSettings
    application_type = FifoApplication
    settings: FifoSettings

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.line: Order[FifoApplication] = Order(_arrival, True)

    def derive(self) -> None:
        """Restore derived values, which are not part of a snapshot."""
        super().derive()
        self.line.key = _arrival

    def reconsider(self, application: FifoApplication) -> None:
        """Keep the application in the order exactly while it has asks."""
        if application.active and application.asks.wanting:
            self.line.moved(application)
        else:
            self.line.leave(application)

    def _attempt_started(self, now_ms: int, event: AttemptStarted) -> None:
        super()._attempt_started(now_ms, event)
        if len(self.line.members) > 2 * len(self.queues[DEFAULT].applications) + 64:
            self.line.renumber([a for a in self.line.members if a is not None])
        self.line.append(self.applications[event.application])

    def _attempt_ended(self, now_ms: int, event: AttemptEnded) -> None:
        self.line.forget(self.applications[event.application])
        super()._attempt_ended(now_ms, event)

    def _asks_changed(self, now_ms: int, event: AsksChanged) -> None:
        super()._asks_changed(now_ms, event)
        self.reconsider(self.applications[event.application])

    def _container_allocated(self, now_ms: int, event: ContainerAllocated) -> None:
        super()._container_allocated(now_ms, event)
        self.reconsider(self.applications[event.application])
