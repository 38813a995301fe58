"""The contract between the resource manager and a scheduler, the step that they share, and what
refusals say about queues.

The manager handles life cycles (submissions, attempts, tasks); the scheduler handles allocation
(queues, shares, limits, nodes). Both change the state only by `step.emit(event)`.
"""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.events import ApplicationMoved, Event
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.nodes import Node
from fairshare.core.model.queues import Queue
from fairshare.core.model.resources import Resource
from fairshare.core.model.state import ClusterState
from fairshare.core.model.work import ResourceRequest
from fairshare.core.schedulers.reasons import Limits, NotInQueue
from fairshare.core.schedulers.views import ApplicationView, QueueView

Made = TypeVar("Made")

Steps = Generator[None, None, Made]
"""The making of something, with a pause wherever other work may run, and the state may change."""


def at_once(steps: Steps[Made]) -> Made:
    """What the steps make, without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as made:
            value: Made = made.value
            return value


State = ClusterState[Queue[Attempt], Attempt]

TIDY_INTERVAL_MS = 10_000
"""The Fair Scheduler's interval."""


class Refusal(Exception):
    """A tenant's request is refused. Becomes an event; never leaves the core.

    `queue` is that of a submission for which Hadoop's message to YARN's clients names it, with the
    application, which has no number yet when the scheduler refuses it.
    """

    def __init__(self, code: str, reason: str, queue: str = "") -> None:
        self.code = code
        self.reason = reason
        self.queue = queue
        super().__init__(reason)


class Step:
    """One call of `handle`: the instant, and the events emitted so far."""

    __slots__ = ("_handlers", "events", "now_ms")

    def __init__(self, now_ms: int, state: ClusterState[Any, Any]) -> None:
        self.now_ms = now_ms
        self._handlers = state.handlers
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        """Apply an event to the state and record it."""
        # Recorded first: if a handler fails, the caller knows that the state may have changed.
        self.events.append(event)
        self._handlers[type(event)](self.now_ms, event)  # as `ClusterState.apply` does


def move_deferred(
    step: Step, state: ClusterState[Any, Any], application: Application, leaf: str
) -> None:
    """Let an application that has not started, as it is held or waits for another one or for an
    instant, start in another leaf. Raises Refusal (`not-running`) for any other."""
    if application.id not in state.deferred:
        raise Refusal("not-running", f"application {application.id} has no running attempt")
    if leaf != application.queue:
        step.emit(ApplicationMoved(application.id, leaf, True))


class PartitionLevel(NamedTuple):
    """What a leaf queue uses of a partition, and its share of it: fair share, or guaranteed
    capacity."""

    queue: str
    label: str
    used: Resource
    share: Resource


class Scheduler(Protocol):
    """Fair, capacity, pools, fifo: one package each, one protocol."""

    name: ClassVar[str]
    """`fair`, `fifo`, ..."""

    limits_type: ClassVar[type[Limits]]
    """The limits on an attempt that only this scheduler knows, of its state."""

    @property
    def state(self) -> State:
        """The cluster; only `step.emit` changes it."""

    @property
    def master_attempts(self) -> int:
        """The maximum number of master attempts of an application, the first one included."""

    def load(self, step: Step, settings: bytes, epoch_ms: int) -> None:
        """Apply settings; raises Refusal when they cannot be applied at run time."""

    def place(self, step: Step, submission: SubmitApplication) -> tuple[str, int]:
        """The queue (created if necessary) and the priority of a submission; raises Refusal."""

    def start_attempt(self, step: Step, application: Application, attempt: int) -> None:
        """Put an attempt into its queue, runnable or waiting."""

    def end_attempt(self, step: Step, application: Application, *, failed: bool = False) -> None:
        """Remove an attempt, whose containers have completed, and let other applications start."""

    def validate(self, step: Step, queue: str, resources: Sequence[Resource]) -> None:
        """Raise Refusal if the queue never grants a container of one of these sizes."""

    def normalise(self, step: Step, queue: str, resource: Resource) -> Resource:
        """The size that a queue grants for an ask of this size."""

    def beat(self, step: Step, node: str) -> None:
        """Assign containers on a node."""

    def move(self, step: Step, application: Application, queue: str) -> None:
        """Move an application to another queue; raises Refusal."""

    def set_priority(self, step: Step, application: Application, priority: int) -> None:
        """Change an application's priority; raises Refusal."""

    def may_administer(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether a user may kill or move other users' applications in a queue.

        An empty queue name means the whole cluster: only its administrators may.
        """

    def queue_views(self, now_ms: int | None = None) -> list[QueueView]:
        """All queues, root first, parents before children. Limits are as of `now_ms`; None: long
        after the start."""

    def leaf_shares(self) -> dict[str, Resource]:
        """The fair share of each leaf queue, as in its view, without the rest of it."""

    def partition_levels(self) -> list[PartitionLevel]:
        """What each leaf queue uses of each partition, and its share of it."""
        queues = self.state.queues
        return [
            PartitionLevel(name, "", queues[name].used, share)
            for name, share in self.leaf_shares().items()
        ]

    def limits_of(self, application: ApplicationId) -> Limits:
        """The limits that keep an application waiting and that only this scheduler knows; raises
        KeyError. `schedulers.reasons.reasons` combines them with the nodes."""
        state = self.state
        attempt = state.attempts.get(application)
        if attempt is None:
            return NotInQueue(state.applications[application])
        return self.limits_type(state, attempt)

    def application_view(self, application: ApplicationId) -> ApplicationView:
        """One application; raises KeyError."""

    # Methods that only some schedulers define, with what they do in all others.

    tidies_in_rounds: ClassVar[bool] = False
    """Whether `tidy` removes only queues that several rounds have found idle. It is then called at
    an interval, and otherwise after something has ended."""

    def check_asks(
        self, application: ApplicationId, queue: str, requests: Iterable[ResourceRequest]
    ) -> None:
        """Raise Refusal if the queue can never grant one of these asks, to be read once."""
        return

    def node_changed(self, step: Step) -> None:
        """A node was added, removed or resized."""
        return

    def update(self, step: Step) -> None:
        """Compute shares and starvation; preempt where it is due."""
        return

    def preempt(self, step: Step) -> None:
        """Kill the containers whose preemption is due."""
        return

    def tidy(self, step: Step) -> None:
        """Remove queues that were created on demand and are empty."""
        return

    def may_submit(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether a user may submit applications to a queue."""
        return True

    def next_deadline_ms(self) -> int | None:
        """The latest time at which `preempt` or `update` must be called even without any other
        input."""
        return None

    def update_interval_ms(self) -> int | None:
        """How often `update` must be called even without any other input; None: never."""
        return None

    def clock_interval_ms(self) -> int | None:
        """The maximum age of the last `update` when a change is about to happen; None: any age.

        Starvation clocks run from the last update that saw no starving queue. If that update is too
        old, it must be repeated before a change; otherwise the time in between would count as
        starved.
        """
        return None

    def update_due(self) -> bool:
        """Whether an update would change anything (starvation clocks aside)."""
        return False

    def queue_views_in_steps(self, now_ms: int | None = None) -> Steps[list[QueueView]]:
        """`queue_views` with a pause after each queue, where there may be thousands of them. Each
        queue is shown as it is when its turn comes."""
        yield from ()  # one step: the queues of all other schedulers take too little time
        return self.queue_views(now_ms)

    def leaf_guarantees(self) -> dict[str, Resource]:
        """What each leaf queue is guaranteed, its view's `min_share`: a capacity, or a minimum
        share. Leaves without a guarantee may be missing."""
        return {}

    def go_back(self, step: Step) -> None:
        """New settings were refused; those in force remain, and may be applied once more."""
        return

    def settle(self, step: Step) -> None:
        """Emit the cluster-wide consequences of the events of a step whose input was processed."""
        return

    def in_order_of_end(self, holder: Application | Node) -> Sequence[ContainerId]:
        """The live containers of an application or on a node, which all end now: the oldest
        first."""
        return tuple(holder.containers)

    def lifetime_s(self, queue: str, requested_s: int) -> int:
        """The lifetime that a queue grants for a requested one; 0 or less means no limit for
        both."""
        return requested_s

    def maximum_lifetime_s(self, queue: str) -> int:
        """The longest lifetime that a later request may set; 0 or less: no limit."""
        return 0

    def monitor_interval_ms(self) -> int | None:
        """The interval between rounds of preemption (`preempt`) now; None: no round is needed,
        since none could preempt."""
        return None

    def tidy_interval_ms(self) -> int | None:
        """The interval until `tidy` now; None: it is not needed, since no queue could be
        removed."""
        return TIDY_INTERVAL_MS

    # Partitions (node labels): by default there are none.

    def labels(self) -> dict[str, bool]:
        """The existing partitions, by name: whether each is exclusive."""
        return {}

    def check_labels(self, submission: SubmitApplication) -> None:
        """Raise Refusal for a partition that no queue could have access to; the others are checked
        when the queue is known."""
        label = submission.wanted_label(master=True)
        if label:
            raise _unknown(self.name, label)
        for asking in (submission.requests, submission.tasks):
            for one in asking:
                if one.label:
                    raise _unknown(self.name, one.label)

    def label_of(
        self, application: Application, wanted: str | None, *, master: bool, check: bool
    ) -> str:
        """The partition of an ask that names this one, or none; with `check` it raises Refusal if
        the ask may not use it."""
        if wanted is None:
            wanted = application.submission.wanted_label(master=master)
        if wanted and check:
            raise _unknown(self.name, wanted)
        return ""

    def add_labels(self, step: Step, new: dict[str, bool]) -> None:
        """Create partitions, by name: whether each is exclusive; raises Refusal."""
        raise _without_labels(self.name)

    def remove_labels(self, step: Step, names: Sequence[str]) -> None:
        """Remove partitions; raises Refusal."""
        raise _without_labels(self.name)

    def label_nodes(self, step: Step, nodes: dict[str, str], *, known: bool) -> None:
        """Assign nodes to partitions; raises Refusal. `known`: only registered nodes are
        allowed."""
        raise _without_labels(self.name)


def _unknown(scheduler: str, label: str) -> Refusal:
    return Refusal(
        "invalid-label",
        f"there is no partition {label!r}: the {scheduler} scheduler has no node labels, the"
        " capacity scheduler has",
    )


def _without_labels(scheduler: str) -> Refusal:
    return Refusal("labels-disabled", f"the {scheduler} scheduler has no node labels")


MOST_NAMES = 8


def listed(names: Iterable[str]) -> str:
    """Names in order; of many the first ones.

    >>> listed(f"root.q{number}" for number in range(10))
    'root.q0, root.q1, root.q2, root.q3, root.q4, root.q5, root.q6, root.q7, and 2 more'
    """
    ordered = sorted(names)
    more = len(ordered) - MOST_NAMES
    return ", ".join(ordered[:MOST_NAMES]) + (f", and {more} more" if more > 0 else "")


_LEAVES = ". Its leaf queues are "
_NO_LEAF = ". No leaf queue is below it"


def leaves_below(queue: str, leaves: Iterable[str]) -> str:
    """What follows the statement that a queue is not a leaf.

    >>> leaves_below("root.lab", ["root.lab.ml", "root.lab.bio", "root.laboratory"])
    '. Its leaf queues are root.lab.bio, root.lab.ml'
    >>> leaves_below("root.lab", [])
    '. No leaf queue is below it'
    """
    below = [name for name in leaves if name.startswith(f"{queue}.")]
    return f"{_LEAVES}{listed(below)}" if below else _NO_LEAF


def without_leaves(reason: str) -> str:
    """A reason without what `leaves_below` added, as Hadoop words it.

    >>> without_leaves("root.lab is not a leaf queue. Its leaf queues are root.lab.ml")
    'root.lab is not a leaf queue'
    """
    return reason.partition(_LEAVES)[0].partition(_NO_LEAF)[0]
