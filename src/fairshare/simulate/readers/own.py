"""Owns fairshare's own workload format, in YAML or as JSON lines. Knows no scheduler.

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
lines, each line is `{"node": {...}}` or `{"application": {...}}` with the same fields.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from fairshare.config.fields import LARGEST, Fields, unknown_word
from fairshare.config.located import Node
from fairshare.config.problems import Place, Problems
from fairshare.config.yaml_tree import Limits, read_json_line
from fairshare.config.yaml_tree import read_yaml as read_tree
from fairshare.documents.bounds import GANG_TIMEOUT_MS
from fairshare.model.inputs import NodeJoined, SubmitApplication
from fairshare.model.resources import Resource, ResourceTypes
from fairshare.model.work import TaskGroup
from fairshare.simulate.readers.options import MOST, ReaderOptions, read_lines, read_text
from fairshare.simulate.workload import Arrival, GroupPlan, Session, Turn, Workload
from fairshare.wording import counted

RULE: Final = "workload"
LIMITS: Final = Limits(mebibytes=1_024, values=50_000_000)
"""A recorded workload may have a million tasks."""
LARGEST_FACTOR: Final = 1_000
_REPEAT_NEEDS: Final = (
    "repeat needs the key every, how long it is from one to the next, or think, how long the user"
    " waits after the end of one"
)
_THINK_NEEDS: Final = (
    "is how long the user waits after the end of one application before the next: it needs repeat:"
    " 2 or more, and no every"
)


def read_yaml(path: Path, options: ReaderOptions, problems: Problems) -> Workload:
    """Read a document with `nodes` and `applications`."""
    content = _Content(options, problems)
    text = read_text(path, problems, LIMITS.mebibytes)
    root = read_tree(text, str(path), problems, LIMITS) if text is not None else None
    if root is not None:
        fields = Fields(root, "", problems, RULE)
        for what, key, read in (
            ("nodes", fields.get("nodes"), content.node),
            ("applications", fields.need("applications"), content.application),
        ):
            for number, item in enumerate(fields.items_of(key, what) if key else ()):
                read(item, f"{what}[{number}]")
        fields.finish()
    return content.workload()


def read_json_lines(path: Path, options: ReaderOptions, problems: Problems) -> Workload:
    """Read one node or application per line; empty lines are skipped."""
    file = str(path)
    content = _Content(options, problems)
    readers: dict[str, Callable[[Node, str], None]] = {
        "node": content.node,
        "application": content.application,
    }
    for number, line in read_lines(path, problems):
        if not line.strip():
            continue
        root = read_json_line(line, number, file, problems)
        if root is None:
            continue
        entries = root.entries or {}
        key = next(iter(entries), "")
        if len(entries) == 1 and key in readers:
            readers[key](entries[key], key)
        else:
            problems.error(
                Place(file, number),
                RULE,
                'a line must be {"node": {...}} or {"application": {...}}',
            )
    return content.workload()


class _Content:
    """Collects the nodes and applications of one file."""

    def __init__(self, options: ReaderOptions, problems: Problems) -> None:
        self._types = options.types
        self._problems = problems
        self._nodes: dict[str, NodeJoined] = {}
        self._arrivals: list[Arrival] = []
        self._sessions: list[Session] = []

    def workload(self) -> Workload:
        """The collected workload; arrivals of one instant stay in the order of the file."""
        arrivals = sorted(self._arrivals, key=lambda arrival: arrival.at_ms)
        nodes = tuple(self._nodes.values())
        return Workload(nodes, tuple(arrivals), sessions=tuple(self._sessions))

    def node(self, node: Node, what: str) -> None:
        """Read one node, or `count` of them named name-1, name-2, ..."""
        fields = _Fields(node, what, self._problems)
        name = fields.needed_text("name")
        count = fields.whole("count", 1, minimum=1, maximum=MOST)
        total = fields.resource("resources", self._types)
        rack = fields.text("rack", "/default-rack")
        fields.finish()
        names = [name] if count == 1 else [f"{name}-{number + 1}" for number in range(count)]
        for one in names:
            if one in self._nodes:
                fields.wrong(node.place, f"there are two nodes {one}")
            self._nodes[one] = NodeJoined(one, total, rack)

    def application(self, node: Node, what: str) -> None:
        """Read one application, or `repeat` of them: at intervals of `every`, or in a session."""
        fields = _Fields(node, what, self._problems)
        at_ms = fields.needed_duration("at")
        user = fields.needed_text("user")
        queue = fields.text("queue", "default")
        name = fields.text("name")
        priority = fields.optional_whole("priority")
        tags = fields.one_or_several_texts("tags")
        user_groups = fields.one_or_several_texts("user_groups")
        repeat = fields.whole("repeat", 1, minimum=1, maximum=MOST)
        every_ms = fields.optional_duration("every") or 0
        think = fields.get("think")
        think_ms, drawn = (0, False) if think is None else self._think(think, fields)
        if think is not None and (repeat < 2 or every_ms):
            place = node.keys.get("think", node.place)
            fields.wrong(place, f"{fields.path('think')} {_THINK_NEEDS}")
        elif repeat > 1 and not every_ms and think is None:
            fields.wrong(node.place, _REPEAT_NEEDS)
        listed = fields.need("groups")
        items = [] if listed is None else fields.items_of(listed, fields.path("groups"))
        groups = [
            self._group(item, f"{fields.path('groups')}[{number}]")
            for number, item in enumerate(items)
        ]
        if not groups:
            fields.wrong(node.place, "an application needs at least one group of tasks")
        fields.finish()
        submission = SubmitApplication(
            user=user,
            queue=queue,
            name=name,
            groups=user_groups,
            priority=priority,
            tags=tags,
            tasks=tuple(spec for spec, _ in groups),
        )
        plans = tuple(plan for _, plan in groups)
        if len({spec.name for spec, _ in groups}) < len(groups):
            fields.wrong(node.place, "two groups of tasks have the same name")
        if think is not None:
            turn = Turn(think_ms, (Arrival(0, submission, plans),), drawn)
            self._sessions.append(Session(at_ms, (turn,) * repeat))
            return
        for number in range(repeat):
            self._arrivals.append(Arrival(at_ms + number * every_ms, submission, plans))

    def _think(self, node: Node, application: "_Fields") -> tuple[int, bool]:
        """A think time in milliseconds, and whether it is the mean of what is drawn."""
        path = application.path("think")
        if node.entries is None:
            return application.duration_of(node, path), False
        fields = _Fields(node, path, self._problems)
        mean_ms = fields.needed_duration("mean")
        fields.finish()
        return mean_ms, True

    def _group(self, node: Node, what: str) -> tuple[TaskGroup, GroupPlan]:
        fields = _Fields(node, what, self._problems)
        name = fields.text("name", "tasks")
        fields.need("duration")
        durations_ms = fields.one_or_list("duration", fields.duration_of, 0)
        listed = len(durations_ms) if isinstance(durations_ms, tuple) else 1
        count = fields.whole("count", listed, minimum=1, maximum=MOST)
        fail_attempts = fields.one_or_list("fail_attempts", fields.amount_of, 0)
        for key, values in (("duration", durations_ms), ("fail_attempts", fail_attempts)):
            if isinstance(values, tuple) and len(values) != count:
                found = f"{counted(len(values), 'value')} for {counted(count, 'task')}"
                fields.wrong(node.place, f"{fields.path(key)} has {found}")
        factors = self._factors(fields)
        spec = TaskGroup(
            name=name,
            count=count,
            resource=fields.resource("resources", self._types),
            priority=fields.whole("priority", 1, minimum=0, maximum=LARGEST),
            hosts=fields.one_or_several_texts("hosts"),
            racks=fields.one_or_several_texts("racks"),
            relax=fields.boolean("relax", True),
            max_attempts=fields.whole("max_attempts", 4, minimum=1, maximum=LARGEST),
            time_limit_ms=fields.optional_duration("time_limit"),
            after=fields.one_or_several_texts("after"),
            slow_start=fields.fraction("slow_start", 1.0),
            gang=fields.boolean("gang", False),
            gang_timeout_ms=fields.optional_duration("gang_timeout") or GANG_TIMEOUT_MS,
            at_once=fields.optional_whole("at_once", 1),
            keep_going=fields.boolean("keep_going", False),
        )
        fields.finish()
        return spec, GroupPlan(durations_ms, fail_attempts, *factors)

    def _factors(self, group: "_Fields") -> tuple[float, float]:
        """How many times as long a task runs on the rack of its hosts, and on other racks."""
        node = group.get("run_by_locality")
        if node is None:
            return 1.0, 1.0
        fields = _Fields(node, group.path("run_by_locality"), self._problems)
        found = fields.factor("rack"), fields.factor("off-switch")
        fields.finish()
        if not group.one_or_several("hosts"):
            group.wrong(node.place, f"{fields.what} needs hosts: the nodes where duration holds")
        return found


class _Fields(Fields):
    """The entries of one mapping of a workload."""

    def __init__(self, node: Node, what: str, problems: Problems) -> None:
        super().__init__(node, what, problems, RULE)

    def needed_text(self, key: str) -> str:
        """A string that must exist, and not be empty."""
        found = super().needed_text(key)
        node = self.entries.get(key)
        if node is not None and node.scalar == "":
            self.wrong(node.place, f"{self.path(key)} must not be empty")
        return found

    def amount_of(self, node: Node, what: str) -> int:
        """A whole number that is not negative."""
        return self.whole_of(node, what, 0, LARGEST)

    def factor(self, key: str) -> float:
        """A number from 1 to LARGEST_FACTOR; 1 without it."""
        node = self.get(key)
        value = 1 if node is None else node.scalar
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 1 <= value <= LARGEST_FACTOR
        ):
            assert node is not None
            expected = f"a number from 1 to {LARGEST_FACTOR}"
            self.wrong(node.place, f"{self.path(key)} must be {expected}, found {node.kind}")
            return 1.0
        return float(value)

    def one_or_several_texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; a single string counts as a list of one."""
        path = self.path(key)
        return tuple(self.text_of(node, path) for node in self.one_or_several(key))

    def one_or_list(
        self, key: str, read: Callable[[Node, str], int], default: int
    ) -> int | tuple[int, ...]:
        """One value for all tasks, or a list with one per task."""
        node = self.get(key)
        if node is None:
            return default
        path = self.path(key)
        if node.items is None:
            return read(node, path)
        return tuple(read(item, path) for item in node.items)

    def resource(self, key: str, types: ResourceTypes) -> Resource:
        """Whole numbers by resource type, memory also with a unit; others are 0."""
        amounts = self.amounts(key, 0, LARGEST)
        try:
            return types.vector(amounts)
        except KeyError as error:
            unknown = unknown_word("resource type", error.args[0], types.names, self.path(key))
            self.wrong(self.entries[key].place, unknown)
            return types.none
