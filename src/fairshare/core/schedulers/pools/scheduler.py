"""The pool scheduler's interface to the resource manager; the other modules have the rules.

Jobs belong to pools and take map slots and reduce slots, one for each task. A setting selects the
release of Hadoop that decides: the deficit schedulers 0.19 and 0.20, or 1.2 with preemption and
delay scheduling (Hadoop: org.apache.hadoop.mapred.FairScheduler).
"""

from collections.abc import Iterator, Sequence

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationMoved,
    AttemptEnded,
    AttemptStarted,
    ConfigurationLoaded,
    PriorityChanged,
    QueueCreated,
    SharesUpdated,
)
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.base import decoded
from fairshare.core.schedulers.pools import heartbeats, preemption, views
from fairshare.core.schedulers.pools.heartbeats import ShareHeartbeat
from fairshare.core.schedulers.pools.naming import pool_name, priority_of
from fairshare.core.schedulers.pools.reasons import PoolsLimits
from fairshare.core.schedulers.pools.settings import (
    DEFAULT_POOL,
    MAP,
    NORMAL,
    PRIORITIES,
    SLOTS,
    PoolsSettings,
)
from fairshare.core.schedulers.pools.state import PoolsState
from fairshare.core.schedulers.pools.tree import pool_of, queue_of
from fairshare.core.schedulers.protocol import Refusal, Scheduler, Step, move_deferred
from fairshare.core.schedulers.views import ApplicationView, QueueView


class PoolsScheduler(Scheduler):
    """The Fair Scheduler of MapReduce."""

    name = "pools"
    limits_type = PoolsLimits

    def __init__(self, types: ResourceTypes) -> None:
        self._state = PoolsState(types)

    @property
    def state(self) -> PoolsState:
        """The cluster; only events change it."""
        return self._state

    @property
    def master_attempts(self) -> int:
        """The maximum number of master attempts, the first one included."""
        return self._state.settings.master_max_attempts

    # Configuration and pools.

    def load(self, step: Step, settings: bytes, epoch_ms: int) -> None:
        """Apply settings; pools that the file names are created, and none is ever removed
        (Hadoop: PoolManager.getPool)."""
        state = self._state
        new = decoded(settings, PoolsSettings, state.types)
        if state.queues and new.generation != state.settings.generation:
            raise Refusal(
                "generation-changed",
                f"the generation {state.settings.generation} cannot change while running",
            )
        if state.queues and new.hierarchical != state.settings.hierarchical:
            raise Refusal(
                "hierarchy-changed", "whether pools are nested cannot change while running"
            )
        step.emit(ConfigurationLoaded(settings, epoch_ms))
        for pool in (DEFAULT_POOL, *new.allocations.pools):
            self._make(step, pool, dynamic=pool not in new.allocations.pools)

    def _make(self, step: Step, pool: str, *, dynamic: bool = True) -> str:
        """The queue of a pool, which is created if missing, with the pools around it."""
        settings, queues = self._state.settings, self._state.queues
        for name in _path(pool) if settings.hierarchical else [pool]:
            if queue_of(name) not in queues:
                step.emit(QueueCreated(queue_of(name), True, dynamic))
        return queue_of(pool)

    def _check_pool(self, pool: str) -> None:
        """Raise Refusal for an invalid or undeclared pool
        (`mapred.fairscheduler.allow.undeclared.pools`)."""
        settings = self._state.settings
        if settings.hierarchical and not all(pool.split(".")):
            raise Refusal("invalid-pool", f"the pool {pool!r} has a part without a name")
        declared = settings.allocations.pools
        if settings.allow_undeclared_pools or pool in declared:
            return
        names = ", ".join(sorted(declared)) or "none"
        raise Refusal(
            "undeclared-pool",
            f"the pool {pool} is not declared in the pools file; declared are: {names}",
        )

    # Jobs.

    def place(self, step: Step, submission: SubmitApplication) -> tuple[str, int]:
        """The pool by the job's properties, created if necessary, and the priority."""
        priority = priority_of(submission)
        if priority is None:
            raise Refusal("invalid-priority", f"there is no such priority: {_known_priorities()}")
        pool = pool_name(self._state.settings, submission)
        self._check_pool(pool)
        if submission.master is not None:
            self.validate(step, queue_of(pool), [submission.master])
        return self._make(step, pool), priority

    def start_attempt(self, step: Step, application: Application, attempt: int) -> None:
        """Put an attempt into its pool; the next update decides whether it may run."""
        step.emit(AttemptStarted(application.id, attempt, False))

    def settle(self, step: Step) -> None:
        """At the end of a step, update at once for jobs that were added in it
        (Hadoop: FairScheduler.JobListener)."""
        if self._state.arrived:
            step.emit(SharesUpdated())

    def end_attempt(self, step: Step, application: Application, *, failed: bool = False) -> None:
        """Remove an attempt; its values count until the next update."""
        step.emit(AttemptEnded(application.id, failed))

    def move(self, step: Step, application: Application, queue: str) -> None:
        """Move a job to another pool, created if necessary; its user stays the same
        (Hadoop: PoolManager.setPool)."""
        pool = pool_of(queue).strip()
        self._check_pool(pool)
        if not application.attempt.active:
            if application.id in self._state.deferred:
                self._make(step, pool)
            move_deferred(step, self._state, application, queue_of(pool))
            return
        if queue_of(pool) != application.queue:
            target = self._make(step, pool)
            step.emit(ApplicationMoved(application.id, target, application.attempt.runnable))

    def set_priority(self, step: Step, application: Application, priority: int) -> None:
        """Change a job's priority; 0 is NORMAL."""
        if not 0 <= priority <= len(PRIORITIES):
            raise Refusal(
                "invalid-priority", f"there is no priority {priority}: {_known_priorities()}"
            )
        if application.priority != (priority or NORMAL):
            step.emit(PriorityChanged(application.id, priority or NORMAL))

    def may_administer(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether yarn.admin.acl allows it (pools have no lists); always without
        yarn.acl.enable."""
        settings = self._state.settings
        return not settings.acl_enabled or allows(settings.administrators, user, groups)

    # Sizes of tasks.

    def validate(self, step: Step, queue: str, resources: Sequence[Resource]) -> None:
        """A task takes one slot, and of all other types at most the largest container."""
        state = self._state
        names, maximum = state.types.names, state.settings.maximum_allocation
        for resource in resources:
            slots = sum(resource[place] for place in state.places)
            if slots > 1 or min(resource, default=0) < 0:
                raise Refusal(
                    "invalid-resource-request",
                    f"a task takes one of {SLOTS[0]} or one of {SLOTS[1]}, and of nothing less"
                    f" than 0: {state.types.mapping(resource)}",
                )
            for name, amount, most in zip(names, resource, maximum, strict=False):
                if amount > most:
                    raise Refusal(
                        "invalid-resource-request",
                        f"Invalid resource request, requested {name}={amount} is above the"
                        f" maximum allocation {most}",
                    )

    def normalise(self, step: Step, queue: str, resource: Resource) -> Resource:
        """An ask without slots takes a map slot; one without memory gets the smallest container.

        The latter only for types that some node offers: nodes with slots alone have no memory to
        give.
        """
        state = self._state
        amounts = list(resource)
        if not any(resource[place] for place in state.places):
            amounts[state.places[MAP]] = 1
        for place, least in enumerate(state.settings.minimum_allocation):
            if not amounts[place] and state.total[place] and place not in state.places:
                amounts[place] = least
        return tuple(amounts)

    # Time.

    def beat(self, step: Step, node: str) -> None:
        """Grant tasks on a node."""
        state = self._state
        place = state.nodes.get(node)
        if place is None:
            return
        if state.settings.deficits:
            heartbeats.run(state, step, place)
        else:
            ShareHeartbeat(state, step, place).run()

    def update(self, step: Step) -> None:
        """Compute deficits, demands and shares, unless they cannot have changed.

        Never due at once: as in Hadoop values may be as old as the interval, except after arrivals
        (`settle`). An update processes every job, and hundreds of tasks may end in a second.
        """
        state = self._state
        passed = step.now_ms > state.updated_ms
        if state.changed or (passed and (self._moving() or preemption.clocks_matter(state))):
            step.emit(SharesUpdated())

    def _moving(self) -> bool:
        """Whether values change with time alone: deficits do, and weights that depend on age."""
        state = self._state
        return bool(state.jobs) and (
            state.settings.deficits or bool(state.settings.weight_adjuster)
        )

    def update_interval_ms(self) -> int | None:
        """How old the last update may become; None: any age, since nothing would change."""
        state = self._state
        waiting = preemption.next_timeout_ms(state) is not None
        if state.changed or self._moving() or waiting:
            return state.settings.update_interval_ms
        return None

    def clock_interval_ms(self) -> int | None:
        """The maximum age of the last starvation check before a change; None: not checked."""
        if preemption.clocks_matter(self._state):
            return self._state.settings.update_interval_ms
        return None

    def preempt(self, step: Step) -> None:
        """One check of the preemption, unless the last one is too recent."""
        preemption.check(self._state, step)

    def next_deadline_ms(self) -> int | None:
        """When a check could find a pool to preempt for."""
        return preemption.next_check_ms(self._state)

    # Views.

    def queue_views(self, now_ms: int | None = None) -> list[QueueView]:
        """The root and all pools."""
        return views.queue_views(self._state, now_ms)

    def leaf_shares(self) -> dict[str, Resource]:
        """The fair share of each leaf queue, as in its view, without the rest of it."""
        return {view.name: view.fair_share for view in self.queue_views() if view.leaf}

    def leaf_guarantees(self) -> dict[str, Resource]:
        """The minimum share of each pool."""
        return {view.name: view.min_share for view in self.queue_views() if view.leaf}

    def application_view(self, application: ApplicationId) -> ApplicationView:
        """One job; raises KeyError."""
        return views.application_view(self._state, self._state.applications[application])


def _path(pool: str) -> Iterator[str]:
    """The pools around a pool, the outermost first, and the pool itself.

    >>> list(_path("a.b.c"))
    ['a', 'a.b', 'a.b.c']
    """
    parts = pool.split(".")
    return (".".join(parts[: index + 1]) for index in range(len(parts)))


def _known_priorities() -> str:
    named = ", ".join(f"{number} {name}" for number, name in enumerate(PRIORITIES, 1))
    return f"there are {named}, and 0 for {PRIORITIES[NORMAL - 1]}"
