"""Owns the events that all schedulers have in common. Every event is a fact: frozen, in the past,
recorded in the journal.

`ClusterState.apply` is the only reader that changes state. Events are written as arrays, so a field
may be added at the end with a default, and none may ever be removed: old journals stay readable.
Events of a single scheduler are defined with it; `schedulers/events.py` lists them all.
"""

import enum

import msgspec

from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.model.inputs import SubmitApplication
from fairshare.model.resources import Resource
from fairshare.model.tags import tag_of
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


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=tag_of):
    """The base class of all events. A journal identifies an event by the name of its class."""


class BookkeepingEvent(Event, frozen=True):
    """An event that changes only values that a scheduler derives, such as an order or a limit: no
    application, container, node or queue looks different to a reader."""


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


class ContainerCompleted(Event, frozen=True):
    """A container is over, by itself or by decision (`exit_code` negative).

    `reported`: its node has said so, of one that holds its room until then (`ContainerRunning`).
    """

    container: ContainerId
    exit_code: int
    diagnostics: str = ""
    peak_memory_mb: int = 0
    cpu_ms: int = 0
    reported: bool = False


class ApplicationSubmitted(Event, frozen=True):
    """An application was accepted into a queue."""

    application: ApplicationId
    submission: SubmitApplication
    queue: str
    priority: int
    groups: tuple[str, ...] = ()


class ApplicationRejected(Event, frozen=True):
    """An application was refused; it stays known, and is over."""

    application: ApplicationId
    submission: SubmitApplication
    code: str
    reason: str


class AttemptStarted(Event, frozen=True):
    """An application's next attempt is in its queue: may it run, or must it wait for a limit?"""

    application: ApplicationId
    attempt: int
    runnable: bool


class ApplicationAdmitted(Event, frozen=True):
    """An application that waited for a limit may run.

    `woken`: a limit on applications does not hold it back any longer; it may wait for others.
    """

    application: ApplicationId
    woken: bool = False


class AttemptEnded(Event, frozen=True):
    """An attempt left its queue; its containers completed before. `failed`: by its own fault."""

    application: ApplicationId
    failed: bool = False


class ApplicationNumberTaken(Event, frozen=True):
    """The number of an application was given away before its submission."""

    application: ApplicationId


class MasterStarted(Event, frozen=True):
    """The application's master runs and asks."""

    application: ApplicationId


class MasterUnregistered(Event, frozen=True):
    """A master said how its application ended; it is over when the master's container is."""

    application: ApplicationId
    final_status: str
    diagnostics: str


class ApplicationEnded(Event, frozen=True):
    """An application is over."""

    application: ApplicationId
    state: ApplicationState
    diagnostics: str


class ApplicationMoved(Event, frozen=True):
    """An application is in another queue."""

    application: ApplicationId
    queue: str
    runnable: bool


class PriorityChanged(Event, frozen=True):
    """An application's priority is another one."""

    application: ApplicationId
    priority: int


class AsksChanged(Event, frozen=True):
    """Entries of an application's table of asks were replaced."""

    application: ApplicationId
    requests: tuple[ResourceRequest, ...]


class BlacklistChanged(Event, frozen=True):
    """An application refuses places, or no longer refuses them."""

    application: ApplicationId
    add: tuple[str, ...]
    remove: tuple[str, ...]


class OffersCounted(Event, frozen=True):
    """Delay scheduling: how long an ask has been passed over, and what it accepts meanwhile."""

    application: ApplicationId
    priority: int
    request: int
    opportunities: int
    level: Locality
    since_ms: int = 0
    default_misses: int | None = None  # as far as asks for the default partition are counted apart


class ContainerReserved(Event, frozen=True):
    """A node is kept free for an application's ask that does not fit yet."""

    application: ApplicationId
    node: str
    resource: Resource
    priority: int
    request: int


class ReservationDropped(Event, frozen=True):
    """A node is no longer kept free."""

    node: str


class ReservationMoved(Event, frozen=True):
    """Another node is kept free instead of this one, for the same ask, as long as before."""

    node: str
    target: str


class StarvationServed(Event, frozen=True):
    """Preemption has looked for containers for an application; not again before `next_check_ms`."""

    application: ApplicationId
    next_check_ms: int


class ContainerMarked(Event, frozen=True):
    """A container will be preempted at `kill_at_ms`, in favour of an application."""

    container: ContainerId
    beneficiary: ApplicationId
    kill_at_ms: int


class ContainerSpared(Event, frozen=True):
    """A container that might have been killed for others is safe again: nobody needs its room."""

    container: ContainerId


class TasksAdded(Event, frozen=True):
    """Groups of tasks were handed to the manager."""

    application: ApplicationId
    tasks: tuple[TaskGroup, ...]


class ContainerLaunched(Event, frozen=True):
    """A container was told what to run: a task of a group, the driver, or a master's command."""

    container: ContainerId
    command: Command | None = None  # None: the task's own, or nothing (an outside master's)
    group: int = -1
    task: int = -1
    time_limit_ms: int | None = None


class ContainerRunning(Event, frozen=True):
    """An engine reports that a container runs (`ContainerStarted`)."""

    container: ContainerId
    holds_room: bool = False


class LifetimeSet(Event, frozen=True):
    """An application ends at `expires_ms` if it is not over by then."""

    application: ApplicationId
    expires_ms: int


class ApplicationsForgotten(Event, frozen=True):
    """Nothing is known any more of applications that were over."""

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
    """A node offers its resources."""

    node: str
    total: Resource
    rack: str
    attributes: dict[str, str]


class NodeRemoved(Event, frozen=True):
    """A node is gone; its containers completed before."""

    node: str


class PreemptedRoomChanged(Event, frozen=True):
    """How much of a node's room is kept for an application that others were preempted for."""

    node: str
    application: ApplicationId
    resource: Resource


class RoomFreed(Event, frozen=True):
    """A node reported the end of a container that was over already: what it held is free."""

    container: ContainerId
    node: str


class NodeTotalChanged(Event, frozen=True):
    """A node offers another amount."""

    node: str
    total: Resource


class NodeDrained(Event, frozen=True):
    """A node takes no new containers; undrained, it would offer `total`.

    At `deadline_ms` it leaves, or as soon as it is empty; None: it stays.
    """

    node: str
    total: Resource
    deadline_ms: int | None = None


class NodeUndrained(Event, frozen=True):
    """A node takes containers again, or may join again."""

    node: str


class NodeOvercommitted(Event, frozen=True):
    """A node runs more than it offers: at `deadline_ms` containers are taken until the rest fits.
    None: that is over, or what runs may stay."""

    node: str
    deadline_ms: int | None


class SafeModeChanged(Event, frozen=True):
    """Nothing is admitted and granted any more, or again."""

    on: bool
    user: str = ""


class LabelsChanged(Event, frozen=True):
    """The partitions that administrators have made: by name, whether each is exclusive."""

    labels: dict[str, bool]


class NodesLabelled(Event, frozen=True):
    """Administrators have put nodes into partitions; empty: into the default one."""

    nodes: dict[str, str]


class QueueCreated(Event, frozen=True):
    """A queue exists. `dynamic`: no file names it."""

    queue: str
    leaf: bool
    dynamic: bool


class QueueRemoved(Event, frozen=True):
    """A queue without children and applications is gone."""

    queue: str


class QueueDynamicChanged(Event, frozen=True):
    """A reload names a queue, or no longer names it."""

    queue: str
    dynamic: bool


class QueuesConfigured(Event, frozen=True):
    """All queues took their settings from the configuration in force.

    `policies` are those whose policy the configuration may change: where a parent's and a child's
    cannot go together, the queues keep what they have.
    """

    policies: tuple[str, ...]


class SharesUpdated(Event, frozen=True):
    """Demand, fair shares and starvation were computed from the state as it was."""


ClusterEvent = (
    ContainerAllocated
    | ContainerCompleted
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
    | StarvationServed
    | ContainerMarked
    | ContainerSpared
    | TasksAdded
    | ContainerLaunched
    | ContainerRunning
    | LifetimeSet
    | ApplicationsForgotten
    | RequestRefused
    | ConfigurationLoaded
    | NodeAdded
    | NodeRemoved
    | PreemptedRoomChanged
    | RoomFreed
    | NodeTotalChanged
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
)
"""The events that all schedulers have in common."""
