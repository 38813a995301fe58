"""The state of the cluster and all changes of it, through `ClusterState.apply`.

A scheduler derives its own state class: it defines its types of queues and attempts, and adds
handlers for its own events and for further consequences of the common ones.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic

from fairshare.core.model.applications import Application
from fairshare.core.model.bookings import Booking, Kept, kept_at, left_at, next_change_ms, rules_of
from fairshare.core.model.events import (
    ApplicationAdmitted,
    ApplicationDeferred,
    ApplicationEnded,
    ApplicationMoved,
    ApplicationNumberTaken,
    ApplicationRejected,
    ApplicationsForgotten,
    ApplicationState,
    ApplicationSubmitted,
    ApplicationUpdated,
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    BlacklistChanged,
    BookingCancelled,
    BookingMade,
    BookingsAdvanced,
    ConfigurationLoaded,
    ContainerAllocated,
    ContainerCompleted,
    ContainerHeld,
    ContainerLaunched,
    ContainerReserved,
    ContainerRunning,
    Event,
    ExitCode,
    GangPaused,
    GangRestarted,
    GangResumed,
    LifetimeSet,
    MasterStarted,
    MasterUnregistered,
    NodeRemoved,
    NodeTotalChanged,
    NumbersContinued,
    OffersCounted,
    PriorityChanged,
    QueueCreated,
    QueueDynamicChanged,
    QueueRemoved,
    RequestRefused,
    ReservationDropped,
    TaskKilled,
    TaskPaused,
    TasksAdded,
    TasksResumed,
    UsageUpdated,
)
from fairshare.core.model.identifiers import (
    APPLICATION_SHIFT,
    NUMBER_MASK,
    ApplicationId,
    ContainerId,
    application_of,
)
from fairshare.core.model.inputs import NO_CONDITIONS, StartConditions
from fairshare.core.model.nodes import Handlers, Node, Nodes, Reservation
from fairshare.core.model.nothing import NOTHING
from fairshare.core.model.queues import ROOT, AttemptType, QueueType
from fairshare.core.model.resources import Resource, ResourceTypes, add, subtract
from fairshare.core.model.tasks import GROUP_REQUESTS, TaskBoard, is_own_failure
from fairshare.core.model.usage import MOST_CHARGE, OFF, Fairness, Ledger, charges_of_users

_PREEMPTED = ExitCode.PREEMPTED  # looking it up costs time


GangId = tuple[ApplicationId, int]
"""An application, and the number of one of its groups."""


class Gang:
    """A gang that is not complete. `due_ms` is when it gives its containers back, or, while it is
    `paused`, when it asks again; None: it holds none yet. `pauses` counts how often it gave up;
    `most` is how many of its containers the empty cluster has room for, if these are too few."""

    __slots__ = ("due_ms", "held", "most", "paused", "pauses")

    def __init__(self) -> None:
        self.held: list[ContainerId] = []
        self.due_ms: int | None = None
        self.paused = False
        self.pauses = 0
        self.most: int | None = None


class ClusterState(Nodes, ABC, Generic[QueueType, AttemptType]):
    """Nodes, queues, applications and containers. Only `apply` changes them.

    `attempts` are those that are in a queue, by application. `gangs` are the incomplete ones, the
    oldest application's first if they are sorted by key: each from its first held container, or its
    first pause, until all of its containers are launched or its attempt ends. `deferred` has the
    conditions that are left of applications that start later, or are held; `dependents` the
    deferred applications by the application whose end they wait for. `ledger` has what was used in
    the past, while that counts. `bookings` are those that are not over, by name, and `kept` their
    spans that are kept now; at `bookings_ms` these are others (`AdvanceBookings`), None: never.
    """

    LATER_FIELDS: ClassVar[Mapping[str, object]] = {
        "ledger": None,
        "bookings": NOTHING,
        "kept": (),
        "bookings_ms": None,
    }

    updates_admit: ClassVar[bool] = False
    """Whether an update of shares decides which applications may run, without further events."""

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.epoch_ms = 0
        self.queues: dict[str, QueueType] = {}
        self.applications: dict[ApplicationId, Application] = {}
        self.attempts: dict[ApplicationId, AttemptType] = {}
        self.next_application = 1
        self.set_back_application = 0  # the last one of which a part of the journal was lost
        self.first_container = 1  # of these applications; see `NumbersContinued`
        self.gangs: dict[GangId, Gang] = {}
        self.deferred: dict[ApplicationId, StartConditions] = {}
        self.dependents: dict[ApplicationId, dict[ApplicationId, None]] = {}
        self.ledger: Ledger | None = None
        self.bookings: dict[str, Booking] = {}
        self.kept: tuple[Kept, ...] = ()
        self.bookings_ms: int | None = None

    def event_handlers(self) -> Handlers:
        """The handler of each type of event; a scheduler adds its own."""
        return {
            ContainerAllocated: self._container_allocated,
            ContainerCompleted: self._container_completed,
            ConfigurationLoaded: self._configuration_loaded,
            QueueCreated: self._queue_created,
            QueueRemoved: self._queue_removed,
            QueueDynamicChanged: self._queue_dynamic_changed,
            ApplicationSubmitted: self._application_submitted,
            ApplicationRejected: self._application_rejected,
            ApplicationsForgotten: self._applications_forgotten,
            AttemptStarted: self._attempt_started,
            ApplicationAdmitted: self._application_admitted,
            AttemptEnded: self._attempt_ended,
            ApplicationNumberTaken: self._application_number_taken,
            NumbersContinued: self._numbers_continued,
            MasterStarted: self._master_started,
            MasterUnregistered: self._master_unregistered,
            ApplicationEnded: self._application_ended,
            ApplicationMoved: self._moved,
            PriorityChanged: self._priority_changed,
            ApplicationUpdated: self._application_updated,
            AsksChanged: self._asks_changed,
            BlacklistChanged: self._blacklist_changed,
            OffersCounted: self._offers_counted,
            ContainerReserved: self._container_reserved,
            ReservationDropped: self._reservation_dropped,
            TasksAdded: self._tasks_added,
            ContainerLaunched: self._container_launched,
            GangRestarted: self._gang_restarted,
            TaskKilled: self._task_killed,
            TaskPaused: self._task_paused,
            TasksResumed: self._tasks_resumed,
            ContainerRunning: self._container_running,
            LifetimeSet: self._lifetime_set,
            ContainerHeld: self._container_held,
            GangPaused: self._gang_paused,
            GangResumed: self._gang_resumed,
            ApplicationDeferred: self._application_deferred,
            RequestRefused: self._nothing_changes,
            UsageUpdated: self._usage_updated,
            BookingMade: self._booking_made,
            BookingCancelled: self._booking_cancelled,
            BookingsAdvanced: self._bookings_advanced,
            **super().event_handlers(),
        }

    # What a scheduler defines.

    def room(self, node: Node) -> Resource:
        """The room on a node into which containers can be placed: its available resources."""
        return node.available

    def label_of(self, node: Node) -> str:
        """The partition of a node. Nodes of different partitions are never interchangeable."""
        return ""

    def keeps_reservation(self, node: Node) -> bool:
        """Whether the beat of a reserved node would certainly keep its reservation and change
        nothing. False is not certain, and the default."""
        return False

    @property
    def lends(self) -> bool:
        """Whether a non-exclusive partition also serves asks for the default partition, after
        they have been skipped often enough."""
        return False

    @abstractmethod
    def new_queue(self, name: str, leaf: bool, dynamic: bool) -> QueueType:
        """An empty queue of the scheduler's own type."""

    @abstractmethod
    def new_attempt(self, application: Application, number: int) -> AttemptType:
        """An attempt of the scheduler's own type, for the queue of its application."""

    @abstractmethod
    def ancestry(self, queue: str) -> tuple[QueueType, ...]:
        """The queue that holds the applications of the named queue, and all its ancestors, root
        last; raises KeyError."""

    def weight_of(self, queue: QueueType) -> float:  # type: ignore[misc]
        """A queue's weight among its siblings. All are equal by default."""
        return 1.0

    def orders_users_by_past(self, leaf: QueueType) -> bool:  # type: ignore[misc]
        """Whether the past of users counts in the order of a leaf. Not by default."""
        return False

    def charges_changed(self) -> None:
        """The charges of queues and users have changed, and so has the order of siblings. Does
        nothing by default."""

    @property
    def used(self) -> Resource:
        """The resources of all live containers: what root uses."""
        root = self.queues.get(ROOT)
        return self.none if root is None else root.used

    # The entry point of all changes.

    def apply(self, now_ms: int, event: Event) -> None:
        """Apply an event. Deterministic: a state can be rebuilt from its events alone."""
        self.handlers[type(event)](now_ms, event)

    def settle(self) -> None:
        """Called after the last event of each input, for changes that follow from all events of
        an input together. Does nothing by default."""

    # Containers.

    def _container_allocated(self, now_ms: int, event: ContainerAllocated) -> None:
        attempt = self.attempts[event.application]
        node = self.nodes[event.node]
        container = event.container
        if event.reserved:  # it has had its number since the reservation
            self.drop_reservation(node)
            self._unlike_next(attempt, event)
        else:
            attempt.next_container = (container & NUMBER_MASK) + 1
        node.containers[container] = event
        if attempt.containers:
            attempt.containers[container] = event
        else:
            attempt.containers = {container: event}
        attempt.application.containers_allocated += 1
        asks = attempt.asks
        order = (event.priority, event.request)
        key = asks.wanting[0]  # nearly always the one; faster than the table of keys
        if key.order != order:
            key = asks.keys[order]
        if key.places:
            self._unlike_next(attempt, event)
            asks.granted(key, event.locality, node.host, node.rack)
        else:  # the same as `granted`, for asks without places, which nearly all are
            ask = key.anywhere
            assert ask is not None
            ask.count -= 1
            if ask.count == 0:
                asks.satisfied(key)
        if event.master:
            attempt.master = None if attempt.comes_back else container
            self._master_allocated(attempt, event.resource)
        ledger = self.ledger
        if ledger is not None and (attempt.id not in ledger.changed or now_ms != ledger.now_ms):
            ledger.changes(now_ms, attempt)
        self._use(attempt, node, event.resource)

    def _unlike_next(self, attempt: AttemptType, event: ContainerAllocated) -> None:  # type: ignore[misc]
        """Called for a container that a reservation or an ask with places was for: its size may
        differ from that of the next one. Does nothing by default."""

    def _master_allocated(self, attempt: AttemptType, resource: Resource) -> None:  # type: ignore[misc]
        """For schedulers that limit the resources of masters. Does nothing by default."""

    def _use(self, attempt: AttemptType, node: Node, resource: Resource) -> None:  # type: ignore[misc]
        """Add resources to the usage of an attempt, its queues and a node. This is the hottest
        code: the case of two types is inlined, since a call per sum costs more than the sums."""
        if len(resource) == 2:
            memory, vcores = resource
            a, b = attempt.used
            attempt.used = (a + memory, b + vcores)
            a, b = node.available
            node.available = (a - memory, b - vcores)
            for queue in self.ancestry(attempt.application.queue):
                a, b = queue.used
                queue.used = (a + memory, b + vcores)
            return
        attempt.used = add(attempt.used, resource)
        node.available = subtract(node.available, resource)
        for queue in self.ancestry(attempt.application.queue):
            queue.used = add(queue.used, resource)

    def _container_completed(self, now_ms: int, event: ContainerCompleted) -> None:
        container = event.container
        attempt = self.attempts[container >> APPLICATION_SHIFT]
        application = attempt.application
        record = attempt.containers[container]
        node = self.nodes[record.node]
        self._leaving(attempt, node, event)
        del attempt.containers[container]
        del node.containers[container]
        if node.marked:
            node.marked.pop(container, None)
        if attempt.launched:
            attempt.launched.pop(container, None)
        holds_room = self.running.pop(container, False) if self.running else False
        if event.exit_code:
            if event.exit_code == _PREEMPTED:
                application.preempted += 1
            elif is_own_failure(event.exit_code) and (
                container == attempt.master or container in application.tasks.assigned
            ):
                application.last_failure = event.cause
        if application.tasks.assigned:
            application.tasks.completed(container, event.exit_code, event.final)
        if self.gangs:
            self._held_ended(container, record.request - GROUP_REQUESTS)
        resource = record.resource
        ledger = self.ledger
        if ledger is not None and (attempt.id not in ledger.changed or now_ms != ledger.now_ms):
            ledger.changes(now_ms, attempt)
        if len(resource) == 2:
            self._use(attempt, node, (-resource[0], -resource[1]))
        else:
            self._use(attempt, node, tuple([-amount for amount in resource]))
        if holds_room and not event.reported:
            self._hold_room(node, record)

    def _leaving(self, attempt: AttemptType, node: Node, event: ContainerCompleted) -> None:  # type: ignore[misc]
        """Called before a container is removed, for schedulers that keep more state of it. Does
        nothing by default."""

    def _container_launched(self, now_ms: int, event: ContainerLaunched) -> None:
        application = self.applications[application_of(event.container)]
        attempt = application.attempt
        attempt.launched = attempt.launched or {}
        attempt.launched[event.container] = now_ms
        application.began_ms = application.began_ms or now_ms
        if application.first_launch_ms == 0:
            application.first_launch_ms = now_ms
        if event.group >= 0:
            application.tasks.launched(event.container, event.group, event.task)
            if self.gangs:
                self._held_launched(event.container, event.group)

    def _task_killed(self, now_ms: int, event: TaskKilled) -> None:
        self.applications[event.application].tasks.kill(event.group, event.task)

    def _task_paused(self, now_ms: int, event: TaskPaused) -> None:
        tasks = self.applications[event.application].tasks
        tasks.pause(event.group, event.task, event.until_ms)

    def _tasks_resumed(self, now_ms: int, event: TasksResumed) -> None:
        self.applications[event.application].tasks.resume(now_ms)

    def _container_running(self, now_ms: int, event: ContainerRunning) -> None:
        self.running[event.container] = event.holds_room

    def _container_reserved(self, now_ms: int, event: ContainerReserved) -> None:
        reservation = Reservation(
            event.application, event.node, event.resource, event.priority, event.request,
            event.kept, event.since_ms, event.share,
        )  # fmt: skip
        node = self.nodes[event.node]
        self.drop_reservation(node)
        node.reservation = reservation
        attempt = self.attempts[event.application]
        attempt.reservations = attempt.reservations or {}
        attempt.reservations[event.node] = reservation

    def _reservation_dropped(self, now_ms: int, event: ReservationDropped) -> None:
        self.drop_reservation(self.nodes[event.node])

    def drop_reservation(self, node: Node) -> None:
        """Drop a node's reservation; only as a consequence of an event."""
        if node.reservation is not None:
            self.attempts[node.reservation.application].reservations.pop(node.name, None)
            node.reservation = None

    # Configuration, nodes (see also `nodes.py`) and queues.

    def _configuration_loaded(self, now_ms: int, event: ConfigurationLoaded) -> None:
        if not self.epoch_ms:
            self.epoch_ms = event.epoch_ms
        if ROOT not in self.queues:
            self.queues[ROOT] = self.new_queue(ROOT, False, False)
        self._take_fairness(now_ms)
        if self.bookings:  # they may be kept in another way from now on
            self.bookings_ms = now_ms

    def _node_removed(self, now_ms: int, event: NodeRemoved) -> None:
        self.drop_reservation(self.nodes[event.node])
        super()._node_removed(now_ms, event)
        self._less_room(now_ms)

    def _node_total_changed(self, now_ms: int, event: NodeTotalChanged) -> None:
        super()._node_total_changed(now_ms, event)
        self._less_room(now_ms)

    def _less_room(self, now_ms: int) -> None:
        if any(span.preempts for span in self.kept):  # it may need the room of others
            self.bookings_ms = now_ms

    def _queue_created(self, now_ms: int, event: QueueCreated) -> None:
        self.queues[event.queue] = self.new_queue(event.queue, event.leaf, event.dynamic)
        if self.ledger is not None:  # it may have been there before
            self.queues[event.queue].charge = self.ledger.charges.get((event.queue, ""))

    def _queue_removed(self, now_ms: int, event: QueueRemoved) -> None:
        del self.queues[event.queue]

    def _queue_dynamic_changed(self, now_ms: int, event: QueueDynamicChanged) -> None:
        self.queues[event.queue].dynamic = event.dynamic

    # What was used in the past.

    def _take_fairness(self, now_ms: int) -> None:
        """Count from now on what the settings in force say; what runs counts from now on, too."""
        settings: Any = getattr(self, "settings", None)
        fairness: Fairness = getattr(settings, "fairness", OFF)
        ledger = self.ledger
        if not fairness.on:
            if ledger is not None:
                self.ledger = None
                self._spread_charges()
        elif ledger is None:
            self.ledger = ledger = Ledger(fairness, len(self.none), now_ms)
            for attempt in self.attempts.values():
                application = attempt.application
                ledger.use(now_ms, application.queue, application.user, attempt.used)
            self._spread_charges()
        elif ledger.fairness != fairness:
            ledger.change(now_ms, fairness)

    def next_usage_ms(self) -> int | None:
        """When past usage is due to enter the orders (`UpdateUsage`); None: it has no effect while
        there is nothing to order."""
        if self.ledger is None or not self.attempts:
            return None
        return self.ledger.update_ms

    def _usage_updated(self, now_ms: int, event: UsageUpdated) -> None:
        assert self.ledger is not None
        self.ledger.update(now_ms)
        self._spread_charges()

    def _spread_charges(self) -> None:
        charges = {} if self.ledger is None else self.ledger.charges
        of_users = charges_of_users(charges)
        for name, queue in self.queues.items():
            queue.charge = charges.get((name, ""))
            queue.charges = of_users.get(name, {})
        for attempt in self.attempts.values():
            self._charge_user(attempt)
        self.charges_changed()

    def _charge_user(self, attempt: AttemptType) -> None:  # type: ignore[misc]
        """Let a user whose budget is used up come last also where the user has used nothing."""
        if self.ledger is None or not self.ledger.over:
            return
        queue, user = attempt.application.queue, attempt.application.user
        if self.ledger.comes_last(queue, user):
            leaf = self.ancestry(queue)[0]
            leaf.charges = {**leaf.charges, user: (MOST_CHARGE,) * len(self.none)}

    # Bookings.

    def _booking_made(self, now_ms: int, event: BookingMade) -> None:
        self.bookings = {**self.bookings, event.booking.name: event.booking}
        self.bookings_ms = now_ms

    def _booking_cancelled(self, now_ms: int, event: BookingCancelled) -> None:
        self.bookings = {name: one for name, one in self.bookings.items() if name != event.name}
        self.bookings_ms = now_ms

    def _bookings_advanced(self, now_ms: int, event: BookingsAdvanced) -> None:
        rules = rules_of(self)
        self.bookings = left_at(self.bookings, now_ms)
        self.kept = kept_at(self.bookings, rules, now_ms)
        self.bookings_ms = next_change_ms(self.bookings.values(), rules, now_ms)

    # Applications.

    def _application_submitted(self, now_ms: int, event: ApplicationSubmitted) -> None:
        queue = self.queues.get(event.queue)
        application = Application(
            event.application,
            event.submission,
            event.queue if queue is None else queue.name,  # one text for all of a queue
            event.priority,
            now_ms,
            len(self.none),
        )
        application.tasks.add(event.submission.tasks)
        self.applications[event.application] = application
        self.next_application = max(self.next_application, event.application + 1)

    def _application_rejected(self, now_ms: int, event: ApplicationRejected) -> None:
        application = Application(
            event.application,
            event.submission,
            event.submission.queue,
            0,
            now_ms,
            len(self.none),
        )
        application.state = ApplicationState.REJECTED
        application.diagnostics = event.reason
        application.finished_ms = now_ms
        self.applications[event.application] = application
        self.next_application = max(self.next_application, event.application + 1)

    def _applications_forgotten(self, now_ms: int, event: ApplicationsForgotten) -> None:
        for number in event.applications:
            self.applications.pop(number).let_go()

    def _attempt_started(self, now_ms: int, event: AttemptStarted) -> None:
        application = self.applications[event.application]
        if event.attempt > 1:  # the new master starts without the tasks that the old one added
            application.state = ApplicationState.PENDING
            application.tasks = TaskBoard()
            application.tasks.add(application.submission.tasks)
        if self.ledger is not None:
            self.ledger.count_changes()
        attempt = self.new_attempt(application, event.attempt)
        if application.id <= self.set_back_application:
            attempt.continue_numbers(self.first_container)
        attempt.take_over(application.attempt)
        attempt.active = True
        attempt.runnable = event.runnable
        attempt.started_ms = now_ms
        application.attempt = self.attempts[application.id] = attempt
        self.ancestry(application.queue)[0].attempts[application.id] = attempt
        self._charge_user(attempt)

    def _application_admitted(self, now_ms: int, event: ApplicationAdmitted) -> None:
        self.attempts[event.application].runnable = True

    def _master_started(self, now_ms: int, event: MasterStarted) -> None:
        application = self.applications[event.application]
        application.attempt.registered = True
        application.began_ms = application.began_ms or now_ms
        application.state = ApplicationState.RUNNING

    def _application_number_taken(self, now_ms: int, event: ApplicationNumberTaken) -> None:
        self.next_application = max(self.next_application, event.application + 1)

    def _numbers_continued(self, now_ms: int, event: NumbersContinued) -> None:
        last, first = event.last_application, event.first_container
        self.next_application = max(self.next_application, last + 1)
        self.set_back_application, self.first_container = last, first
        for attempt in self.attempts.values():
            attempt.continue_numbers(first)

    def _master_unregistered(self, now_ms: int, event: MasterUnregistered) -> None:
        self.applications[event.application].attempt.unregistered = event

    def _attempt_ended(self, now_ms: int, event: AttemptEnded) -> None:
        attempt = self.attempts[event.application]
        application = attempt.application
        if self.ledger is not None:
            self.ledger.count_changes()
        attempt.asks.clear()
        for reservation in tuple(attempt.reservations.values()):
            self.drop_reservation(self.nodes[reservation.node])
        if self.gangs:
            for key in [key for key in self.gangs if key[0] == application.id]:
                del self.gangs[key]
        if event.failed:
            application.fail_attempt(now_ms)
        attempt.active = False
        attempt.runnable = False
        attempt.registered = False
        self.ancestry(application.queue)[0].attempts.pop(application.id, None)
        del self.attempts[event.application]

    def _application_ended(self, now_ms: int, event: ApplicationEnded) -> None:
        application = self.applications[event.application]
        application.state = event.state
        application.diagnostics = event.diagnostics
        application.finished_ms = now_ms
        application.shrink_tables()
        if self.deferred:
            self._defer_no_more(event.application)

    def _moved(self, now_ms: int, event: ApplicationMoved) -> None:
        if event.application in self.attempts:
            self._application_moved(now_ms, event)
        else:  # it has not started, and will start there
            self.applications[event.application].queue = event.queue

    def _application_moved(self, now_ms: int, event: ApplicationMoved) -> None:
        attempt = self.attempts[event.application]
        application = attempt.application
        self.ancestry(application.queue)[0].attempts.pop(application.id, None)
        for queue in self.ancestry(application.queue):
            queue.used = subtract(queue.used, attempt.used)
        if self.ledger is not None:
            self.ledger.count_changes()
            left = subtract(self.none, attempt.used)
            self.ledger.use(now_ms, application.queue, application.user, left)
            self.ledger.use(now_ms, event.queue, application.user, attempt.used)
        application.queue = event.queue
        attempt.runnable = event.runnable
        self.queues[event.queue].attempts[application.id] = attempt
        for queue in self.ancestry(event.queue):
            queue.used = add(queue.used, attempt.used)
        self._charge_user(attempt)

    def _priority_changed(self, now_ms: int, event: PriorityChanged) -> None:
        self.applications[event.application].priority = event.priority

    def _application_updated(self, now_ms: int, event: ApplicationUpdated) -> None:
        self.applications[event.application].update(event.changes, self.types)

    def _lifetime_set(self, now_ms: int, event: LifetimeSet) -> None:
        self.applications[event.application].expires_ms = event.expires_ms

    def _asks_changed(self, now_ms: int, event: AsksChanged) -> None:
        attempt = self.attempts[event.application]
        asks, application = attempt.asks, attempt.application
        if asks.closed:
            asks.close(())
        attempt.ask(event.requests)
        if self.ledger is not None and self.ledger.over:
            asks.close(self.ledger.closed(application.queue, application.user))

    def _blacklist_changed(self, now_ms: int, event: BlacklistChanged) -> None:
        self.attempts[event.application].change_blacklist(event.add, event.remove)

    def _offers_counted(self, now_ms: int, event: OffersCounted) -> None:
        key = self.attempts[event.application].asks.keys[(event.priority, event.request)]
        key.offered(event.opportunities, event.level, event.since_ms)

    def _gang_restarted(self, now_ms: int, event: GangRestarted) -> None:
        self.applications[event.application].tasks.restart(event.group)

    def _tasks_added(self, now_ms: int, event: TasksAdded) -> None:
        self.applications[event.application].tasks.add(event.tasks)

    # Gangs that are not complete.

    def _container_held(self, now_ms: int, event: ContainerHeld) -> None:
        gang = self.gangs.setdefault((application_of(event.container), event.group), Gang())
        gang.held.append(event.container)
        gang.due_ms = event.due_ms

    def _gang_paused(self, now_ms: int, event: GangPaused) -> None:
        gang = self.gangs.setdefault((event.application, event.group), Gang())
        gang.paused, gang.due_ms, gang.most = True, event.until_ms, event.most
        gang.pauses += 1

    def _gang_resumed(self, now_ms: int, event: GangResumed) -> None:
        gang = self.gangs[event.application, event.group]
        gang.paused, gang.due_ms, gang.most = False, None, None

    def _held_ended(self, container: ContainerId, group: int) -> None:
        """A container has ended; it may be one that was held."""
        gang = self.gangs.get((application_of(container), group))
        if gang is not None and container in gang.held:
            gang.held.remove(container)
            if not gang.held and not gang.paused:
                gang.due_ms = None

    def _held_launched(self, container: ContainerId, group: int) -> None:
        """A container was launched; the last one ends the wait of its gang."""
        key = application_of(container), group
        gang = self.gangs.get(key)
        if gang is not None:
            gang.held.remove(container)
            if not gang.held:
                del self.gangs[key]

    # Applications that start later, or start nothing more.

    def _application_deferred(self, now_ms: int, event: ApplicationDeferred) -> None:
        self._defer_no_more(event.application)
        if event.start == NO_CONDITIONS:
            return
        self.deferred[event.application] = event.start
        for condition in event.start.after:
            self.dependents.setdefault(condition.application, {})[event.application] = None

    def _defer_no_more(self, application: ApplicationId) -> None:
        """Forget the conditions of an application."""
        left = self.deferred.pop(application, NO_CONDITIONS)
        for condition in left.after:
            waiting = self.dependents.get(condition.application, {})
            waiting.pop(application, None)
            if not waiting:
                self.dependents.pop(condition.application, None)
