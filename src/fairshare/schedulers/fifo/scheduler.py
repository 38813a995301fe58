"""Owns the FIFO scheduler: first come, first served. The baseline for comparisons.

Hadoop's FifoScheduler: one queue, regardless of the requested name; applications in the order of
their submission; a node is filled with the first one's containers before the second one is
considered.
"""

from collections.abc import Sequence

import msgspec

from fairshare.model.applications import Application
from fairshare.model.events import (
    AttemptEnded,
    AttemptStarted,
    ConfigurationLoaded,
    ContainerAllocated,
)
from fairshare.model.identifiers import ApplicationId, container_id
from fairshare.model.inputs import SubmitApplication
from fairshare.model.nodes import Node
from fairshare.model.queues import ROOT, Queue
from fairshare.model.resources import (
    Resource,
    ResourceTypes,
    fits,
    positive,
    smallest,
    subtract,
    total,
)
from fairshare.model.work import ResourceRequest
from fairshare.schedulers.access_lists import allows
from fairshare.schedulers.fifo.reasons import FifoLimits
from fairshare.schedulers.fifo.settings import FifoSettings
from fairshare.schedulers.fifo.state import DEFAULT, FifoApplication, FifoState
from fairshare.schedulers.nearness import level_of
from fairshare.schedulers.normalisation import normalise
from fairshare.schedulers.ordering import Entry
from fairshare.schedulers.protocol import Refusal, Step
from fairshare.schedulers.views import ApplicationView, QueueView


class FifoScheduler:
    """First in, first out."""

    name = "fifo"

    def __init__(self, types: ResourceTypes) -> None:
        self._state = FifoState(types)

    @property
    def state(self) -> FifoState:
        """The cluster; only events change it."""
        return self._state

    @property
    def master_attempts(self) -> int:
        """The maximum number of master attempts, the first one included."""
        return self._state.settings.master_max_attempts

    def load(self, step: Step, settings: bytes, epoch_ms: int) -> None:
        """Apply settings."""
        try:
            new = msgspec.json.decode(settings, type=FifoSettings)
        except msgspec.ValidationError as error:
            raise Refusal("invalid-settings", f"settings of another scheduler: {error}") from error
        if new.types != self._state.types:
            raise Refusal("resource-types-changed", "resource types cannot change while running")
        step.emit(ConfigurationLoaded(settings, epoch_ms))

    def place(self, step: Step, submission: SubmitApplication) -> tuple[str, int]:
        """There is one queue, and no priority."""
        if submission.master is not None:
            self.validate(step, DEFAULT, [submission.master])
        return DEFAULT, 0

    def start_attempt(self, step: Step, application: Application, attempt: int) -> None:
        """No limit holds an application back."""
        step.emit(AttemptStarted(application.id, attempt, True))

    def end_attempt(self, step: Step, application: Application, *, failed: bool = False) -> None:
        """Remove an attempt from the order."""
        step.emit(AttemptEnded(application.id, failed))

    def _maximum(self, now_ms: int) -> Resource:
        state = self._state
        maximum = state.settings.maximum_allocation
        up_ms = now_ms - (state.started_ms or 0)
        if state.nodes and up_ms > state.settings.maximum_override_delay_ms:
            maximum = smallest(maximum, state.largest_node())
        return maximum

    def check_asks(
        self, application: ApplicationId, queue: str, requests: Sequence[ResourceRequest]
    ) -> None:
        """Accepts every ask: the one queue has no maximum."""

    def validate(self, step: Step, queue: str, resources: Sequence[Resource]) -> None:
        """Refuse containers larger than the maximum."""
        maximum = self._maximum(step.now_ms)
        names = self._state.types.names
        for resource in resources:
            for name, amount, most in zip(names, resource, maximum, strict=True):
                if not 0 <= amount <= most:
                    raise Refusal(
                        "invalid-resource-request",
                        f"Invalid resource request, requested {name}={amount} is not between 0"
                        f" and {most}",
                    )

    def normalise(self, step: Step, queue: str, resource: Resource) -> Resource:
        """At least the minimum of memory, in multiples of it, and one vcore regardless of the ask.

        Hadoop's FifoScheduler only considers memory: its calculator gives each container one vcore.
        It would drop further types; here they are kept, since a task must not run without its GPU.
        With steps of 1024 MB (1500, 4, 2) becomes (2048, 1, 2).
        """
        settings = self._state.settings
        rounded = normalise(
            resource,
            settings.minimum_allocation,
            settings.increment_allocation,
            self._maximum(step.now_ms),
        )
        return (rounded[0], 1, *rounded[2:])

    def node_changed(self, step: Step) -> None:
        """Does nothing."""

    def beat(self, step: Step, node: str) -> None:
        """Fill the node, first come first served."""
        state = self._state
        found = state.nodes.get(node)
        if found is None:
            return
        aside: list[tuple[FifoApplication, Entry]] = []
        while fits(state.settings.minimum_allocation, found.available):
            application = state.line.first()
            if application is None:
                break
            if not self._serve(step, application, found) and application.entry is not None:
                aside.append((application, application.entry))
                state.line.leave(application)
        for application, entry in aside:
            state.line.enter_again(application, entry)

    def _serve(self, step: Step, application: FifoApplication, node: Node) -> bool:
        """Grant an application one container on a node, for its first ask that fits there."""
        if node.name in application.blacklist or node.rack in application.blacklist:
            return False
        for key in application.asks.wanting:
            level = level_of(key, node)
            ask = key.anywhere
            if level is None or ask is None or not fits(ask.resource, node.available):
                continue
            step.emit(
                ContainerAllocated(
                    container_id(application.id, application.attempt, application.next_container),
                    application.id,
                    node.name,
                    ask.resource,
                    *key.order,
                    level,
                    application.waits_for_master,
                    False,
                    step.now_ms,
                )
            )
            return True
        return False

    def update(self, step: Step) -> None:
        """There are no shares."""

    def update_due(self) -> bool:
        """There are no shares."""
        return False

    def preempt(self, step: Step) -> None:
        """Does nothing: the FIFO scheduler does not preempt."""

    def tidy(self, step: Step) -> None:
        """Does nothing: no queues are created on demand."""

    def next_deadline_ms(self) -> int | None:
        """No deadlines."""
        return None

    def update_interval_ms(self) -> int | None:
        """No updates."""
        return None

    def clock_interval_ms(self) -> int | None:
        """There are no clocks."""
        return None

    def move(self, step: Step, application: Application, queue: str) -> None:
        """There is one queue."""
        raise Refusal("not-supported", "the FIFO scheduler has one queue: nothing can be moved")

    def set_priority(self, step: Step, application: Application, priority: int) -> None:
        """There are no priorities."""
        raise Refusal("not-supported", "the FIFO scheduler knows no priorities of applications")

    def may_administer(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether yarn.admin.acl allows it (queues have no lists); always without
        yarn.acl.enable."""
        settings = self._state.settings
        return not settings.acl_enabled or allows(settings.administrators, user, groups)

    def may_submit(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """There are no lists."""
        return True

    # Views.

    def queue_views(self, now_ms: int | None = None) -> list[QueueView]:
        """root and root.default, which has all resources."""
        queues = self._state.queues
        return [self._queue_view(queues[name]) for name in (ROOT, DEFAULT) if name in queues]

    def _queue_view(self, queue: Queue[FifoApplication]) -> QueueView:
        state = self._state
        active = list(state.queues[DEFAULT].applications.values())
        pending = total((a.asks.pending for a in active), len(state.none))
        demand = total((queue.used, pending), len(state.none))
        return QueueView(
            name=queue.name,
            leaf=queue.leaf,
            dynamic=queue.dynamic,
            parent="" if queue.name == ROOT else ROOT,
            children=(DEFAULT,) if queue.name == ROOT else (),
            policy="fifo",
            used=queue.used,
            reserved=state.none,
            demand=demand,
            pending=pending,
            min_share=state.none,
            max_share=state.types.unbounded,
            fair_share=state.total,
            steady_fair_share=state.total,
            weight=1.0,
            running_applications=len(active),
            pending_applications=0,
            max_running_applications=None,
            containers=sum(len(a.containers) for a in active),
            reserved_containers=0,
            preempted=0,
            preemptable=False,
        )

    def limits_of(self, application: ApplicationId) -> FifoLimits:
        """The limits that keep an application waiting; raises KeyError."""
        return FifoLimits(self._state, self._state.applications[application])

    def application_view(self, application: ApplicationId) -> ApplicationView:
        """One application; raises KeyError."""
        state = self._state
        found = state.applications[application]
        return ApplicationView(
            id=found.id,
            name=found.submission.name,
            user=found.user,
            queue=found.queue,
            state=found.shown_state,
            priority=found.priority,
            attempt=found.attempt,
            runnable=found.runnable,
            submitted_ms=found.submitted_ms,
            started_ms=found.started_ms,
            finished_ms=found.finished_ms,
            containers=len(found.containers),
            used=found.used,
            reserved=state.none,
            pending=found.asks.pending,
            demand=total((found.used, found.asks.pending), len(state.none)),
            fair_share=state.none,
            headroom=positive(subtract(state.total, state.used)),
            to_preempt=0,
            preempted=found.preempted,
            diagnostics=found.diagnostics,
        )
