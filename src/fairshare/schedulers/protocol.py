"""Owns the contract between the resource manager and a scheduler, and the step they share.

The manager knows lives (submissions, attempts, tasks), the scheduler knows order (queues, shares,
limits, nodes). Both change the state only by `step.emit(event)`.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from fairshare.model.applications import Application
from fairshare.model.events import Event
from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.model.inputs import SubmitApplication
from fairshare.model.nodes import Node
from fairshare.model.queues import Queue
from fairshare.model.resources import Resource
from fairshare.model.state import ClusterState
from fairshare.model.work import ResourceRequest
from fairshare.schedulers.reasons import Limits
from fairshare.schedulers.views import ApplicationView, QueueView

State = ClusterState[Queue[Application], Application]


class Refusal(Exception):
    """What a tenant asked for is not granted. Becomes an event; never leaves the core."""

    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(reason)


class Step:
    """One call of `handle`: the instant, and what has happened in it so far."""

    __slots__ = ("_handlers", "events", "now_ms")

    def __init__(self, now_ms: int, state: ClusterState[Any, Any]) -> None:
        self.now_ms = now_ms
        self._handlers = state.handlers
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        """Let something happen: change the state, and remember it."""
        # Noted first: where a handler fails, it is known that the state may have changed.
        self.events.append(event)
        self._handlers[type(event)](self.now_ms, event)  # what `ClusterState.apply` does


@runtime_checkable
class GoesBack(Protocol):
    """A scheduler that applies its old settings once more when others were refused."""

    def go_back(self, step: Step) -> None:
        """Settings were refused; those in force stay."""


@runtime_checkable
class EndsInOrder(Protocol):
    """A scheduler that says in which order containers end that end together.

    For those that do not, the oldest ends first.
    """

    def in_order_of_end(self, holder: Application | Node) -> Sequence[ContainerId]:
        """The live containers of an application or on a node, which all end now."""


@runtime_checkable
class LimitsLifetimes(Protocol):
    """A scheduler whose queues limit how long their applications live.

    With any other an application lives as long as it wishes.
    """

    def lifetime_s(self, queue: str, requested_s: int) -> int:
        """What a queue grants for a wish; 0 or less is no limit, on both sides."""

    def maximum_lifetime_s(self, queue: str) -> int:
        """The most that a later wish may come to; 0 or less: there is no limit."""


@runtime_checkable
class Partitioned(Protocol):
    """A scheduler whose nodes may belong to partitions (node labels).

    Any other refuses who asks for one.
    """

    def label_of(
        self, application: Application, wanted: str | None, *, master: bool, check: bool
    ) -> str:
        """The partition of an ask that names this one, or none; raises Refusal if it checks."""

    def labels(self) -> dict[str, bool]:
        """The partitions that there are, by name: whether each is exclusive."""

    def add_labels(self, step: Step, new: dict[str, bool]) -> None:
        """Make partitions, by name: whether each is exclusive; raises Refusal."""

    def remove_labels(self, step: Step, names: Sequence[str]) -> None:
        """Remove partitions; raises Refusal."""

    def label_nodes(self, step: Step, nodes: dict[str, str], *, known: bool) -> None:
        """Put nodes into partitions; raises Refusal. `known`: only nodes that are there."""


@runtime_checkable
class Monitored(Protocol):
    """A scheduler whose preemption is decided in rounds (`preempt`), an interval apart."""

    def monitor_interval_ms(self) -> int | None:
        """How far apart rounds are now; None: none is needed, nothing could come of one."""


@runtime_checkable
class TidiesInRounds(Protocol):
    """A scheduler whose queues go when several rounds (`tidy`) have found them idle."""

    def tidy_interval_ms(self) -> int | None:
        """How far apart rounds are now; None: none is needed, no queue could go."""


@runtime_checkable
class SettlesSteps(Protocol):
    """A scheduler that has the last word in a step, once what was told is done."""

    def settle(self, step: Step) -> None:
        """Let happen what follows for all from what has happened to one."""


class Scheduler(Protocol):
    """Fair, capacity, pools, fifo: one room each, one protocol."""

    @property
    def name(self) -> str:
        """`fair`, `fifo`, ..."""

    @property
    def state(self) -> State:
        """The cluster; only `step.emit` changes it."""

    @property
    def master_attempts(self) -> int:
        """How often an application's master may fail, the first time included."""

    def load(self, step: Step, settings: bytes, epoch_ms: int) -> None:
        """Take settings over; raises Refusal when they cannot be used at run time."""

    def place(self, step: Step, submission: SubmitApplication) -> tuple[str, int]:
        """The queue (made if need be) and the priority of a submission; raises Refusal."""

    def start_attempt(self, step: Step, application: Application, attempt: int) -> None:
        """Put an attempt into its queue, runnable or waiting."""

    def end_attempt(self, step: Step, application: Application, *, failed: bool = False) -> None:
        """Take an attempt out (its containers have completed), and let others start."""

    def check_asks(
        self, application: ApplicationId, queue: str, requests: Sequence[ResourceRequest]
    ) -> None:
        """Raise Refusal if the queue can never grant one of these asks."""

    def validate(self, step: Step, queue: str, resources: Sequence[Resource]) -> None:
        """Raise Refusal if a container of one of these sizes is never granted in the queue."""

    def normalise(self, step: Step, queue: str, resource: Resource) -> Resource:
        """The size that is granted in a queue when this one is asked for."""

    def node_changed(self, step: Step) -> None:
        """A node was added, removed or resized."""

    def beat(self, step: Step, node: str) -> None:
        """Assign containers on a node."""

    def update(self, step: Step) -> None:
        """Compute shares and starvation; preempt where it is due."""

    def preempt(self, step: Step) -> None:
        """Kill what is due."""

    def move(self, step: Step, application: Application, queue: str) -> None:
        """Put an application into another queue; raises Refusal."""

    def set_priority(self, step: Step, application: Application, priority: int) -> None:
        """Change an application's priority; raises Refusal."""

    def may_administer(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether a user may kill or move others' applications of a queue.

        An empty queue is the cluster as a whole: for its administrators alone.
        """

    def may_submit(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether a user may bring an application into a queue."""

    def tidy(self, step: Step) -> None:
        """Remove what was made on demand and is empty."""

    def next_deadline_ms(self) -> int | None:
        """When `preempt` or `update` must be called at the latest, though nothing happens."""

    def update_interval_ms(self) -> int | None:
        """How often `update` must be called though nothing happens; None: not at all."""

    def clock_interval_ms(self) -> int | None:
        """How old the last `update` may be when something is about to happen; None: of any age.

        Clocks of starvation run from the last update that saw nobody starving. One that was long
        ago must be repeated before a change, else the time in between counts as starved.
        """

    def update_due(self) -> bool:
        """Whether an update would change anything (clocks of starvation apart)."""

    def queue_views(self, now_ms: int | None = None) -> list[QueueView]:
        """All queues, root first, parents before children. Limits are as of `now_ms`; None: long
        after the start."""

    def limits_of(self, application: ApplicationId) -> Limits:
        """What keeps one application waiting, as far as only this scheduler knows; raises KeyError.
        `schedulers.reasons.reasons` puts it together with the nodes."""

    def application_view(self, application: ApplicationId) -> ApplicationView:
        """One application; raises KeyError."""
