"""Owns the family of the FIFO scheduler of Hadoop YARN. Knows no other scheduler."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.core.schedulers.views import VolatileFieldsOf
from fairshare.documents.problems import Problems
from fairshare.settings.family import CLASS, TASK_SCHEDULER, ReadSettings, SchedulerFamily, Source
from fairshare.settings.parts import lazy, named, part
from fairshare.settings.site import Site

if TYPE_CHECKING:
    from fairshare.core.schedulers import fifo
    from fairshare.core.schedulers.fifo import FifoScheduler
    from fairshare.settings.fifo import reading as fifo_reading
    from fairshare.settings.fifo import stored as fifo_stored
else:
    fifo = lazy("fairshare.core.schedulers.fifo")
    fifo_reading = lazy("fairshare.settings.fifo.reading")
    fifo_stored = lazy("fairshare.settings.fifo.stored")


class FifoFamily(SchedulerFamily[FifoSettings]):
    """The FIFO scheduler of Hadoop YARN."""

    name = "fifo"
    title = "Fifo Scheduler"
    yarn = part(lambda: named("fairshare.yarn.views.fifo:FifoYarn")())
    classes = (
        (CLASS, "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"),
        (TASK_SCHEDULER, "org.apache.hadoop.mapred.JobQueueTaskScheduler"),
    )
    stored_classes = part(lambda: fifo_stored.STORED_CLASSES)
    settings_type = FifoSettings
    has_priorities = False
    moves_applications = False

    def create(self, types: ResourceTypes) -> "FifoScheduler":
        """As `SchedulerFamily.create`."""
        return fifo.FifoScheduler(types)

    def volatile_fields(self, scheduler: Scheduler) -> VolatileFieldsOf:
        """As `SchedulerFamily.volatile_fields`."""
        assert isinstance(scheduler, fifo.FifoScheduler)
        return fifo.volatile_fields(scheduler.state)

    def read(self, source: Source, problems: Problems) -> ReadSettings:
        """As `SchedulerFamily.read`."""
        return ReadSettings(fifo_reading.collect_fifo(source.site, problems))

    def lint_site(
        self, path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        """As `SchedulerFamily.lint_site`."""
        fifo_reading.collect_fifo(site, problems)
