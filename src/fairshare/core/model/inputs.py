"""The inputs of the resource manager. Every input is frozen data, recorded in the journal.

An input is a command of a client or administrator (imperative) or an observation (past tense). It
does not contain its instant, which is `now_ms` of `handle(now_ms, input)`.
"""

from typing import Final, get_args

import msgspec

from fairshare.core.model.bookings import Booking
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.resources import Resource
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup
from fairshare.documents.bounds import OUTCOMES


class LoadConfiguration(msgspec.Struct, frozen=True, tag=True):
    """The scheduler's settings, at the start and at each reload.

    `settings` is the scheduler's own frozen structure as msgspec JSON, so that the journal contains
    the settings in force without the model knowing any scheduler. `epoch_ms` is the cluster's
    identity in the names of applications; only the value of the first load counts.
    """

    settings: bytes
    epoch_ms: int = 0


class ReloadRefused(msgspec.Struct, frozen=True, tag=True):
    """The server could not load the configuration files: the old settings stay in force.

    The Capacity Scheduler applies the old settings once more, as Hadoop's does.
    """


class NodeJoined(msgspec.Struct, frozen=True, tag=True):
    """A node registered, with its resources. `host` is the name of its machine, which requests
    and blacklists use; empty: the node's name."""

    node: str
    total: Resource
    rack: str = "/default-rack"
    attributes: dict[str, str] = {}
    host: str = ""


class NodeLost(msgspec.Struct, frozen=True, tag=True):
    """A node left the cluster, and its containers are lost.

    `state` is the reason as a YARN node state: LOST, SHUTDOWN, DECOMMISSIONED, REBOOTED or
    UNHEALTHY; `report` is the node's health report.
    """

    node: str
    state: str = "LOST"
    report: str = ""


class NodeResized(msgspec.Struct, frozen=True, tag=True):
    """A node's total changed.

    If its containers use more, they continue for `overcommit_timeout_ms`; then containers are
    preempted until the rest fits. 0: at once; negative: the containers continue without limit.
    """

    node: str
    total: Resource
    overcommit_timeout_ms: int = -1


class OvercommitOver(msgspec.Struct, frozen=True, tag=True):
    """The timeout of an overcommitted node has expired."""

    node: str


class GangDue(msgspec.Struct, frozen=True, tag=True):
    """A gang has held its containers for too long, or, if it gave them back, can try again."""

    application: ApplicationId
    group: int


class TasksDue(msgspec.Struct, frozen=True, tag=True):
    """The pause of a task that failed at once is over."""

    application: ApplicationId


class NodeDue(msgspec.Struct, frozen=True, tag=True):
    """The pause of a node that could not start containers is over."""

    node: str


class DrainNode(msgspec.Struct, frozen=True, tag=True):
    """Stop allocating containers on a node; its containers continue."""

    node: str
    user: str = ""  # the caller; empty: the system itself
    groups: tuple[str, ...] = ()


class DecommissionNode(msgspec.Struct, frozen=True, tag=True):
    """Stop allocating containers on a node, and remove it when it is empty, or after
    `timeout_ms`."""

    node: str
    timeout_ms: int
    user: str = ""
    groups: tuple[str, ...] = ()


class UndrainNode(msgspec.Struct, frozen=True, tag=True):
    """Allow containers on a node again; a decommissioned node is allowed to join again."""

    node: str
    user: str = ""
    groups: tuple[str, ...] = ()


class SetSafeMode(msgspec.Struct, frozen=True, tag=True):
    """Switch the safe mode, in which no application is admitted and no container allocated;
    running containers continue."""

    on: bool
    user: str = ""
    groups: tuple[str, ...] = ()


class AddLabels(msgspec.Struct, frozen=True, tag=True):
    """Add partitions: by name, whether each is exclusive, that is, only serves asks for it.

    A non-exclusive partition (False) lends idle resources to asks for the default partition.
    """

    labels: dict[str, bool]
    user: str = ""  # the caller; empty: the system itself
    groups: tuple[str, ...] = ()


class RemoveLabels(msgspec.Struct, frozen=True, tag=True):
    """Remove partitions; their nodes return to the default partition."""

    labels: tuple[str, ...]
    user: str = ""
    groups: tuple[str, ...] = ()


class LabelNodes(msgspec.Struct, frozen=True, tag=True):
    """Assign nodes to partitions, by name; an empty partition is the default one.

    The assignment of an absent node takes effect when it joins; `known` refuses absent nodes.
    """

    nodes: dict[str, str]
    known: bool = False
    user: str = ""
    groups: tuple[str, ...] = ()


class NodeBeat(msgspec.Struct, frozen=True, tag=True):
    """A node's heartbeat. Schedulers assign containers only then."""

    node: str


class UpdateShares(msgspec.Struct, frozen=True, tag=True):
    """One pass of the scheduler's update: demand, fair shares, starvation, preemption."""


class UpdateUsage(msgspec.Struct, frozen=True, tag=True):
    """The interval of the ledger is over: what was used in the past enters the orders."""


class MakeBooking(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """Promise resources to a queue, or to a user there, for some spans of time; a span from 0 on
    begins now. `replace`: instead of the booking that has this name."""

    booking: Booking
    replace: bool = False
    user: str = ""
    groups: tuple[str, ...] = ()


class CancelBooking(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """Take back a booking, from now on."""

    name: str
    user: str = ""
    groups: tuple[str, ...] = ()


class AdvanceBookings(msgspec.Struct, frozen=True, tag=True):
    """A span of a booking begins, ends, or has to be kept from now on."""


class TidyQueues(msgspec.Struct, frozen=True, tag=True):
    """The file loader's periodic check: remove empty dynamic queues, try waiting conversions."""


class PreemptContainers(msgspec.Struct, frozen=True, tag=True):
    """One pass of the preemption monitor, or of killing the containers whose deadline has come."""


class SubmissionDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """Further fields of an application that YARN's clients submit.

    `max_attempts` 0: as many as the cluster allows; with `failures_validity_ms` only failures that
    are not older than that count, 0: all. The access lists have Hadoop's form
    (`alice,bob ops`); None: only the owner and administrators. A label expression is None if the
    client set none. `keep_containers`: when the master is lost, running containers that it
    launched continue, and the next attempt takes them over. `must_unregister`: a master that exits
    without UnregisterMaster has failed, whatever its exit code, as in YARN. `notify` are the
    targets of notices (`documents/notice_targets.py`), `notify_on` what they are about.
    """

    type: str = "YARN"
    max_attempts: int = 0
    view_acl: str | None = None
    modify_acl: str | None = None
    application_label: str | None = None
    master_label: str | None = None
    keep_containers: bool = False
    must_unregister: bool = False
    notify: tuple[str, ...] = ()
    notify_on: tuple[str, ...] = ("end",)
    failures_validity_ms: int = 0


class Condition(msgspec.Struct, frozen=True, omit_defaults=True):
    """Another application must have ended: `ok` is FINISHED, `failed` any other end."""

    application: ApplicationId
    outcome: str = OUTCOMES[0]


class StartConditions(msgspec.Struct, frozen=True, omit_defaults=True):
    """What must be so before an application starts: all of `after` have ended, the instant
    `begin_ms` has come (0: at once), and it is not `held`."""

    after: tuple[Condition, ...] = ()
    begin_ms: int = 0
    held: bool = False


NO_CONDITIONS = StartConditions()


class SubmitApplication(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """Submit an application. Its fields define the type of its master:

    * `tasks`: the manager runs the groups itself;
    * `driver` with `master`: a command in the first container, which requests more containers;
    * `master` alone: an external master, for which the container is a placeholder;
    * none of these: an unmanaged application, whose `requests` are live at once.
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
    label: str | None = None  # the partition of asks without one; None: the queue's default
    master_label: str | None = None  # the partition of its master's container; None: `label`
    number: ApplicationId | None = None  # reserved before; None: the next one
    details: SubmissionDetails = SubmissionDetails()
    lifetime_s: int = 0  # counted from the submission, or the start if that has conditions
    properties: dict[str, str] = {}  # of a MapReduce job
    prepared: bool = True  # False: without a master, its requests wait for MasterRegistered
    start: StartConditions = NO_CONDITIONS
    deadline_ms: int = 0  # the instant at which it is killed if it is not over; 0: none
    tagged_groups: tuple[str, ...] = ()  # of the user that a tag names: see `placement.tags`

    def wanted_label(self, *, master: bool) -> str | None:
        """The partition requested for the master, or for asks without a partition of their own."""
        named = self.details.application_label if self.label is None else self.label
        return (self.own_master_label if master else None) or named

    @property
    def own_master_label(self) -> str | None:
        """The partition requested for the master alone; an empty name counts as none, as in
        Hadoop."""
        return self.master_label or self.details.master_label or None


class ReserveApplication(msgspec.Struct, frozen=True, tag=True):
    """A client requests the number of an application that it may submit later.

    The number is `at_least` this one: records that were lost had given away lower numbers.
    """

    at_least: int = 0


class ContinueNumbers(msgspec.Struct, frozen=True, tag=True):
    """The journal is a copy that other records followed, or may have: their numbers are lost.

    Records that were lost had given away numbers up to `application`, and containers numbers below
    `first_container`.
    """

    application: ApplicationId
    first_container: int


class MasterRegistered(msgspec.Struct, frozen=True, tag=True):
    """An application's master registered: its requests become live.

    `host`, `rpc_port` and `tracking_url` are the master's addresses, as reported by it.
    """

    application: ApplicationId
    host: str = ""
    rpc_port: int = -1
    tracking_url: str = ""


class UnregisterMaster(msgspec.Struct, frozen=True, tag=True):
    """A master reports how its application ended. Its container continues until it exits by itself.

    `final_status` is SUCCEEDED, FAILED, KILLED, ENDED or UNDEFINED.
    """

    application: ApplicationId
    final_status: str = "SUCCEEDED"
    diagnostics: str = ""
    tracking_url: str = ""


class RequestContainers(msgspec.Struct, frozen=True, tag=True):
    """A master requests more containers, or withdraws requests."""

    application: ApplicationId
    requests: tuple[ContainerRequest, ...]


class ReleaseContainers(msgspec.Struct, frozen=True, tag=True):
    """A master releases containers."""

    application: ApplicationId
    containers: tuple[ContainerId, ...]


class LaunchContainer(msgspec.Struct, frozen=True, tag=True):
    """A master launches a command in one of its containers."""

    application: ApplicationId
    container: ContainerId
    command: Command
    time_limit_ms: int | None = None


class AddTasks(msgspec.Struct, frozen=True, tag=True):
    """A master adds groups of tasks for the manager to run."""

    application: ApplicationId
    tasks: tuple[TaskGroup, ...]


class ChangeBlacklist(msgspec.Struct, frozen=True, tag=True):
    """A master adds hosts or racks to its blacklist, or removes them."""

    application: ApplicationId
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class FinishApplication(msgspec.Struct, frozen=True, tag=True):
    """A master reports that its application is done."""

    application: ApplicationId
    succeeded: bool = True
    diagnostics: str = ""


class KillApplication(msgspec.Struct, frozen=True, tag=True):
    """Kill an application."""

    application: ApplicationId
    diagnostics: str = "Application killed by user."
    user: str = ""  # the caller; empty: the system itself
    groups: tuple[str, ...] = ()


class KillTask(msgspec.Struct, frozen=True, tag=True):
    """Kill one task of an application for good; its other tasks go on."""

    application: ApplicationId
    group: int
    task: int
    diagnostics: str = "Task killed by user."
    user: str = ""  # the caller; empty: the system itself
    groups: tuple[str, ...] = ()


class HoldApplication(msgspec.Struct, frozen=True, tag=True):
    """Start nothing more of an application until it is released; what runs goes on."""

    application: ApplicationId
    user: str = ""  # the caller; empty: the system itself
    groups: tuple[str, ...] = ()


class ReleaseApplication(msgspec.Struct, frozen=True, tag=True):
    """Let a held application go on."""

    application: ApplicationId
    user: str = ""
    groups: tuple[str, ...] = ()


class RequeueApplication(msgspec.Struct, frozen=True, tag=True):
    """End all that runs of an application, and let it begin again."""

    application: ApplicationId
    user: str = ""
    groups: tuple[str, ...] = ()


class BeginDue(msgspec.Struct, frozen=True, tag=True):
    """The instant at which an application was to begin has come."""

    application: ApplicationId


class MoveApplication(msgspec.Struct, frozen=True, tag=True):
    """Move an application to another queue."""

    application: ApplicationId
    queue: str
    user: str = ""  # the caller; empty: the system itself
    groups: tuple[str, ...] = ()


class SetPriority(msgspec.Struct, frozen=True, tag=True):
    """Change an application's priority."""

    application: ApplicationId
    priority: int
    user: str = ""  # the caller; empty: the system itself
    groups: tuple[str, ...] = ()


class Changes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What changes of an application; what is None or empty stays.

    `time_limit_ms`, `sizes` (amounts by resource type; the others stay) and `at_once` are those of
    its groups of tasks, with `group` of that one alone; a limit of 0 is none. `after` and
    `begin_ms` are conditions for its start.
    """

    name: str | None = None
    tags: tuple[str, ...] | None = None
    priority: int | None = None
    after: tuple[Condition, ...] | None = None
    begin_ms: int | None = None
    group: str = ""
    time_limit_ms: int | None = None
    sizes: dict[str, int] = {}
    at_once: int | None = None

    @property
    def of_groups(self) -> bool:
        """Whether groups of tasks change."""
        return bool(self.sizes) or self.limits

    @property
    def limits(self) -> bool:
        """Whether limits of groups of tasks change."""
        return self.time_limit_ms is not None or self.at_once is not None

    @property
    def says_more(self) -> bool:
        """Whether anything changes that has no event of its own."""
        return self.of_groups or self.name is not None or self.tags is not None


class UpdateApplication(msgspec.Struct, frozen=True, tag=True):
    """Change an application that has not ended."""

    application: ApplicationId
    changes: Changes
    user: str = ""  # the caller; empty: the system itself
    groups: tuple[str, ...] = ()


class ChangeLifetime(msgspec.Struct, frozen=True, tag=True):
    """Change the instant at which an application is killed if it is still alive."""

    application: ApplicationId
    expires_ms: int
    user: str = ""  # the caller; empty: the system itself
    groups: tuple[str, ...] = ()


class LifetimeOver(msgspec.Struct, frozen=True, tag=True):
    """An application's lifetime has expired."""

    application: ApplicationId


class ForgetApplications(msgspec.Struct, frozen=True, tag=True):
    """Remove applications that are over from the state. Their numbers are not used again."""

    applications: tuple[ApplicationId, ...]


class ContainerStarted(msgspec.Struct, frozen=True, tag=True):
    """An engine runs a container.

    `holds_room`: the engine will report the container's end in any case. If the scheduler ends the
    container, its room on the node becomes free only with that report, as in YARN. `gpus` are the
    names of the GPUs that the engine has assigned to it.
    """

    container: ContainerId
    holds_room: bool = False
    gpus: tuple[str, ...] = ()


class ContainerEnd(msgspec.Struct, frozen=True):
    """How a container ended: what engines report of it (`ContainerExited`), and what is recorded
    (`events.ContainerCompleted`).

    `exit_code` is the process's, or 128 + signal number; negative codes are Hadoop's (-100 aborted,
    -103 memory limit). `peak_memory_mb` is 0 if it was not measured.
    """

    container: ContainerId
    exit_code: int
    diagnostics: str = ""
    peak_memory_mb: int = 0
    cpu_ms: int = 0


class ContainerExited(ContainerEnd, frozen=True, tag=True):
    """A container has ended by itself, or could not start.

    `cannot_start`: its command could not be started for a reason that another attempt would meet
    too, such as a missing file. `node_failed`: it was not started for a cause of its node, such as
    a full disk; another container would not start there either. `timed_out`: it was ended at its
    time limit.
    """

    cannot_start: bool = False
    node_failed: bool = False
    timed_out: bool = False


Own = (
    AdvanceBookings
    | BeginDue
    | GangDue
    | LifetimeOver
    | NodeBeat
    | NodeDue
    | OvercommitOver
    | PreemptContainers
    | TasksDue
    | TidyQueues
    | UpdateShares
    | UpdateUsage
)
"""What only a runtime feeds, when its time has come."""

OWN: Final = frozenset(get_args(Own))

Input = (
    Own
    | LoadConfiguration
    | ReloadRefused
    | NodeJoined
    | NodeLost
    | NodeResized
    | DrainNode
    | DecommissionNode
    | UndrainNode
    | SetSafeMode
    | AddLabels
    | RemoveLabels
    | LabelNodes
    | MakeBooking
    | CancelBooking
    | SubmitApplication
    | ReserveApplication
    | ContinueNumbers
    | MasterRegistered
    | UnregisterMaster
    | RequestContainers
    | ReleaseContainers
    | LaunchContainer
    | AddTasks
    | ChangeBlacklist
    | FinishApplication
    | KillApplication
    | KillTask
    | HoldApplication
    | ReleaseApplication
    | RequeueApplication
    | MoveApplication
    | SetPriority
    | ChangeLifetime
    | UpdateApplication
    | ForgetApplications
    | ContainerStarted
    | ContainerExited
)
