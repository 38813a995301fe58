"""Owns the limits for masters as of their last test.

Hadoop shows the limits that its scheduler tested last. The scheduler's family says which limits a
record made it test. Derived from records alone; decides nothing.
"""

import msgspec

from fairshare.core.model.resources import Resource
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.projections.projection import Projection
from fairshare.settings.registry import family_of


class MasterLimit(msgspec.Struct, frozen=True):
    """The limits for all masters of a leaf, for those of one user, and for each present user."""

    masters: Resource
    user: Resource
    users: dict[str, Resource]


class MasterLimits(Projection):
    """The limits by leaf."""

    def __init__(self) -> None:
        self._leaves: dict[str, MasterLimit] = {}

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
