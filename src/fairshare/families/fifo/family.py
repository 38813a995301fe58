"""Owns the family of the FIFO scheduler of Hadoop YARN. Knows no other scheduler."""

from collections.abc import Mapping
from pathlib import Path

from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.families.family import (
    CLASS,
    TASK_SCHEDULER,
    ReadSettings,
    SchedulerFamily,
    Source,
)
from fairshare.families.fifo.reading import collect_fifo
from fairshare.families.fifo.stored import STORED_CLASSES
from fairshare.families.fifo.yarn import FifoYarn
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.fifo import views
from fairshare.schedulers.fifo.scheduler import FifoScheduler
from fairshare.schedulers.fifo.settings import FifoSettings
from fairshare.schedulers.protocol import Scheduler
from fairshare.schedulers.views import VolatileFieldsOf


class FifoFamily(SchedulerFamily[FifoSettings]):
    """The FIFO scheduler of Hadoop YARN."""

    name = "fifo"
    title = "Fifo Scheduler"
    divides = False
    yarn = FifoYarn()
    classes = (
        (CLASS, "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"),
        (TASK_SCHEDULER, "org.apache.hadoop.mapred.JobQueueTaskScheduler"),
    )
    demonstration = "fifo: first come, first served"
    stored_classes = STORED_CLASSES
    settings_type = FifoSettings
    has_priorities = False
    moves_applications = False

    def create(self, types: ResourceTypes) -> FifoScheduler:
        """As `SchedulerFamily.create`."""
        return FifoScheduler(types)

    def volatile_fields(self, scheduler: Scheduler) -> VolatileFieldsOf:
        """As `SchedulerFamily.volatile_fields`."""
        assert isinstance(scheduler, FifoScheduler)
        return views.volatile_fields(scheduler.state)

    def read(self, source: Source, problems: Problems) -> ReadSettings:
        """As `SchedulerFamily.read`."""
        return ReadSettings(collect_fifo(source.site, problems))

    def lint_site(
        self, path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        """As `SchedulerFamily.lint_site`."""
        collect_fifo(site, problems)
