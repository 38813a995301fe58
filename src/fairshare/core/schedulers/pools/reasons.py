"""The reasons for waiting that only the pool scheduler knows."""

from collections.abc import Sequence

from fairshare.core.model.asks import AskKey
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.entitlement import (
    Entitlement,
    Obstacle,
    Preemption,
    largest_excesses,
)
from fairshare.core.schedulers.pools import preemption
from fairshare.core.schedulers.pools.jobs import Job
from fairshare.core.schedulers.pools.settings import MAP, NEVER_MS, REDUCE
from fairshare.core.schedulers.pools.sharing import min_share
from fairshare.core.schedulers.pools.state import PoolsState
from fairshare.core.schedulers.pools.tree import first_come, pool_limit
from fairshare.core.schedulers.reasons import (
    MOST_AHEAD,
    Bound,
    Cause,
    Limits,
    Reason,
    running_applications,
)


class PoolsLimits(Limits):
    """The limits on one job (Hadoop: FairScheduler.updateRunnability)."""

    _state: PoolsState
    _attempt: Job

    def of_application(self) -> Sequence[Reason]:
        """How many jobs of a user, or of a pool, may run at once."""
        state, job = self._state, self._attempt
        if job.runnable or not job.running:
            return ()
        settings = state.settings
        running = [one for one in state.jobs.values() if one.runnable]
        reasons: list[Reason] = []
        most = settings.user_max_running_jobs(job.user)
        if sum(1 for one in running if one.user == job.user) >= most:
            reasons.append(running_applications(most, user=job.user))
        for pool in state.queues[job.queue].path:
            if pool.parent is None:
                continue
            most = settings.max_running_jobs(pool.pool)
            inside = (one for one in running if pool in state.queues[one.queue].path)
            if sum(1 for _ in inside) >= most:
                reasons.append(running_applications(most, queue=pool.name))
        return reasons

    def of_ask(self, key: AskKey, size: Resource) -> Sequence[Reason]:
        """Limits on the tasks of the job and of its pool, and the slow start of reduces."""
        state, job = self._state, self._attempt
        kind = MAP if size[state.places[MAP]] else REDUCE
        reasons: list[Reason] = []
        if kind == REDUCE and not job.slots[REDUCE].needed and job.pending(state.places[REDUCE]):
            reasons.append(Reason(cause=Cause.SLOW_START, count=job.finished[MAP]))
        if job.slots[kind].running >= job.limits[kind]:
            reasons.append(Reason(cause=Cause.JOB_TASKS, count=job.limits[kind]))
        for pool in state.queues[job.queue].path:
            most = pool_limit(state, pool, kind)
            if pool.slots[kind].running >= most:
                reasons.append(Reason(cause=Cause.POOL_TASKS, queue=pool.name, count=most))
        return reasons

    def bounds(self, size: Resource, label: str | None) -> Sequence[Bound]:
        """Limits on the tasks of the job and of its pool."""
        state, job = self._state, self._attempt
        kind = MAP if size[state.places[MAP]] else REDUCE
        limits = [(job.limits[kind], job.slots[kind].running, Cause.JOB_TASKS, "")]
        for pool in state.queues[job.queue].path:
            most = pool_limit(state, pool, kind)
            limits.append((most, pool.slots[kind].running, Cause.POOL_TASKS, pool.name))
        return [
            Bound(most, max(most - running, 0), Reason(cause=cause, queue=queue, count=most))
            for most, running, cause, queue in limits
        ]

    def ahead(self, key: AskKey) -> tuple[int, tuple[ApplicationId, ...]]:
        """Jobs with a larger deficit, or farther below their share, that need such slots too."""
        state, job = self._state, self._attempt
        kind = self._kind(key)

        def place(other: Job) -> tuple[float, tuple[int, int, int]]:
            slots = other.slots[kind]
            if state.settings.deficits:
                return -slots.deficit, first_come(other)
            return slots.running / max(slots.weight, 1e-9), first_come(other)

        mine = place(job)
        others = [
            other for other in state.jobs.values() if other.runnable and other.slots[kind].needed
        ]
        before = sorted((place(other), other.id) for other in others if place(other) < mine)
        return len(before), tuple(number for _, number in before[:MOST_AHEAD])

    def preemption(self, key: AskKey) -> Preemption | None:
        """What its pool lacks of its fair share or its minimum of such slots, and the first
        condition of the preemption of 1.2 that is not met (Hadoop: FairScheduler.tasksToPreempt).

        The releases with deficits preempt nothing.
        """
        state, settings = self._state, self._state.settings
        kind = self._kind(key)
        place, pool = state.places[kind], state.queues[self._attempt.queue]
        slots, running = pool.slots[kind], pool.used[place]
        least = min_share(state, pool, kind)
        share = max(int(slots.fair_share), least)
        if settings.deficits or running >= min(share, slots.demand):
            return None

        def slots_of(count: int) -> Resource:
            return tuple(count if i == place else 0 for i in range(len(pool.used)))

        above = {
            one.name: slots_of(one.used[place] - int(one.slots[kind].fair_share))
            for one in preemption.pools_of(state)
            if not one.parts and one.used[place] > one.slots[kind].fair_share
        }
        obstacle, due_ms = self._obstacle(kind, running, least, bool(above))
        return Preemption(
            obstacle=obstacle,
            entitlement=Entitlement.POOL_SHARE,
            queue=pool.name,
            used=slots_of(running),
            share=slots_of(share),
            above=largest_excesses(above.items()),
            above_count=len(above),
            threshold_percent=50.0,
            due_ms=due_ms,
        )

    def _obstacle(self, kind: int, running: int, least: int, above: bool) -> tuple[Obstacle, int]:
        state, settings = self._state, self._state.settings
        pool = state.queues[self._attempt.queue]
        slots = pool.slots[kind]
        if not settings.preemption:
            return Obstacle.OFF, 0
        if settings.preemption_only_log:
            return Obstacle.OBSERVE_ONLY, 0
        due: list[int] = []
        timeouts_ms = (
            settings.min_share_timeout_ms(pool.pool),
            settings.allocations.fair_share_timeout_ms,
        )
        if timeouts_ms[0] < NEVER_MS and preemption.below_min_share(running, least, slots.demand):
            due.append(slots.at_min_share_ms + timeouts_ms[0])
        below_half = preemption.below_half_share(running, slots.fair_share, slots.demand)
        if timeouts_ms[1] < NEVER_MS and below_half:
            due.append(slots.at_half_share_ms + timeouts_ms[1])
        if not due:
            half = timeouts_ms[1] < NEVER_MS and not below_half
            return (Obstacle.ABOVE_THRESHOLD if half else Obstacle.NO_TIMEOUT), 0
        if not above:
            return Obstacle.NO_QUEUE_ABOVE, 0
        return Obstacle.NOT_YET, min(due)

    def _kind(self, key: AskKey) -> int:
        assert key.anywhere is not None
        return MAP if key.anywhere.resource[self._state.places[MAP]] else REDUCE
