"""Owns the description of work: commands, groups of tasks, requests for containers.

What is here arrives from a tenant, is frozen, and is written to the journal as it came.
"""

import msgspec

from fairshare.model.resources import Resource

ANYWHERE = "*"

PAYLOADS = "payloads"
"""The folder of the files of payloads, below a state directory."""


class Payload(msgspec.Struct, frozen=True):
    """A file with what a task needs, which is too large to be in every record: its SHA-256, in
    hexadecimal digits, and its bytes."""

    digest: str
    size: int

    @property
    def file(self) -> str:
        """Where it is, below a state directory."""
        return f"{PAYLOADS}/{self.digest}"


class Command(msgspec.Struct, frozen=True):
    """What a container runs.

    `arguments` is the vector for exec; a shell line is `("/bin/sh", "-c", line)`. Otherwise it is a
    pickled Python callable with its arguments, which is in the file of `payload`: the engine runs
    it with its own interpreter; what it returns is kept as the container's result. `callable` is
    the same in the journal of an early release, and on its way to a file.
    """

    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    directory: str | None = None  # where it runs; None: a directory of the container's own
    callable: bytes = b""
    payload: Payload | None = None

    @property
    def is_callable(self) -> bool:
        """Whether it runs a Python callable."""
        return bool(self.callable) or self.payload is not None


class TaskGroup(msgspec.Struct, frozen=True):
    """`count` like tasks of an application; the manager is their master.

    The tasks' command sees its place in FAIRSHARE_TASK_INDEX (from 0) and FAIRSHARE_TASK_COUNT.
    The group starts when `slow_start` of the tasks of each group named in `after` have succeeded:
    1.0 waits for all of them, 0.05 begins as Hadoop's reducers do.
    """

    name: str
    count: int
    resource: Resource
    command: Command = Command()
    priority: int = 1  # lower is served first
    hosts: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    relax: bool = True
    max_attempts: int = 4  # of one task; one more failure fails the application
    time_limit_ms: int | None = None
    after: tuple[str, ...] = ()
    slow_start: float = 1.0
    label: str | None = None  # the partition; None: the application's, else the queue's


class ContainerRequest(msgspec.Struct, frozen=True):
    """A master's wish for `count` more containers, as Hadoop's AM library takes it.

    `count` is added to what is outstanding of the same priority, size and place; negative
    withdraws. With `hosts` or `racks` these places are asked for besides anywhere. `location`
    makes it one raw resource request instead, whose count replaces.
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
    """One entry of an application's table of asks: so many of this size there (count replaces).

    `label` is the partition that the containers shall be on; it counts in the entry for ANYWHERE.
    """

    priority: int
    request: int
    location: str  # host, rack or ANYWHERE
    count: int
    resource: Resource
    relax: bool = True
    label: str = ""
