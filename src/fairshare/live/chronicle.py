"""Owns the projections of records: the data for YARN's clients that the core's state lacks.

One object, so that a server updates, restores and saves them together.
"""

from fairshare.journal.record import Record
from fairshare.live.activities import Activities
from fairshare.live.biographies import Biographies
from fairshare.live.changes import Changes
from fairshare.live.master_limits import MasterLimits
from fairshare.live.node_book import NodeBook
from fairshare.live.scheduler_health import SchedulerHealth
from fairshare.live.spans import Lives
from fairshare.schedulers.protocol import State


class Chronicle:
    """The projections, and the state that they belong to."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.biographies = Biographies(state.types)
        self.node_book = NodeBook()
        self.health = SchedulerHealth(state.types)
        self.activities = Activities()
        self.master_limits = MasterLimits()
        self.lives = Lives()
        self.changes = Changes()

    def observe(self, record: Record) -> None:
        """Process one record after the core applied it; records come in the order of the
        journal."""
        self.biographies.observe(record)
        self.node_book.observe(record)
        self.health.observe(record, self.state.applications)
        self.activities.observe(record, self.state.applications)
        self.master_limits.observe(record, self.state)
        self.lives.observe(record)
        self.changes.observe(record)
