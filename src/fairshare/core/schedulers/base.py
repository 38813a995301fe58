"""The parts of a scheduler that most have in common, as defaults for a simple one: one queue,
`root.default`, which takes every application; no shares, no priorities, no preemption, no limits.

A scheduler derives its own from `BaseScheduler` and `BaseState`, and defines at least a name and
what happens when a node is ready (`beat`). `protocol.Scheduler` documents each method.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

import msgspec

from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.asks import AskKey
from fairshare.core.model.bookings import RULES, BookingRules
from fairshare.core.model.events import (
    AttemptEnded,
    AttemptStarted,
    ConfigurationLoaded,
    ContainerAllocated,
    Locality,
)
from fairshare.core.model.identifiers import ApplicationId, container_id
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.nodes import Node
from fairshare.core.model.queues import ROOT, Queue, parents_of
from fairshare.core.model.resources import (
    Resource,
    ResourceTypes,
    fits,
    positive,
    smallest,
    subtract,
    total,
)
from fairshare.core.model.state import ClusterState
from fairshare.core.model.time_limits import TimeLimit
from fairshare.core.model.usage import OFF, Fairness
from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.bookings import refusal
from fairshare.core.schedulers.calculators import normalise
from fairshare.core.schedulers.protocol import Refusal, Scheduler, Step
from fairshare.core.schedulers.reasons import Limits
from fairshare.core.schedulers.views import (
    ApplicationView,
    QueueView,
    VolatileFields,
    application_view,
)


def level_of(key: AskKey, node: Node) -> Locality | None:
    """The locality at which an ask may be served on a node; None: it must not be served there.

    Example: an ask for n1 on /r1 that does not relax is node-local on n1 and None on all other
    nodes.
    """
    here, rack, ask = key.places.get(node.host), key.places.get(node.rack), key.anywhere
    if ask is None:
        return None
    if here is not None and rack is not None:
        return Locality.NODE_LOCAL
    if rack is not None:
        return Locality.RACK_LOCAL if rack.relax else None
    return Locality.OFF_SWITCH if ask.relax else None


DEFAULT: Final = "root.default"


class BaseSettings(msgspec.Struct, frozen=True):
    """The settings that YARN's schedulers have in common; vectors are in the order of `types`."""

    types: ResourceTypes = ResourceTypes()
    minimum_allocation: Resource = (1024, 1)
    maximum_allocation: Resource = (8192, 4)
    increment_allocation: Resource = (1024, 1)  # 0: no increment
    maximum_override_delay_ms: int = 10_000  # until the largest node limits containers
    acl_enabled: bool = False
    administrators: str = "*"  # yarn.admin.acl; counts only with acl_enabled
    master_max_attempts: int = 2  # yarn.resourcemanager.am.max-attempts
    fairness: Fairness = OFF
    time_limits: dict[str, TimeLimit] = {}  # of tasks, by queue
    bookings: BookingRules = RULES


class _OfTypes(Protocol):
    @property
    def types(self) -> ResourceTypes: ...


SettingsType = TypeVar("SettingsType", bound=_OfTypes)


def decoded(settings: bytes, kind: type[SettingsType], types: ResourceTypes) -> SettingsType:
    """Settings as a scheduler loads them; raises Refusal for those of another scheduler, or with
    other resource types."""
    try:
        new = msgspec.json.decode(settings, type=kind)
    except msgspec.ValidationError as error:
        raise Refusal("invalid-settings", f"settings of another scheduler: {error}") from error
    if new.types != types:
        raise Refusal(
            "resource-types-changed",
            f"resource types cannot change while running (they are {types.names})",
        )
    return new


AttemptType = TypeVar("AttemptType", bound=Attempt)

_smallest = lru_cache(maxsize=64)(smallest)  # each submission compares the same two


class BaseState(ClusterState[Queue[AttemptType], AttemptType], Generic[AttemptType]):
    """A cluster with root and `root.default`."""

    settings_type: ClassVar[type[BaseSettings]] = BaseSettings
    attempt_type: ClassVar[type[Attempt]] = Attempt

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.settings: Any = self.settings_type(types=types)
        self.started_ms: int | None = None

    def new_queue(self, name: str, leaf: bool, dynamic: bool) -> Queue[AttemptType]:
        return Queue(name, leaf, dynamic, len(self.none))

    def new_attempt(self, application: Application, number: int) -> AttemptType:
        made: Any = self.attempt_type(application, number, len(self.none))
        return made  # type: ignore[no-any-return]

    def ancestry(self, queue: str) -> tuple[Queue[AttemptType], ...]:
        """A queue and its ancestors."""
        queues = self.queues
        if queue == DEFAULT:  # of every container
            return queues[DEFAULT], queues[ROOT]
        return tuple(queues[name] for name in (queue, *parents_of(queue)))

    def _configuration_loaded(self, now_ms: int, event: ConfigurationLoaded) -> None:
        self.settings = msgspec.json.decode(event.settings, type=self.settings_type)
        if self.started_ms is None:
            self.started_ms = now_ms
        super()._configuration_loaded(now_ms, event)
        if DEFAULT not in self.queues:
            self.queues[DEFAULT] = self.new_queue(DEFAULT, True, False)
        assert ROOT in self.queues


class BaseScheduler(Scheduler):
    """One queue, without shares, priorities, preemption and limits."""

    name: ClassVar[str]
    title: ClassVar[str]
    """In messages: `the FIFO scheduler`."""

    state_type: ClassVar[type[BaseState[Any]]]

    limits_type = Limits

    def __init__(self, types: ResourceTypes) -> None:
        self._state: Any = self.state_type(types)

    def beat(self, step: Step, node: str) -> None:
        """Assign containers on a node; see `serve`."""
        raise NotImplementedError

    def serve(self, step: Step, attempt: Attempt, node: Node) -> bool:
        """Grant an attempt one container on a node, for its first ask that fits there."""
        if node.host in attempt.blacklist or node.rack in attempt.blacklist:
            return False
        for key in attempt.asks.wanting:
            level = level_of(key, node)
            ask = key.anywhere
            if level is None or ask is None or not fits(ask.resource, node.available):
                continue
            kept = self._state.kept
            if kept and refusal(self._state, attempt, key, ask.resource, step.now_ms):
                continue
            step.emit(
                ContainerAllocated(
                    container_id(attempt.id, attempt.number, attempt.next_container),
                    attempt.id,
                    node.name,
                    ask.resource,
                    *key.order,
                    level,
                    attempt.waits_for_master,
                    False,
                    step.now_ms,
                )
            )
            return True
        return False

    @property
    def state(self) -> Any:
        """The cluster; only events change it."""
        return self._state

    @property
    def master_attempts(self) -> int:
        """The maximum number of master attempts, the first one included."""
        attempts: int = self._state.settings.master_max_attempts
        return attempts

    def load(self, step: Step, settings: bytes, epoch_ms: int) -> None:
        decoded(settings, self._state.settings_type, self._state.types)
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

    def largest(self, now_ms: int) -> Resource:
        """The largest container: as configured, and at most the largest node some time after the
        start."""
        state = self._state
        maximum: Resource = state.settings.maximum_allocation
        up_ms = now_ms - (state.started_ms or 0)
        if state.nodes and up_ms > state.settings.maximum_override_delay_ms:
            maximum = _smallest(maximum, state.largest_node())
        return maximum

    def validate(self, step: Step, queue: str, resources: Sequence[Resource]) -> None:
        """Refuse containers larger than the maximum."""
        maximum = self.largest(step.now_ms)
        names = self._state.types.names
        for resource in resources:
            if len(resource) == len(maximum) and min(resource) >= 0 and fits(resource, maximum):
                continue
            for name, amount, most in zip(names, resource, maximum, strict=True):
                if not 0 <= amount <= most:
                    raise Refusal(
                        "invalid-resource-request",
                        f"Invalid resource request, requested {name}={amount} is not between 0"
                        f" and {most}",
                    )

    def normalise(self, step: Step, queue: str, resource: Resource) -> Resource:
        """At least the minimum, in multiples of the increment."""
        settings = self._state.settings
        return normalise(
            resource,
            settings.minimum_allocation,
            settings.increment_allocation,
            self.largest(step.now_ms),
        )

    def move(self, step: Step, application: Application, queue: str) -> None:
        raise Refusal("not-supported", f"the {self.title} has one queue: nothing can be moved")

    def set_priority(self, step: Step, application: Application, priority: int) -> None:
        raise Refusal("not-supported", f"the {self.title} knows no priorities of applications")

    def may_administer(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether yarn.admin.acl allows it (queues have no lists); always without
        yarn.acl.enable."""
        settings = self._state.settings
        return not settings.acl_enabled or allows(settings.administrators, user, groups)

    # Views.

    def queue_views(self, now_ms: int | None = None) -> list[QueueView]:
        """root and root.default, which has all resources."""
        queues = self._state.queues
        return [self._queue_view(queues[name]) for name in (ROOT, DEFAULT) if name in queues]

    def _queue_view(self, queue: Queue[Attempt]) -> QueueView:
        state = self._state
        active = list(state.queues[DEFAULT].attempts.values())
        pending = total((a.asks.pending for a in active), len(state.none))
        demand = total((queue.used, pending), len(state.none))
        return QueueView(
            name=queue.name,
            leaf=queue.leaf,
            dynamic=queue.dynamic,
            parent="" if queue.name == ROOT else ROOT,
            children=(DEFAULT,) if queue.name == ROOT else (),
            policy=self.name,
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

    def leaf_shares(self) -> dict[str, Resource]:
        """The fair share of each leaf queue, as in its view: root.default has all resources."""
        return {DEFAULT: self._state.total} if DEFAULT in self._state.queues else {}

    def application_view(self, application: ApplicationId) -> ApplicationView:
        """One application; raises KeyError."""
        state = self._state
        application_data = state.applications[application]
        return application_view(
            application_data,
            application_data.attempt,
            VolatileFields(
                total(
                    (application_data.used, application_data.attempt.asks.pending), len(state.none)
                ),
                state.none,
                positive(subtract(state.total, state.used)),
                application_data.diagnostics,
            ),
            used=application_data.used,
            reserved=state.none,
        )
