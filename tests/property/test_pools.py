"""Anything in any order under the pool scheduler, each generation: its promises hold after each."""

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.effort import examples

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated, Event
from fairshare.core.model.inputs import (
    ContainerExited,
    FinishApplication,
    Input,
    KillApplication,
    LoadConfiguration,
    MasterRegistered,
    MoveApplication,
    NodeBeat,
    NodeJoined,
    NodeLost,
    NodeResized,
    PreemptContainers,
    SetPriority,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.work import TaskGroup
from fairshare.core.record import Record
from fairshare.core.schedulers.pools.scheduler import PoolsScheduler
from fairshare.core.schedulers.pools.service_orders import Line, OwedOrders, ShareOrders
from fairshare.core.schedulers.pools.settings import (
    REDUCE,
    SLOTS,
    TYPES,
    PoolAllocation,
    PoolAllocations,
    PoolsSettings,
)
from fairshare.core.schedulers.pools.tree import Pool
from fairshare.runtime.recovery import recover
from fairshare.runtime.snapshot import freeze, thaw

POOLS = ("a", "b", "a.c", "default")
NODES = ("n1", "n2", "n3")
SIZES = tuple(TYPES.vector({name: 1}) for name in SLOTS)

pairs = st.tuples(st.integers(0, 4), st.integers(0, 3))
jobs = st.integers(1, 9)
allocations = st.builds(
    PoolAllocation,
    name=st.just(""),
    min_share=pairs,
    max_share=st.tuples(st.integers(0, 6), st.integers(1, 6)),
    weight=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    max_running_jobs=st.none() | st.integers(1, 3),
    mode=st.sampled_from([None, "fair", "fifo"]),
    min_share_timeout_ms=st.sampled_from([None, 300]),
)
options = st.fixed_dictionaries(
    {
        "size_based_weight": st.booleans(),
        "assign_multiple": st.sampled_from([None, True, False]),
        "maps_per_heartbeat": st.sampled_from([-1, 1, 2]),
        "preemption": st.booleans(),
        "preemption_interval_ms": st.just(200),
        "locality_delay_ms": st.sampled_from([-1, 0, 300]),
        "strict": st.booleans(),
        "scale_min_shares": st.booleans(),
        "weight_adjuster": st.sampled_from(["", "new-job-weight-booster"]),
        "priority_factors": st.sampled_from(
            [(0.25, 0.5, 1.0, 2.0, 4.0), (0.0, 0.5, 1.0, 2.0, 4.0)]
        ),
    }
)


class Pools(RuleBasedStateMachine):
    """Inputs at random."""

    def __init__(self) -> None:
        super().__init__()
        self.manager = ResourceManager(PoolsScheduler(TYPES))
        self.now_ms = 0
        self.records: list[Record] = []

    def feed(self, given: Input) -> tuple[Event, ...]:
        self.now_ms += 100
        events = self.manager.handle(self.now_ms, given)
        if events:
            self.records.append(Record(len(self.records) + 1, self.now_ms, given, events))
        return events

    @property
    def scheduler(self) -> PoolsScheduler:
        found = self.manager.scheduler
        assert isinstance(found, PoolsScheduler)
        return found

    def load(self, data: st.DataObject) -> None:
        named = {
            name: msgspec.structs.replace(data.draw(allocations), name=name)
            for name in data.draw(st.lists(st.sampled_from(POOLS), unique=True))
        }
        file = PoolAllocations(pools=named, fair_share_timeout_ms=500, user_max_jobs={"bob": 1})
        given = PoolsSettings(
            generation=self.generation,  # type: ignore[arg-type]
            hierarchical=self.hierarchical,
            allocations=file,
            **data.draw(options),
        )
        self.feed(LoadConfiguration(msgspec.json.encode(given), 1))

    @initialize(
        data=st.data(),
        generation=st.sampled_from(["0.19", "0.20", "1.2"]),
        hierarchical=st.booleans(),
    )
    def start(self, data: st.DataObject, generation: str, hierarchical: bool) -> None:
        self.generation, self.hierarchical = generation, hierarchical
        self.load(data)
        self.feed(NodeJoined("n1", (0, 0, 3, 2)))

    @rule(data=st.data())
    def reload(self, data: st.DataObject) -> None:
        self.load(data)

    @rule(node=st.sampled_from(NODES), slots=pairs, kind=st.sampled_from(["join", "lose", "size"]))
    def change_node(self, node: str, slots: tuple[int, int], kind: str) -> None:
        total = (0, 0, *slots)
        wishes: dict[str, Input] = {
            "join": NodeJoined(node, total, f"/r{node[-1]}"),
            "lose": NodeLost(node),
            "size": NodeResized(node, total),
        }
        self.feed(wishes[kind])

    @rule(
        pool=st.sampled_from(POOLS),
        user=st.sampled_from(["ann", "bob"]),
        counts=pairs,
        hosts=st.lists(st.sampled_from(NODES), max_size=2).map(tuple),
        priority=st.integers(0, 6),
        limit=st.sampled_from(["", "2"]),
        prepared=st.booleans(),
    )
    def submit(
        self,
        pool: str,
        user: str,
        counts: tuple[int, int],
        hosts: tuple[str, ...],
        priority: int,
        limit: str,
        prepared: bool,
    ) -> None:
        if len(self.manager.state.applications) >= 9:
            return
        tasks = tuple(
            TaskGroup(name, count, size, hosts=hosts if name == "map" else ())
            for name, count, size in zip(("map", "reduce"), counts, SIZES, strict=True)
            if count
        )
        properties = {"mapreduce.job.running.map.limit": limit} if limit else {}
        self.feed(
            SubmitApplication(
                user,
                pool,
                tasks=tasks,
                priority=priority,
                properties=properties,
                prepared=prepared,
            )
        )

    @rule(job=jobs, kind=st.sampled_from(["register", "kill", "finish", "move", "priority"]))
    def change_job(self, job: int, kind: str) -> None:
        wishes: dict[str, Input] = {
            "register": MasterRegistered(job),
            "kill": KillApplication(job),
            "finish": FinishApplication(job),
            "move": MoveApplication(job, "b"),
            "priority": SetPriority(job, job % 6),
        }
        self.feed(wishes[kind])

    @rule(which=st.integers(0, 20), code=st.sampled_from([0, 0, 1, -100]))
    def task_ends(self, which: int, code: int) -> None:
        alive = [c for a in self.manager.state.applications.values() for c in a.containers]
        if alive:
            self.feed(ContainerExited(alive[which % len(alive)], code))

    @rule()
    def update(self) -> None:
        self.feed(UpdateShares())
        assert not self.scheduler.state.changed

    @rule()
    def preempt(self) -> None:
        before = [pool.used for pool in self.scheduler.state.queues.values()]
        state = self.scheduler.state
        shares = [[slots.fair_share for slots in pool.slots] for pool in state.queues.values()]
        self.feed(PreemptContainers())
        for pool, used, share in zip(state.queues.values(), before, shares, strict=True):
            for kind, place in enumerate(state.places):
                assert pool.used[place] >= min(used[place], int(share[kind])) or pool.parts

    @rule(node=st.sampled_from(NODES))
    def beat(self, node: str) -> None:
        state = self.scheduler.state
        runnable = {number for number, job in state.jobs.items() if job.runnable}
        events = self.feed(NodeBeat(node))
        granted = [event for event in events if isinstance(event, ContainerAllocated)]
        assert {event.application for event in granted} <= runnable
        given = state.settings
        if not given.assigns_multiple:
            assert len(granted) <= 1
        elif given.deficits:
            assert sorted(self.scheduler.state.kind_of(event) for event in granted) in (
                [], [0], [1], [0, 1],
            )  # fmt: skip
        if granted:
            assert min(state.nodes[node].available) >= 0
        for event in granted:
            job = state.attempts[event.application]
            pool, kind = state.queues[job.queue], state.kind_of(event)
            place = state.places[kind]
            assert job.used[place] <= job.limits[kind]
            if not given.deficits:
                assert pool.used[place] <= given.allocation(pool.pool).max_share[kind]

    @rule()
    def another_goes_on_from_a_snapshot(self) -> None:
        snapshot = freeze(0, self.now_ms, {"manager": self.manager})
        self.manager = thaw(snapshot)["manager"]

    @invariant()
    def nothing_contradicts_itself(self) -> None:
        check(self.manager.state)

    @invariant()
    def everybody_stands_where_a_new_line_would_have_him(self) -> None:
        state, lines = self.scheduler.state, self.scheduler.state.lines
        if isinstance(lines, OwedOrders):
            for kept, new in zip(lines.of_kind, OwedOrders(state).of_kind, strict=True):
                assert in_line(kept) == in_line(new)
        if isinstance(lines, ShareOrders) and lines.hold(self.now_ms):
            fresh = ShareOrders(state, self.now_ms)
            for pool in state.queues.values():
                for kind, place in enumerate(state.places):
                    stand, would = in_line(lines.line(pool, kind)), in_line(fresh.line(pool, kind))
                    assert stand == {one: would[one] for one in stand}
                    for absent in would.keys() - stand.keys():
                        self.has_nothing_for_any_node(absent, kind, place, lines)

    def has_nothing_for_any_node(
        self, absent: str | int, kind: int, place: int, lines: ShareOrders
    ) -> None:
        if isinstance(absent, str):
            assert lines.line(self.scheduler.state.queues[absent], kind).first() is None
        else:
            assert kind == REDUCE
            assert not self.scheduler.state.attempts[absent].pending(place)

    def teardown(self) -> None:
        """The record alone rebuilds what is shown."""
        again = PoolsScheduler(TYPES)
        recover(self.records, again.state)
        assert again.queue_views(self.now_ms) == self.scheduler.queue_views(self.now_ms)
        for number in self.manager.state.applications:
            assert again.application_view(number) == self.scheduler.application_view(number)


def in_line(line: Line) -> dict[str | int, tuple[float | str, ...]]:
    """Who stands in a line, by name or number, and where; without the last of it, which only
    leads back to him."""
    found: dict[str | int, tuple[float | str, ...]] = {}
    for entrant in line.members:
        if entrant is not None and isinstance(entrant.entry, tuple):
            member = entrant.member
            name = member.name if isinstance(member, Pool) else member.id
            found[name] = entrant.entry[:-1]
    return found


TestPools = Pools.TestCase
TestPools.settings = settings(
    max_examples=examples(60), stateful_step_count=50, deadline=None, print_blob=True
)
