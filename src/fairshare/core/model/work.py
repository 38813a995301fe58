"""The description of work: commands, groups of tasks, requests for containers.

Clients submit these values (`api/work.py`, which also has the fields that both have in common);
they are frozen, and recorded in the journal unchanged.
"""

import msgspec

from fairshare.api.work import CommandFields, GroupFields, PlaceFields
from fairshare.core.model.arrays import TaskArray
from fairshare.core.model.resources import Resource

ANYWHERE = "*"

PAYLOADS = "payloads"
"""The directory of payload files, relative to a state directory."""


class Payload(msgspec.Struct, frozen=True):
    """A file with a task's callable, which is too large for every record, or with variables that
    are not for records: its SHA-256 in hexadecimal digits, and its size in bytes."""

    digest: str
    size: int

    @property
    def file(self) -> str:
        """Its path, relative to a state directory."""
        return f"{PAYLOADS}/{self.digest}"


class Command(CommandFields, frozen=True, gc=False):
    """What a container runs.

    `arguments` is the vector for exec; a shell line is `("/bin/sh", "-c", line)`. Otherwise the
    file of `payload` has a pickled Python callable with its arguments: `python` runs it, and the
    engine keeps its return value as the container's result. `callable` is the same
    pickle before it is written to a file.

    With `is_launch_context` the file has a launch context of YARN instead
    (`ContainerLaunchContextProto`): its commands, environment, files and tokens, which may be
    secret. `arguments` then only shows what it runs.

    The file of `variables` has further variables as JSON, for which those of `environment` are not
    replaced; `private` is the same before it is written to a file.
    """

    arguments: tuple[str, ...] = ()
    callable: bytes = b""
    payload: Payload | None = None
    is_launch_context: bool = False
    private: bytes = b""
    variables: Payload | None = None

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """The files that it needs."""
        return tuple(one for one in (self.payload, self.variables) if one is not None)

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


class TaskGroup(GroupFields, frozen=True, omit_defaults=True, gc=False):
    """`count` identical tasks of an application; the manager is their master.

    The environment of a task has its index in FAIRSHARE_TASK_INDEX (from 0, or as the `array`
    says), and FAIRSHARE_TASK_COUNT. 0.05 is the `slow_start` of Hadoop's reducers by default.
    """

    name: str
    count: int
    resource: Resource
    command: Command = Command()
    array: TaskArray | None = None

    def index_of(self, task: int) -> int:
        """The index of one task, as users see it."""
        return task if self.array is None else self.array.index_of(task)

    def task_of(self, index: int) -> int | None:
        """The task that has an index; None if none has."""
        task = index if self.array is None else self.array.task_of(index)
        return task if task is not None and 0 <= task < self.count else None


class ContainerRequest(PlaceFields, frozen=True):
    """A master's request for `count` more containers, as in Hadoop's AM library (`AMRMClient`).

    `count` is added to the outstanding containers of the same priority, size and place; a negative
    count withdraws. `hosts` and `racks` are preferred places, requested besides anywhere. With
    `location` it is a single raw resource request instead, whose count replaces.
    """

    count: int
    resource: Resource
    request: int = 0  # allocation request id
    location: str = ""
    # The partition; None: the application's, else the queue's. Without the bounds of a request:
    # masters of YARN write what they like, and what was recorded must remain readable.
    label: str | None = None


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
