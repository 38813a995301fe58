"""Owns what can be told to the resource manager. Every input is frozen data, and in the journal.

An input is what a tenant or administrator wants (imperative) or what was observed (past tense).
The instant is not in it: it is `now_ms` of `handle(now_ms, input)`.
"""

import msgspec

from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.model.resources import Resource
from fairshare.model.work import Command, ContainerRequest, TaskGroup


class LoadConfiguration(msgspec.Struct, frozen=True, tag=True):
    """The scheduler's settings, at the start and at each reload.

    `settings` is the scheduler's own frozen structure as msgspec JSON, so that the journal holds
    what was in force and the model need not know any scheduler. `epoch_ms` is the cluster's
    identity in the names of applications; only that of the first load counts.
    """

    settings: bytes
    epoch_ms: int = 0


class NodeJoined(msgspec.Struct, frozen=True, tag=True):
    """A node offers its resources."""

    node: str
    total: Resource
    rack: str = "/default-rack"
    attributes: dict[str, str] = {}


class NodeLost(msgspec.Struct, frozen=True, tag=True):
    """A node is gone, and its containers with it."""

    node: str


class NodeResized(msgspec.Struct, frozen=True, tag=True):
    """A node offers another amount; what runs there goes on."""

    node: str
    total: Resource


class NodeBeat(msgspec.Struct, frozen=True, tag=True):
    """A node is ready for containers: the only moment at which containers are assigned."""

    node: str


class UpdateShares(msgspec.Struct, frozen=True, tag=True):
    """One pass of the scheduler's update: demand, fair shares, starvation, preemption."""


class TidyQueues(msgspec.Struct, frozen=True, tag=True):
    """The file loader's periodic check: empty dynamic queues go, waiting conversions are tried."""


class PreemptContainers(msgspec.Struct, frozen=True, tag=True):
    """One pass of the preemption monitor, or the killing that is due."""


class SubmitApplication(msgspec.Struct, frozen=True, tag=True):
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


class MasterRegistered(msgspec.Struct, frozen=True, tag=True):
    """An application's master runs and has said so: its requests become live."""

    application: ApplicationId


class RequestContainers(msgspec.Struct, frozen=True, tag=True):
    """A master asks for more, or for fewer."""

    application: ApplicationId
    requests: tuple[ContainerRequest, ...]


class ReleaseContainers(msgspec.Struct, frozen=True, tag=True):
    """A master gives containers back."""

    application: ApplicationId
    containers: tuple[ContainerId, ...]


class LaunchContainer(msgspec.Struct, frozen=True, tag=True):
    """A master says what one of its containers shall run."""

    application: ApplicationId
    container: ContainerId
    command: Command
    time_limit_ms: int | None = None


class AddTasks(msgspec.Struct, frozen=True, tag=True):
    """A master hands groups of tasks to the manager."""

    application: ApplicationId
    tasks: tuple[TaskGroup, ...]


class ChangeBlacklist(msgspec.Struct, frozen=True, tag=True):
    """A master names nodes or racks that it refuses, or takes that back."""

    application: ApplicationId
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class FinishApplication(msgspec.Struct, frozen=True, tag=True):
    """A master says that its application is done."""

    application: ApplicationId
    succeeded: bool = True
    diagnostics: str = ""


class KillApplication(msgspec.Struct, frozen=True, tag=True):
    """Somebody ends an application."""

    application: ApplicationId
    diagnostics: str = "Application killed by user."
    user: str = ""  # who wants it; empty: the system itself
    groups: tuple[str, ...] = ()


class MoveApplication(msgspec.Struct, frozen=True, tag=True):
    """An application shall go on in another queue."""

    application: ApplicationId
    queue: str
    user: str = ""  # who wants it; empty: the system itself
    groups: tuple[str, ...] = ()


class SetPriority(msgspec.Struct, frozen=True, tag=True):
    """An application's priority shall be another one."""

    application: ApplicationId
    priority: int
    user: str = ""  # who wants it; empty: the system itself
    groups: tuple[str, ...] = ()


class ContainerStarted(msgspec.Struct, frozen=True, tag=True):
    """An engine runs a container."""

    container: ContainerId


class ContainerExited(msgspec.Struct, frozen=True, tag=True):
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
    | NodeJoined
    | NodeLost
    | NodeResized
    | NodeBeat
    | UpdateShares
    | TidyQueues
    | PreemptContainers
    | SubmitApplication
    | MasterRegistered
    | RequestContainers
    | ReleaseContainers
    | LaunchContainer
    | AddTasks
    | ChangeBlacklist
    | FinishApplication
    | KillApplication
    | MoveApplication
    | SetPriority
    | ContainerStarted
    | ContainerExited
)
