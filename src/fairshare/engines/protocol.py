"""The interface between the runtime and the engines, which run containers.

The runtime sends orders, the engine reports. An order is identified by its container and
idempotent. A report is an input of the resource manager.
"""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited, Input
from fairshare.core.model.work import Command
from fairshare.documents.gpus import GPU

QUEUE_VARIABLE = "FAIRSHARE_QUEUE"
IDLE_VARIABLE = "FAIRSHARE_IDLE_S"
"""How many seconds an interactive container of the queue may be idle; 0: as long as it likes."""


class LaunchOrder(msgspec.Struct, frozen=True):
    """Run a container. `container_name` and `application_name` have Hadoop's form."""

    container: ContainerId
    container_name: str
    application_name: str
    node: str
    user: str
    memory_mb: int
    vcores: int
    command: Command
    resources: dict[str, int] = {}  # all types by name, including memory-mb and vcores
    environment: dict[str, str] = {}  # FAIRSHARE_*, in addition to the command's
    time_limit_ms: int | None = None
    launched_ms: int = 0  # when the state launched it; distinguishes containers with the same name
    uid: int | None = None  # the account's number on the server's machine, if another one runs it


class TaskLaunch(msgspec.Struct, frozen=True, gc=False):
    """What a container runs, as far as an engine needs to know it that runs nothing.

    `group` is the number of a group of tasks and `task` that of a task in it, both from 0; -1 for
    anything else. `attempt` is 1 more than how often the task has failed.
    """

    container: ContainerId
    group: int = -1
    group_name: str = ""
    task: int = -1
    attempt: int = 1
    time_limit_ms: int | None = None


class NodeOffer(msgspec.Struct, frozen=True):
    """A node of an engine: its resources, and, in `attributes`, the limits in force."""

    node: str
    rack: str
    resources: dict[str, int]
    attributes: dict[str, str]


class GpuUse(msgspec.Struct, frozen=True):
    """A GPU of a node, offered as `type`, and its use; what is None was not measured.

    `elsewhere`: what no container of the engine has uses its memory, so that it is not assigned.
    `idle_s` is for how long a container has had it without using it.
    """

    node: str
    name: str
    model: str = ""
    memory_mb: int = 0  # 0: unknown
    used_mb: int | None = None
    utilization_percent: int | None = None
    type: str = GPU
    elsewhere: bool = False
    idle_s: float | None = None


Launched = Callable[[str, str], int | None]
"""Returns when the state launched a container (`LaunchOrder.launched_ms`), given the names of
application and container. None: never. LONG_AGO: at an unknown instant."""

LONG_AGO = 0


class Engine(Protocol):
    """Runs containers: `local` (as processes on this machine) or `simulated`."""

    def nodes(self) -> tuple[NodeOffer, ...]:
        """The nodes of the engine, but those that register by themselves."""
        return ()

    def start(
        self,
        report: Callable[[Input], None],
        *,
        launched: Launched | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Start the engine; it calls `report` for every outcome, from any thread.

        Containers unknown to `launched` are not adopted; without it all are. If the engine cannot
        continue, it calls `failed` once, from any thread.
        """

    def launch(self, order: LaunchOrder) -> None:
        """Start a container; returns at once. Reports follow: ContainerStarted and then
        ContainerExited, or only the latter."""

    def stop(self, container: ContainerId) -> None:
        """End a container with all its processes; returns at once. Unknown ones are ignored."""

    def running(self) -> frozenset[ContainerId]:
        """The running containers, including those of an earlier server of this state directory."""

    def close(self, *, stop_containers: bool) -> None:
        """Stop the engine; containers continue unless `stop_containers`."""


class ContainerFiles(Protocol):
    """The files that a container writes on this machine. A file may not exist, yet or any more."""

    @property
    def stdout(self) -> Path:
        """The standard output."""

    @property
    def stderr(self) -> Path:
        """The standard error."""

    @property
    def result(self) -> Path:
        """The pickled return value of the container's callable."""

    def ended(self) -> bool:
        """Whether the files are complete."""

    def dropped_range(self, log: Path) -> tuple[int, int]:
        """The range of bytes removed from a log, the end exclusive; (0, 0): none."""


@runtime_checkable
class FetchesFiles(Protocol):
    """An engine that fetches parts of files from its nodes."""

    async def read(
        self, node: str, names: tuple[str, str], file: str, offset: int, limit: int
    ) -> tuple[bytes, int]:
        """At most `limit` bytes from `offset` of a file (`stdout`, `stderr` or `result`) of a
        container (the names of application and container), and the file's size; 0 if it does not
        exist (yet). Raises EngineError if its node does not answer."""


@runtime_checkable
class ChangesLimits(Protocol):
    """An engine that changes the time limits of containers that run."""

    def limit(self, container: ContainerId, time_limit_ms: int | None) -> None:
        """End a container after so long from its start; None: not at all. Returns at once; unknown
        containers are ignored."""


@runtime_checkable
class MeasuresGpus(Protocol):
    """An engine that assigns the GPUs of its nodes, and measures them."""

    def gpus(self) -> tuple[GpuUse, ...]:
        """All GPUs of all nodes, as of the last sample; called from any thread."""


@runtime_checkable
class OpensSessions(Protocol):
    """An engine that connects users with running containers. The bytes are those of
    `api.frames`."""

    def open_command(
        self, application_name: str, container_name: str, ended: Callable[[], None]
    ) -> socket.socket:
        """A connection to a new process that runs, in a container, the command that the first
        message names. It is in the container's limits, and `ended` is called, from any thread, when
        nothing of it is left. May block. Raises InputError (`not-running`, `no-session`),
        EngineError; then `ended` is not called."""

    def open_terminal(self, application_name: str, container_name: str) -> socket.socket:
        """A connection to the terminal of a container. May block. Raises InputError
        (`not-running`, `no-terminal`), EngineError."""


class Ended(NamedTuple):
    """How a command ended: its exit code, None if it was ended; the end of its stderr; why it could
    not be started, empty if it was."""

    exit_code: int | None
    stderr: str
    problem: str = ""


class CommandAside(Protocol):
    """A short command of the server's own beside the containers. It leaves no process behind."""

    def run(self, content: bytes, timeout_s: float) -> Ended:
        """Run the command with `content` on its stdin. Blocks. Raises EngineError if it cannot be
        started now, and TimeoutError if it was ended for its time."""

    def close(self) -> None:
        """End the command; called from any thread."""


class HostEngine(Engine, Protocol):
    """The additional interface of an engine for a server: files, accounts, health. By default it
    knows nothing of them, and nodes see to all."""

    nodes_register: bool = False
    """Whether nodes register by themselves, at any time: then an earlier server's nodes and
    containers are kept until their nodes return or expire. False: `nodes` and `running` say all."""

    def files(self, application_name: str, container_name: str) -> ContainerFiles | None:
        """The logs and the result of a container; None if they are on its node, another machine.

        Raises EngineError for an invalid name.
        """
        return None

    def node_web_address(self, node: str) -> str:
        """`host:port` of a node's own web server, which has its containers' logs under YARN's
        paths; empty: it has none, or is not registered."""
        return ""

    def last_heartbeat_ms(self, node: str) -> int | None:
        """When a node that registers by itself was last heard of; None for any other."""
        return None

    def exit_of(
        self, container: ContainerId, application_name: str, container_name: str
    ) -> ContainerExited | None:
        """How a container that is not running ended, if known: an earlier server may have received
        the report without recording it. Raises EngineError if it cannot be read now."""
        return None

    def signal(self, container: ContainerId, command: str) -> None:
        """Send a container one of YARN's signals: OUTPUT_THREAD_DUMP, GRACEFUL_SHUTDOWN or
        FORCEFUL_SHUTDOWN; returns at once. Raises EngineError for one that this engine lacks."""

    def account_problem(self, user: str) -> str:
        """Why a user's containers cannot run here; empty if they can. May block on a disk or a
        directory service; raises AccountsUnavailable if that does not answer."""
        return ""

    def command_problem(self, user: str, command: Command) -> str:
        """Why a command cannot run here for a user, as far as it can be seen before it starts;
        empty if nothing is known. May block on a disk."""
        return ""

    def trouble(self) -> str:
        """Why the engine cannot start containers now; empty if it can."""
        return ""

    def prune(self, application_name: str) -> None:
        """Delete the files of a finished application; raises EngineError."""
        return

    def forget_payload(self, digest: str) -> None:
        """Delete the engine's copies of a payload of Python calls, as far as possible."""
        return
