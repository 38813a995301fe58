"""Owns the reasons for waiting that only the pool scheduler knows. Changes nothing."""

from collections.abc import Iterable, Sequence

from fairshare.model.asks import AskKey
from fairshare.model.identifiers import ApplicationId
from fairshare.model.nodes import Node
from fairshare.model.resources import Resource
from fairshare.schedulers.entitlement import Preemption
from fairshare.schedulers.pools.jobs import Job
from fairshare.schedulers.pools.limits import first_come, pool_limit
from fairshare.schedulers.pools.settings import MAP, REDUCE
from fairshare.schedulers.pools.state import PoolsState
from fairshare.schedulers.reasons import FEW, Cause, Reason


class PoolsLimits:
    """The limits on one job (Hadoop: FairScheduler.updateRunnability)."""

    def __init__(self, state: PoolsState, job: Job) -> None:
        self._state = state
        self._job = job

    def of_application(self) -> Sequence[Reason]:
        """How many jobs of a user, or of a pool, may run at once."""
        state, job = self._state, self._job
        if job.runnable or not job.running:
            return ()
        settings = state.settings
        running = [one for one in state.jobs.values() if one.runnable]
        found: list[Reason] = []
        most = settings.user_max_running_jobs(job.user)
        if sum(1 for one in running if one.user == job.user) >= most:
            found.append(Reason(cause=Cause.USER_APPLICATIONS, user=job.user, count=most))
        for pool in state.queues[job.queue].path:
            if pool.parent is None:
                continue
            most = settings.max_running_jobs(pool.pool)
            inside = (one for one in running if pool in state.queues[one.queue].path)
            if sum(1 for _ in inside) >= most:
                found.append(Reason(cause=Cause.QUEUE_APPLICATIONS, queue=pool.name, count=most))
        return found

    def of_ask(self, key: AskKey, size: Resource) -> Sequence[Reason]:
        """Limits on the tasks of the job and of its pool, and the slow start of reduces."""
        state, job = self._state, self._job
        kind = MAP if size[state.places[MAP]] else REDUCE
        found: list[Reason] = []
        if kind == REDUCE and not job.slots[REDUCE].needed and job.pending(state.places[REDUCE]):
            found.append(Reason(cause=Cause.SLOW_START, count=job.finished[MAP]))
        if job.slots[kind].running >= job.limits[kind]:
            found.append(Reason(cause=Cause.JOB_TASKS, count=job.limits[kind]))
        for pool in state.queues[job.queue].path:
            most = pool_limit(state, pool, kind)
            if pool.slots[kind].running >= most:
                found.append(Reason(cause=Cause.POOL_TASKS, queue=pool.name, count=most))
        return found

    def partition(self, key: AskKey) -> Iterable[Node]:
        """All nodes."""
        return self._state.nodes.values()

    def ahead(self, key: AskKey) -> tuple[int, tuple[ApplicationId, ...]]:
        """Jobs with a larger deficit, or farther below their share, that need such slots too."""
        state, job = self._state, self._job
        assert key.anywhere is not None
        kind = MAP if key.anywhere.resource[state.places[MAP]] else REDUCE

        def place(one: Job) -> tuple[float, tuple[int, int, int]]:
            slots = one.slots[kind]
            if state.settings.deficits:
                return -slots.deficit, first_come(one)
            return slots.running / max(slots.weight, 1e-9), first_come(one)

        mine = place(job)
        others = [one for one in state.jobs.values() if one.runnable and one.slots[kind].needed]
        before = sorted((place(one), one.id) for one in others if place(one) < mine)
        return len(before), tuple(number for _, number in before[:FEW])

    def preempting(self) -> Sequence[int]:
        """None: preempted tasks are killed at once."""
        return ()

    def preemption(self, label: str) -> Preemption | None:
        """None: shares are of pools and in slots of one kind, which `/scheduler` shows."""
        return None
