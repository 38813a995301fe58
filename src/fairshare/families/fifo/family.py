"""Owns the family of the FIFO scheduler of Hadoop YARN. Knows no other scheduler."""

from fairshare.families.family import SchedulerFamily
from fairshare.families.fifo.yarn import FifoYarn
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.fifo.scheduler import FifoScheduler


class FifoFamily(SchedulerFamily):
    """The FIFO scheduler of Hadoop YARN."""

    name = "fifo"
    title = "Fifo Scheduler"
    yarn = FifoYarn()

    def create(self, types: ResourceTypes) -> FifoScheduler:
        """As `SchedulerFamily.create`."""
        return FifoScheduler(types)
