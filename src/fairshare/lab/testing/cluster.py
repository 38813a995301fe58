"""The text of a failed assertion: the differences, and a table of all queues."""

import difflib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from fairshare.api.applications import Proved
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import (
    ApplicationRejected,
    ApplicationSubmitted,
    Event,
    RequestRefused,
)
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import (
    Input,
    KillApplication,
    MoveApplication,
    NodeJoined,
    NodeLost,
    SetPriority,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.queues import full_name
from fairshare.core.model.resources import MEMORY, VCORES, Resource, ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.past import with_past
from fairshare.core.schedulers.reasons import reasons
from fairshare.core.schedulers.views import ApplicationView, QueueView
from fairshare.errors import ConfigurationError, InputError
from fairshare.lab.branch.history import origin_of
from fairshare.lab.branch.lives import FOR_EVER_MS
from fairshare.lab.branch.proving import prove
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import ForgetfulJournal
from fairshare.runtime.recovery import Position
from fairshare.server.insight.why import words_of
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of
from fairshare.settings.reservations import with_reservations
from fairshare.wording import counted

_TITLES = ("queue", "share", "used", "demand", "running", "held back")


def differences(found: Mapping[str, int], wanted: Mapping[str, int], within: float) -> list[str]:
    """A line for each amount that differs by more than the tolerance `within`.

    >>> differences({"memory-mb": 4096, "vcores": 4}, {"memory-mb": 4000, "vcores": 4}, 0.0)
    ['memory-mb: expected 4000, found 4096 (96 more)']
    >>> differences({"memory-mb": 4096}, {"memory-mb": 4000}, 0.03)
    []
    """
    lines = []
    for name, amount in wanted.items():
        more = found[name] - amount
        if abs(more) > within * amount:
            words = f"{abs(more)} {'more' if more > 0 else 'less'}"
            lines.append(f"{name}: expected {amount}, found {found[name]} ({words})")
    return lines


def picture(
    views: Iterable[QueueView], types: ResourceTypes, share: Callable[[QueueView], Resource]
) -> str:
    """A table of all queues, one per line."""
    rows = [_TITLES, *_rows(views, types, share)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(f"  {line.rstrip()}" for line in lines)


def _rows(
    views: Iterable[QueueView], types: ResourceTypes, share: Callable[[QueueView], Resource]
) -> Iterator[tuple[str, ...]]:
    for view in views:
        amounts = (share(view), view.used, view.demand)
        counts = (view.running_applications, view.pending_applications)
        yield (view.name, *(_amounts(a, types) for a in amounts), *map(str, counts))


def _amounts(amounts: Resource, types: ResourceTypes) -> str:
    """`4096 MB, 4 vcores`, and further types with an amount other than 0."""
    memory, vcores, *_ = amounts
    named = list(types.mapping(amounts).items())[2:]
    more = "".join(f", {amount} {name}" for name, amount in named if amount)
    return f"{memory} MB, {counted(vcores, 'vcore')}{more}"


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """The message for an unknown name, with similar and known names.

    >>> unknown_name("queue", "root.mll", ["root", "root.ml"])
    "there is no queue 'root.mll'; did you mean 'root.ml'? There are: root, root.ml"
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    advice = f"; did you mean {near[0]!r}?" if near else "."
    return f"there is no {what} {name!r}{advice} There are: {', '.join(names)}"


Node = Mapping[str, int | str]
"""`memory_mb` and `vcores`, optionally `rack`, and further resource types by their names."""


class FairshareCluster:
    """A cluster with the configuration of a directory, as `fairshare serve --conf` reads it.

    `nodes` is their number, each with `node_memory_mb` and `node_vcores`, or a mapping by name.

    >>> cluster = FairshareCluster("conf", nodes={"n1": {"memory_mb": 8192, "vcores": 8}}
    ... )                                                                # doctest: +SKIP
    """

    def __init__(
        self,
        conf_dir: str | Path,
        nodes: int | Mapping[str, Node] = 1,
        *,
        node_memory_mb: int = 8192,
        node_vcores: int = 8,
        scheduler: str | None = None,
    ) -> None:
        directory = Path(conf_dir)
        if not directory.is_dir():
            raise ConfigurationError([f"{directory}: there is no such directory"])
        count = nodes if isinstance(nodes, int) else len(nodes)
        self.configuration = with_reservations(
            read_directory(directory, scheduler=scheduler), count
        )
        self.types = self.configuration.types
        self._manager = ResourceManager(family_of(self.configuration.scheduler).create(self.types))
        if isinstance(nodes, int):
            each = {"memory_mb": node_memory_mb, "vcores": node_vcores}
            nodes = {f"node-{number + 1}": each for number in range(nodes)}
        self._simulator = Simulator(
            self._manager,
            msgspec.json.encode(self.configuration.settings),
            Workload((), ()),
            ForgetfulJournal(),
            nodes=[self._node(name, offered) for name, offered in nodes.items()],
            beat_interval_ms=self.configuration.heartbeat_interval_ms,
        )
        self._names = itertools.count(1)
        self._durations_ms: dict[ApplicationId, int] = {}
        self._simulator.run(until_ms=0)

    # Actions.

    @property
    def now_s(self) -> float:
        """The simulated time in seconds since the cluster was created."""
        return self._simulator.clock.now_ms() / 1000

    def submit(
        self,
        queue: str | None = None,
        *,
        user: str = "user",
        groups: Sequence[str] = (),
        tasks: int = 1,
        memory_mb: int = 1024,
        vcores: int = 1,
        resources: Mapping[str, int] | None = None,
        duration_s: float | None = None,
        time_limit_s: float | None = None,
        name: str | None = None,
        priority: int | None = None,
        label: str | None = None,
        tags: Sequence[str] = (),
    ) -> ApplicationId:
        """Submit an application of identical tasks now; returns its number.

        Each task runs for `duration_s`, or until the end of the test, at most for `time_limit_s`,
        with which it ends as one that failed. Without `queue` the placement
        rules choose. A rejected application has the state REJECTED, see `assert_refused`.
        """
        amounts = {MEMORY: memory_mb, VCORES: vcores, **(resources or {})}
        group = TaskGroup(
            name="task",
            count=tasks,
            resource=self._vector(amounts),
            label=label,
            time_limit_ms=None if time_limit_s is None else round(time_limit_s * 1000),
        )
        submission = SubmitApplication(
            user=user,
            queue="default" if queue is None else queue,
            name=name or f"app-{next(self._names)}",
            groups=tuple(groups),
            priority=priority,
            tags=tuple(tags),
            tasks=(group,),
        )
        duration_ms = FOR_EVER_MS if duration_s is None else round(duration_s * 1000)
        now_ms = self._simulator.clock.now_ms()
        plans = (GroupPlan(duration_ms),)
        events = _taken(self._simulator.arrive(Arrival(now_ms, submission, plans)))
        known = ApplicationSubmitted | ApplicationRejected
        number = next(event.application for event in events if isinstance(event, known))
        self._durations_ms[number] = duration_ms
        return number

    def advance(self, seconds: float) -> None:
        """Advance the time: tasks end, shares are updated, containers are preempted."""
        until_ms = self._simulator.clock.now_ms() + round(seconds * 1000)
        self._simulator.run(until_ms=until_ms)

    def kill(self, application: ApplicationId) -> None:
        """Kill an application."""
        self._handle(KillApplication(application))

    def move(self, application: ApplicationId, queue: str) -> None:
        """Move an application to another queue; raises InputError if the scheduler refuses."""
        self._handle(MoveApplication(application, full_name(queue)))

    def set_priority(self, application: ApplicationId, priority: int) -> None:
        """Change an application's priority; raises InputError if the scheduler refuses."""
        self._handle(SetPriority(application, priority))

    def add_node(self, name: str, **offered: int | str) -> None:
        """Add a node: `add_node("n9", memory_mb=8192, vcores=8)`."""
        self._handle(self._node(name, offered))

    def lose_node(self, name: str) -> None:
        """Remove a node, with its containers, as lost."""
        if name not in self._manager.scheduler.state.nodes:
            raise KeyError(unknown_name("node", name, self._manager.scheduler.state.nodes))
        self._handle(NodeLost(name))

    def _handle(self, input_: Input) -> tuple[Event, ...]:
        return _taken(self._simulator.handle(input_))

    # Queries.

    def queues(self) -> dict[str, QueueView]:
        """All queues by name, with shares updated now."""
        self._simulator.handle(UpdateShares())
        now_ms = self._simulator.clock.now_ms()
        scheduler = self._manager.scheduler
        views = with_past(scheduler.state, scheduler.queue_views(now_ms), now_ms)
        return {view.name: view for view in views}

    def queue(self, name: str) -> QueueView:
        """One queue; raises KeyError with the names of the existing queues."""
        found = self.queues()
        if full_name(name) not in found:
            raise KeyError(unknown_name("queue", full_name(name), found))
        return found[full_name(name)]

    def application(self, application: ApplicationId) -> ApplicationView:
        """One application."""
        return self._manager.scheduler.application_view(application)

    def share(self, queue: str) -> dict[str, int]:
        """A queue's share: its fair share, or its guaranteed capacity."""
        return self.types.mapping(_share(self.queue(queue)))

    def used(self, queue: str) -> dict[str, int]:
        """The resources that a queue uses."""
        return self.types.mapping(self.queue(queue).used)

    def why(self, application: ApplicationId) -> list[str]:
        """The reasons why an application waits, as sentences; empty if it does not wait."""
        scheduler = self._manager.scheduler
        known_application = scheduler.state.applications[application]
        if known_application.over:
            return [known_application.diagnostics] if known_application.diagnostics else []
        words = words_of(scheduler.state, self._simulator.clock.now_ms())
        now_ms = self._simulator.clock.now_ms()
        causes = reasons(
            known_application, scheduler.limits_of(application), scheduler.state, now_ms
        )
        return [words.explain(one).sentence for one in causes]

    def prove(self, application: ApplicationId) -> Proved:
        """What would start the next container of an application that waits, each remedy carried out
        in a branch of this cluster; and when it starts if nothing is done. Raises InputError if it
        does not wait."""
        position = Position(
            self._simulator.runtime.position.sequence, self._simulator.clock.now_ms()
        )
        origin = origin_of(self._manager, position)
        return prove(origin, application, self._run_time)

    def _run_time(self, application: ApplicationId, group: int, age_ms: int) -> int:
        return self._durations_ms.get(application, FOR_EVER_MS)

    # Assertions.

    def assert_share(
        self, queue: str, *, within: float = 0.0, memory_mb: int | None = None, **amounts: int
    ) -> None:
        """Assert a queue's share of each named type, with the relative tolerance `within`:
        `assert_share("root.ml", memory_mb=4096, vcores=4, within=0.01)`."""
        __tracebackhide__ = True
        self._compare("share", queue, self.share(queue), _named(memory_mb, amounts), within)

    def assert_used(
        self, queue: str, *, within: float = 0.0, memory_mb: int | None = None, **amounts: int
    ) -> None:
        """Assert a queue's usage of each named type, with the relative tolerance `within`."""
        __tracebackhide__ = True
        self._compare("use", queue, self.used(queue), _named(memory_mb, amounts), within)

    def assert_running(self, application: ApplicationId, containers: int) -> None:
        """Assert the number of an application's containers."""
        __tracebackhide__ = True
        running = self.application(application).containers
        if running != containers:
            waits = "".join(f"\n  it waits: {sentence}" for sentence in self.why(application))
            raise AssertionError(
                f"application {application} has {running} containers, not {containers}"
                f"{waits}\n{self._picture()}"
            )

    def assert_placed(self, application: ApplicationId, queue: str) -> None:
        """Assert that an application was accepted and is in a queue."""
        __tracebackhide__ = True
        view = self.application(application)
        if view.queue != full_name(queue) or view.state == "REJECTED":
            reason = f": {view.diagnostics}" if view.diagnostics else ""
            raise AssertionError(
                f"application {application} of {view.user} is in {view.queue} as"
                f" {view.state}, not in {full_name(queue)}{reason}"
            )

    def assert_refused(self, application: ApplicationId, words: str = "") -> None:
        """Assert that an application was rejected, with a reason that contains `words`."""
        __tracebackhide__ = True
        view = self.application(application)
        if view.state != "REJECTED" or words not in view.diagnostics:
            raise AssertionError(
                f"application {application} is {view.state} in {view.queue}, not refused"
                f" because of {words!r}: {view.diagnostics or 'no diagnostics'}"
            )

    def _compare(
        self,
        what: str,
        queue: str,
        found: dict[str, int],
        wanted: dict[str, int],
        within: float,
    ) -> None:
        __tracebackhide__ = True
        if not wanted:
            raise TypeError("name at least one amount, such as memory_mb=4096")
        unknown = [name for name in wanted if name not in found]
        if unknown:
            raise KeyError(unknown_name("resource type", unknown[0], found))
        wrong = differences(found, wanted, within)
        if wrong:
            raise AssertionError(
                f"the {what} of {full_name(queue)} at {self.now_s:g} s is not as expected:\n"
                + "\n".join(f"  {line}" for line in wrong)
                + f"\n{self._picture()}"
            )

    def _repr_html_(self) -> str:
        from fairshare.cli.notebook import html_parts  # tests do not show themselves
        from fairshare.cli.tables import Column, Listing, Styled

        columns = [Column(title.capitalize()) for title in _TITLES]
        rows = [*_rows(self.queues().values(), self.types, _share)]
        return html_parts([Styled(f"At {self.now_s:g} s:"), Listing(columns, rows)])

    def _picture(self) -> str:
        return picture(self.queues().values(), self.types, _share)

    def _node(self, name: str, offered: Node) -> NodeJoined:
        amounts = {k: v for k, v in offered.items() if k != "rack"}
        wrong = [key for key, value in amounts.items() if not isinstance(value, int)]
        if wrong:
            raise TypeError(f"node {name}: {wrong[0]} is not a whole number")
        numbers = {_type_name(key): int(value) for key, value in amounts.items()}
        total = self._vector({MEMORY: 8192, VCORES: 8, **numbers})
        return NodeJoined(name, total, str(offered.get("rack", "/default-rack")))

    def _vector(self, amounts: Mapping[str, int]) -> Resource:
        try:
            return self.types.vector(amounts)
        except KeyError as error:
            raise KeyError(
                unknown_name("resource type", str(error.args[0]), self.types.names)
            ) from error


def _taken(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """The events of an input; raises InputError if the scheduler refused it."""
    for event in events:
        if type(event) is RequestRefused:
            raise InputError(event.code, event.reason)
    return events


def _share(view: QueueView) -> Resource:
    return view.fair_share if view.capacity is None else view.capacity.effective_min


def _named(memory_mb: int | None, amounts: Mapping[str, int]) -> dict[str, int]:
    named = {_type_name(name): amount for name, amount in amounts.items()}
    return named if memory_mb is None else {MEMORY: memory_mb, **named}


def _type_name(word: str) -> str:
    """The resource type of a keyword: `memory_mb` is `memory-mb`, others are unchanged."""
    return MEMORY if word == "memory_mb" else word
