"""Requests for work: submissions, groups of tasks, containers of a driver, commands.

Resources are mappings such as `{"memory-mb": 1024, "vcores": 1}`, times are milliseconds.
Constraints between fields are checked where a server translates them (`server/web/submissions.py`).

`CommandFields`, `PlaceFields` and `GroupFields` are what requests, the journal and the core
(`core/model/work.py`) have in common: a field that is added to one of them is in all three, and
`submissions.py` hands it on. What differs (a shell line, the name of an upload, amounts by name,
the text of an array) is in the request, and in the core in the form that it works with.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from fairshare.api.values import (
    EMPTY,
    MAX_LINES,
    MAX_TASKS,
    Body,
    Count,
    Diagnostics,
    Duration,
    LabelName,
    Name,
    NoticeTarget,
    Place,
    Priority,
    QueueName,
    Resources,
    Tag,
    User,
)
from fairshare.documents.bounds import (
    GANG_TIMEOUT_MS,
    GROUP_REQUESTS,
    LATEST_MS,
    LONGEST_GRACE_MS,
    MAX_MOUNTS,
    NOTICE_TARGETS,
    UNLIMITED,
    GangRestart,
    NoticeEvent,
    Outcome,
    ProcessLimit,
    SignalName,
)

DEFAULT_RESOURCES: Final = {"memory-mb": 1024, "vcores": 1}
"""The default resources of a container, for the types that its request does not name; of all other
types the default is 0."""


class EndSignal(Body, frozen=True, kw_only=True):
    """The signal that a container gets before its end, instead of SIGTERM; with `before_ms` that
    long before its time limit.

    All its processes get it except the first one, usually a shell, if that has others; with
    `first_process` that one alone.
    """

    name: SignalName
    before_ms: Duration | None = None
    first_process: bool = False


class CommandFields(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a container runs what it runs, as `Command` explains it."""

    environment: dict[str, str] = EMPTY
    directory: str | None = None
    directory_optional: bool = False
    umask: Annotated[int, msgspec.Meta(ge=0, le=0o777)] | None = None
    limits: dict[ProcessLimit, Annotated[int, msgspec.Meta(ge=UNLIMITED, le=2**53)]] = EMPTY
    python: str | None = None
    output: str | None = None
    error: str | None = None
    input: str | None = None
    grace_ms: Annotated[int, msgspec.Meta(ge=0, le=LONGEST_GRACE_MS)] | None = None
    end_signal: EndSignal | None = None
    image: str | None = None
    mounts: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_MOUNTS)] = ()
    terminal: bool = False


class Command(CommandFields, Body, frozen=True, kw_only=True):
    """What a container runs: exactly one of `arguments` (the vector for exec), `command` (a line
    for the shell), `callable` (what `fairshare.client.callables.pickled` makes) and `payload` (the
    SHA-256 of such a callable that was uploaded to `/payloads/DIGEST`).

    Without `directory` it runs in a new directory of the container; with `directory_optional` also
    if the container's account cannot enter `directory`. `limits` are soft limits of its first
    process as setrlimit(2) knows them, such as `{"nofile": 4096}`; -1 is as much as there may be.
    `python` is the path of the interpreter that runs a callable: of the minor version that pickled
    it, with cloudpickle; by default that of the server. A container that has to end gets SIGTERM,
    or its `end_signal`, and after `grace_ms` SIGKILL; by default after what the server has
    configured.

    `output` and `error` are files to which stdout and stderr are appended, and `input` is read as
    standard input; the container's account opens them. In their names `%j` is the number of the
    application, `%a` its id, `%n` its name, `%u` its user, `%t` the index of the task, `%%` a
    percent sign.

    With `image` it runs in a container image (`docker.io/library/python:3.12`, or the path of an
    .sif file) by podman, docker or apptainer, whichever the server has. There it finds its working
    directory, and the `mounts`: `/data`, `/data/sets:/data:ro`.

    `private_environment` are further variables that are not recorded: they are kept in a file that
    only the engine reads, while the application is not over. The others come before them.

    With `terminal` it runs in a terminal, to which `/containers/ID/terminal` connects. It then ends
    when no user is attached for a while, or when it is idle, as the server is configured.
    """

    arguments: tuple[str, ...] = ()
    command: str | None = None
    callable: bytes = b""  # in JSON base64 of a pickled (function, arguments, keyword arguments)
    payload: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")] | None = None
    private_environment: dict[str, str] = EMPTY


class TaskArray(Body, frozen=True, kw_only=True):
    """The tasks of a group as an array: each has an index in FAIRSHARE_TASK_INDEX, such as
    `1-1000` or `1,5,9-13:2` in ascending order, and may have a line in FAIRSHARE_ARRAY_LINE.

    The line, or without lines the index, replaces `{}` in arguments and command;
    in a command and in `sh -c` it is quoted for the shell. Without `indexes` the lines have 1, 2,
    ... The `count` of the group is that of the array.
    """

    indexes: Annotated[str, msgspec.Meta(max_length=1_000_000)] = ""
    lines: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_LINES)] = ()


DEFAULT_ATTEMPTS: Final = 4
"""Of a task whose group has no `max_attempts`."""


class PlaceFields(msgspec.Struct, frozen=True, kw_only=True):
    """Where containers are wanted, and how urgently: a lower `priority` is served first."""

    priority: Priority = 1
    hosts: tuple[Place, ...] = ()
    racks: tuple[Place, ...] = ()
    relax: bool = True


class GroupFields(PlaceFields, frozen=True, kw_only=True):
    """How the tasks of a group run beside each other and again, as `TaskGroup` explains it."""

    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=1_000)] | None = None
    time_limit_ms: Duration | None = None
    after: tuple[str, ...] = ()
    slow_start: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 1.0
    label: LabelName | None = None
    gang: bool = False
    gang_timeout_ms: Duration = GANG_TIMEOUT_MS
    gang_restart: GangRestart = "all"
    at_once: Annotated[int, msgspec.Meta(ge=1, le=MAX_TASKS)] | None = None
    keep_going: bool = False

    @property
    def attempts(self) -> int:
        """The number of failures of a task that are one too many."""
        return DEFAULT_ATTEMPTS if self.max_attempts is None else self.max_attempts


if TYPE_CHECKING:

    class _GroupCommand(GroupFields, Command, frozen=True, kw_only=True):
        pass

else:
    # A struct has only one base with fields, so that those of the other are added one by one.
    _GroupCommand = msgspec.defstruct(
        "_GroupCommand",
        [(field.name, field.type, field.default) for field in msgspec.structs.fields(GroupFields)],
        bases=(Command,),
        module=__name__,
        frozen=True,
        kw_only=True,
    )


class TaskGroup(_GroupCommand, frozen=True, kw_only=True):
    """`count` like tasks, which see their number in FAIRSHARE_TASK_INDEX (from 0, or as the
    `array` says).

    The group starts when `slow_start` of the tasks of each group named in `after` have succeeded:
    1.0 waits for all. With `relax` false, `hosts` and `racks` are the only places. A task that
    fails for the `max_attempts`-th time fails the application: at once, or with `keep_going` when
    all that can still run has ended. Without `max_attempts` that is the fourth time, or the first
    one beyond its time limit or its memory, unless an `end_signal` lets it save its state. At most
    `at_once` tasks run at the same time. `label` is the tasks' partition.

    The tasks of a `gang` start together or not at all: their containers are held until none is
    missing, for at most `gang_timeout_ms`; then they are given back, and requested again after a
    pause. When one task does not succeed, all of them start again, and `max_attempts` counts the
    failures of all; with `gang_restart` "task" that one alone.
    """

    name: Place = "tasks"
    count: Count = msgspec.field(default_factory=lambda: 1)  # 1 is sent, too
    resources: Resources = EMPTY
    array: TaskArray | None = None


def common_fields(request: msgspec.Struct, fields: type[msgspec.Struct]) -> dict[str, Any]:
    """The values that a request has in common with the struct of the core, by name."""
    return {name: getattr(request, name) for name in fields.__struct_fields__}


class DriverCommand(Command, frozen=True, kw_only=True):
    """What the first container of a driver application runs."""


class Master(Body, frozen=True, kw_only=True):
    """The container of a driver.

    With `keep_containers` the containers that it launched go on when it is lost, and
    `Driver.containers` of its next attempt lists them.
    """

    resources: Resources = EMPTY
    keep_containers: bool = False


class Dependency(Body, frozen=True, kw_only=True):
    """An application, by id or number, that must have ended before another one starts: `ok` is
    FINISHED, `failed` any other end."""

    application: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    outcome: Outcome = "ok"


class Submission(Body, frozen=True, kw_only=True):
    """An application: either `tasks`, or a `driver` (and in `master` the size of its container).

    Without `user` the server identifies the user, without `queue` it is "default", from which
    placement rules choose. `groups` are the user's, the primary one first; a server that
    authenticates users looks them up. After `lifetime_s` seconds the application is killed if it
    is not over, at the instant `deadline_ms` (since 1970) too. `label` is the partition of all that
    names none itself.

    It starts when it is not `held`, the instant `begin_ms` has come, and all applications of
    `after` have ended as demanded; if one ends otherwise, it is killed. Its lifetime counts from
    then on. `notify` are the webhooks, mail addresses and commands that are notified of its end, or
    of what `notify_on` says.
    """

    user: User | None = None
    queue: QueueName | None = None
    name: Name | None = None
    priority: Priority | None = None
    lifetime_s: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] | None = None
    tags: Annotated[tuple[Tag, ...], msgspec.Meta(max_length=20)] = ()
    notify: Annotated[tuple[NoticeTarget, ...], msgspec.Meta(max_length=NOTICE_TARGETS)] = ()
    notify_on: Annotated[tuple[NoticeEvent, ...], msgspec.Meta(max_length=3)] = ("end",)
    groups: Annotated[tuple[User, ...], msgspec.Meta(max_length=1_000)] | None = ()
    tasks: Annotated[tuple[TaskGroup, ...], msgspec.Meta(max_length=1_000)] = ()
    driver: DriverCommand | None = None
    master: Master | None = None
    label: LabelName | None = None
    master_label: LabelName | None = None
    after: Annotated[tuple[Dependency, ...], msgspec.Meta(max_length=1_000)] = ()
    begin_ms: Annotated[int, msgspec.Meta(ge=0, le=LATEST_MS)] | None = None
    deadline_ms: Annotated[int, msgspec.Meta(ge=1, le=LATEST_MS)] | None = None
    held: bool = False


class ContainerRequest(PlaceFields, Body, frozen=True, kw_only=True, omit_defaults=True):
    """A driver's request for `count` more containers of a size; a negative count withdraws."""

    count: Annotated[int, msgspec.Meta(ge=-MAX_TASKS, le=MAX_TASKS)]
    resources: Resources = EMPTY
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
