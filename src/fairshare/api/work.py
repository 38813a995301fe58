"""Owns the requests for work: submissions, groups of tasks, containers of a driver, commands.

Resources are mappings such as `{"memory-mb": 1024, "vcores": 1}`, times are milliseconds.
Constraints between fields are checked where a server translates them (`web/submissions.py`).
"""

from typing import Annotated, Final, Literal

import msgspec

from fairshare.api.values import (
    EMPTY,
    MAX_TASKS,
    Body,
    Count,
    Diagnostics,
    Duration,
    LabelName,
    Name,
    Place,
    Priority,
    QueueName,
    Resources,
    Tag,
    User,
)
from fairshare.documents.bounds import GANG_TIMEOUT_MS, GROUP_REQUESTS

DEFAULT_RESOURCES: Final = {"memory-mb": 1024, "vcores": 1}
"""What a container gets of the types that its request does not name; 0 of all others."""


class Command(Body, frozen=True, kw_only=True):
    """What a container runs: exactly one of `arguments` (the vector for exec), `command` (a line
    for the shell) and `callable` (what `fairshare.client.callables.pickled` makes)."""

    arguments: tuple[str, ...] = ()
    command: str | None = None
    callable: bytes = b""  # in JSON base64 of a pickled (function, arguments, keyword arguments)
    environment: dict[str, str] = EMPTY
    directory: str | None = None


class TaskGroup(Command, frozen=True, kw_only=True):
    """`count` like tasks, which see their number in FAIRSHARE_TASK_INDEX (from 0).

    The group starts when `slow_start` of the tasks of each group named in `after` have succeeded:
    1.0 waits for all. With `relax` false, `hosts` and `racks` are the only places. A task that
    fails for the `max_attempts`-th time fails the application. `label` is the tasks' partition.

    The tasks of a `gang` start together or not at all: their containers are held until none is
    missing, for at most `gang_timeout_ms`; then they are given back, and requested again after a
    pause. When one task does not succeed, all of them start again, and `max_attempts` counts the
    failures of all; with `gang_restart` "task" that one alone.
    """

    name: Place = "tasks"
    count: Count = msgspec.field(default_factory=lambda: 1)  # 1 is sent, too
    resources: Resources = EMPTY
    priority: Priority = 1
    hosts: tuple[Place, ...] = ()
    racks: tuple[Place, ...] = ()
    relax: bool = True
    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 4
    time_limit_ms: Duration | None = None
    after: tuple[str, ...] = ()
    slow_start: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 1.0
    label: LabelName | None = None
    gang: bool = False
    gang_timeout_ms: Duration = GANG_TIMEOUT_MS
    gang_restart: Literal["all", "task"] = "all"


class DriverCommand(Command, frozen=True, kw_only=True):
    """What the first container of a driver application runs."""


class Master(Body, frozen=True, kw_only=True):
    """The container of a driver.

    With `keep_containers` the containers that it launched go on when it is lost, and
    `Driver.containers` of its next attempt lists them.
    """

    resources: Resources = EMPTY
    keep_containers: bool = False


class Submission(Body, frozen=True, kw_only=True):
    """An application: either `tasks`, or a `driver` (and in `master` the size of its container).

    Without `user` the server identifies the user, without `queue` it is "default", from which
    placement rules choose. `groups` are the user's, the primary one first; a server that
    authenticates users looks them up. After `lifetime_s` seconds the application is killed if it
    is not over. `label` is the partition of all that names none itself.
    """

    user: User | None = None
    queue: QueueName | None = None
    name: Name | None = None
    priority: Priority | None = None
    lifetime_s: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] | None = None
    tags: Annotated[tuple[Tag, ...], msgspec.Meta(max_length=20)] = ()
    groups: Annotated[tuple[User, ...], msgspec.Meta(max_length=1_000)] | None = ()
    tasks: Annotated[tuple[TaskGroup, ...], msgspec.Meta(max_length=1_000)] = ()
    driver: DriverCommand | None = None
    master: Master | None = None
    label: LabelName | None = None
    master_label: LabelName | None = None


class ContainerRequest(Body, frozen=True, kw_only=True):
    """A driver's request for `count` more containers of a size; a negative count withdraws."""

    count: Annotated[int, msgspec.Meta(ge=-MAX_TASKS, le=MAX_TASKS)]
    resources: Resources = EMPTY
    priority: Priority = 1
    hosts: tuple[Place, ...] = ()
    racks: tuple[Place, ...] = ()
    relax: bool = True
    request: Annotated[int, msgspec.Meta(ge=0, lt=GROUP_REQUESTS)] = 0
    label: LabelName | None = None


class RequestsBody(Body, frozen=True, kw_only=True):
    """A driver's requests for containers."""

    requests: Annotated[tuple[ContainerRequest, ...], msgspec.Meta(min_length=1, max_length=10_000)]


class TasksBody(Body, frozen=True, kw_only=True):
    """Groups of tasks that a driver submits."""

    tasks: Annotated[tuple[TaskGroup, ...], msgspec.Meta(min_length=1, max_length=1_000)]


class Launch(Command, frozen=True, kw_only=True):
    """What a driver runs in a container that was granted to it."""

    time_limit_ms: Duration | None = None


class ReleaseBody(Body, frozen=True, kw_only=True):
    """Containers that a driver gives back."""

    containers: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=10_000)]


class FinishBody(Body, frozen=True, kw_only=True):
    """How a driver's application ended."""

    succeeded: bool = True
    diagnostics: Diagnostics = ""
