"""Owns the FIFO scheduler's state: one queue, and attempts in the order of arrival."""

from fairshare.core.model.applications import Application
from fairshare.core.model.attempts import Attempt
from fairshare.core.model.events import (
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    ContainerAllocated,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.base import DEFAULT, BaseState
from fairshare.core.schedulers.fifo.settings import FifoSettings
from fairshare.core.schedulers.ordering import Entry, Order


class FifoAttempt(Attempt):
    """An attempt in the order of arrival."""

    __slots__ = ("entry", "rank")

    def __init__(self, application: Application, number: int, types: int) -> None:
        super().__init__(application, number, types)
        self.rank = 0
        self.entry: Entry | None = None


def _arrival(attempt: FifoAttempt) -> Entry:
    return attempt.rank


class FifoState(BaseState[FifoAttempt]):
    """The cluster as the FIFO scheduler sees it: `line` has the applications with asks."""

    settings_type = FifoSettings
    attempt_type = FifoAttempt
    settings: FifoSettings

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.line: Order[FifoAttempt] = Order(_arrival, True)

    def derive(self) -> None:
        """Restore derived values, which are not part of a snapshot."""
        super().derive()
        self.line.key = _arrival

    def reconsider(self, attempt: FifoAttempt) -> None:
        """Keep the attempt in the order exactly while it has asks."""
        if attempt.asks.wanting:
            self.line.moved(attempt)
        else:
            self.line.leave(attempt)

    def _attempt_started(self, now_ms: int, event: AttemptStarted) -> None:
        super()._attempt_started(now_ms, event)
        if len(self.line.members) > 2 * len(self.queues[DEFAULT].attempts) + 64:
            self.line.renumber([a for a in self.line.members if a is not None])
        self.line.append(self.attempts[event.application])

    def _attempt_ended(self, now_ms: int, event: AttemptEnded) -> None:
        self.line.forget(self.attempts[event.application])
        super()._attempt_ended(now_ms, event)

    def _asks_changed(self, now_ms: int, event: AsksChanged) -> None:
        super()._asks_changed(now_ms, event)
        self.reconsider(self.attempts[event.application])

    def _container_allocated(self, now_ms: int, event: ContainerAllocated) -> None:
        super()._container_allocated(now_ms, event)
        self.reconsider(self.attempts[event.application])
