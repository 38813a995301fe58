"""Owns the family of the FIFO scheduler of Hadoop YARN. Knows no other scheduler."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.families.family import CLASS, TASK_SCHEDULER, ReadSettings, SchedulerFamily, Source
from fairshare.families.parts import part
from fairshare.families.stored_class import StoredClass
from fairshare.families.yarn.interface import YarnInterface
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.fifo.settings import FifoSettings
from fairshare.schedulers.protocol import Scheduler
from fairshare.schedulers.views import VolatileFieldsOf

if TYPE_CHECKING:
    from fairshare.schedulers.fifo.scheduler import FifoScheduler


def _yarn() -> YarnInterface:
    from fairshare.families.fifo.yarn import FifoYarn

    return FifoYarn()


def _stored_classes() -> tuple[StoredClass, ...]:
    from fairshare.families.fifo.stored import STORED_CLASSES

    return STORED_CLASSES


class FifoFamily(SchedulerFamily[FifoSettings]):
    """The FIFO scheduler of Hadoop YARN."""

    name = "fifo"
    title = "Fifo Scheduler"
    yarn = part(_yarn)
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
        from fairshare.schedulers.fifo.scheduler import FifoScheduler

        return FifoScheduler(types)

    def volatile_fields(self, scheduler: Scheduler) -> VolatileFieldsOf:
        """As `SchedulerFamily.volatile_fields`."""
        from fairshare.schedulers.fifo import views
        from fairshare.schedulers.fifo.scheduler import FifoScheduler

        assert isinstance(scheduler, FifoScheduler)
        return views.volatile_fields(scheduler.state)

    def read(self, source: Source, problems: Problems) -> ReadSettings:
        """As `SchedulerFamily.read`."""
        from fairshare.families.fifo.reading import collect_fifo

        return ReadSettings(collect_fifo(source.site, problems))

    def lint_site(
        self, path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        """As `SchedulerFamily.lint_site`."""
        from fairshare.families.fifo.reading import collect_fifo

        collect_fifo(site, problems)
