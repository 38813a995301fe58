"""Owns the limits for masters as of their last test.

Hadoop shows the limits that its scheduler tested last. The scheduler's family says which limits a
record made it test. Derived from records alone; decides nothing.
"""

from fairshare.families.registry import family_of
from fairshare.families.yarn.context import MasterLimit
from fairshare.journal.record import Record
from fairshare.model.resources import Resource
from fairshare.projections.projection import Projection
from fairshare.schedulers.protocol import Scheduler


class MasterLimits(Projection):
    """The limits by leaf. `tested` is empty except while a snapshot of an earlier release is read:
    there it has the limits of the Fair Scheduler's leaves."""

    def __init__(self) -> None:
        self.tested: dict[str, Resource] = {}
        self._leaves: dict[str, MasterLimit] = {}

    def derive(self) -> None:
        """Take the limits over from a snapshot of an earlier release."""
        for leaf, limit in self.tested.items():
            self._leaves[leaf] = MasterLimit(limit, limit, {})
        self.tested.clear()

    def of_leaf(self, leaf: str) -> MasterLimit | None:
        """Those of a leaf, if they were tested."""
        return self._leaves.get(leaf)

    def observe(self, record: Record, scheduler: Scheduler) -> None:
        """Apply one record; records come in the order of the journal."""
        yarn = family_of(scheduler.name).yarn
        for leaf, limit in yarn.tested_master_limits(record, scheduler.state).items():
            if limit is None:
                self._leaves.pop(leaf, None)
            else:
                self._leaves[leaf] = limit
