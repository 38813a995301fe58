"""Owns what can happen to the cluster. Every event is a fact: frozen, in the journal, in the past.

`ClusterState.apply` is the only reader that changes anything. Events are written as arrays, so a
field may be added at the end with a default and none may ever be removed (old journals stay
readable). The two kinds that there are millions of come first.
"""

import enum

import msgspec

from fairshare.model import cluster_events
from fairshare.model.cluster_events import RecordedEvent
from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.model.inputs import Input, SubmitApplication
from fairshare.model.resources import Resource
from fairshare.model.work import Command, ResourceRequest, TaskGroup


class Locality(enum.IntEnum):
    """How near to its wish a container is placed."""

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


class ExitCode(enum.IntEnum):
    """Hadoop's codes for containers that did not end by themselves."""

    SUCCESS = 0
    ABORTED = -100  # released, its node lost, or its application ended
    PREEMPTED = -102
    KILLED_EXCEEDING_MEMORY = -104


class ContainerAllocated(RecordedEvent, frozen=True):
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


class ContainerCompleted(RecordedEvent, frozen=True):
    """A container is over, by itself or by decision (`exit_code` negative).

    `reported`: its node has said so, of one that holds its room until then (`ContainerRunning`).
    """

    container: ContainerId
    exit_code: int
    diagnostics: str = ""
    peak_memory_mb: int = 0
    cpu_ms: int = 0
    reported: bool = False


class ApplicationSubmitted(RecordedEvent, frozen=True):
    """An application was accepted into a queue."""

    application: ApplicationId
    submission: SubmitApplication
    queue: str
    priority: int
    groups: tuple[str, ...] = ()


class ApplicationRejected(RecordedEvent, frozen=True):
    """An application was refused; it stays known, and is over."""

    application: ApplicationId
    submission: SubmitApplication
    code: str
    reason: str


class AttemptStarted(RecordedEvent, frozen=True):
    """An application's next attempt is in its queue: may it run, or must it wait for a limit?"""

    application: ApplicationId
    attempt: int
    runnable: bool


class ApplicationAdmitted(RecordedEvent, frozen=True):
    """An application that waited for a limit may run.

    `woken`: a limit on applications does not hold it back any longer; it may wait for others.
    """

    application: ApplicationId
    woken: bool = False


class AttemptEnded(RecordedEvent, frozen=True):
    """An attempt left its queue; its containers completed before. `failed`: by its own fault."""

    application: ApplicationId
    failed: bool = False


class ApplicationNumberTaken(RecordedEvent, frozen=True):
    """The number of an application was given away before its submission."""

    application: ApplicationId


class MasterStarted(RecordedEvent, frozen=True):
    """The application's master runs and asks."""

    application: ApplicationId


class MasterUnregistered(RecordedEvent, frozen=True):
    """A master said how its application ended; it is over when the master's container is."""

    application: ApplicationId
    final_status: str
    diagnostics: str


class ApplicationEnded(RecordedEvent, frozen=True):
    """An application is over."""

    application: ApplicationId
    state: ApplicationState
    diagnostics: str


class ApplicationMoved(RecordedEvent, frozen=True):
    """An application is in another queue."""

    application: ApplicationId
    queue: str
    runnable: bool


class PriorityChanged(RecordedEvent, frozen=True):
    """An application's priority is another one."""

    application: ApplicationId
    priority: int


class AsksChanged(RecordedEvent, frozen=True):
    """Entries of an application's table of asks were replaced."""

    application: ApplicationId
    requests: tuple[ResourceRequest, ...]


class BlacklistChanged(RecordedEvent, frozen=True):
    """An application refuses places, or no longer refuses them."""

    application: ApplicationId
    add: tuple[str, ...]
    remove: tuple[str, ...]


class OffersCounted(RecordedEvent, frozen=True):
    """Delay scheduling: how long an ask has been passed over, and what it accepts meanwhile."""

    application: ApplicationId
    priority: int
    request: int
    opportunities: int
    level: Locality
    since_ms: int = 0
    default_misses: int | None = None  # as far as asks for the default partition are counted apart


class ContainerReserved(RecordedEvent, frozen=True):
    """A node is kept free for an application's ask that does not fit yet."""

    application: ApplicationId
    node: str
    resource: Resource
    priority: int
    request: int


class ReservationDropped(RecordedEvent, frozen=True):
    """A node is no longer kept free."""

    node: str


class ReservationMoved(RecordedEvent, frozen=True):
    """Another node is kept free instead of this one, for the same ask, as long as before."""

    node: str
    target: str


class StarvationServed(RecordedEvent, frozen=True):
    """Preemption has looked for containers for an application; not again before `next_check_ms`."""

    application: ApplicationId
    next_check_ms: int


class ContainerMarked(RecordedEvent, frozen=True):
    """A container will be preempted at `kill_at_ms`, in favour of an application."""

    container: ContainerId
    beneficiary: ApplicationId
    kill_at_ms: int


class ContainerSpared(RecordedEvent, frozen=True):
    """A container that might have been killed for others is safe again: nobody needs its room."""

    container: ContainerId


class TasksAdded(RecordedEvent, frozen=True):
    """Groups of tasks were handed to the manager."""

    application: ApplicationId
    tasks: tuple[TaskGroup, ...]


class ContainerLaunched(RecordedEvent, frozen=True):
    """A container was told what to run: a task of a group, the driver, or a master's command."""

    container: ContainerId
    command: Command | None = None  # None: the task's own, or nothing (an outside master's)
    group: int = -1
    task: int = -1
    time_limit_ms: int | None = None


class ContainerRunning(RecordedEvent, frozen=True):
    """An engine reports that a container runs (`ContainerStarted`)."""

    container: ContainerId
    holds_room: bool = False


class LimitsComputed(RecordedEvent, frozen=True):
    """What the queues below one may reach was computed anew, though they have the same settings."""

    queue: str


class UserLimitsComputed(RecordedEvent, frozen=True):
    """What users may have in a leaf was computed, outside of any heartbeat."""

    queue: str


class HeadroomTold(RecordedEvent, frozen=True):
    """A scheduler considered an application, which knows from now on what it could still get."""

    application: ApplicationId


class ApplicationsOrdered(RecordedEvent, frozen=True):
    """A scheduler looked at a leaf, and its applications stand where what they use puts them."""

    queue: str


class UserNoted(RecordedEvent, frozen=True):
    """A leaf knows a user though it refused the user's application."""

    queue: str
    user: str


class LifetimeSet(RecordedEvent, frozen=True):
    """An application ends at `expires_ms` if it is not over by then."""

    application: ApplicationId
    expires_ms: int


class ApplicationsForgotten(RecordedEvent, frozen=True):
    """Nothing is known any more of applications that were over."""

    applications: tuple[ApplicationId, ...]


class RequestRefused(RecordedEvent, frozen=True):
    """A call was refused; nothing else changed."""

    application: ApplicationId
    code: str
    reason: str


ConfigurationLoaded = cluster_events.ConfigurationLoaded
LabelsChanged = cluster_events.LabelsChanged
NodeAdded = cluster_events.NodeAdded
NodeDrained = cluster_events.NodeDrained
NodeOvercommitted = cluster_events.NodeOvercommitted
NodeRemoved = cluster_events.NodeRemoved
NodesLabelled = cluster_events.NodesLabelled
NodeTotalChanged = cluster_events.NodeTotalChanged
NodeUndrained = cluster_events.NodeUndrained
PreemptedRoomChanged = cluster_events.PreemptedRoomChanged
QueueConversionPending = cluster_events.QueueConversionPending
QueueCreated = cluster_events.QueueCreated
QueueDynamicChanged = cluster_events.QueueDynamicChanged
QueueEntitled = cluster_events.QueueEntitled
QueueExpiring = cluster_events.QueueExpiring
QueueLimited = cluster_events.QueueLimited
QueueRemoved = cluster_events.QueueRemoved
QueuesConfigured = cluster_events.QueuesConfigured
RoomFreed = cluster_events.RoomFreed
SafeModeChanged = cluster_events.SafeModeChanged
SharesUpdated = cluster_events.SharesUpdated

Event = (
    ContainerAllocated
    | ContainerCompleted
    | RoomFreed
    | ConfigurationLoaded
    | NodeAdded
    | NodeRemoved
    | NodeTotalChanged
    | LabelsChanged
    | NodesLabelled
    | QueueCreated
    | QueueEntitled
    | QueueRemoved
    | QueueDynamicChanged
    | QueuesConfigured
    | QueueConversionPending
    | ApplicationSubmitted
    | ApplicationRejected
    | AttemptStarted
    | ApplicationAdmitted
    | AttemptEnded
    | ApplicationNumberTaken
    | MasterStarted
    | MasterUnregistered
    | ApplicationEnded
    | ApplicationMoved
    | PriorityChanged
    | AsksChanged
    | BlacklistChanged
    | OffersCounted
    | ContainerReserved
    | ReservationDropped
    | ReservationMoved
    | SharesUpdated
    | StarvationServed
    | ContainerMarked
    | ContainerSpared
    | PreemptedRoomChanged
    | TasksAdded
    | ContainerLaunched
    | ContainerRunning
    | QueueLimited
    | LimitsComputed
    | UserLimitsComputed
    | HeadroomTold
    | ApplicationsOrdered
    | UserNoted
    | LifetimeSet
    | ApplicationsForgotten
    | QueueExpiring
    | NodeDrained
    | NodeOvercommitted
    | NodeUndrained
    | SafeModeChanged
    | RequestRefused
)


class Record(msgspec.Struct, frozen=True, array_like=True):
    """One atomic step of history: an input that changed something, and what it changed."""

    sequence: int
    now_ms: int
    input: Input
    events: tuple[Event, ...]
