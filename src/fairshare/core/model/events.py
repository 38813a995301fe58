"""The events that all schedulers have in common. Every event is a fact: frozen, in the past tense,
recorded in the journal.

Only `ClusterState.apply` changes state. Events are encoded as arrays, so that a field can be added
only at the end and with a default, and can never be removed: old journals stay readable. Events of
a single scheduler are defined with it, and its family registers them.
"""

import enum

import msgspec

from fairshare.core.model.bookings import Booking
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import Changes, ContainerEnd, StartConditions, SubmitApplication
from fairshare.core.model.resources import Resource
from fairshare.core.model.work import Command, ResourceRequest, TaskGroup


class Locality(enum.IntEnum):
    """How near a container is placed to the requested host or rack."""

    NODE_LOCAL = 0
    RACK_LOCAL = 1
    OFF_SWITCH = 2


class ApplicationState(enum.StrEnum):
    """The life of an application as its user sees it."""

    PENDING = "PENDING"  # held back by a limit, or waiting for its master's container
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"
    REJECTED = "REJECTED"


class EndCause(enum.StrEnum):
    """What a container failed by, where that is not a failure of its command."""

    NONE = ""
    TIMEOUT = "TIMEOUT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"


class ExitCode(enum.IntEnum):
    """Hadoop's exit codes for containers that did not exit by themselves."""

    SUCCESS = 0
    ABORTED = -100  # released, its node lost, or its application ended
    PREEMPTED = -102
    KILLED_EXCEEDING_MEMORY = -104


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=True):
    """The base class of all events. A journal identifies an event by the name of its class."""


class BookkeepingEvent(Event, frozen=True):
    """An event that changes only values derived by a scheduler, such as an order or a limit, and
    nothing that readers see of applications, containers, nodes and queues."""


class ContainerAllocated(Event, frozen=True):
    """A container was granted. The event is also the container's record while it lives."""

    container: ContainerId
    application: ApplicationId
    node: str
    resource: Resource
    priority: int
    request: int  # allocation request id
    locality: Locality
    master: bool  # it is for the application's master
    reserved: bool  # the node was reserved for it before
    allocated_ms: int


class ContainerCompleted(ContainerEnd, Event, frozen=True):
    """A container ended, by itself or by the scheduler's decision (`exit_code` negative).

    `reported`: the container holds its room until its node reports the end (`ContainerRunning`),
    and the node has done so. `cannot_start`: its command could not be started, and another attempt
    would fail as well. `at_limit`: it was ended at the limit of its time or memory, and its task
    is not tried again. `timed_out`: it was ended at its time limit.
    """

    reported: bool = False
    cannot_start: bool = False
    at_limit: bool = False
    timed_out: bool = False

    @property
    def cause(self) -> EndCause:
        """What it failed by."""
        return cause_of(self.exit_code, self.timed_out)

    @property
    def final(self) -> bool:
        """Whether its task is not tried again, whatever it has failed before."""
        return self.cannot_start or self.at_limit


def cause_of(exit_code: int | None, timed_out: bool) -> EndCause:
    """What a container failed by.

    >>> cause_of(143, True), cause_of(-104, False), cause_of(3, False)
    (<EndCause.TIMEOUT: 'TIMEOUT'>, <EndCause.OUT_OF_MEMORY: 'OUT_OF_MEMORY'>, <EndCause.NONE: ''>)
    """
    if timed_out:
        return EndCause.TIMEOUT
    out_of_memory = exit_code == ExitCode.KILLED_EXCEEDING_MEMORY
    return EndCause.OUT_OF_MEMORY if out_of_memory else EndCause.NONE


class ApplicationSubmitted(Event, frozen=True):
    """An application was accepted into a queue."""

    application: ApplicationId
    submission: SubmitApplication
    queue: str
    priority: int
    groups: tuple[str, ...] = ()


class ApplicationRejected(Event, frozen=True):
    """An application was rejected; it remains listed, in a final state. `queue` is the queue that
    rejected it, where Hadoop's message names one."""

    application: ApplicationId
    submission: SubmitApplication
    code: str
    reason: str
    queue: str = ""


class AttemptStarted(Event, frozen=True):
    """An application's next attempt entered its queue; `runnable`: no limit holds it back."""

    application: ApplicationId
    attempt: int
    runnable: bool


class ApplicationAdmitted(Event, frozen=True):
    """A limit no longer holds back an application.

    `woken`: a limit on the number of applications no longer holds it back; other limits may.
    """

    application: ApplicationId
    woken: bool = False


class AttemptEnded(Event, frozen=True):
    """An attempt left its queue; its containers completed before. `failed`: its master failed by
    itself (`tasks.is_own_failure`)."""

    application: ApplicationId
    failed: bool = False


class ApplicationNumberTaken(Event, frozen=True):
    """A client obtained the number of an application before its submission."""

    application: ApplicationId


class NumbersContinued(Event, frozen=True):
    """Numbers continue behind those that a lost part of the journal had given away.

    All applications up to `last_application` may have had containers with numbers below
    `first_container`; so the next ones of these applications begin with it.
    """

    last_application: int
    first_container: int


class MasterStarted(Event, frozen=True):
    """The application's master registered, and its requests are considered from now on."""

    application: ApplicationId


class MasterUnregistered(Event, frozen=True):
    """A master reported its application's final status; the application ends with the master's
    container."""

    application: ApplicationId
    final_status: str
    diagnostics: str


class ApplicationEnded(Event, frozen=True):
    """An application ended."""

    application: ApplicationId
    state: ApplicationState
    diagnostics: str


class ApplicationMoved(Event, frozen=True):
    """An application moved to another queue."""

    application: ApplicationId
    queue: str
    runnable: bool


class PriorityChanged(Event, frozen=True):
    """An application's priority changed."""

    application: ApplicationId
    priority: int


class ApplicationUpdated(Event, frozen=True):
    """An application's name, tags or groups of tasks changed."""

    application: ApplicationId
    changes: Changes


class AsksChanged(Event, frozen=True):
    """Entries of an application's table of asks were replaced."""

    application: ApplicationId
    requests: tuple[ResourceRequest, ...]


class BlacklistChanged(Event, frozen=True):
    """An application's blacklist of hosts and racks changed."""

    application: ApplicationId
    add: tuple[str, ...]
    remove: tuple[str, ...]


class OffersCounted(Event, frozen=True):
    """Delay scheduling: how long an ask has been skipped, and the locality it accepts by now."""

    application: ApplicationId
    priority: int
    request: int
    opportunities: int
    level: Locality
    since_ms: int = 0
    default_misses: int | None = None  # skipped offers for the default partition, if counted apart


class ContainerReserved(Event, frozen=True):
    """A node was reserved for an application's ask that does not fit yet. `kept`, `since_ms` and
    `share`: see `Reservation`."""

    application: ApplicationId
    node: str
    resource: Resource
    priority: int
    request: int
    kept: tuple[int, ...] | None = None
    since_ms: int = 0
    share: Resource = ()


class ReservationDropped(Event, frozen=True):
    """A node's reservation was removed."""

    node: str


class ReservationMoved(Event, frozen=True):
    """A reservation moved from one node to another, for the same ask and with the same age."""

    node: str
    target: str


class StarvationServed(Event, frozen=True):
    """Preemption searched containers for a starved application, and does not search again for it
    before `next_check_ms`."""

    application: ApplicationId
    next_check_ms: int


class ContainerMarked(Event, frozen=True):
    """A container was selected for preemption at `kill_at_ms` in favour of an application."""

    container: ContainerId
    beneficiary: ApplicationId
    kill_at_ms: int


class ContainerSpared(Event, frozen=True):
    """A container selected for preemption is no longer selected: its room is not needed."""

    container: ContainerId


class TasksAdded(Event, frozen=True):
    """An application added groups of tasks for the manager to run."""

    application: ApplicationId
    tasks: tuple[TaskGroup, ...]


class ContainerLaunched(Event, frozen=True):
    """A container was launched with a task of a group, the driver, or a master's command."""

    container: ContainerId
    command: Command | None = None  # None: the task's command, or none (an external master)
    group: int = -1
    task: int = -1
    time_limit_ms: int | None = None


class ContainerHeld(Event, frozen=True):
    """A container for a task of a gang was allocated, and waits for those that are missing: until
    `due_ms`, when the gang gives up."""

    container: ContainerId
    group: int
    due_ms: int


class TaskPaused(Event, frozen=True):
    """A task whose container ended at once waits before it is tried again."""

    application: ApplicationId
    group: int
    task: int
    until_ms: int


class TaskKilled(Event, frozen=True):
    """A user has ended a task for good: it does not run again."""

    application: ApplicationId
    group: int
    task: int
    diagnostics: str


class TasksResumed(Event, frozen=True):
    """The tasks of an application whose pauses are over wait for containers again."""

    application: ApplicationId


class GangPaused(Event, frozen=True):
    """A gang did not get all its containers in time: it asks again at `until_ms`, or earlier if
    there is room for all. `most`: the empty cluster has room for so many, which are too few."""

    application: ApplicationId
    group: int
    until_ms: int
    most: int | None = None


class GangResumed(Event, frozen=True):
    """A gang that gave up asks for its containers again."""

    application: ApplicationId
    group: int


class GangRestarted(Event, frozen=True):
    """A task of a gang did not succeed: the tasks that had succeeded wait again, too."""

    application: ApplicationId
    group: int


class ContainerRunning(Event, frozen=True):
    """An engine reports that a container runs (`ContainerStarted`)."""

    container: ContainerId
    holds_room: bool = False
    gpus: tuple[str, ...] = ()


class LifetimeSet(Event, frozen=True):
    """An application ends at `expires_ms` if it is not over by then."""

    application: ApplicationId
    expires_ms: int


class ApplicationDeferred(Event, frozen=True):
    """What is left of the conditions under which an application starts, or starts more; with none
    it is deferred no more."""

    application: ApplicationId
    start: StartConditions


class ApplicationsForgotten(Event, frozen=True):
    """Applications that were over were removed from the state."""

    applications: tuple[ApplicationId, ...]


class RequestRefused(Event, frozen=True):
    """A call was refused; nothing else changed."""

    application: ApplicationId
    code: str
    reason: str


class ConfigurationLoaded(Event, frozen=True):
    """The scheduler has new settings (`LoadConfiguration`)."""

    settings: bytes
    epoch_ms: int


class NodeAdded(Event, frozen=True):
    """A node offers its resources; an empty `host` is the node's name."""

    node: str
    total: Resource
    rack: str
    attributes: dict[str, str]
    host: str = ""


class NodeRemoved(Event, frozen=True):
    """A node left the cluster; its containers completed before."""

    node: str


class PreemptedRoomChanged(Event, frozen=True):
    """How much of a node's room is kept for an application on whose behalf containers were
    preempted."""

    node: str
    application: ApplicationId
    resource: Resource


class RoomFreed(Event, frozen=True):
    """A node reported the end of a container that was completed before: its room is free now."""

    container: ContainerId
    node: str


class NodeTotalChanged(Event, frozen=True):
    """A node's total changed."""

    node: str
    total: Resource


class NodeFailing(Event, frozen=True):
    """A node could not start a container, `failures` times in a row: it gets none for a while."""

    node: str
    failures: int
    until_ms: int
    reason: str


class NodeTried(Event, frozen=True):
    """A node that could not start containers gets some again: its pause is over."""

    node: str


class NodeRecovered(Event, frozen=True):
    """A node that could not start containers has started one."""

    node: str


class NodeDrained(Event, frozen=True):
    """A node gets no new containers; its total after it is undrained is `total`.

    At `deadline_ms`, or as soon as it is empty, it leaves the cluster; None: it stays.
    """

    node: str
    total: Resource
    deadline_ms: int | None = None


class NodeUndrained(Event, frozen=True):
    """A node gets containers again, or is allowed to join again."""

    node: str


class NodeOvercommitted(Event, frozen=True):
    """A node's containers use more than its total: at `deadline_ms` containers are preempted until
    the rest fits. None: the node is no longer overcommitted, or its containers may stay."""

    node: str
    deadline_ms: int | None


class SafeModeChanged(Event, frozen=True):
    """The safe mode, in which no application is admitted and no container allocated, was switched
    on or off."""

    on: bool
    user: str = ""


class LabelsChanged(Event, frozen=True):
    """The partitions of the cluster changed: all of them by name, and whether each is exclusive."""

    labels: dict[str, bool]


class NodesLabelled(Event, frozen=True):
    """Nodes were assigned to partitions; an empty name is the default partition."""

    nodes: dict[str, str]


class QueueCreated(Event, frozen=True):
    """A queue was created. `dynamic`: no configuration file defines it."""

    queue: str
    leaf: bool
    dynamic: bool


class QueueRemoved(Event, frozen=True):
    """A queue without children and applications was removed."""

    queue: str


class QueueDynamicChanged(Event, frozen=True):
    """Since a reload, the configuration defines a queue, or no longer defines it."""

    queue: str
    dynamic: bool


class QueuesConfigured(Event, frozen=True):
    """All queues took their settings from the configuration in force.

    `policies` are the queues whose policy the configuration may change: queues with incompatible
    policies of parent and child keep the policies that they have.
    """

    policies: tuple[str, ...]


class SharesUpdated(Event, frozen=True):
    """Demand, fair shares and starvation were computed from the state as it was."""


class UsageUpdated(Event, frozen=True):
    """What was used in the past was settled, and entered the orders; budgets are used up, or again
    free (`usage.Ledger.update`)."""


class BookingMade(Event, frozen=True):
    """Resources were promised; a booking that has this name already is replaced."""

    booking: Booking


class BookingCancelled(Event, frozen=True):
    """A booking was taken back."""

    name: str


class BookingsAdvanced(Event, frozen=True):
    """Other spans of bookings are kept from now on; those that are over are forgotten."""


ClusterEvent = (
    ContainerAllocated
    | ContainerCompleted
    | ApplicationSubmitted
    | ApplicationRejected
    | AttemptStarted
    | ApplicationAdmitted
    | AttemptEnded
    | ApplicationNumberTaken
    | NumbersContinued
    | MasterStarted
    | MasterUnregistered
    | ApplicationEnded
    | ApplicationMoved
    | PriorityChanged
    | ApplicationUpdated
    | AsksChanged
    | BlacklistChanged
    | OffersCounted
    | ContainerReserved
    | ReservationDropped
    | ReservationMoved
    | StarvationServed
    | ContainerMarked
    | ContainerSpared
    | TasksAdded
    | ContainerLaunched
    | ContainerHeld
    | GangPaused
    | GangResumed
    | TaskKilled
    | TaskPaused
    | TasksResumed
    | GangRestarted
    | ContainerRunning
    | LifetimeSet
    | ApplicationDeferred
    | ApplicationsForgotten
    | RequestRefused
    | ConfigurationLoaded
    | NodeAdded
    | NodeRemoved
    | PreemptedRoomChanged
    | RoomFreed
    | NodeTotalChanged
    | NodeFailing
    | NodeTried
    | NodeRecovered
    | NodeDrained
    | NodeUndrained
    | NodeOvercommitted
    | SafeModeChanged
    | LabelsChanged
    | NodesLabelled
    | QueueCreated
    | QueueRemoved
    | QueueDynamicChanged
    | QueuesConfigured
    | SharesUpdated
    | UsageUpdated
    | BookingMade
    | BookingCancelled
    | BookingsAdvanced
)
"""The events that all schedulers have in common."""
