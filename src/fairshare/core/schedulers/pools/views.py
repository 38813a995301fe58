"""The views of pools and jobs."""

from fairshare.api.applications import JobFigures, JobSlots
from fairshare.api.queues import PoolFigures, PoolSlots
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import NO_LIMIT, UNBOUNDED, Resource, positive, subtract, total
from fairshare.core.schedulers import views
from fairshare.core.schedulers.pools import preemption, sharing
from fairshare.core.schedulers.pools.jobs import Job
from fairshare.core.schedulers.pools.settings import MAP, REDUCE
from fairshare.core.schedulers.pools.state import PoolsState
from fairshare.core.schedulers.pools.tree import Pool, pool_limit
from fairshare.core.schedulers.pools.weights import priority_name
from fairshare.core.schedulers.views import ApplicationView, QueueView, VolatileFields

LEVELS = ("node", "rack", "any")


def queue_views(state: PoolsState, now_ms: int | None) -> list[QueueView]:
    """The root, then the pools by name, `default` last among its siblings."""
    if ROOT not in state.queues:
        return []
    at_ms = state.updated_ms if now_ms is None else now_ms
    return [_queue_view(state, pool, at_ms) for pool in _in_order(state.root)]


def _in_order(pool: Pool) -> list[Pool]:
    pools = [pool]
    for part in sorted(pool.parts, key=lambda part: (part.pool == "default", part.pool)):
        pools += _in_order(part)
    return pools


def _queue_view(state: PoolsState, pool: Pool, now_ms: int) -> QueueView:
    settings = state.settings
    jobs = pool.all_jobs()
    kinds = tuple(_pool_slots(state, pool, kind, jobs, now_ms) for kind in (MAP, REDUCE))
    pending = total((job.asks.pending for job in jobs), len(state.none))
    most = [UNBOUNDED if slots.max_share is None else slots.max_share for slots in kinds]
    limit = NO_LIMIT if pool.parent is None else settings.max_running_jobs(pool.pool)
    weight = 1.0 if pool.parent is None else settings.allocation(pool.pool).weight
    return QueueView(
        name=pool.name,
        leaf=pool.leaf,
        dynamic=pool.dynamic,
        parent="" if pool.parent is None else pool.parent.name,
        children=tuple(part.name for part in _in_order(pool)[1:] if part.parent is pool),
        policy=pool.mode,
        used=pool.used,
        reserved=state.none,
        demand=_vector(state, [slots.demand for slots in kinds]),
        pending=pending,
        min_share=_vector(state, [slots.min_share for slots in kinds]),
        max_share=_vector(state, most, UNBOUNDED),
        fair_share=_vector(state, [int(slots.fair_share) for slots in kinds]),
        steady_fair_share=_vector(state, [int(slots.fair_share) for slots in kinds]),
        weight=weight,
        running_applications=sum(job.runnable for job in jobs),
        pending_applications=sum(job.active and not job.runnable for job in jobs),
        max_running_applications=None if limit == NO_LIMIT else limit,
        containers=sum(len(job.containers) for job in jobs),
        reserved_containers=0,
        preempted=sum(job.application.preempted for job in jobs),
        preemptable=settings.preemption and not settings.deficits,
        min_share_timeout_ms=settings.min_share_timeout_ms(pool.pool),
        fair_share_timeout_ms=settings.allocations.fair_share_timeout_ms,
        pool=PoolFigures(
            generation=settings.generation,
            jobs=len(jobs),
            maps=kinds[MAP],
            reduces=kinds[REDUCE],
            delays_ms=None if settings.deficits else state.delays_ms,
        ),
    )


def _pool_slots(
    state: PoolsState, pool: Pool, kind: int, jobs: list[Job], now_ms: int
) -> PoolSlots:
    slots = pool.slots[kind]
    limit = pool_limit(state, pool, kind)
    root = pool.parent is None
    if state.settings.deficits:
        # The old releases have no shares of pools: a pool's share is the sum of its jobs'.
        fair_share = sum(job.slots[kind].fair_share for job in jobs)
        demand = sum(job.slots[kind].wanted for job in jobs)
        least = 0 if root else state.settings.allocation(pool.pool).min_share[kind]
    else:
        fair_share, demand = slots.fair_share, slots.demand
        least = 0 if root else sharing.min_share(state, pool, kind)
    timed = not state.settings.deficits and not root
    return PoolSlots(
        running=pool.used[state.places[kind]],
        demand=demand,
        fair_share=fair_share,
        min_share=least,
        max_share=None if limit == NO_LIMIT else limit,
        to_preempt=0 if root else preemption.need(state, pool, kind, now_ms),
        since_min_share_ms=now_ms - slots.at_min_share_ms if timed else None,
        since_half_share_ms=now_ms - slots.at_half_share_ms if timed else None,
    )


def application_view(state: PoolsState, application: Application) -> ApplicationView:
    """A job with the values of the job tracker and those of any application."""
    attempt = application.attempt
    job = attempt if isinstance(attempt, Job) else Job(application, 0, len(state.none))
    live = application.state not in (ApplicationState.REJECTED,) and not application.over
    kinds = tuple(_job_slots(state, job, kind) for kind in (MAP, REDUCE))
    return views.application_view(
        application,
        job,
        VolatileFields(
            total((job.used, job.asks.pending), len(state.none)),
            _vector(state, [int(slots.fair_share) for slots in kinds] if live else [0, 0]),
            positive(subtract(state.total, state.used)),
            application.diagnostics,
            JobFigures(
                priority=priority_name(job.priority),
                initialized=job.initialized,
                maps=kinds[MAP],
                reduces=kinds[REDUCE],
                level=LEVELS[job.level],
                waited_ms=job.waited_ms,
                passed_over=job.passed_over,
            ),
        ),
        used=job.used,
        reserved=state.none,
    )


def _job_slots(state: PoolsState, job: Job, kind: int) -> JobSlots:
    slots = job.slots[kind]
    old = state.settings.deficits
    return JobSlots(
        finished=job.finished[kind],
        running=job.used[state.places[kind]],
        needed=slots.needed if old else max(0, slots.demand - job.used[state.places[kind]]),
        demand=slots.wanted if old else slots.demand,
        weight=slots.weight,
        fair_share=slots.fair_share,
        min_share=slots.min,
        deficit=slots.deficit if old else None,
    )


def _vector(state: PoolsState, amounts: list[int], others: int = 0) -> Resource:
    """A vector with these slots; all other types have the amount `others`."""
    vector = [others] * len(state.none)
    for place, amount in zip(state.places, amounts, strict=True):
        vector[place] = amount
    return tuple(vector)
