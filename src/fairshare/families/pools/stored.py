"""Owns the list of the classes that MapReduce's pool scheduler has in snapshots."""

from typing import Final

from fairshare.families.stored_class import StoredClass
from fairshare.schedulers.pools import settings as pools_settings
from fairshare.schedulers.pools.jobs import Job, Slots
from fairshare.schedulers.pools.scheduler import PoolsScheduler
from fairshare.schedulers.pools.state import PoolsState
from fairshare.schedulers.pools.tree import Pool

STORED_CLASSES: Final = (
    StoredClass("pools-job", Job, attempt=True),
    StoredClass("pools-slots", Slots),
    StoredClass("pools-scheduler", PoolsScheduler, ("_state",)),
    StoredClass("pools-pool-allocation", pools_settings.PoolAllocation),
    StoredClass("pools-pool-allocations", pools_settings.PoolAllocations),
    StoredClass("pools-settings", pools_settings.PoolsSettings),
    StoredClass(
        "pools-state",
        PoolsState,
        (
            "places",
            "root",
            "jobs",
            "given",
            "waiting",
            "delays_ms",
            "changed",
            "arrived",
            "updated_ms",
            "beat_ms",
            "checked_ms",
        ),
        derived=("lines",),
        added={
            "given": lambda state: {
                number: (job.limits, job.slow_start)
                for number, job in state.applications.items()
                if not job.application.over
            }
        },
        state=True,
    ),
    StoredClass("pools-pool", Pool),
)
