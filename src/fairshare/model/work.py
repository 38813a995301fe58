"""Owns the description of work: commands, groups of tasks, requests for containers.

Clients submit these values; they are frozen, and recorded in the journal unchanged.
"""

import msgspec

from fairshare.documents.bounds import GANG_RESTARTS, GANG_TIMEOUT_MS
from fairshare.model.resources import Resource

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


class Command(msgspec.Struct, frozen=True):
    """What a container runs.

    `arguments` is the vector for exec; a shell line is `("/bin/sh", "-c", line)`. Otherwise the
    file of `payload` has a pickled Python callable with its arguments: the engine runs it with its
    own interpreter, and keeps its return value as the container's result. `callable` is the same
    pickle in the journals of an early release, and before it is written to a file.

    With `is_launch_context` the file has a launch context of YARN instead
    (`ContainerLaunchContextProto`): its commands, environment, files and tokens, which may be
    secret. `arguments` then only shows what it runs.
    """

    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    directory: str | None = None  # its working directory; None: one of the container's own
    callable: bytes = b""
    payload: Payload | None = None
    is_launch_context: bool = False

    @property
    def is_callable(self) -> bool:
        """Whether it runs a Python callable."""
        return (bool(self.callable) or self.payload is not None) and not self.is_launch_context


class TaskGroup(msgspec.Struct, frozen=True):
    """`count` identical tasks of an application; the manager is their master.

    The environment of a task has its index in FAIRSHARE_TASK_INDEX (from 0), and
    FAIRSHARE_TASK_COUNT. The group starts when the fraction `slow_start` of the tasks of each group
    named in `after` has succeeded: 1.0 waits for all of them, 0.05 is the default of Hadoop's
    reducers.

    The tasks of a `gang` start together: their containers are held until all of them are there. If
    that takes longer than `gang_timeout_ms` since the first one, the gang gives them back and tries
    again later. When one of its tasks does not succeed, all of them start again; with
    `gang_restart` "task" it alone does.
    """

    name: str
    count: int
    resource: Resource
    command: Command = Command()
    priority: int = 1  # lower is served first
    hosts: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    relax: bool = True
    max_attempts: int = 4  # of one task; the last failure fails the application
    time_limit_ms: int | None = None
    after: tuple[str, ...] = ()
    slow_start: float = 1.0
    label: str | None = None  # the partition; None: the application's, else the queue's
    gang: bool = False
    gang_timeout_ms: int = GANG_TIMEOUT_MS
    gang_restart: str = GANG_RESTARTS[0]


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
