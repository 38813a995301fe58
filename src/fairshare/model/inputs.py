"""Owns what can be told to the resource manager. Every input is frozen data, and in the journal.

An input is what a tenant or administrator wants (imperative) or what was observed (past tense).
The instant is not in it: it is `now_ms` of `handle(now_ms, input)`.
"""

import msgspec

from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.model.resources import Resource
from fairshare.model.tags import tag_of
from fairshare.model.work import Command, ContainerRequest, TaskGroup


class LoadConfiguration(msgspec.Struct, frozen=True, tag=tag_of):
    """The scheduler's settings, at the start and at each reload.

    `settings` is the scheduler's own frozen structure as msgspec JSON, so that the journal holds
    what was in force and the model need not know any scheduler. `epoch_ms` is the cluster's
    identity in the names of applications; only that of the first load counts.
    """

    settings: bytes
    epoch_ms: int = 0


class ReloadRefused(msgspec.Struct, frozen=True, tag=tag_of):
    """Who reads the files found that they cannot be taken over: the old settings stay in force.

    The Capacity Scheduler applies them once more, as Hadoop's does.
    """


class NodeJoined(msgspec.Struct, frozen=True, tag=tag_of):
    """A node offers its resources."""

    node: str
    total: Resource
    rack: str = "/default-rack"
    attributes: dict[str, str] = {}


class NodeLost(msgspec.Struct, frozen=True, tag=tag_of):
    """A node is gone, and its containers with it.

    `state` says why, in YARN's words: LOST, SHUTDOWN, DECOMMISSIONED, REBOOTED or UNHEALTHY;
    `report` is what it said of its health.
    """

    node: str
    state: str = "LOST"
    report: str = ""


class NodeResized(msgspec.Struct, frozen=True, tag=tag_of):
    """A node offers another amount.

    If more runs there than that, it goes on for `overcommit_timeout_ms`, then containers are taken
    until the rest fits; 0: at once, negative: what runs there goes on.
    """

    node: str
    total: Resource
    overcommit_timeout_ms: int = -1


class OvercommitOver(msgspec.Struct, frozen=True, tag=tag_of):
    """The time is over for which a node may run more than it offers."""

    node: str


class DrainNode(msgspec.Struct, frozen=True, tag=tag_of):
    """A node shall take no new containers; what runs there goes on."""

    node: str
    user: str = ""  # who wants it; empty: the system itself
    groups: tuple[str, ...] = ()


class DecommissionNode(msgspec.Struct, frozen=True, tag=tag_of):
    """A node shall take no new containers, and leave when it is empty, or after `timeout_ms`."""

    node: str
    timeout_ms: int
    user: str = ""
    groups: tuple[str, ...] = ()


class UndrainNode(msgspec.Struct, frozen=True, tag=tag_of):
    """A node shall take containers again; one that was decommissioned may join again."""

    node: str
    user: str = ""
    groups: tuple[str, ...] = ()


class SetSafeMode(msgspec.Struct, frozen=True, tag=tag_of):
    """Nothing shall be admitted and granted any more, or again; what runs goes on."""

    on: bool
    user: str = ""
    groups: tuple[str, ...] = ()


class AddLabels(msgspec.Struct, frozen=True, tag=tag_of):
    """The cluster shall have partitions: by name, whether only asks for it may use it.

    One that shares (False) lends what is idle to asks for the default partition.
    """

    labels: dict[str, bool]
    user: str = ""  # who wants it; empty: the system itself
    groups: tuple[str, ...] = ()


class RemoveLabels(msgspec.Struct, frozen=True, tag=tag_of):
    """The cluster shall have these partitions no longer; their nodes return to the default one."""

    labels: tuple[str, ...]
    user: str = ""
    groups: tuple[str, ...] = ()


class LabelNodes(msgspec.Struct, frozen=True, tag=tag_of):
    """Nodes shall belong to these partitions, by name; empty: to the default one.

    A node that is not there keeps it for when it joins, unless `known` nodes alone may be named.
    """

    nodes: dict[str, str]
    known: bool = False
    user: str = ""
    groups: tuple[str, ...] = ()


class NodeBeat(msgspec.Struct, frozen=True, tag=tag_of):
    """A node is ready for containers: the only moment at which containers are assigned."""

    node: str


class UpdateShares(msgspec.Struct, frozen=True, tag=tag_of):
    """One pass of the scheduler's update: demand, fair shares, starvation, preemption."""


class TidyQueues(msgspec.Struct, frozen=True, tag=tag_of):
    """The file loader's periodic check: empty dynamic queues go, waiting conversions are tried."""


class PreemptContainers(msgspec.Struct, frozen=True, tag=tag_of):
    """One pass of the preemption monitor, or the killing that is due."""


class SubmissionDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """What YARN's clients say of an application beside its place and its work.

    `max_attempts` 0: as many as the cluster allows. The access lists are Hadoop's
    (`alice,bob ops`); None: only the owner and administrators. The label expressions are None
    where nobody named one. `keep_containers`: when the master is lost, running containers that it
    launched go on, and its next attempt takes them over.
    """

    type: str = "YARN"
    max_attempts: int = 0
    view_acl: str | None = None
    modify_acl: str | None = None
    application_label: str | None = None
    master_label: str | None = None
    keep_containers: bool = False


class SubmitApplication(msgspec.Struct, frozen=True, tag=tag_of):
    """A tenant's application. It has one of three kinds of master:

    * `tasks`: the manager runs the groups itself;
    * `driver` with `master`: a command in the first container, which asks for more;
    * `master` alone: an outside master that the container only stands for; nothing at all: an
      unmanaged application, whose `requests` are live at once.
    """

    user: str
    queue: str = "default"
    name: str = ""
    groups: tuple[str, ...] = ()  # of the user, the primary one first
    priority: int | None = None
    tags: tuple[str, ...] = ()
    tasks: tuple[TaskGroup, ...] = ()
    master: Resource | None = None
    driver: Command | None = None
    requests: tuple[ContainerRequest, ...] = ()
    recovering: bool = False
    label: str | None = None  # the partition of its asks that name none; None: as its queue says
    master_label: str | None = None  # the partition of its master's container; None: `label`
    number: ApplicationId | None = None  # reserved before; None: the next one
    details: SubmissionDetails = SubmissionDetails()
    lifetime_s: int = 0  # how long it may live, from its submission on; 0: as its queue says
    properties: dict[str, str] = {}  # of a MapReduce job
    prepared: bool = True  # False: without a master, its requests wait for MasterRegistered

    def wanted_label(self, *, master: bool) -> str | None:
        """The partition that is named for the master, or for asks that name none themselves."""
        named = self.details.application_label if self.label is None else self.label
        return (self.own_master_label if master else None) or named

    @property
    def own_master_label(self) -> str | None:
        """The partition that is named for the master alone; as in Hadoop an empty one is none."""
        return self.master_label or self.details.master_label or None


class ReserveApplication(msgspec.Struct, frozen=True, tag=tag_of):
    """Somebody wants the number of an application that he will submit, perhaps.

    It is `at_least` this one: those before it were given away by a record that is gone.
    """

    at_least: int = 0


class MasterRegistered(msgspec.Struct, frozen=True, tag=tag_of):
    """An application's master runs and has said so: its requests become live.

    `host`, `rpc_port` and `tracking_url` are where it can be reached, as it says.
    """

    application: ApplicationId
    host: str = ""
    rpc_port: int = -1
    tracking_url: str = ""


class UnregisterMaster(msgspec.Struct, frozen=True, tag=tag_of):
    """A master says how its application ended. Its container goes on until it exits by itself.

    `final_status` is SUCCEEDED, FAILED, KILLED, ENDED or UNDEFINED.
    """

    application: ApplicationId
    final_status: str = "SUCCEEDED"
    diagnostics: str = ""
    tracking_url: str = ""


class RequestContainers(msgspec.Struct, frozen=True, tag=tag_of):
    """A master asks for more, or for fewer."""

    application: ApplicationId
    requests: tuple[ContainerRequest, ...]


class ReleaseContainers(msgspec.Struct, frozen=True, tag=tag_of):
    """A master gives containers back."""

    application: ApplicationId
    containers: tuple[ContainerId, ...]


class LaunchContainer(msgspec.Struct, frozen=True, tag=tag_of):
    """A master says what one of its containers shall run."""

    application: ApplicationId
    container: ContainerId
    command: Command
    time_limit_ms: int | None = None


class AddTasks(msgspec.Struct, frozen=True, tag=tag_of):
    """A master hands groups of tasks to the manager."""

    application: ApplicationId
    tasks: tuple[TaskGroup, ...]


class ChangeBlacklist(msgspec.Struct, frozen=True, tag=tag_of):
    """A master names nodes or racks that it refuses, or takes that back."""

    application: ApplicationId
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class FinishApplication(msgspec.Struct, frozen=True, tag=tag_of):
    """A master says that its application is done."""

    application: ApplicationId
    succeeded: bool = True
    diagnostics: str = ""


class KillApplication(msgspec.Struct, frozen=True, tag=tag_of):
    """Somebody ends an application."""

    application: ApplicationId
    diagnostics: str = "Application killed by user."
    user: str = ""  # who wants it; empty: the system itself
    groups: tuple[str, ...] = ()


class MoveApplication(msgspec.Struct, frozen=True, tag=tag_of):
    """An application shall go on in another queue."""

    application: ApplicationId
    queue: str
    user: str = ""  # who wants it; empty: the system itself
    groups: tuple[str, ...] = ()


class SetPriority(msgspec.Struct, frozen=True, tag=tag_of):
    """An application's priority shall be another one."""

    application: ApplicationId
    priority: int
    user: str = ""  # who wants it; empty: the system itself
    groups: tuple[str, ...] = ()


class ChangeLifetime(msgspec.Struct, frozen=True, tag=tag_of):
    """An application shall end at another instant, if it is not over by then."""

    application: ApplicationId
    expires_ms: int
    user: str = ""  # who wants it; empty: the system itself
    groups: tuple[str, ...] = ()


class LifetimeOver(msgspec.Struct, frozen=True, tag=tag_of):
    """The instant has come at which an application ends, whatever it does."""

    application: ApplicationId


class ForgetApplications(msgspec.Struct, frozen=True, tag=tag_of):
    """Applications that are over need not be known any longer. Their numbers are not used again."""

    applications: tuple[ApplicationId, ...]


class ContainerStarted(msgspec.Struct, frozen=True, tag=tag_of):
    """An engine runs a container.

    `holds_room`: the engine will report its end in any case. Where the end is decided here, its
    room on the node is free only with that report, as in YARN.
    """

    container: ContainerId
    holds_room: bool = False


class ContainerExited(msgspec.Struct, frozen=True, tag=tag_of):
    """A container has ended by itself, or could not start.

    `exit_code` is the process's, or 128 + signal number; negative codes are Hadoop's (-100 aborted,
    -103 memory limit). `peak_memory_mb` is 0 if nobody measured it.
    """

    container: ContainerId
    exit_code: int
    diagnostics: str = ""
    peak_memory_mb: int = 0
    cpu_ms: int = 0


Input = (
    LoadConfiguration
    | ReloadRefused
    | NodeJoined
    | NodeLost
    | NodeResized
    | OvercommitOver
    | DrainNode
    | DecommissionNode
    | UndrainNode
    | SetSafeMode
    | AddLabels
    | RemoveLabels
    | LabelNodes
    | NodeBeat
    | UpdateShares
    | TidyQueues
    | PreemptContainers
    | SubmitApplication
    | ReserveApplication
    | MasterRegistered
    | UnregisterMaster
    | RequestContainers
    | ReleaseContainers
    | LaunchContainer
    | AddTasks
    | ChangeBlacklist
    | FinishApplication
    | KillApplication
    | MoveApplication
    | SetPriority
    | ChangeLifetime
    | LifetimeOver
    | ForgetApplications
    | ContainerStarted
    | ContainerExited
)
