"""Owns what a client sends to have work done, as frozen data. Knows no server and no file.

The defaults are the server's own: what is not said is not sent. Resources are mappings such as
`{"memory-mb": 1024, "vcores": 1}`, times are milliseconds.
"""

import msgspec

DEFAULT_RESOURCES = {"memory-mb": 1024, "vcores": 1}
"""What a container gets when nobody says how much."""


class _Sent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    pass


class TaskGroup(_Sent, frozen=True):
    """`count` like tasks, which see their number in FAIRSHARE_TASK_INDEX (from 0).

    What they run is one of `arguments` (the vector for exec), `command` (a line for the shell) and
    `callable` (what `fairshare.client.callables.pickled` makes). The group starts when `slow_start`
    of the tasks of each group named in `after` have succeeded: 1.0 waits for all. With `relax`
    false, `hosts` and `racks` are the only places. A task that fails for the `max_attempts`-th time
    fails the application.
    """

    name: str
    count: int
    resources: dict[str, int]
    arguments: tuple[str, ...] = ()
    command: str | None = None
    callable: bytes | None = None
    environment: dict[str, str] = {}
    directory: str | None = None
    priority: int = 1
    hosts: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    relax: bool = True
    max_attempts: int = 4
    time_limit_ms: int | None = None
    after: tuple[str, ...] = ()
    slow_start: float = 1.0
    label: str | None = None  # the partition of its tasks


class DriverCommand(_Sent, frozen=True):
    """What the first container of a driver application runs: `arguments` or a shell `command`."""

    arguments: tuple[str, ...] = ()
    command: str | None = None
    environment: dict[str, str] = {}
    directory: str | None = None


class Master(_Sent, frozen=True):
    """The container of a driver.

    With `keep_containers` the containers that it launched go on when it is lost, and
    `Driver.containers` of its next attempt lists them.
    """

    resources: dict[str, int]
    keep_containers: bool = False


class Submission(_Sent, frozen=True):
    """An application: either `tasks`, or a `driver` with its `master`.

    Without `user` the server decides who it is, without `queue` its placement rules choose.
    `groups` are the user's, the primary one first, and not those of tasks. After `lifetime_s`
    seconds the application is killed if it is not over.
    """

    user: str | None = None
    queue: str | None = None
    name: str | None = None
    priority: int | None = None
    lifetime_s: int | None = None
    tags: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    tasks: tuple[TaskGroup, ...] = ()
    driver: DriverCommand | None = None
    master: Master | None = None
    label: str | None = None  # the partition of all that names none itself
    master_label: str | None = None


class ContainerRequest(_Sent, frozen=True):
    """A driver's wish for `count` more containers; a negative count withdraws."""

    count: int
    resources: dict[str, int]
    priority: int = 1
    hosts: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    relax: bool = True
    request: int = 0


class Launch(_Sent, frozen=True):
    """What a driver runs in a container that it was given: `arguments` or a shell `command`."""

    arguments: tuple[str, ...] = ()
    command: str | None = None
    environment: dict[str, str] = {}
    time_limit_ms: int | None = None
