"""The family of the FIFO scheduler of Hadoop YARN."""

from collections.abc import Mapping
from pathlib import Path

from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.fifo import (
    FifoAttempt,
    FifoScheduler,
    FifoSettings,
    FifoState,
    volatile_fields,
)
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.core.schedulers.views import VolatileFieldsOf
from fairshare.documents.problems import Problems
from fairshare.settings.family import (
    CLASS,
    TASK_SCHEDULER,
    ReadSettings,
    SchedulerFamily,
    Source,
    StoredClass,
)
from fairshare.settings.manager import collect_base
from fairshare.settings.parts import named, part
from fairshare.settings.site import Site


class FifoFamily(SchedulerFamily[FifoSettings]):
    """The FIFO scheduler of Hadoop YARN."""

    name = "fifo"
    title = "Fifo Scheduler"
    yarn = part(lambda: named("fairshare.yarn.views.fifo:FifoYarn")())
    classes = (
        (CLASS, "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"),
        (TASK_SCHEDULER, "org.apache.hadoop.mapred.JobQueueTaskScheduler"),
    )
    stored_classes = (
        StoredClass("fifo-attempt", FifoAttempt),
        StoredClass("fifo-scheduler", FifoScheduler, ("_state",)),
        StoredClass("fifo-settings", FifoSettings),
        StoredClass("fifo-state", FifoState, ("line", "started_ms"), state=True),
    )
    settings_type = FifoSettings
    has_priorities = False
    moves_applications = False

    def create(self, types: ResourceTypes) -> FifoScheduler:
        return FifoScheduler(types)

    def volatile_fields(self, scheduler: Scheduler) -> VolatileFieldsOf:
        assert isinstance(scheduler, FifoScheduler)
        return volatile_fields(scheduler.state)

    def read(self, source: Source, problems: Problems) -> ReadSettings:
        return ReadSettings(collect_base(source.site, FifoSettings, problems))

    def lint_site(
        self, path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        collect_base(site, FifoSettings, problems)
