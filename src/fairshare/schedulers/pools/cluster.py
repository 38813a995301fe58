"""Owns the data of the pool scheduler's state; only events change it (`state.py`)."""

from fairshare.model.applications import Application
from fairshare.model.events import ContainerAllocated
from fairshare.model.identifiers import ApplicationId
from fairshare.model.queues import ROOT
from fairshare.model.resources import ResourceTypes
from fairshare.model.state import ClusterState
from fairshare.schedulers.pools.jobs import Job
from fairshare.schedulers.pools.settings import MAP, MAP_SLOTS, REDUCE, REDUCE_SLOTS, PoolsSettings
from fairshare.schedulers.pools.tree import Pool


class PoolsCluster(ClusterState[Pool, Job]):
    """The cluster as the pool scheduler sees it.

    `places` are those of map slots and reduce slots in a vector. `jobs` are the live ones, and
    those that have ended since the last update. `changed`: an update would compute other values;
    `arrived`: a job was added for which no update has run yet. `beat_ms` is the last heartbeat of
    any node that passed a job over, `checked_ms` the last check of the preemption. `given` has the
    limits on tasks and the slow start of each application that is not over, by the settings at its
    submission.
    """

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.settings = PoolsSettings(types=types)
        self.places = (types.names.index(MAP_SLOTS), types.names.index(REDUCE_SLOTS))
        self.root = Pool(ROOT, False, None, len(self.none))
        self.jobs: dict[ApplicationId, Job] = {}
        self.given: dict[ApplicationId, tuple[tuple[int, int], float]] = {}
        self.waiting: dict[ApplicationId, Job] = {}  # those that the last heartbeat passed over
        self.delays_ms = (0, 0)
        self.changed = False
        self.arrived = False
        self.updated_ms = 0
        self.beat_ms = 0
        self.checked_ms = 0

    def new_attempt(self, application: Application, number: int) -> Job:
        """An attempt of a job."""
        job = Job(application, number, len(self.none))
        job.limits, job.slow_start = self.given[application.id]
        return job

    def ancestry(self, queue: str) -> tuple[Pool, ...]:
        """A pool and all pools around it."""
        return self.queues[queue].path

    def kind_of(self, event: ContainerAllocated) -> int:
        """Whether a container is a map or a reduce."""
        return MAP if event.resource[self.places[MAP]] else REDUCE
