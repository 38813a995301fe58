"""The FIFO scheduler: first come, first served. The baseline for comparisons.

Hadoop's FifoScheduler: one queue, regardless of the requested name; applications in the order of
their submission; a node is filled with the first one's containers before the second one is
considered.
"""

from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import (
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    ContainerAllocated,
)
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.queues import Queue
from fairshare.core.model.resources import Resource, ResourceTypes, fits, positive, subtract, total
from fairshare.core.schedulers.base import DEFAULT, BaseScheduler, BaseSettings, BaseState
from fairshare.core.schedulers.ordering import Entry, Order
from fairshare.core.schedulers.protocol import Step
from fairshare.core.schedulers.reasons import MOST_AHEAD, Limits, applications_before
from fairshare.core.schedulers.views import VolatileFields, VolatileFieldsOf


class FifoSettings(BaseSettings, frozen=True):
    """All settings of the FIFO scheduler, which has one queue, `root.default`.

    As in Hadoop, the increment is the minimum allocation: sizes are multiples of it.
    """


class FifoAttempt(Attempt):
    """An attempt in the order of arrival."""

    __slots__ = ("entry", "rank")

    def __init__(self, application: Application, number: int, types: int) -> None:
        super().__init__(application, number, types)
        self.rank = 0
        self.entry: Entry | None = None


def _arrival(attempt: FifoAttempt) -> Entry:
    return attempt.rank


class FifoState(BaseState[FifoAttempt]):
    """The cluster as the FIFO scheduler sees it: `line` has the applications with asks."""

    settings_type = FifoSettings
    attempt_type = FifoAttempt
    settings: FifoSettings

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.line: Order[FifoAttempt] = Order(_arrival, True)

    def derive(self) -> None:
        """Restore derived values, which are not part of a snapshot."""
        super().derive()
        self._choose_key()

    def _choose_key(self) -> None:
        self.line.key = _arrival if self.ledger is None else self._after_past

    def _after_past(self, attempt: FifoAttempt) -> Entry:
        """Users whose average of the past is a smaller part of the cluster are first; of those
        with the same percentage who came first is."""
        charge = self.queues[DEFAULT].charges.get(attempt.user, self.none)
        both = zip(charge, self.total, strict=True)
        percent = max((100 * part // whole for part, whole in both if whole), default=0)
        return (percent, attempt.rank)

    def orders_users_by_past(self, leaf: Queue[FifoAttempt]) -> bool:
        """That is the order."""
        return True

    def charges_changed(self) -> None:
        """The order follows."""
        self._choose_key()
        self.line.whole_numbers = self.ledger is None
        self.line.refresh()

    def reconsider(self, attempt: FifoAttempt) -> None:
        """Keep the attempt in the order exactly while it has asks."""
        if attempt.asks.wanting:
            self.line.moved(attempt)
        else:
            self.line.leave(attempt)

    def _attempt_started(self, now_ms: int, event: AttemptStarted) -> None:
        super()._attempt_started(now_ms, event)
        if len(self.line.members) > 2 * len(self.queues[DEFAULT].attempts) + 64:
            self.line.renumber([a for a in self.line.members if a is not None])
        self.line.append(self.attempts[event.application])

    def _attempt_ended(self, now_ms: int, event: AttemptEnded) -> None:
        self.line.forget(self.attempts[event.application])
        super()._attempt_ended(now_ms, event)

    def _asks_changed(self, now_ms: int, event: AsksChanged) -> None:
        super()._asks_changed(now_ms, event)
        self.reconsider(self.attempts[event.application])

    def _container_allocated(self, now_ms: int, event: ContainerAllocated) -> None:
        super()._container_allocated(now_ms, event)
        self.reconsider(self.attempts[event.application])


class FifoLimits(Limits):
    """There are no limits: applications are served in the order of submission."""

    _state: "FifoState"
    _attempt: "FifoAttempt"

    def ahead(self, key: AskKey) -> tuple[int, tuple[ApplicationId, ...]]:
        """The applications submitted before."""
        mine = self._attempt.entry
        if mine is None:
            return 0, ()
        line = (a for a in self._state.line.members if a is not None and a.entry is not None)
        before = applications_before(((a.id, a.entry) for a in line), mine)
        return len(before), tuple(before[:MOST_AHEAD])


def volatile_fields(state: FifoState) -> VolatileFieldsOf:
    """A function for the fields of application views that other applications may change."""
    free = positive(subtract(state.total, state.used))

    def look(application: Application) -> VolatileFields:
        if application.over:
            return VolatileFields(state.none, state.none, free, application.diagnostics)
        demand = total((application.used, application.attempt.asks.pending), len(state.none))
        return VolatileFields(demand, state.none, free, application.diagnostics)

    return look


class FifoScheduler(BaseScheduler):
    """First in, first out."""

    name = "fifo"
    title = "FIFO scheduler"
    state_type = FifoState
    limits_type = FifoLimits

    _state: FifoState

    @property
    def state(self) -> FifoState:
        """The cluster; only events change it."""
        return self._state

    def normalise(self, step: Step, queue: str, resource: Resource) -> Resource:
        """At least the minimum of memory, in multiples of it, and one vcore regardless of the ask.

        Hadoop's FifoScheduler only considers memory: its calculator gives each container one vcore.
        It would drop further types; here they are kept, since a task must not run without its GPU.
        With steps of 1024 MB (1500, 4, 2) becomes (2048, 1, 2).
        """
        rounded = super().normalise(step, queue, resource)
        return (rounded[0], 1, *rounded[2:])

    def beat(self, step: Step, node: str) -> None:
        """Fill the node, first come first served."""
        state = self._state
        place = state.nodes.get(node)
        if place is None:
            return
        aside: list[tuple[FifoAttempt, Entry]] = []
        while fits(state.settings.minimum_allocation, place.available):
            attempt = state.line.first()
            if attempt is None:
                break
            if not self.serve(step, attempt, place) and attempt.entry is not None:
                aside.append((attempt, state.line.put_aside(attempt)))
        for attempt, entry in aside:
            state.line.enter_again(attempt, entry)
