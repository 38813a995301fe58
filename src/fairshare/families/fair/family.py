"""Owns the family of the Fair Scheduler of Hadoop YARN. Knows no other scheduler."""

from fairshare.families.fair.yarn import FairYarn
from fairshare.families.family import SchedulerFamily
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.fair.scheduler import FairScheduler


class FairFamily(SchedulerFamily):
    """The Fair Scheduler of Hadoop YARN."""

    name = "fair"
    title = "Fair Scheduler"
    yarn = FairYarn()

    def create(self, types: ResourceTypes) -> FairScheduler:
        """As `SchedulerFamily.create`."""
        return FairScheduler(types)
