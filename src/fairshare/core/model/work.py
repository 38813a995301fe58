"""Owns the description of work: commands, groups of tasks, requests for containers.

Clients submit these values; they are frozen, and recorded in the journal unchanged.
"""

import msgspec

from fairshare.core.model.arrays import TaskArray
from fairshare.core.model.resources import Resource
from fairshare.documents.bounds import GANG_RESTARTS, GANG_TIMEOUT_MS

ANYWHERE = "*"

PAYLOADS = "payloads"
"""The directory of payload files, relative to a state directory."""


class Payload(msgspec.Struct, frozen=True):
    """A file with a task's callable, which is too large for every record: its SHA-256 in
    hexadecimal digits, and its size in bytes."""

    digest: str
    size: int

    @property
    def file(self) -> str:
        """Its path, relative to a state directory."""
        return f"{PAYLOADS}/{self.digest}"


class EndSignal(msgspec.Struct, frozen=True, omit_defaults=True):
    """The signal (`documents.bounds.END_SIGNALS`) that a container gets before its end, instead of
    SIGTERM; with `before_ms` that long before its time limit.

    All its processes get it except the first one, usually a shell, if that has others; with
    `first_process` that one alone.
    """

    name: str
    before_ms: int = 0
    first_process: bool = False


class Command(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a container runs.

    `arguments` is the vector for exec; a shell line is `("/bin/sh", "-c", line)`. Otherwise the
    file of `payload` has a pickled Python callable with its arguments: `python` runs it, and the
    engine keeps its return value as the container's result. `callable` is the same
    pickle before it is written to a file.

    With `is_launch_context` the file has a launch context of YARN instead
    (`ContainerLaunchContextProto`): its commands, environment, files and tokens, which may be
    secret. `arguments` then only shows what it runs.

    With `directory_optional` it runs in a directory of the container's own if it cannot enter
    `directory`. `limits` are soft limits of its first process (`documents.bounds.PROCESS_LIMITS`),
    capped at the engine's hard limits; UNLIMITED means the hard limit. `grace_ms` is from the
    request to end to the end by force, None: as the engine has it. With `image` it runs in a
    container image, which sees the working directory and the `mounts` (`documents.images`).
    """

    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    directory: str | None = None  # its working directory; None: one of the container's own
    callable: bytes = b""
    payload: Payload | None = None
    is_launch_context: bool = False
    directory_optional: bool = False
    umask: int | None = None  # None: as the engine sets it
    limits: dict[str, int] = {}
    python: str | None = None  # the interpreter of a callable; None: the engine's own
    output: str | None = None  # patterns of files (documents.output_names) for stdout and stderr,
    error: str | None = None  # which are appended to; None: the container's own log
    input: str | None = None  # the file that is its standard input; None: empty
    grace_ms: int | None = None
    end_signal: EndSignal | None = None
    image: str | None = None
    mounts: tuple[str, ...] = ()
    terminal: bool = False  # whether it runs in a terminal, to which users attach

    @property
    def is_special(self) -> bool:
        """Whether it demands something that an engine may be unable to do."""
        ending = self.grace_ms is not None or self.end_signal is not None
        files = self.output or self.error or self.input
        return bool(self.limits or self.python or files or self.image or self.terminal) or ending

    @property
    def is_callable(self) -> bool:
        """Whether it runs a Python callable."""
        return (bool(self.callable) or self.payload is not None) and not self.is_launch_context


class TaskGroup(msgspec.Struct, frozen=True):
    """`count` identical tasks of an application; the manager is their master.

    The environment of a task has its index in FAIRSHARE_TASK_INDEX (from 0, or as the `array`
    says), and FAIRSHARE_TASK_COUNT. The group starts when the fraction `slow_start` of the tasks
    of each group named in `after` has succeeded: 1.0 waits for all of them, 0.05 is the default of
    Hadoop's reducers.

    The tasks of a `gang` start together: their containers are held until all of them are there. If
    that takes longer than `gang_timeout_ms` since the first one, the gang gives them back and tries
    again later. When one of its tasks does not succeed, all of them start again; with
    `gang_restart` "task" it alone does.

    At most `at_once` tasks run at the same time. A task that failed `max_attempts` times fails the
    application; with `keep_going` only after all that can still run has ended.
    """

    name: str
    count: int
    resource: Resource
    command: Command = Command()
    priority: int = 1  # lower is served first
    hosts: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    relax: bool = True
    max_attempts: int = 4  # of one task
    time_limit_ms: int | None = None
    after: tuple[str, ...] = ()
    slow_start: float = 1.0
    label: str | None = None  # the partition; None: the application's, else the queue's
    gang: bool = False
    gang_timeout_ms: int = GANG_TIMEOUT_MS
    gang_restart: str = GANG_RESTARTS[0]
    at_once: int | None = None  # None: as many as the queue's share allows
    keep_going: bool = False
    array: TaskArray | None = None

    def index_of(self, task: int) -> int:
        """The index of one task, as users see it."""
        return task if self.array is None else self.array.index_of(task)

    def task_of(self, index: int) -> int | None:
        """The task that has an index; None if none has."""
        task = index if self.array is None else self.array.task_of(index)
        return task if task is not None and 0 <= task < self.count else None


class ContainerRequest(msgspec.Struct, frozen=True):
    """A master's request for `count` more containers, as in Hadoop's AM library (`AMRMClient`).

    `count` is added to the outstanding containers of the same priority, size and place; a negative
    count withdraws. `hosts` and `racks` are preferred places, requested besides anywhere. With
    `location` it is a single raw resource request instead, whose count replaces.
    """

    count: int
    resource: Resource
    priority: int = 1
    hosts: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    relax: bool = True
    request: int = 0  # allocation request id
    location: str = ""
    label: str | None = None  # the partition; None: the application's, else the queue's


class ResourceRequest(msgspec.Struct, frozen=True, array_like=True):
    """One entry of an application's table of asks: `count` containers of one size at a location
    (the count replaces).

    `label` is the partition of the containers; it counts only in the entry for ANYWHERE.
    """

    priority: int
    request: int
    location: str  # host, rack or ANYWHERE
    count: int
    resource: Resource
    relax: bool = True
    label: str = ""
