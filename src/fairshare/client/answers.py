"""Owns what a server answers, as frozen data. Reads it; computes and shows nothing.

Resources are mappings from the name of a type to a whole number: `{"memory-mb": 1024, "vcores":
1}`. Times are milliseconds since 1970. Fields that a server sends besides these are passed over, so
that a newer server can be talked to; those that have a default need not be sent.
"""

from typing import Any, TypeVar

import msgspec

from fairshare.client.errors import AnswerNotUnderstood
from fairshare.client.queues import Amounts as Amounts
from fairshare.client.queues import PoolFigures as PoolFigures
from fairshare.client.queues import Queue as Queue
from fairshare.client.queues import SlotFigures as SlotFigures

OVER = frozenset({"FINISHED", "FAILED", "KILLED", "REJECTED"})
"""The states that an application never leaves."""

Answer = TypeVar("Answer")


class Cluster(msgspec.Struct, frozen=True):
    """The cluster as a whole. `applications` counts them by state; `pending` is asked for."""

    name: str = ""
    version: str = ""
    scheduler: str = ""
    engine: str | None = None
    state_directory: str | None = None
    epoch_ms: int = 0
    started_ms: int = 0
    now_ms: int = 0
    total: Amounts = {}
    used: Amounts = {}
    available: Amounts = {}
    pending: Amounts | int | None = None
    nodes: int = 0
    containers: int = 0
    applications: dict[str, int] = {}
    safe_mode: bool = False
    disk_problem: str = ""  # why nothing is admitted, where the server's disk is nearly full


class Stopping(msgspec.Struct, frozen=True):
    """What becomes of the work of a server that ends: it ends too, or runs on for the next one."""

    stop_containers: bool = False
    applications: int = 0
    containers: int = 0


class Reason(msgspec.Struct, frozen=True):
    """Why something waits: a cause with its numbers, a sentence, and what would end the wait.

    `group` is the group of tasks that waits, None for the whole application or a master's own ask;
    `containers` is how many wait for this. `ahead` are the first of those served before it, `also`
    the causes that must be lifted besides. `drained` is a drained node with room; `preempting`
    containers of others are to be killed, the first at `kill_at_ms`; `weight` is the user's.
    """

    cause: str
    sentence: str
    remedy: str
    group: str | None = None
    containers: int = 0
    wanted: Amounts | None = None
    used: Amounts | None = None
    limit: Amounts | None = None
    available: Amounts | None = None
    queue: str = ""
    user: str = ""
    node: str = ""
    label: str = ""
    count: int = 0
    ahead: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    drained: str = ""
    preempting: int = 0
    kill_at_ms: int = 0
    weight: float = 1.0


class JobFigures(msgspec.Struct, frozen=True):
    """What the pool scheduler says of an application: priority by name, and its tasks."""

    priority: str = ""
    maps: SlotFigures = SlotFigures()
    reduces: SlotFigures = SlotFigures()


class Progress(msgspec.Struct, frozen=True):
    """How many tasks there are, and how they stand. A driver without tasks has a total of 0."""

    total: int = 0
    succeeded: int = 0
    running: int = 0
    waiting: int = 0
    failed: int = 0


class GroupProgress(msgspec.Struct, frozen=True):
    """How the tasks of one group stand."""

    name: str
    count: int
    succeeded: int = 0
    running: int = 0
    waiting: int = 0
    failed: int = 0


class Container(msgspec.Struct, frozen=True):
    """One container, alive or over. `group` and `task` say what it runs, if it runs a task."""

    id: str
    node: str = ""
    resources: Amounts = {}
    state: str = ""
    group: str | None = None
    task: int | None = None
    exit_code: int | None = None
    diagnostics: str = ""
    peak_memory_mb: int | None = None
    cpu_ms: int | None = None
    allocated_ms: int | None = None
    finished_ms: int | None = None
    master: bool = False

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state == "COMPLETE"

    @property
    def failed(self) -> bool:
        """Whether it ended badly by itself or by a limit of its own, not by preemption."""
        return self.exit_code is not None and (self.exit_code > 0 or self.exit_code <= -103)


class Application(msgspec.Struct, frozen=True):
    """One application. `groups` and `containers` are only sent for one that was asked for by id."""

    id: str
    state: str
    name: str = ""
    user: str = ""
    queue: str = ""
    kind: str = "tasks"
    priority: int = 0
    attempt: int = 0
    runnable: bool = True
    submitted_ms: int = 0
    started_ms: int = 0
    finished_ms: int | None = None
    used: Amounts = {}
    pending: Amounts | None = None
    demand: Amounts | None = None
    fair_share: Amounts | None = None
    headroom: Amounts | None = None
    preempted: int = 0
    diagnostics: str = ""
    progress: Progress | None = None
    groups: tuple[GroupProgress, ...] = ()
    containers: tuple[Container, ...] | int = ()
    job: JobFigures | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.state in OVER

    @property
    def live_containers(self) -> tuple[Container, ...]:
        """What runs for it now; empty in a list of applications, which only counts them."""
        return () if isinstance(self.containers, int) else self.containers

    @property
    def container_count(self) -> int:
        """How many containers run for it now."""
        return self.containers if isinstance(self.containers, int) else len(self.containers)


class Task(msgspec.Struct, frozen=True):
    """One task of a group. `container` is that of its last attempt, None before the first."""

    group: str
    index: int
    state: str
    attempts: int = 0
    container: str | None = None
    exit_code: int | None = None
    diagnostics: str = ""


class Node(msgspec.Struct, frozen=True):
    """One node. `reserved_for` is the application that it is kept free for."""

    name: str
    rack: str = ""
    total: Amounts = {}
    used: Amounts = {}
    available: Amounts = {}
    containers: int = 0
    reserved_for: str | None = None
    attributes: dict[str, str] = {}
    label: str = ""
    state: str = "RUNNING"
    leaves_ms: int | None = None


class SafeMode(msgspec.Struct, frozen=True):
    """Whether nothing is admitted and granted."""

    safe_mode: bool


class Label(msgspec.Struct, frozen=True):
    """One partition and its nodes; one that is not exclusive lends what is idle."""

    name: str
    exclusive: bool = True
    nodes: tuple[str, ...] = ()


class Labels(msgspec.Struct, frozen=True):
    """All partitions but the default one."""

    labels: list[Label] = []


class Problem(msgspec.Struct, frozen=True):
    """One thing to say about a configuration file. `severity` is error, warning or trap."""

    file: str
    line: int = 0
    column: int = 0
    rule: str = ""
    severity: str = "error"
    message: str = ""

    def __str__(self) -> str:
        place = ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])
        return f"{place}: {self.severity}: {self.message} [{self.rule}]"


class ConfigurationFailure(msgspec.Struct, frozen=True):
    """Why the files are not in force, and since when."""

    message: str
    since_ms: int = 0
    problems: tuple[Problem, ...] = ()


class Configuration(msgspec.Struct, frozen=True):
    """The configuration in force. `changed`: the allocation file on disk is another one."""

    file: str | None = None
    loaded_ms: int = 0
    version: int = 0
    changed: bool = False
    problems: tuple[Problem, ...] = ()
    error: ConfigurationFailure | None = None


class Refreshed(msgspec.Struct, frozen=True):
    """What a refresh loaded; `needs_restart` names what it could not change."""

    loaded_ms: int = 0
    version: int = 0
    needs_restart: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class Properties(msgspec.Struct, frozen=True):
    """The scheduler's properties where documents may change them. `ignored` are parts of a change
    that mean nothing; `problems` the warnings of what is in force now."""

    version: int = 0
    properties: tuple[tuple[str, str], ...] = ()
    message: str = ""
    ignored: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def understood(answer: Any, form: type[Answer]) -> Answer:
    """A decoded answer as what it should be; raises AnswerNotUnderstood and says where it is not.

    >>> understood({"name": "n1", "new": True}, Node).name
    'n1'
    """
    try:
        return msgspec.convert(answer, form)
    except msgspec.ValidationError as error:
        raise AnswerNotUnderstood(
            f"the server's answer is not what this client expects ({error}): use the client that"
            " came with the server, `fairshare --version` and `fairshare status` tell both versions"
        ) from error


def listed(answer: Any, name: str, form: type[Answer]) -> tuple[Answer, ...]:
    """The list that stands under `name` in a decoded answer, each entry understood.

    >>> [node.name for node in listed({"nodes": [{"name": "n1"}]}, "nodes", Node)]
    ['n1']
    """
    fields = understood(answer, dict[str, Any])
    return tuple(understood(entry, form) for entry in understood(fields.get(name), list[Any]))
