"""Owns the schema of request bodies: one strict structure for each body.

An unknown field, a wrong type or a number out of range is refused with its place in the body.
Constraints between fields are checked where they are translated (`submissions.py`).
"""

import re
from typing import Annotated

import msgspec

from fairshare.model.queues import LONGEST_NAME
from fairshare.model.tasks import GROUP_REQUESTS

MAX_TASKS = 1_000_000
"""The most tasks of one application: each costs the server memory as long as it is known."""

LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$(?!\n)"
"""A name is one line without control characters: it appears in logs, files and variables. JSON
Schema has no other anchor for the end of a string than `$`, before which Python also accepts a line
break."""

Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_TASKS)]
Priority = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Amount = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Duration = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Name = Annotated[str, msgspec.Meta(max_length=1_000, pattern=LINE)]
Place = Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern=LINE)]
User = Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern=LINE)]
Tag = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=LINE)]
QueueName = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME, pattern=LINE)]
Diagnostics = Annotated[str, msgspec.Meta(max_length=10_000)]

_LINE = re.compile(LINE)


def is_one_line(text: str) -> bool:
    """Whether a text may be a name.

    >>> is_one_line("ann"), is_one_line("ann\\n"), is_one_line("a\\x00b")
    (True, False, False)
    """
    return _LINE.fullmatch(text) is not None


Resources = dict[str, Amount]
"""Named amounts; `memory-mb` and `vcores` have defaults, all others are 0."""


class _Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


Label = Annotated[str, msgspec.Meta(max_length=255, pattern=LINE)]
"""A partition; empty: the default one."""


class NothingBody(_Body, frozen=True):
    """The body of a call whose path says everything: empty, or `{}`."""


class ActorBody(_Body, frozen=True):
    """The user who asks; by default the user of the server, as for a submission."""

    user: User | None = None


class NodesBody(ActorBody, frozen=True, kw_only=True):
    """Some nodes, by name."""

    nodes: Annotated[tuple[Place, ...], msgspec.Meta(min_length=1, max_length=10_000)]


class DecommissionBody(NodesBody, frozen=True, kw_only=True):
    """Nodes to decommission; the default timeout is an hour, as in Hadoop."""

    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 3_600_000


class RollBackBody(ActorBody, frozen=True, kw_only=True):
    """The version of the configuration to restore."""

    version: Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class SafeModeBody(ActorBody, frozen=True, kw_only=True):
    """Whether to stop admitting applications and granting containers."""

    on: bool


class ChangeBody(ActorBody, frozen=True):
    """A change of properties: a document as Hadoop's `scheduler-conf` accepts it. With `check` it
    is only validated."""

    update: dict[str, object] = {}
    check: bool = False


class CommandBody(_Body, frozen=True):
    """What a container runs: exactly one of `arguments`, `command` and `callable`."""

    arguments: tuple[str, ...] = ()
    command: str | None = None  # a line for /bin/sh
    callable: bytes = b""  # base64 of a pickled (function, arguments, keyword arguments)
    environment: dict[str, str] = {}
    directory: str | None = None


class TaskGroupBody(CommandBody, frozen=True):
    """Like tasks of an application."""

    name: Place = "tasks"
    count: Count = 1
    resources: Resources = {}
    priority: Priority = 1
    hosts: tuple[Place, ...] = ()
    racks: tuple[Place, ...] = ()
    relax: bool = True
    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 4
    time_limit_ms: Duration | None = None
    after: tuple[str, ...] = ()
    slow_start: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 1.0
    label: Label | None = None


class MasterBody(_Body, frozen=True):
    """The container of a driver, and whether others that run outlive it when it is lost."""

    resources: Resources = {}
    keep_containers: bool = False


class SubmissionBody(_Body, frozen=True):
    """An application: `tasks`, or a `driver` (and in `master` the size of its container)."""

    user: User | None = None
    queue: QueueName = "default"
    name: Name = ""
    priority: Priority | None = None
    lifetime_s: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] | None = None
    tags: Annotated[tuple[Tag, ...], msgspec.Meta(max_length=20)] = ()
    groups: Annotated[tuple[User, ...], msgspec.Meta(max_length=1_000)] | None = None
    tasks: Annotated[tuple[TaskGroupBody, ...], msgspec.Meta(max_length=1_000)] = ()
    driver: CommandBody | None = None
    master: MasterBody | None = None
    label: Label | None = None
    master_label: Label | None = None


class KillBody(ActorBody, frozen=True):
    """Why an application is ended."""

    diagnostics: Diagnostics | None = None


class MoveBody(ActorBody, frozen=True, kw_only=True):
    """The queue to which an application moves."""

    queue: QueueName


class PriorityBody(ActorBody, frozen=True, kw_only=True):
    """An application's new priority."""

    priority: Priority


class AddLabelsBody(ActorBody, frozen=True, kw_only=True):
    """Partitions to create: by name, whether each is exclusive."""

    labels: Annotated[dict[Place, bool], msgspec.Meta(min_length=1, max_length=1_000)]


class RemoveLabelsBody(ActorBody, frozen=True, kw_only=True):
    """Partitions to remove."""

    labels: Annotated[tuple[Place, ...], msgspec.Meta(min_length=1, max_length=1_000)]


class LabelNodesBody(ActorBody, frozen=True, kw_only=True):
    """The partitions of nodes; with `known` only of registered nodes."""

    nodes: Annotated[dict[Place, Label], msgspec.Meta(min_length=1, max_length=10_000)]
    known: bool = False


class ShutdownBody(ActorBody, frozen=True):
    """Whether the containers end with the server; the default was chosen when it started."""

    stop_containers: bool | None = None


class ContainerRequestBody(_Body, frozen=True):
    """A driver's wish for `count` more containers of a size; a negative count withdraws."""

    count: Annotated[int, msgspec.Meta(ge=-MAX_TASKS, le=MAX_TASKS)]
    resources: Resources = {}
    priority: Priority = 1
    hosts: tuple[Place, ...] = ()
    racks: tuple[Place, ...] = ()
    relax: bool = True
    request: Annotated[int, msgspec.Meta(ge=0, lt=GROUP_REQUESTS)] = 0
    label: Label | None = None


class RequestsBody(_Body, frozen=True):
    """A driver's wishes."""

    requests: Annotated[
        tuple[ContainerRequestBody, ...], msgspec.Meta(min_length=1, max_length=10_000)
    ]


class TasksBody(_Body, frozen=True):
    """Groups of tasks that a driver submits."""

    tasks: Annotated[tuple[TaskGroupBody, ...], msgspec.Meta(min_length=1, max_length=1_000)]


class LaunchBody(CommandBody, frozen=True):
    """The command of one container of a driver."""

    time_limit_ms: Duration | None = None


class ReleaseBody(_Body, frozen=True):
    """Containers that a driver gives back."""

    containers: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=10_000)]


class FinishBody(_Body, frozen=True):
    """How a driver's application ended."""

    succeeded: bool = True
    diagnostics: Diagnostics = ""
