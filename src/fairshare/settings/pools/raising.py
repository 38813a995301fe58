"""Which setting of the pools makes a limit, and the settings with a larger one."""

from msgspec.structs import replace

from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.pools.settings import PoolAllocation, PoolsSettings
from fairshare.core.schedulers.reasons import Cause, Reason
from fairshare.settings.raising import FACTORS, Raise, counts_above


def raised(settings: PoolsSettings, reason: Reason, total: Resource) -> Raise | None:
    """The limit of a reason on running jobs. None: it is another one."""
    allocations, name = settings.allocations, reason.queue.removeprefix("root.")
    if reason.cause is Cause.QUEUE_APPLICATIONS:
        pool = allocations.pools.get(name, PoolAllocation(name))
        return Raise(
            f"maxRunningJobs of {name}",
            counts_above(reason.count),
            str,
            lambda value: replace(
                settings,
                allocations=replace(
                    allocations,
                    pools={**allocations.pools, name: replace(pool, max_running_jobs=value)},
                ),
            ),
        )
    if reason.cause is Cause.USER_APPLICATIONS:
        return Raise(
            f"maxRunningJobs of the user {reason.user}",
            counts_above(reason.count),
            str,
            lambda value: replace(
                settings,
                allocations=replace(
                    allocations,
                    user_max_jobs={**allocations.user_max_jobs, reason.user: value},
                ),
            ),
        )
    return None


def enlarged(settings: PoolsSettings, queue: str) -> Raise | None:
    """The weight of a pool; None: of all together."""
    name = queue.removeprefix("root.")
    if queue == "root":
        return None
    allocations = settings.allocations
    pool = allocations.pools.get(name, PoolAllocation(name))
    return Raise(
        f"weight of {name}",
        [pool.weight * factor for factor in FACTORS],
        lambda value: f"{value:g}",
        lambda value: replace(
            settings,
            allocations=replace(
                allocations, pools={**allocations.pools, name: replace(pool, weight=value)}
            ),
        ),
    )
