"""How a trace becomes the workload of a cluster with a configuration that was not made for it.

Jobs become applications. What the configuration cannot express is changed in the smallest way, and
reported: unknown resource types are left out, tasks larger than a container may be are allowed or
divided, and a trace without nodes gets as many as its work keeps busy.

Users can become users in closed loops, who wait for what they submitted. A job that was submitted
before the user's last ones had ended belongs to the same turn, as long after its beginning as in
the trace. A later one begins the next turn, and the time from the end of the last turn is the time
that the user thought: the model of E. Shmueli and D. Feitelson, "On simulation and design of
parallel-systems schedulers: are we doing the right thing?" (2009), with the end of a turn in place
of that of single jobs. Where a trace does not say how long a job waited, it is taken to have begun
at once.

The queue of a job is, in this order: that of a mapping file; the trace's own queue or the user's,
if the configuration's placement accepts them; else the leaf queues in turn, one for each queue or
user of the trace, which is said. Placement is asked on a scheduler of its own, which nothing else
uses.
"""

import itertools
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationSubmitted
from fairshare.core.model.inputs import (
    KillApplication,
    LoadConfiguration,
    NodeJoined,
    SubmitApplication,
)
from fairshare.core.model.resources import MEMORY, VCORES, Resource, ResourceTypes, fits
from fairshare.core.model.work import TaskGroup
from fairshare.documents.gpus import GPU
from fairshare.documents.problems import Place, Problems
from fairshare.documents.structs import read
from fairshare.documents.values import Reader
from fairshare.documents.yaml_tree import read_yaml
from fairshare.lab.simulate.traces.records import Trace, TraceGroup, TraceJob, TraceNodes
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Session, Turn, Workload
from fairshare.wording import cause, counted

RULE = "mapping"
MOST_BYTES = 10_000_000
MOST_SHOWN = 8
DEFAULT = "default"
"""What a submission names that leaves the choice to the placement."""


class QueueMapping(msgspec.Struct, frozen=True):
    """A mapping file: queues of the trace, users of the trace, and what holds for all others."""

    queues: dict[str, str] = {}
    users: dict[str, str] = {}
    default: str | None = None

    def of(self, job: TraceJob) -> str | None:
        """The queue of a job; its user counts before its queue."""
        named = self.users.get(job.user) or self.queues.get(job.queue or "")
        return named or self.default or None


def read_mapping(path: Path) -> QueueMapping:
    """Read a mapping file; raises ConfigurationError with every mistake.

    `{users: {ann: root.a}, queues: {vc3: root.b}, default: root.c}`
    """
    problems = Problems()
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode()
        reason = f"it has more than {MOST_BYTES:,} bytes" if len(data) > MOST_BYTES else ""
    except (OSError, UnicodeDecodeError) as error:
        text, reason = "", cause(error)
    root = None if reason else read_yaml(text, str(path), problems)
    if reason:
        problems.error(Place(str(path)), RULE, f"cannot be read: {reason}")
    if root is None:
        problems.raise_errors()
        return QueueMapping()
    mapping = read(root, QueueMapping, Reader(problems, RULE))
    problems.raise_errors()
    assert mapping is not None
    return mapping


class QueueChoice:
    """Chooses the queue of each job. `manager` is of no use for anything else afterwards."""

    def __init__(
        self, manager: ResourceManager, settings: bytes, mapping: QueueMapping | None = None
    ) -> None:
        self._manager = manager
        self._mapping = mapping or QueueMapping()
        manager.handle(0, LoadConfiguration(settings, 1))
        types = manager.state.types
        self._least = types.vector({MEMORY: 1, VCORES: 1})
        manager.handle(0, NodeJoined("node", types.vector({MEMORY: 2**30, VCORES: 2**20})))
        views = manager.scheduler.queue_views(0)
        self._leaves = [view.name for view in views if view.leaf] or [DEFAULT]
        self._accepted: dict[tuple[str, str], bool] = {}
        self._spread: dict[str, str] = {}

    def queue_of(self, job: TraceJob) -> str:
        """The queue that a job's submission names."""
        mapped = self._mapping.of(job)
        if mapped is not None:
            return mapped
        for named in (job.queue, DEFAULT):
            if named is not None and self._accepts(job.user, named):
                return named
        key = job.queue or job.user
        leaf = self._spread.get(key)
        if leaf is None:
            leaf = self._spread[key] = self._leaves[len(self._spread) % len(self._leaves)]
        return leaf

    @property
    def note(self) -> str:
        """Which queues were chosen because the configuration accepts neither the trace's queues nor
        its users; empty if there are none."""
        if not self._spread:
            return ""
        pairs = [f"{name} -> {leaf}" for name, leaf in sorted(self._spread.items())]
        more = len(pairs) - MOST_SHOWN
        shown = ", ".join(pairs[:MOST_SHOWN]) + (f", and {more} more" if more > 0 else "")
        return (
            "The configuration has no place for these queues and users of the trace, so that they"
            f" share its leaf queues in turn: {shown}. Choose others with --map."
        )

    def _accepts(self, user: str, queue: str) -> bool:
        known = self._accepted.get((user, queue))
        if known is None:
            tasks = (TaskGroup("try", 1, self._least),)
            events = self._manager.handle(0, SubmitApplication(user, queue, tasks=tasks))
            tried = [one.application for one in events if type(one) is ApplicationSubmitted]
            for application in tried:
                self._manager.handle(0, KillApplication(application))
            known = self._accepted[user, queue] = bool(tried)
        return known


class _User:
    """The turns of a user; of the last one the members, when it began and ended in the trace."""

    __slots__ = ("at_ms", "begin_ms", "end_ms", "members", "think_ms", "turns")

    def __init__(self, at_ms: int) -> None:
        self.at_ms = self.begin_ms = self.end_ms = at_ms
        self.think_ms = 0
        self.turns: list[Turn] = []
        self.members: list[Arrival] = []

    def add(self, job: TraceJob, arrival: Arrival) -> None:
        """Take the next job."""
        if self.members and job.at_ms >= self.end_ms:
            self._close()
            self.think_ms = job.at_ms - self.end_ms
            self.begin_ms = self.end_ms = job.at_ms
        self.members.append(Arrival(job.at_ms - self.begin_ms, arrival.submission, arrival.plans))
        self.end_ms = max(self.end_ms, job.at_ms + (job.waited_ms or 0) + arrival.least_ms)

    def _close(self) -> None:
        self.turns.append(Turn(self.think_ms, tuple(self.members)))
        self.members = []

    def session(self) -> Session:
        """All turns."""
        self._close()
        return Session(self.at_ms, tuple(self.turns))


def closed_loops(jobs: Iterable[tuple[TraceJob, Arrival]]) -> tuple[tuple[Session, ...], str]:
    """A session for each user, in the order of their first jobs; and what was assumed.

    Jobs of 10 s that came at 0, 4 and 15 s, and did not wait, are two turns: the second one came
    before the first had ended, and belongs to its turn, which ended at 14 s; so the user thought
    for 1 s before the third.
    """
    users: dict[str, _User] = {}
    unknown = turns = 0
    for job, arrival in jobs:
        unknown += job.waited_ms is None
        user = users.get(job.user)
        if user is None:
            user = users[job.user] = _User(job.at_ms)
        user.add(job, arrival)
    sessions = tuple(user.session() for user in users.values())
    turns = sum(len(session.turns) for session in sessions)
    note = (
        f"Closed loops: {counted(len(sessions), 'user')} with {counted(turns, 'turn')}. What users"
        " submitted together is a turn, and each turn follows after the think time of the trace."
    )
    if unknown:
        note += f" Jobs whose waits the trace does not have, taken as none: {unknown:,}."
    return sessions, note


BUSY = 0.7
"""The part of a cluster made for a trace without nodes that its work takes, on average."""
NODE = {MEMORY: 65_536, VCORES: 16, GPU: 8}
"""The least size of a node of such a cluster; GPUs only if the trace has them."""
MOST_NODES = 100_000


class Fitting(msgspec.Struct, frozen=True):
    """What a trace is fitted to. `maximum` is the largest container that the configuration grants.

    With `divide` tasks above it are divided; without, they stay whole up to the largest node, and
    the nodes of the trace are as large as containers rounded up to multiples of `step` need them.
    `limit` takes only the first jobs, `span_ms` those that arrive within a time. With `gang` the
    tasks of a group that ran in parallel start together, with `closed_loop` users wait for their
    jobs (`closed_loops`). `nodes` replace those of the trace.
    """

    types: ResourceTypes
    maximum: Resource
    limit: int | None = None
    span_ms: int | None = None
    gang: bool = False
    closed_loop: bool = False
    nodes: tuple[NodeJoined, ...] = ()
    divide: bool = True
    step: Resource = ()


class _Fitter:
    def __init__(self, fitting: Fitting, nodes: Sequence[TraceNodes]) -> None:
        self.fitting = fitting
        self.largest = fitting.maximum
        self.notes: Counter[str] = Counter()
        self.left_out: set[str] = set()
        self.gangs = 0
        self._groups: dict[tuple[object, ...], TaskGroup] = {}
        totals = [one.total for one in fitting.nodes] or [self.total_of(one) for one in nodes]
        largest = tuple(max(column) for column in zip(*totals, strict=True))
        limits = [fitting.maximum] if fitting.divide or not largest else []
        limits += [largest] if largest else []
        self._most = tuple(min(column) for column in zip(*limits, strict=True))

    def vector(self, amounts: dict[str, int]) -> Resource:
        """The amounts that the configuration knows."""
        by_name = {}
        for name, amount in amounts.items():
            if name in self.fitting.types.names:
                by_name[name] = amount
            elif amount:
                self.left_out.add(name)
        return self.fitting.types.vector(by_name)

    def total_of(self, node: TraceNodes) -> Resource:
        """The size of a node of the trace.

        With a step of 256 MB one of 1000 MB has 1024 MB: a container for all of it gets so much.
        """
        total = self.vector(node.amounts)
        return total if self.fitting.divide else self._rounded(total)

    def _rounded(self, amounts: Resource) -> Resource:
        step = self.fitting.step or amounts
        pairs = zip(amounts, step, strict=True)
        return tuple(-(-amount // each) * each if each else amount for amount, each in pairs)

    def arrival(self, job: TraceJob, queue: str) -> Arrival:
        groups = [self._group(group) for group in job.groups]
        tasks = tuple(group for group, _ in groups)
        submission = SubmitApplication(sys.intern(job.user), queue, job.name, tasks=tasks)
        return Arrival(job.at_ms, submission, tuple(plan for _, plan in groups))

    def _group(self, group: TraceGroup) -> tuple[TaskGroup, GroupPlan]:
        wanted = self.vector(group.amounts)
        parts = self._parts(wanted, group)
        resource = tuple(-(-amount // parts) for amount in wanted)
        cut = tuple(min(pair) for pair in zip(resource, self._most, strict=True))
        if cut != resource:
            self.notes["cut to the largest container"] += group.count * parts
        if not fits(cut, self.fitting.maximum):
            self.notes["above the maximum"] += group.count * parts
            granted = map(min, self._rounded(cut), self._most)  # given nodes are not rounded
            self.largest = tuple(map(max, self.largest, granted))
        count, durations = group.count * parts, group.durations_ms
        if parts > 1:
            self.notes["divided"] += group.count
            if isinstance(durations, tuple):
                durations = tuple(one for one in durations for _ in range(parts))
        gang = group.gang and count > 1
        self.gangs += gang
        key = (group.name, count, cut, group.after, gang)
        task_group = self._groups.get(key)
        if task_group is None:
            task_group = self._groups[key] = TaskGroup(
                group.name, count, cut, after=group.after, gang=gang and self.fitting.gang
            )
        return task_group, GroupPlan(durations)

    def _parts(self, wanted: Resource, group: TraceGroup) -> int:
        """How many containers a task is divided into, so that each fits; its GPUs stay whole."""
        parts = max(
            (-(-amount // most) for amount, most in zip(wanted, self._most, strict=True) if most),
            default=1,
        )
        gpus = group.amounts.get(GPU, 0) if GPU in self.fitting.types.names else 0
        return max(1, min(parts, gpus) if gpus else parts)

    def said(self) -> Iterator[str]:
        """What was changed."""
        if self.left_out:
            names = ", ".join(sorted(self.left_out))
            yield (
                f"The configuration does not know {names}, which is left out: name it in"
                " yarn.resource-types of resource-types.xml to simulate it."
            )
        words = self._in_words(self._most)
        if self.notes["above the maximum"]:
            count = self.notes["above the maximum"]
            yield (
                f"The maximum allocation is {self._in_words(self.largest)}, not"
                f" {self._in_words(self.fitting.maximum)}, for {counted(count, 'larger task')}"
                " (--divide: tasks are divided instead)."
            )
        if self.notes["divided"]:
            kind = "a container may be" if self.fitting.divide else "every node"
            yield (
                f"Tasks larger than {kind} ({words}), which are divided: {self.notes['divided']:,}."
            )
        if self.notes["cut to the largest container"]:
            yield (
                f"Containers cut to the largest that there may be ({words}):"
                f" {self.notes['cut to the largest container']:,}."
            )
        if self.gangs:
            how = (
                "start as a whole" if self.fitting.gang else "start one by one (--gang: as a whole)"
            )
            yield f"The tasks of {counted(self.gangs, 'parallel group')} {how}."

    def _in_words(self, amounts: Resource) -> str:
        named = self.fitting.types.mapping(amounts)
        return ", ".join(f"{name}={amount}" for name, amount in named.items())


def fitted(trace: Trace, fitting: Fitting, queues: QueueChoice) -> Workload:
    """The workload of a trace on a cluster with a configuration."""
    fitter = _Fitter(fitting, trace.nodes)
    jobs: Iterable[TraceJob] = itertools.islice(trace.jobs, fitting.limit)
    if fitting.span_ms is not None:
        span_ms = fitting.span_ms
        jobs = itertools.takewhile(lambda job: job.at_ms <= span_ms, jobs)
    if trace.nodes or fitting.nodes:
        taken = ((job, fitter.arrival(job, queues.queue_of(job))) for job in jobs)
        arrivals, sessions, looped = _arriving(taken, fitting)
        nodes = fitting.nodes or _nodes(trace.nodes, fitter)
        made = ""
    else:
        found = list(jobs)
        cluster = _cluster_for(found)
        fitter = _Fitter(fitting, cluster)
        taken = ((job, fitter.arrival(job, queues.queue_of(job))) for job in found)
        arrivals, sessions, looped = _arriving(taken, fitting)
        (kind,) = cluster
        words = ", ".join(f"{name}={amount}" for name, amount in kind.amounts.items())
        nodes = _nodes(cluster, fitter)
        made = (
            f"The trace names no nodes: it runs on {counted(kind.count, 'node')} with {words},"
            f" which its work keeps {BUSY:.0%} busy."
        )
    notes = (trace.title + ".", *trace.notes, made, *fitter.said(), queues.note, looped)
    maximum = None if fitting.divide else fitter.largest
    return Workload(nodes, arrivals, tuple(note for note in notes if note), sessions, maximum)


def _arriving(
    jobs: Iterable[tuple[TraceJob, Arrival]], fitting: Fitting
) -> tuple[tuple[Arrival, ...], tuple[Session, ...], str]:
    """What arrives at given instants, what in closed loops, and what was assumed for that."""
    if not fitting.closed_loop:
        return tuple(arrival for _, arrival in jobs), (), ""
    sessions, note = closed_loops(jobs)
    return (), sessions, note


def _nodes(nodes: Sequence[TraceNodes], fitter: _Fitter) -> tuple[NodeJoined, ...]:
    joined = []
    for node in nodes:
        total = fitter.total_of(node)
        rack = node.rack or "/default-rack"
        for number in range(node.count):
            name = node.name if node.count == 1 else f"{node.name}-{number + 1}"
            joined.append(NodeJoined(name, total, rack))
    return tuple(joined)


def _cluster_for(jobs: Sequence[TraceJob]) -> tuple[TraceNodes, ...]:
    """Nodes that the work of the jobs keeps BUSY between the first arrival and the last one.

    100 tasks of 1 vcore and 1 h that arrive within 5 h need 20 vcores on average, so that there
    are 28.6 in all, which are 2 nodes of 16. A task of 9 vcores, beside which no other one of its
    kind fits, counts as 16.
    """
    work_ms: Counter[frozenset[tuple[str, int]]] = Counter()
    largest: Counter[str] = Counter()
    longest_ms = 1
    for group in (group for job in jobs for group in job.groups):
        durations = group.durations_ms
        total_ms = sum(durations) if isinstance(durations, tuple) else durations * group.count
        longest_ms = max(longest_ms, max(durations) if isinstance(durations, tuple) else durations)
        work_ms[frozenset(group.amounts.items())] += total_ms
        for name, amount in group.amounts.items():
            largest[name] = max(largest[name], amount)
    span_ms = max(longest_ms, jobs[-1].at_ms if jobs else 0)
    amounts = {
        name: max(least, largest[name])
        for name, least in NODE.items()
        if name != GPU or largest[GPU]
    }
    busy_ms = 0.0  # of whole nodes
    for kind, total_ms in work_ms.items():
        fit = [amounts[name] // amount for name, amount in kind if amount and name in amounts]
        busy_ms += total_ms / min(fit, default=1)
    count = math.ceil(busy_ms / (span_ms * BUSY))
    return (TraceNodes(min(MOST_NODES, max(1, count)), amounts),)
