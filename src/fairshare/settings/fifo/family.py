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
from fairshare.settings.parts import named, part
from fairshare.settings.site import Site
from fairshare.settings.stored_class import StoredClass

if TYPE_CHECKING:
    from fairshare.core.schedulers.fifo import FifoScheduler


def _stored_classes() -> tuple[StoredClass, ...]:
    from fairshare.settings.fifo.stored import STORED_CLASSES

    return STORED_CLASSES


class FifoFamily(SchedulerFamily[FifoSettings]):
    """The FIFO scheduler of Hadoop YARN."""

    name = "fifo"
    title = "Fifo Scheduler"
    yarn = part(lambda: named("fairshare.yarn.views.fifo:FifoYarn")())
    classes = (
        (CLASS, "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"),
        (TASK_SCHEDULER, "org.apache.hadoop.mapred.JobQueueTaskScheduler"),
    )
    stored_classes = part(_stored_classes)
    settings_type = FifoSettings
    has_priorities = False
    moves_applications = False

    def create(self, types: ResourceTypes) -> "FifoScheduler":
        """As `SchedulerFamily.create`."""
        from fairshare.core.schedulers.fifo import FifoScheduler

        return FifoScheduler(types)

    def volatile_fields(self, scheduler: Scheduler) -> VolatileFieldsOf:
        """As `SchedulerFamily.volatile_fields`."""
        from fairshare.core.schedulers import fifo
        from fairshare.core.schedulers.fifo import FifoScheduler

        assert isinstance(scheduler, FifoScheduler)
        return fifo.volatile_fields(scheduler.state)

    def read(self, source: Source, problems: Problems) -> ReadSettings:
        """As `SchedulerFamily.read`."""
        from fairshare.settings.fifo.reading import collect_fifo

        return ReadSettings(collect_fifo(source.site, problems))

    def lint_site(
        self, path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        """As `SchedulerFamily.lint_site`."""
        from fairshare.settings.fifo.reading import collect_fifo

        collect_fifo(site, problems)
