"""Owns the FIFO scheduler's state: one queue, and applications in the order of arrival."""

import msgspec

from fairshare.model.applications import Application
from fairshare.model.events import (
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    ConfigurationLoaded,
    ContainerAllocated,
)
from fairshare.model.identifiers import ApplicationId
from fairshare.model.inputs import SubmitApplication
from fairshare.model.queues import ROOT, Queue, parents_of
from fairshare.model.resources import ResourceTypes
from fairshare.model.state import ClusterState
from fairshare.schedulers.fifo.settings import FifoSettings
from fairshare.schedulers.ordering import Entry, Order

DEFAULT = "root.default"


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


class FifoState(ClusterState[Queue[FifoApplication], FifoApplication]):
    """The cluster as the FIFO scheduler sees it: `line` has the applications with asks."""

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.settings = FifoSettings(types=types)
        self.line: Order[FifoApplication] = Order(_arrival, True)
        self.started_ms: int | None = None

    def derive(self) -> None:
        """Restore derived values, which are not part of a snapshot."""
        super().derive()
        self.line.key = _arrival

    def new_queue(self, name: str, leaf: bool, dynamic: bool) -> Queue[FifoApplication]:
        """An empty queue."""
        return Queue(name, leaf, dynamic, len(self.none))

    def new_application(
        self,
        number: ApplicationId,
        submission: SubmitApplication,
        queue: str,
        priority: int,
        now_ms: int,
    ) -> FifoApplication:
        """An application without an attempt."""
        return FifoApplication(number, submission, queue, priority, now_ms, len(self.none))

    def ancestry(self, queue: str) -> tuple[Queue[FifoApplication], ...]:
        """A queue and its ancestors."""
        return tuple(self.queues[name] for name in (queue, *parents_of(queue)))

    def _configuration_loaded(self, now_ms: int, event: ConfigurationLoaded) -> None:
        self.settings = msgspec.json.decode(event.settings, type=FifoSettings)
        if self.started_ms is None:
            self.started_ms = now_ms
        super()._configuration_loaded(now_ms, event)
        if DEFAULT not in self.queues:
            self.queues[DEFAULT] = self.new_queue(DEFAULT, True, False)
        assert ROOT in self.queues

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
