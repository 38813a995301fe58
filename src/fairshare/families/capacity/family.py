"""Owns the family of the Capacity Scheduler of Hadoop YARN. Knows no other scheduler."""

from fairshare.families.capacity.yarn import CapacityYarn
from fairshare.families.family import SchedulerFamily
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.capacity.scheduler import CapacityScheduler


class CapacityFamily(SchedulerFamily):
    """The Capacity Scheduler of Hadoop YARN."""

    name = "capacity"
    title = "Capacity Scheduler"
    yarn = CapacityYarn()

    def create(self, types: ResourceTypes) -> CapacityScheduler:
        """As `SchedulerFamily.create`."""
        return CapacityScheduler(types)
