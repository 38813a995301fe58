"""Owns the limits on running jobs of users and pools (Hadoop: FairScheduler.updateRunnability), and
on the tasks of one pool."""

from typing import TYPE_CHECKING

from fairshare.core.model.resources import NO_LIMIT
from fairshare.core.schedulers.pools.jobs import Job
from fairshare.core.schedulers.pools.tree import PoolsCluster

if TYPE_CHECKING:
    from fairshare.core.schedulers.pools.tree import Pool


def first_come(job: Job) -> tuple[int, int, int]:
    """The order of first come, first served: the highest priority first, then by start
    (Hadoop: FifoJobComparator)."""
    return -job.priority, job.submitted_ms, job.id


def admit(state: PoolsCluster) -> None:
    """Compute which jobs may run; a job that may not does not hold up others.

    In 1.2 jobs in preparation count towards the limits, too, and are initialized when admitted.
    """
    settings = state.settings
    later = not settings.deficits
    users: dict[str, int] = {}
    pools: dict[str, int] = {}
    for job in sorted(state.jobs.values(), key=first_come):
        job.runnable = False
        if not (job.running or (later and job.preparing)):
            continue
        pool = state.queues[job.queue]
        around = [part for part in pool.path if part.parent is not None]
        if users.get(job.user, 0) >= settings.user_max_running_jobs(job.user):
            continue
        if any(pools.get(p.name, 0) >= settings.max_running_jobs(p.pool) for p in around):
            continue
        users[job.user] = users.get(job.user, 0) + 1
        for part in around:
            pools[part.name] = pools.get(part.name, 0) + 1
        job.runnable = job.running
        job.initialized = True


def pool_limit(state: PoolsCluster, pool: "Pool", kind: int) -> int:
    """How many tasks of a kind a pool may run at once; only 1.2 has a limit."""
    if state.settings.deficits or pool.parent is None:
        return NO_LIMIT
    return state.settings.allocation(pool.pool).max_share[kind]
