"""Owns the data of the Fair Scheduler's state; only events change it (`state.py`)."""

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.nodes import Node
from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import Resource, ResourceTypes, fits
from fairshare.core.model.state import ClusterState
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fair.tables import Tables
from fairshare.core.schedulers.fair.users import Users


class FairCluster(ClusterState[FairQueue, FairAttempt]):
    """The cluster as the Fair Scheduler sees it.

    `changed` holds the applications whose demand may have changed since the last update;
    `steady_stale`: the next update computes the steady shares.
    """

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.settings = FairSettings(types=types)
        self.changed: dict[ApplicationId, None] = {}
        self.stale_demand: dict[str, None] = {}  # queues whose demand must be summed again
        self.shares_stale = True
        self.steady_stale = True
        self.starts = 0
        self.users = Users()
        self.reservable: Resource = types.none
        self.starved: list[ApplicationId] = []  # found by the last check, in order
        self.kills: dict[ContainerId, int] = {}  # marked containers, and when they are due
        self.conversions: dict[str, bool] = {}  # pending ones; whether it shall be a leaf
        self.started_ms: int | None = None
        self.tables = Tables()

    @property
    def root(self) -> FairQueue:
        """The root queue."""
        return self.queues[ROOT]

    def new_attempt(self, application: Application, number: int) -> FairAttempt:
        """An attempt in the leaf of its application."""
        return FairAttempt(application, number, self.queues[application.queue])

    def keeps_reservation(self, node: Node) -> bool:
        """Whether a reservation, with neither a limit nor a place in play, waits for room
        (`Heartbeat._serve_reservation`)."""
        reservation = node.reservation
        if reservation is None or node.promised or node.name in self.drains:
            return False
        if fits(reservation.resource, node.available):
            return False
        attempt = self.attempts.get(reservation.application)
        if attempt is None or attempt.charged or attempt.leaf.bounded:
            return False
        key = attempt.asks.keys.get((reservation.priority, reservation.request))
        if key is None or key.places:
            return False
        ask = key.anywhere
        return ask is not None and ask.relax and fits(ask.resource, node.total)

    def ancestry(self, queue: str) -> tuple[FairQueue, ...]:
        """A queue and its ancestors."""
        return self.queues[queue].path
