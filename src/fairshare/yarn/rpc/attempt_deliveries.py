"""What each master has yet to receive: containers granted to it, ends of its containers,
containers that are to be preempted, nodes that changed. Memory of this server alone.

Filled by the records of the journal, emptied by answers. An end counts as received when the master
calls again after the answer that had it. After a restart masters register again; what was granted
in an answer that never arrived is ended as `masters` says, and ends come once more from the nodes,
which keep them until they may forget them. Source: Hadoop 3.4.1, RMAppAttemptImpl
(justFinishedContainers, finishedContainersSentToAM), SchedulerApplicationAttempt
(newlyAllocatedContainers).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationEnded,
    AttemptEnded,
    AttemptStarted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    ContainerMarked,
    ContainerSpared,
    NodeAdded,
    NodeDrained,
    NodeRemoved,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of, attempt_of
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.runtime.observers import Observers
from fairshare.yarn.rpc.wire.messages import AllocateResponseProto

MOST_NODE_CHANGES = 1_000
"""So many changes of nodes are kept for masters that have not called since."""


class Deliveries:
    """What waits for the master of one application.

    `registered`: with this server; `answers` counts its allocate calls, and `answer` is the last
    one's answer. `fresh` are grants that no answer had yet, `completed` ends that none had, `sent`
    ends in the last answer. `marked` are all containers that are to be preempted, `warned` those of
    them that an answer has named. `recovered` are ends of the time before this server's start.
    `node_tokens` are the nodes for which it has a token. `heard_ms` is when it was last heard, in
    ticks; None: its container has not been launched.
    """

    __slots__ = (
        "answer",
        "answers",
        "attempt",
        "completed",
        "fresh",
        "heard_ms",
        "lock",
        "marked",
        "master",
        "node_changes",
        "node_tokens",
        "recovered",
        "registered",
        "sent",
        "warned",
    )

    def __init__(self, attempt: int) -> None:
        self.completed: dict[ContainerId, ContainerCompleted] = {}
        self.marked: dict[ContainerId, None] = {}
        self.recovered: set[ContainerId] = set()
        self.begin(attempt)

    def begin(self, attempt: int) -> None:
        """Forget the attempt before, but not the ends that its master has not received, nor which
        containers are to be preempted."""
        self.attempt = attempt
        self.registered = False
        self.answers = 0
        self.answer: AllocateResponseProto | None = None
        self.heard_ms: int | None = None
        self.lock = asyncio.Lock()
        self.master: ContainerId | None = None
        self.fresh: dict[ContainerId, ContainerAllocated] = {}
        self.sent: dict[ContainerId, ContainerCompleted] = {}
        self.warned: dict[ContainerId, None] = {}
        self.node_tokens: set[str] = set()
        self.node_changes = 0


class AttemptDeliveries:
    """The deliveries to all masters that register over Hadoop's protocol.

    `acknowledged` is called with each finished container whose end no master waits for any more.
    """

    def __init__(self, state: State, ticks_ms: Callable[[], int]) -> None:
        self.acknowledged: Callable[[ContainerId], None] = lambda container: None
        self._state = state
        self._ticks_ms = ticks_ms
        self._of: dict[ApplicationId, Deliveries] = {}
        self._node_changes: deque[NodeAdded | NodeRemoved | NodeDrained] = deque(
            maxlen=MOST_NODE_CHANGES
        )
        self._node_changes_seen = 0
        for application in state.applications.values():
            if application.active and registers(application):
                self._recover(application)

    def get(self, application: ApplicationId) -> Deliveries | None:
        """The deliveries to the present master of an application."""
        return self._of.get(application)

    def items(self) -> Iterable[tuple[ApplicationId, Deliveries]]:
        """All of them, by application."""
        return self._of.items()

    def begin(self, application: Application) -> Deliveries:
        """The deliveries to a master that registers, if its application was not expected to have
        one."""
        deliveries = self._of.get(application.id)
        if deliveries is None:
            deliveries = self._of[application.id] = Deliveries(application.attempt.number)
            deliveries.master = application.attempt.master
        return deliveries

    def awaits(self, container: ContainerId) -> bool:
        """Whether a master has yet to receive the end of a container."""
        found = self._of.get(application_of(container))
        return found is not None and (container in found.completed or container in found.sent)

    def recover_end(self, ended: ContainerCompleted) -> bool:
        """Deliver an end of the time before this server's start, if its master still runs; False:
        no master is to have it, or has had it from this server.

        The master may have had it from the server before, as with Hadoop's ResourceManager: only
        the nodes keep what was delivered, from their next heartbeat on.
        """
        number = application_of(ended.container)
        deliveries, application = self._of.get(number), self._state.applications.get(number)
        if deliveries is None or application is None or ended.container in application.containers:
            return False
        if ended.container in deliveries.recovered:
            return False
        if not application.submission.details.keep_containers and (
            application.attempt.master is None
            or attempt_of(ended.container) != application.attempt.number
        ):
            return False
        deliveries.recovered.add(ended.container)
        deliveries.completed[ended.container] = ended
        return True

    def received(self, deliveries: Deliveries) -> None:
        """A master has received its last answer."""
        sent, deliveries.sent = deliveries.sent, {}
        for container in sent:
            self.acknowledged(container)

    def node_changes_since(
        self, deliveries: Deliveries
    ) -> list[NodeAdded | NodeRemoved | NodeDrained]:
        """The last change of each node since the last answer of a master."""
        missed = self._node_changes_seen - deliveries.node_changes
        deliveries.node_changes = self._node_changes_seen
        if not missed:
            return []
        recent = list(self._node_changes)[-missed:]
        return list({change.node: change for change in recent}.values())

    def skip_node_changes(self, deliveries: Deliveries) -> None:
        """A master that registers finds out about the nodes as they are."""
        deliveries.node_changes = self._node_changes_seen

    def forget_tokens(self, node: str | None = None) -> None:
        """Masters need new tokens: for a node that registered again, or for all nodes."""
        for deliveries in self._of.values():
            if node is None:
                deliveries.node_tokens.clear()
            else:
                deliveries.node_tokens.discard(node)

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        observers.events(self._attempt_started, AttemptStarted)
        observers.events(self._allocated, ContainerAllocated)
        observers.events(self._launched, ContainerLaunched)
        observers.events(self._completed, ContainerCompleted)
        observers.events(self._marked, ContainerMarked)
        observers.events(self._spared, ContainerSpared)
        observers.events(self._attempt_ended, AttemptEnded)
        observers.events(self._application_ended, ApplicationEnded)
        observers.events(self._node_changed, NodeAdded, NodeRemoved, NodeDrained)

    # How.

    def _recover(self, application: Application) -> None:
        deliveries = self._of[application.id] = Deliveries(application.attempt.number)
        deliveries.master = application.attempt.master
        if application.attempt.master is not None:
            deliveries.heard_ms = self._ticks_ms()
        for container, record in application.containers.items():
            node = self._state.nodes.get(record.node)
            if node is not None and container in node.marked:
                deliveries.marked[container] = None

    def _attempt_started(self, record: Record, event: AttemptStarted) -> None:
        application = self._state.applications.get(event.application)
        if application is None or not registers(application):
            return
        deliveries = self._of.get(event.application)
        if deliveries is None:
            self._of[event.application] = Deliveries(event.attempt)
        else:
            deliveries.begin(event.attempt)

    def _allocated(self, record: Record, event: ContainerAllocated) -> None:
        deliveries = self._of.get(event.application)
        if deliveries is None:
            return
        if event.master:
            deliveries.master = event.container
        else:
            deliveries.fresh[event.container] = event

    def _launched(self, record: Record, event: ContainerLaunched) -> None:
        found = self._of.get(application_of(event.container))
        if found is not None and found.master == event.container:
            found.heard_ms = self._ticks_ms()

    def _completed(self, record: Record, event: ContainerCompleted) -> None:
        deliveries = self._of.get(application_of(event.container))
        if deliveries is None or event.container == deliveries.master:
            return
        deliveries.fresh.pop(event.container, None)
        deliveries.marked.pop(event.container, None)
        deliveries.warned.pop(event.container, None)
        deliveries.completed[event.container] = event

    def _marked(self, record: Record, event: ContainerMarked) -> None:
        found = self._of.get(application_of(event.container))
        if found is not None:
            found.marked[event.container] = None

    def _spared(self, record: Record, event: ContainerSpared) -> None:
        deliveries = self._of.get(application_of(event.container))
        if deliveries is not None:
            deliveries.marked.pop(event.container, None)
            deliveries.warned.pop(event.container, None)

    def _attempt_ended(self, record: Record, event: AttemptEnded) -> None:
        deliveries = self._of.get(event.application)
        if deliveries is None:
            return
        application = self._state.applications.get(event.application)
        unsent, deliveries.completed = {**deliveries.sent, **deliveries.completed}, {}
        deliveries.begin(deliveries.attempt)
        if application is not None and application.submission.details.keep_containers:
            deliveries.completed = unsent  # for the next attempt; `ApplicationEnded` says otherwise
        else:
            for container in unsent:
                self.acknowledged(container)

    def _application_ended(self, record: Record, event: ApplicationEnded) -> None:
        found = self._of.pop(event.application, None)
        if found is not None:
            for container in (*found.sent, *found.completed):
                self.acknowledged(container)

    def _node_changed(self, record: Record, event: NodeAdded | NodeRemoved | NodeDrained) -> None:
        self._node_changes.append(event)
        self._node_changes_seen += 1


def registers(application: Application) -> bool:
    """Whether an application's master registers over Hadoop's protocol."""
    return application.submission.details.must_unregister
