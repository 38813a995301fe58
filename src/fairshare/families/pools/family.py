"""Owns the family of the Fair Scheduler of MapReduce 1, with pools. Knows no other scheduler."""

from fairshare.families.family import SchedulerFamily
from fairshare.families.pools.yarn import PoolsYarn
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.pools.scheduler import PoolsScheduler


class PoolsFamily(SchedulerFamily):
    """The Fair Scheduler of MapReduce 1, with pools."""

    name = "pools"
    alias = "mapreduce"
    title = "Fair Scheduler of MapReduce"
    yarn = PoolsYarn()

    def create(self, types: ResourceTypes) -> PoolsScheduler:
        """As `SchedulerFamily.create`."""
        return PoolsScheduler(types)
