"""Fairshare's own workload format, in YAML or as JSON lines: the structs of a file, from which
it is read, and `reference.py` makes the reference page and JSON Schema.

    nodes:
      - {name: worker, count: 4, resources: {memory-mb: 8192, vcores: 8}, rack: /rack1}
    applications:
      - at: 0s                  # when it is submitted
        user: alice
        queue: root.research    # default: the placement rules decide
        name: nightly
        repeat: 3               # three of them,
        every: 10m              # ten minutes apart
        groups:
          - {name: map, count: 20, resources: {memory-mb: 1024, vcores: 1}, duration: 30s}
          - {name: reduce, resources: {memory-mb: 2048, vcores: 1}, duration: [1m, 2m],
             after: map, slow_start: 0.5, fail_attempts: 1}

With `think: 10s` in place of `every` the user waits: the next one comes 10 s after the last one is
over; with `think: {mean: 10s}` that time is drawn from an exponential distribution.
With `gang: true` (and `gang_timeout: 30s`, by default 1m) the tasks of a group start together.
With `at_once: 10` at most ten tasks of a group run at the same time; with `keep_going: true` a task
that has failed too often does not end the others.
With `run_by_locality: {rack: 1.5, off-switch: 2}` a task runs longer elsewhere than on its hosts.
A duration and `fail_attempts` are one value for all tasks, or a list with one per task. In JSON
lines, each line is `{"node": {...}}` or `{"application": {...}}` with the same fields. `bookings`
promise resources to queues: `{name: course, queue: root.teaching, resources: {vcores: 8}, from: 1d,
until: 26h, repeat: 12, every: 7d}`.
"""

from pathlib import Path
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta, field

from fairshare.core.manager.requests import DEFAULT_RACK
from fairshare.core.model import bookings
from fairshare.core.model.inputs import MakeBooking, NodeJoined, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.documents.bounds import GANG_TIMEOUT_MS
from fairshare.documents.problems import Place, Problems
from fairshare.documents.structs import At, Doc, read, struct_value
from fairshare.documents.values import (
    FILLED_TEXT,
    FRACTION,
    LARGEST,
    TEXT,
    Reader,
    Schema,
    amounts,
    duration,
    either,
    number_within,
    one_or_each,
    one_or_several,
    whole,
)
from fairshare.documents.yaml_tree import Limits, read_json_line
from fairshare.documents.yaml_tree import read_yaml as read_tree
from fairshare.lab.simulate.readers.options import MOST, ReaderOptions, read_lines, read_text
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Session, Turn, Workload
from fairshare.wording import counted

RULE: Final = "workload"
LIMITS: Final = Limits(mebibytes=1_024, values=50_000_000)
"""A recorded workload may have a million tasks."""

_COUNT: Final = Meta(ge=1, le=MOST)
_DURATION: Final = duration()
_FACTOR: Final = number_within(1, 1_000)
_TEXTS: Final = one_or_several(TEXT, "text, or a list of texts")
_AMOUNTS: Final = amounts(0, LARGEST)


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node."""

    name: Annotated[str, FILLED_TEXT, Doc("its name; several are called `NAME-1`, `NAME-2` ...")]
    count: Annotated[int, _COUNT, Doc("the number of equal nodes")] = 1
    resources: Annotated[dict[str, int], _AMOUNTS, Doc("the resources of each node")]
    rack: Annotated[str, Doc("the rack of the node")] = DEFAULT_RACK


class Locality(msgspec.Struct, frozen=True, rename={"off_switch": "off-switch"}):
    """Run times by locality."""

    rack: Annotated[float, _FACTOR, Doc("the factor on other nodes in the rack of a host", "1")] = (
        1.0
    )
    off_switch: Annotated[float, _FACTOR, Doc("the factor in other racks", "1")] = 1.0


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group of tasks."""

    RULES: ClassVar[Schema] = {
        "if": {
            "required": ["run_by_locality"],
            "properties": {"run_by_locality": {"not": {"type": "null"}}},
        },
        "then": {"required": ["hosts"], "properties": {"hosts": {"not": {"enum": [None, []]}}}},
    }

    name: Annotated[str, Doc("its name, for `after`")] = "tasks"
    durations_ms: Annotated[
        int | tuple[int, ...],
        one_or_each(_DURATION, "duration, or a list with one for each task"),
        Doc("the run time of a task"),
    ] = field(name="duration")
    count: Annotated[
        int | None, _COUNT, Doc("the number of tasks", "the length of the list `duration`, else 1")
    ] = None
    resources: Annotated[dict[str, int], _AMOUNTS, Doc("the size of each task's container")]
    fail_attempts: Annotated[
        int | tuple[int, ...],
        one_or_each(whole(0, LARGEST), "whole number, or a list with one for each task"),
        Doc("the number of failures of a task before it succeeds"),
    ] = 0
    max_attempts: Annotated[
        int | None, whole(1, LARGEST), Doc("the maximum number of attempts of a task", "4")
    ] = None
    priority: Annotated[int, Meta(ge=0, le=LARGEST), Doc("the priority of its requests")] = 1
    hosts: Annotated[tuple[str, ...], _TEXTS, Doc("the preferred nodes", "anywhere")] = ()
    racks: Annotated[tuple[str, ...], _TEXTS, Doc("the preferred racks", "anywhere")] = ()
    run_by_locality: Annotated[
        Locality | None,
        Doc(
            "how much longer a task runs elsewhere than on one of its `hosts`, which are required",
            "`duration` everywhere",
        ),
    ] = None
    relax: Annotated[bool, Doc("whether other nodes are acceptable")] = True
    time_limit_ms: Annotated[
        int | None, _DURATION, Doc("the maximum run time of a task", "no limit")
    ] = field(name="time_limit", default=None)
    after: Annotated[tuple[str, ...], _TEXTS, Doc("the names of groups that must end before")] = ()
    slow_start: Annotated[
        float, FRACTION, Doc("the fraction of their tasks that must have ended")
    ] = 1.0
    gang: Annotated[bool, Doc("whether all tasks start together")] = False
    gang_timeout_ms: Annotated[
        int, _DURATION, Doc("how long containers are held while others are missing", "`1m`")
    ] = field(name="gang_timeout", default=GANG_TIMEOUT_MS)
    at_once: Annotated[
        int | None, Meta(ge=1), Doc("the maximum number of concurrent tasks", "all")
    ] = None
    keep_going: Annotated[bool, Doc("whether other tasks continue after a task has failed")] = False

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        listed = len(self.durations_ms) if isinstance(self.durations_ms, tuple) else 1
        return listed if self.count is None else self.count

    def check(self, at: At) -> None:
        """A list has one value for each task, and hosts are named where times depend on them."""
        for key, values in (
            ("duration", self.durations_ms),
            ("fail_attempts", self.fail_attempts),
        ):
            if isinstance(values, tuple) and len(values) != self.tasks:
                listed = f"{counted(len(values), 'value')} for {counted(self.tasks, 'task')}"
                at.wrong(f"{at.path(key)} has {listed}")
        if at.has("run_by_locality") and not self.hosts:
            path = at.path("run_by_locality")
            at.wrong(f"{path} needs hosts: the nodes where duration holds", "run_by_locality")

    def specification(self, types: ResourceTypes) -> TaskGroup:
        """The group as it is submitted."""
        return TaskGroup(
            name=self.name,
            count=self.tasks,
            resource=types.vector(self.resources),
            priority=self.priority,
            hosts=self.hosts,
            racks=self.racks,
            relax=self.relax,
            max_attempts=self.max_attempts,
            time_limit_ms=self.time_limit_ms,
            after=self.after,
            slow_start=self.slow_start,
            gang=self.gang,
            gang_timeout_ms=self.gang_timeout_ms or GANG_TIMEOUT_MS,
            at_once=self.at_once,
            keep_going=self.keep_going,
        )

    @property
    def plan(self) -> GroupPlan:
        """How long its tasks run."""
        factors = self.run_by_locality or Locality()
        return GroupPlan(self.durations_ms, self.fail_attempts, factors.rack, factors.off_switch)


class Think(msgspec.Struct, frozen=True):
    """A drawn time.

    Times depend on the seed (`--seed`) and are the same under every configuration.
    """

    mean_ms: Annotated[int, _DURATION, Doc("the mean of an exponential distribution")] = field(
        name="mean"
    )


_DRAWN: Final = struct_value(Think)
_THINK: Final = either(
    _DURATION,
    _DRAWN,
    words="duration, or a [drawn time](#a-drawn-time)",
    read=lambda reader, node, what: (_DURATION if node.entries is None else _DRAWN).read(
        reader, node, what
    ),
)
_REPEATED: Final[Schema] = {
    "required": ["repeat"],
    "properties": {"repeat": {"type": "integer", "minimum": 2}},
}
_EVERY: Final = {"required": ["every"], "properties": {"every": {"not": {"enum": [None, 0]}}}}
_THINKS: Final = {"required": ["think"], "properties": {"think": {"not": {"type": "null"}}}}


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """An application."""

    RULES: ClassVar[Schema] = {
        "allOf": [
            {"if": _REPEATED, "then": {"anyOf": [_EVERY, _THINKS]}},
            {"if": _THINKS, "then": _REPEATED | {"not": _EVERY}},
            {"properties": {"groups": {"minItems": 1}}},
        ]
    }

    at_ms: Annotated[int, _DURATION, Doc("the time of submission, from the start")] = field(
        name="at"
    )
    user: Annotated[str, FILLED_TEXT, Doc("its user")]
    user_groups: Annotated[tuple[str, ...], _TEXTS, Doc("the groups of that user")] = ()
    queue: Annotated[str, Doc("the requested queue", "selected by the placement rules")] = "default"
    name: Annotated[str, Doc("its name")] = ""
    priority: Annotated[int | None, Doc("its priority", "the queue's default")] = None
    tags: Annotated[tuple[str, ...], _TEXTS, Doc("its tags")] = ()
    repeat: Annotated[int, _COUNT, Doc("the number of equal applications")] = 1
    every_ms: Annotated[
        int,
        _DURATION,
        Doc(
            "the time from one of them to the next",
            "required with `repeat`, unless `think` is given",
        ),
    ] = field(name="every", default=0)
    think: Annotated[
        int | Think | None,
        _THINK,
        Doc(
            "instead of `every`: how long the user waits before the next submission, after the"
            " previous application has ended or was rejected",
            "users do not wait",
        ),
    ] = None
    groups: Annotated[
        tuple[Group, ...],
        Doc(
            "its groups of tasks, with different names",
            words="list of [groups of tasks](#a-group-of-tasks)",
        ),
    ]

    def check(self, at: At) -> None:
        """Repeated applications have a time between them, and groups have different names."""
        if at.has("think") and (self.repeat < 2 or self.every_ms):
            at.wrong(
                f"{at.path('think')} is how long the user waits after the end of one application"
                " before the next: it needs repeat: 2 or more, and no every",
                "think",
            )
        elif self.repeat > 1 and not self.every_ms and not at.has("think"):
            at.wrong(
                "repeat needs the key every, how long it is from one to the next, or think, how"
                " long the user waits after the end of one"
            )
        if not self.groups:
            at.wrong("an application needs at least one group of tasks")
        if len({group.name for group in self.groups}) < len(self.groups):
            at.wrong("two groups of tasks have the same name")


class Booking(msgspec.Struct, frozen=True, kw_only=True):
    """A booking.

    It is made at the beginning. With `repeat` it has several times, which begin `every` so long
    after another.
    """

    name: Annotated[str, FILLED_TEXT, Doc("its name")]
    queue: Annotated[str, FILLED_TEXT, Doc("the queue that gets the resources")]
    user: Annotated[str, Doc("only this user, in that queue")] = ""
    resources: Annotated[dict[str, int], _AMOUNTS, Doc("how much of the cluster")]
    from_ms: Annotated[int, _DURATION, Doc("when it begins")] = field(name="from", default=0)
    until_ms: Annotated[int, _DURATION, Doc("when it ends")] = field(name="until")
    repeat: Annotated[int, Meta(ge=1, le=bookings.MOST_SPANS), Doc("the number of its times")] = 1
    every_ms: Annotated[
        int, _DURATION, Doc("the time from one beginning to the next", "`7d`", filled=True)
    ] = field(name="every", default=7 * 86_400_000)


class File(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    nodes: Annotated[
        tuple[Node, ...],
        Doc("the cluster", "nodes given to `fairshare simulate`", "list of [nodes](#a-node)"),
    ] = ()
    applications: Annotated[
        tuple[Application, ...],
        Doc(
            "the applications, with arrival times",
            words="list of [applications](#an-application)",
        ),
    ]
    bookings: Annotated[
        tuple[Booking, ...],
        Doc("what is promised to queues", words="list of [bookings](#a-booking)"),
    ] = ()


def read_yaml(path: Path, options: ReaderOptions, problems: Problems) -> Workload:
    """Read a document with `nodes`, `applications` and `bookings`."""
    content = _Content(options, problems)
    text = read_text(path, problems, LIMITS.mebibytes)
    root = read_tree(text, str(path), problems, LIMITS) if text is not None else None
    file = None if root is None else read(root, File, content.reader)
    if root is not None and file is not None:
        listed = (root.entries or {}).get("nodes")
        items = (listed and listed.items) or []
        for node, item in zip(file.nodes, items, strict=False):
            content.add_node(node, item.place)
        for application in file.applications:
            content.add_application(application)
        for booking in file.bookings:
            content.add_booking(booking)
    return content.workload()


def read_json_lines(path: Path, options: ReaderOptions, problems: Problems) -> Workload:
    """Read one node, application or booking per line; empty lines are skipped."""
    content = _Content(options, problems)
    for number, line in read_lines(path, problems):
        root = read_json_line(line, number, str(path), problems) if line.strip() else None
        if root is None:
            continue
        match list((root.entries or {}).items()):
            case [("node", entry)]:
                if (node := read(entry, Node, content.reader, "node")) is not None:
                    content.add_node(node, entry.place)
            case [("application", entry)]:
                application = read(entry, Application, content.reader, "application")
                if application is not None:
                    content.add_application(application)
            case [("booking", entry)]:
                if (booking := read(entry, Booking, content.reader, "booking")) is not None:
                    content.add_booking(booking)
            case _:
                message = (
                    'a line must be {"node": {...}}, {"application": {...}} or {"booking": {...}}'
                )
                problems.error(root.place, RULE, message)
    return content.workload()


class _Content:
    """Collects the nodes and applications of one file."""

    def __init__(self, options: ReaderOptions, problems: Problems) -> None:
        self.reader = Reader(problems, RULE, types=options.types.names)
        self._types = options.types
        self._nodes: dict[str, NodeJoined] = {}
        self._arrivals: list[Arrival] = []
        self._sessions: list[Session] = []
        self._bookings: list[MakeBooking] = []

    def workload(self) -> Workload:
        """The collected workload; arrivals of one instant stay in the order of the file."""
        arrivals = sorted(self._arrivals, key=lambda arrival: arrival.at_ms)
        nodes = tuple(self._nodes.values())
        sessions, made = tuple(self._sessions), tuple(self._bookings)
        return Workload(nodes, tuple(arrivals), sessions=sessions, bookings=made)

    def add_node(self, node: Node, place: Place) -> None:
        """Add one node, or `count` of them named name-1, name-2, ..."""
        names = [f"{node.name}-{number + 1}" for number in range(node.count)]
        for name in names if node.count > 1 else [node.name]:
            if name in self._nodes:
                self.reader.wrong(place, f"there are two nodes {name}")
            self._nodes[name] = NodeJoined(name, self._types.vector(node.resources), node.rack)

    def add_booking(self, booking: Booking) -> None:
        """Add one booking; the simulation says what is wrong with it."""
        if self.reader.mistakes:
            return
        spans = tuple(
            bookings.Span(booking.from_ms + later_ms, booking.until_ms + later_ms)
            for later_ms in (number * booking.every_ms for number in range(booking.repeat))
        )
        size = self._types.vector(booking.resources)
        made = bookings.Booking(booking.name, booking.queue, size, spans, booking.user)
        self._bookings.append(MakeBooking(made))

    def add_application(self, application: Application) -> None:
        """Add one application, or `repeat` of them: at intervals of `every`, or in a session."""
        if self.reader.mistakes:
            return  # the file is refused, and what was wrong has empty values
        submission = SubmitApplication(
            user=application.user,
            queue=application.queue,
            name=application.name,
            groups=application.user_groups,
            priority=application.priority,
            tags=application.tags,
            tasks=tuple(group.specification(self._types) for group in application.groups),
        )
        plans = tuple(group.plan for group in application.groups)
        at_ms, repeat, think = application.at_ms, application.repeat, application.think
        if think is not None:
            drawn = isinstance(think, Think)
            think_ms = think.mean_ms if isinstance(think, Think) else think
            turn = Turn(think_ms, (Arrival(0, submission, plans),), drawn)
            self._sessions.append(Session(at_ms, (turn,) * repeat))
            return
        for number in range(repeat):
            arrival = Arrival(at_ms + number * application.every_ms, submission, plans)
            self._arrivals.append(arrival)
