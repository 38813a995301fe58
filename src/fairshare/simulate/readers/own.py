"""Owns our own workload format, in YAML or as JSON lines. Knows nothing of schedulers.

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

A duration, and `fail_attempts`, is one value for all tasks or a list with one for each. As JSON
lines each line is `{"node": {...}}` or `{"application": {...}}` with the same fields.
"""

from pathlib import Path

from fairshare.config.problems import Place, Problems
from fairshare.model.inputs import NodeJoined, SubmitApplication
from fairshare.model.work import TaskGroup
from fairshare.simulate.readers.documents import Located, parse_json_line, parse_yaml
from fairshare.simulate.readers.fields import Fields
from fairshare.simulate.readers.options import ReaderOptions, read_text
from fairshare.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.wording import counted


def read_yaml(path: Path, options: ReaderOptions, problems: Problems) -> Workload:
    """Read a document with `nodes` and `applications`."""
    content = _Content(str(path), options, problems)
    text = read_text(path, problems)
    located = parse_yaml(text, str(path), problems) if text is not None else None
    if located is not None:
        fields = Fields(located, "a workload", str(path), problems)
        for node in fields.items("nodes"):
            content.node(node)
        for application in fields.items("applications", required=True):
            content.application(application)
        fields.finish()
    return content.workload()


def read_json_lines(path: Path, options: ReaderOptions, problems: Problems) -> Workload:
    """Read one node or application a line; empty lines are passed over."""
    file = str(path)
    content = _Content(file, options, problems)
    for number, line in enumerate((read_text(path, problems) or "").splitlines(), 1):
        if not line.strip():
            continue
        located = parse_json_line(line, number, file, problems)
        if located is None:
            continue
        value = located.value
        if not isinstance(value, dict) or len(value) != 1:
            value = {}
        match value:
            case {"node": node}:
                content.node(node)
            case {"application": application}:
                content.application(application)
            case _:
                problems.error(
                    Place(file, number),
                    "workload",
                    'a line must be {"node": {...}} or {"application": {...}}',
                )
    return content.workload()


class _Content:
    """Collects the nodes and applications of one file."""

    def __init__(self, file: str, options: ReaderOptions, problems: Problems) -> None:
        self._file = file
        self._types = options.types
        self._problems = problems
        self._nodes: dict[str, NodeJoined] = {}
        self._arrivals: list[Arrival] = []

    def workload(self) -> Workload:
        """What was collected; arrivals of one instant stay in the order of the file."""
        arrivals = sorted(self._arrivals, key=lambda arrival: arrival.at_ms)
        return Workload(tuple(self._nodes.values()), tuple(arrivals))

    def node(self, located: Located) -> None:
        """One node, or `count` of them called name-1, name-2, ..."""
        fields = Fields(located, "a node", self._file, self._problems)
        name = fields.text("name", required=True)
        count = fields.integer("count", 1, least=1)
        total = fields.resource("resources", self._types)
        rack = fields.text("rack", "/default-rack")
        fields.finish()
        names = [name] if count == 1 else [f"{name}-{number + 1}" for number in range(count)]
        for one in names:
            if one in self._nodes:
                fields.problem(f"there are two nodes {one}")
            self._nodes[one] = NodeJoined(one, total, rack)

    def application(self, located: Located) -> None:
        """One application, or `repeat` of them `every` so often."""
        fields = Fields(located, "an application", self._file, self._problems)
        at_ms = fields.duration_ms("at", 0, required=True)
        user = fields.text("user", required=True)
        queue = fields.text("queue", "default")
        name = fields.text("name")
        priority = fields.optional_integer("priority")
        tags = fields.texts("tags")
        user_groups = fields.texts("user_groups")
        repeat = fields.integer("repeat", 1, least=1)
        every_ms = fields.duration_ms("every", 0)
        if repeat > 1 and not every_ms:
            fields.problem("repeat needs the field every: how long it is from one to the next")
        groups = [self._group(group) for group in fields.items("groups", required=True)]
        if not groups:
            fields.problem("an application needs at least one group of tasks")
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
        plans = {spec.name: plan for spec, plan in groups}
        if len(plans) < len(groups):
            fields.problem("two groups of tasks have the same name")
        for number in range(repeat):
            self._arrivals.append(Arrival(at_ms + number * every_ms, submission, plans))

    def _group(self, located: Located) -> tuple[TaskGroup, GroupPlan]:
        fields = Fields(located, "a group", self._file, self._problems)
        name = fields.text("name", "tasks")
        durations_ms = fields.durations_ms("duration", required=True)
        listed = len(durations_ms) if isinstance(durations_ms, tuple) else 1
        count = fields.integer("count", listed, least=1)
        fail_attempts = fields.integers("fail_attempts", 0)
        for what, values in (("duration", durations_ms), ("fail_attempts", fail_attempts)):
            if isinstance(values, tuple) and len(values) != count:
                fields.problem(
                    f"{what} has {counted(len(values), 'value')} for {counted(count, 'task')}"
                )
        spec = TaskGroup(
            name=name,
            count=count,
            resource=fields.resource("resources", self._types),
            priority=fields.integer("priority", 1),
            hosts=fields.texts("hosts"),
            racks=fields.texts("racks"),
            relax=fields.boolean("relax", True),
            max_attempts=fields.integer("max_attempts", 4, least=1),
            time_limit_ms=fields.optional_duration_ms("time_limit"),
            after=fields.texts("after"),
            slow_start=fields.fraction("slow_start", 1.0),
        )
        fields.finish()
        return spec, GroupPlan(durations_ms, fail_attempts)
