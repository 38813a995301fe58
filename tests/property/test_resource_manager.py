"""Any inputs in any order: the state never contradicts itself, nothing is lost, nobody overruns."""

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.effort import examples

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.bookings import Booking, BookingRules, Span
from fairshare.core.model.events import (
    ApplicationState,
    ContainerAllocated,
    ContainerCompleted,
    Event,
    RoomFreed,
)
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import (
    AdvanceBookings,
    BeginDue,
    CancelBooking,
    ChangeBlacklist,
    Changes,
    Condition,
    ContainerExited,
    ContainerStarted,
    ContinueNumbers,
    DecommissionNode,
    DrainNode,
    FinishApplication,
    ForgetApplications,
    GangDue,
    HoldApplication,
    Input,
    KillApplication,
    LoadConfiguration,
    MakeBooking,
    MasterRegistered,
    MoveApplication,
    NodeBeat,
    NodeDue,
    NodeJoined,
    NodeLost,
    NodeResized,
    OvercommitOver,
    ReleaseApplication,
    ReleaseContainers,
    RequestContainers,
    RequeueApplication,
    SetSafeMode,
    StartConditions,
    SubmissionDetails,
    SubmitApplication,
    TasksDue,
    TidyQueues,
    UndrainNode,
    UpdateApplication,
    UpdateShares,
    UpdateUsage,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes, fits, subtract, total
from fairshare.core.model.usage import Budget, Fairness
from fairshare.core.model.work import ContainerRequest, TaskGroup
from fairshare.core.schedulers.bookings import owed
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueueSettings
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.core.schedulers.protocol import State
from fairshare.core.schedulers.reasons import reasons
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.settings.registry import family_of

QUEUES = ("root.a", "root.b", "root.p.x", "root.p.y")
NODES = tuple(f"n{number}" for number in range(4))

sizes = st.tuples(st.sampled_from([512, 1024, 2048, 4096]), st.integers(1, 3))
applications = st.integers(1, 12)
starts = st.one_of(
    st.just(StartConditions()),
    st.builds(
        StartConditions,
        after=st.lists(
            st.builds(
                Condition,
                application=st.integers(1, 4),
                outcome=st.sampled_from(["ok", "failed", "any"]),
            ),
            max_size=2,
        ).map(tuple),
        begin_ms=st.sampled_from([0, 0, 100, 100_000]),
        held=st.booleans(),
    ),
)
requests = st.builds(
    ContainerRequest,
    count=st.integers(-2, 6),
    resource=sizes,
    priority=st.integers(1, 3),
    hosts=st.lists(st.sampled_from(NODES), max_size=2).map(tuple),
    relax=st.booleans(),
)
policies = st.sampled_from(["fair", "drf", "fifo"])
queue_settings = st.builds(
    QueueSettings,
    name=st.just(""),
    min_share=st.none() | st.tuples(st.integers(0, 6000), st.integers(0, 6)),
    max_share=st.none()
    | st.builds(Amount, absolute=st.tuples(st.integers(0, 20000), st.integers(0, 20)))
    | st.builds(Amount, fractions=st.tuples(st.floats(0, 1), st.floats(0, 1))),
    max_running_applications=st.none() | st.integers(0, 3),
    weight=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    policy=policies,
    max_master_share=st.sampled_from([None, -1.0, 0.2, 1.0]),
)


fairnesses = st.builds(
    Fairness,
    half_life_ms=st.sampled_from([0, 60_000]),
    budgets=st.lists(
        st.builds(
            Budget,
            name=st.just("budget"),
            queue=st.sampled_from(["root.a", "root.p", "root.default"]),
            user=st.sampled_from(["", "ann"]),
            resource=st.integers(0, 1),
            limit=st.sampled_from([0, 300, 3_000_000]),
            refuses=st.booleans(),
        ),
        max_size=2,
        unique_by=lambda one: one.key,
    ).map(tuple),
)


booking_rules = st.builds(
    BookingRules,
    ahead_ms=st.sampled_from([0, 1_000]),
    preempt_after_ms=st.sampled_from([None, 0, 500]),
)


@st.composite
def fair_settings(draw: st.DrawFn) -> FairSettings:
    """Settings with two leaves and a parent of two, of any policy and limits."""
    queues = {"root": QueueSettings("root", parent=True, policy="drf")}
    for name in (*QUEUES, "root.p"):
        own = draw(queue_settings)
        parent = name == "root.p"
        policy = "drf" if parent else own.policy
        queues[name] = msgspec.structs.replace(own, name=name, parent=parent, policy=policy)
    return FairSettings(
        minimum_allocation=(512, 1),
        increment_allocation=(512, 1),
        assign_multiple=draw(st.booleans()),
        dynamic_max_assign=draw(st.booleans()),
        max_assign=draw(st.integers(-1, 3)),
        locality_threshold_node=draw(st.sampled_from([-1.0, 0.2, 0.8])),
        locality_threshold_rack=draw(st.sampled_from([-1.0, 0.2, 0.8])),
        reservable_nodes=draw(st.sampled_from([0.05, 0.5, 1.0])),
        entitled_after_ms=draw(st.sampled_from([None, 0, 1_000])),
        size_based_weight=draw(st.booleans()),
        allocations=AllocationSettings(queues=queues, from_file=True),
    )


def over_committed(state: State) -> list[str]:
    """Nodes whose containers use more than their total: only after a node became smaller.

    Containers that are ending do not count: lazy preemption allocates their room before the node
    reports their end.
    """
    size = len(state.none)
    return [
        node.name
        for node in state.nodes.values()
        if not fits(total((c.resource for c in node.containers.values()), size), node.total)
    ]


class Cluster(RuleBasedStateMachine):
    """Inputs at random; the invariants after each."""

    kind = "fair"

    def __init__(self) -> None:
        super().__init__()
        self.manager = ResourceManager(family_of(self.kind).create(ResourceTypes()))
        self.now_ms = 0
        self.alive: dict[ContainerId, ContainerAllocated] = {}
        self.loaded = False
        self.shrunk: set[str] = set()
        self.told_to_finish: set[int] = set()

    def feed(self, given: Input) -> tuple[Event, ...]:
        """One input, and the book-keeping of what lives."""
        self.now_ms += 100
        events = self.manager.handle(self.now_ms, given)
        for event in events:
            if isinstance(event, ContainerAllocated):
                assert event.container not in self.alive
                self.alive[event.container] = event
                self.check_bookings(event)
            elif isinstance(event, ContainerCompleted):
                del self.alive[event.container]
        return events

    def check_bookings(self, event: ContainerAllocated) -> None:
        """What others have been promised is free after a grant, in the types that it took."""
        state = self.manager.state
        attempt = state.attempts.get(event.application)
        if attempt is None:
            return
        begun = [span for span in state.kept if span.begun]
        kept = owed(state, begun, (attempt.application.queue, attempt.user))
        for took, free, promised in zip(
            event.resource, subtract(state.total, state.used), kept, strict=True
        ):
            assert not took or not promised or free >= promised

    def first_settings(self, data: st.DataObject) -> bytes:
        """Settings of the scheduler's kind."""
        return msgspec.json.encode(data.draw(fair_settings()))

    @rule(data=st.data())
    def load(self, data: st.DataObject) -> None:
        settings = msgspec.json.decode(self.first_settings(data))
        settings["fairness"] = data.draw(fairnesses)
        settings["bookings"] = data.draw(booking_rules)
        self.feed(LoadConfiguration(msgspec.json.encode(settings), 1))
        self.loaded = True

    @rule(
        name=st.sampled_from(["one", "other"]),
        queue=st.sampled_from(["a", "p", "p.x", "default"]),
        user=st.sampled_from(["", "ann"]),
        size=st.tuples(st.sampled_from([0, 2048, 9000]), st.integers(0, 9)),
        begin_ms=st.sampled_from([-1_000, 0, 500, 4_000_000]),
        length_ms=st.sampled_from([0, 1_000, 60_000]),
        replace=st.booleans(),
    )
    def booking(
        self,
        name: str,
        queue: str,
        user: str,
        size: tuple[int, int],
        begin_ms: int,
        length_ms: int,
        replace: bool,
    ) -> None:
        if self.loaded:
            start_ms = max(self.now_ms + begin_ms, 1)
            span = Span(start_ms, start_ms + length_ms)
            self.feed(MakeBooking(Booking(name, queue, size, (span,), user), replace))

    @rule(name=st.sampled_from(["one", "other"]))
    def booking_is_cancelled(self, name: str) -> None:
        if self.loaded:
            self.feed(CancelBooking(name))

    @rule(later_ms=st.sampled_from([0, 1_000, 60_000]))
    def bookings_are_due(self, later_ms: int) -> None:
        if self.loaded:
            self.now_ms += later_ms
            self.feed(AdvanceBookings())

    @rule(later_ms=st.sampled_from([0, 60_000, 31 * 86_400_000]))
    def usage_is_due(self, later_ms: int) -> None:
        if self.loaded:
            self.now_ms += later_ms
            self.feed(UpdateUsage())

    @rule(node=st.sampled_from(NODES), rack=st.sampled_from(["/r1", "/r2"]))
    def node_joins(self, node: str, rack: str) -> None:
        if self.loaded:
            self.shrunk.discard(node)
            self.feed(NodeJoined(node, (8192, 8), rack))

    @rule(node=st.sampled_from(NODES), total=sizes, timeout_ms=st.sampled_from([-1, 0, 1_000]))
    def node_is_resized(self, node: str, total: tuple[int, int], timeout_ms: int) -> None:
        if self.loaded:
            self.shrunk.add(node)
            self.feed(NodeResized(node, total, overcommit_timeout_ms=timeout_ms))

    @rule(node=st.sampled_from(NODES))
    def node_is_lost(self, node: str) -> None:
        if self.loaded:
            self.feed(NodeLost(node))

    @rule(node=st.sampled_from(NODES), how=st.sampled_from(["drain", "undrain", "leave"]))
    def node_is_drained(self, node: str, how: str) -> None:
        if self.loaded:
            self.shrunk.add(node)
            inputs: dict[str, Input] = {
                "drain": DrainNode(node),
                "undrain": UndrainNode(node),
                "leave": DecommissionNode(node, 1_000),
            }
            self.feed(inputs[how])

    @rule(node=st.sampled_from(NODES))
    def node_was_too_small_for_long_enough(self, node: str) -> None:
        if self.loaded:
            self.feed(OvercommitOver(node))

    @rule(place=st.integers(0, 3))
    def a_gang_is_due(self, place: int) -> None:
        gangs = sorted(self.manager.state.gangs)
        if self.loaded and gangs:
            self.feed(GangDue(*gangs[place % len(gangs)]))

    @rule(on=st.sampled_from([False, False, True]))
    def safe_mode(self, on: bool) -> None:
        if self.loaded:
            self.feed(SetSafeMode(on))

    @rule(
        queue=st.sampled_from([*QUEUES, "default", "root.new.queue"]),
        user=st.sampled_from(["ann", "bob"]),
        asks=st.lists(requests, max_size=3),
        kind=st.sampled_from(["unmanaged", "master", "kept", "tasks", "gang"]),
        size=sizes,
        start=starts,
    )
    def submit(
        self,
        queue: str,
        user: str,
        asks: list[ContainerRequest],
        kind: str,
        size: tuple[int, int],
        start: StartConditions,
    ) -> None:
        if not self.loaded or len(self.manager.state.applications) >= 12:
            return
        groups = (
            TaskGroup("map", 3, size, max_attempts=2, gang=kind == "gang", gang_timeout_ms=1_000),
            TaskGroup("sum", 4, size, after=("map",), at_once=2, keep_going=True, max_attempts=1),
        )
        tasks = groups if kind in ("tasks", "gang") else ()
        self.feed(
            SubmitApplication(
                user,
                queue,
                requests=() if tasks else tuple(asks),
                tasks=tasks,
                master=size if kind in ("master", "kept") else None,
                details=SubmissionDetails(keep_containers=kind == "kept"),
                start=start,
            )
        )

    @rule(application=applications, asks=st.lists(requests, min_size=1, max_size=3))
    def ask(self, application: int, asks: list[ContainerRequest]) -> None:
        if self.loaded:
            self.feed(RequestContainers(application, tuple(asks)))

    @rule(application=applications, node=st.sampled_from(NODES), add=st.booleans())
    def blacklist(self, application: int, node: str, add: bool) -> None:
        if self.loaded:
            names = (node,)
            self.feed(ChangeBlacklist(application, names if add else (), () if add else names))

    @rule(application=applications, kind=st.sampled_from(["hold", "release", "requeue", "begin"]))
    def defer(self, application: int, kind: str) -> None:
        if self.loaded:
            inputs: dict[str, Input] = {
                "hold": HoldApplication(application),
                "release": ReleaseApplication(application),
                "requeue": RequeueApplication(application),
                "begin": BeginDue(application),
            }
            self.feed(inputs[kind])

    @rule(
        application=applications,
        memory_mb=st.sampled_from([None, 1024, 2048, 3000, 10**6]),
        at_once=st.sampled_from([None, 0, 1, 3]),
        limit_ms=st.sampled_from([None, 0, 5_000]),
        after=st.sampled_from([None, (), (1,), (2, 3)]),
    )
    def change_application(
        self,
        application: int,
        memory_mb: int | None,
        at_once: int | None,
        limit_ms: int | None,
        after: tuple[int, ...] | None,
    ) -> None:
        if self.loaded:
            changes = Changes(
                sizes={} if memory_mb is None else {"memory-mb": memory_mb},
                at_once=at_once,
                time_limit_ms=limit_ms,
                after=None if after is None else tuple(map(Condition, after)),
            )
            self.feed(UpdateApplication(application, changes))

    @rule(application=applications, kind=st.sampled_from(["register", "kill", "finish"]))
    def live(self, application: int, kind: str) -> None:
        if self.loaded:
            inputs: dict[str, Input] = {
                "register": MasterRegistered(application),
                "kill": KillApplication(application),
                "finish": FinishApplication(application),
            }
            if kind == "finish":
                self.told_to_finish.add(application)
            self.feed(inputs[kind])

    @rule(application=applications, queue=st.sampled_from(QUEUES))
    def move(self, application: int, queue: str) -> None:
        if self.loaded:
            self.feed(MoveApplication(application, queue))

    @rule(which=st.integers(0, 50))
    def container_starts(self, which: int) -> None:
        if self.alive:
            self.feed(ContainerStarted(list(self.alive)[which % len(self.alive)]))

    @rule(which=st.integers(0, 50), code=st.sampled_from([1, -100, -101]), of_node=st.booleans())
    def container_does_not_start(self, which: int, code: int, of_node: bool) -> None:
        if self.alive:
            container = list(self.alive)[which % len(self.alive)]
            self.feed(ContainerExited(container, code, node_failed=of_node))

    @rule(pause_ms=st.sampled_from([0, 1_000, 60_000]))
    def pauses_are_over(self, pause_ms: int) -> None:
        self.now_ms += pause_ms
        if self.loaded:
            for node in tuple(self.manager.state.failing):
                self.feed(NodeDue(node))
            for application in tuple(self.manager.state.applications):
                self.feed(TasksDue(application))

    @rule()
    def journal_is_set_back(self) -> None:
        """What the lost records gave away begins behind all numbers so far."""
        if self.loaded:
            state = self.manager.state
            attempts = (one.attempt for one in state.applications.values())
            first = max((one.next_container for one in attempts), default=1) + 100
            self.feed(ContinueNumbers(state.next_application, max(first, state.first_container)))
            assert all(
                one.attempt.next_container >= first
                for one in state.applications.values()
                if one.id in state.attempts
            )

    @rule(which=st.integers(0, 50), code=st.sampled_from([0, 0, 1, 137, -100]))
    def container_ends(self, which: int, code: int) -> None:
        if self.alive:
            container = list(self.alive)[which % len(self.alive)]
            self.feed(ContainerStarted(container))
            self.feed(ContainerExited(container, code))

    @rule(which=st.integers(0, 50))
    def container_runs(self, which: int) -> None:
        if self.alive:
            container = list(self.alive)[which % len(self.alive)]
            self.feed(ContainerStarted(container, holds_room=True))

    @rule(which=st.integers(0, 50))
    def node_reports_an_end(self, which: int) -> None:
        ending = self.manager.state.ending
        if ending:
            container, node = list(ending.items())[which % len(ending)]
            assert self.feed(ContainerExited(container, 143)) == (RoomFreed(container, node),)

    @rule(which=st.integers(0, 50))
    def container_is_released(self, which: int) -> None:
        if self.alive:
            record = list(self.alive.values())[which % len(self.alive)]
            self.feed(ReleaseContainers(record.application, (record.container,)))

    @rule()
    def update(self) -> None:
        if self.loaded:
            self.feed(UpdateShares())
            paused = self.manager.state.safe_mode
            assert paused or not self.manager.scheduler.update_due()
            assert self.feed(UpdateShares()) == ()

    @rule()
    def tidy(self) -> None:
        if self.loaded:
            self.feed(TidyQueues())

    @rule(applications=st.lists(applications, max_size=4))
    def forget(self, applications: list[int]) -> None:
        if self.loaded:
            known = self.manager.state.applications
            over = {n for n in applications if n in known and known[n].over}
            self.feed(ForgetApplications(tuple(applications)))
            assert {n for n in applications if n in known} & over <= self.kept_for_promises()

    def kept_for_promises(self) -> set[int]:
        return {n for node in self.manager.state.nodes.values() for n in node.promised}

    @rule()
    def another_server_goes_on_from_a_snapshot(self) -> None:
        snapshot = freeze(0, self.now_ms, {"manager": self.manager})
        self.manager = thaw(snapshot)["manager"]

    @rule(nodes=st.permutations(NODES))
    def all_nodes_beat(self, nodes: list[str]) -> None:
        if self.loaded:
            for node in nodes:
                before = dict(self.manager.state.nodes)
                closed = self.manager.state.safe_mode or node in self.manager.state.drains
                events = self.feed(NodeBeat(node))
                for event in events:
                    if isinstance(event, ContainerAllocated):
                        assert not closed
                        assert event.node not in self.manager.state.drains
                        assert fits(event.resource, before[node].total)

    @invariant()
    def nothing_contradicts_itself(self) -> None:
        state = self.manager.state
        check(state)
        assert set(over_committed(state)) <= self.shrunk
        lived = {c for a in state.applications.values() for c in a.containers}
        assert lived == self.alive.keys()
        for application in state.applications.values():
            ended_by_itself = application.id not in self.told_to_finish
            if application.state == ApplicationState.FINISHED and ended_by_itself:
                assert application.tasks.complete
            limits = self.manager.scheduler.limits_of(application.id)
            reported = reasons(application, limits)
            assert bool(reported) >= bool(
                application.attempt.active and application.attempt.asks.wanting
            )
        if self.loaded:
            assert self.manager.scheduler.queue_views()[0].used == state.used


class FifoCluster(Cluster):
    """The same under FIFO."""

    kind = "fifo"

    def first_settings(self, data: st.DataObject) -> bytes:
        """FIFO has few."""
        return msgspec.json.encode(FifoSettings(minimum_allocation=(512, 1)))


class CapacityCluster(Cluster):
    """The same under the Capacity Scheduler."""

    kind = "capacity"

    def first_settings(self, data: st.DataObject) -> bytes:
        """Two leaves and a parent of two, limits of all kinds; what may not change at run time is
        the same in all."""

        def leaf(part: float) -> CapacityQueueSettings:
            return CapacityQueueSettings(
                capacity=Percentage(part),
                maximum_capacity=Percentage(data.draw(st.sampled_from([part, 100.0]))),
                minimum_user_limit_percent=data.draw(st.sampled_from([10.0, 50.0, 100.0])),
                user_limit_factor=data.draw(st.sampled_from([0.5, 1.0, 4.0])),
                maximum_master_share=data.draw(st.sampled_from([0.1, 1.0])),
                maximum_parallel_applications=data.draw(st.sampled_from([None, 1])),
                ordering_policy=data.draw(st.sampled_from(["fifo", "fair"])),
            )

        queues = {
            "root": CapacityQueueSettings(children=("a", "b", "p"), capacity=Percentage(100.0)),
            "root.a": leaf(50.0),
            "root.b": leaf(20.0),
            "root.p": CapacityQueueSettings(children=("x", "y"), capacity=Percentage(30.0)),
            "root.p.x": leaf(60.0),
            "root.p.y": leaf(40.0),
        }
        return msgspec.json.encode(
            CapacitySettings(
                queues=queues,
                minimum_allocation=(512, 1),
                maximum_allocation=(8192, 8),
                continue_looking=data.draw(st.booleans()),
                dominant=data.draw(st.booleans()),
            )
        )


TestFair = Cluster.TestCase
TestFair.settings = settings(
    max_examples=examples(60), stateful_step_count=60, deadline=None, print_blob=True
)
TestCapacity = CapacityCluster.TestCase
TestCapacity.settings = settings(
    max_examples=examples(40), stateful_step_count=60, deadline=None, print_blob=True
)
TestFifo = FifoCluster.TestCase
TestFifo.settings = settings(
    max_examples=examples(20), stateful_step_count=50, deadline=None, print_blob=True
)
