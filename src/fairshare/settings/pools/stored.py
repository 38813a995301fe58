"""The list of the classes that MapReduce's pool scheduler has in snapshots."""

from typing import Final

from fairshare.core.schedulers.pools import settings as pools_settings
from fairshare.core.schedulers.pools.jobs import Job, Slots
from fairshare.core.schedulers.pools.scheduler import PoolsScheduler
from fairshare.core.schedulers.pools.state import PoolsState
from fairshare.core.schedulers.pools.tree import Pool
from fairshare.settings.family import StoredClass

STORED_CLASSES: Final = (
    StoredClass("pools-job", Job),
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
        state=True,
    ),
    StoredClass("pools-pool", Pool),
)
