"""Nodes are asked when it could matter: nothing that could be granted is left lying."""

import random

import msgspec
import pytest
from tests.unit.runtime.conftest import recording_engine

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated, OffersCounted
from fairshare.core.model.inputs import (
    ContainerExited,
    KillApplication,
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    NodeLost,
    NodeResized,
    SubmitApplication,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import ContainerRequest, TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueueSettings
from fairshare.core.schedulers.fair.assignment import Heartbeat
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.runtime import Runtime
from fairshare.settings.registry import family_of

QUEUES = {
    "root.small": QueueSettings("root.small", max_share=Amount(absolute=(6144, 1_000))),
    "root.large": QueueSettings("root.large", weight=3.0),
    "root.few": QueueSettings("root.few", max_running_applications=1),
}
SETTINGS = FairSettings(allocations=AllocationSettings(queues=QUEUES, from_file=True))


def beats(bench, since=0):
    return [r.input.node for r in bench.records[since:] if isinstance(r.input, NodeBeat)]


def test_nodes_are_asked_in_the_order_of_joining_one_container_each(bench, submit):
    bench.join("zeta", "alpha", "mid")
    bench.runtime.turn(1, [submit(5)])
    assert beats(bench) == ["zeta", "alpha", "mid", "zeta", "alpha"]


def inputs_handled(bench, monkeypatch):
    """The inputs that a bench's manager handles from now on."""
    found = []
    handle = bench.manager.handle
    monkeypatch.setattr(
        bench.manager,
        "handle",
        lambda at, given, following=None: found.append(given) or handle(at, given, following),
    )
    return found


def nodes_asked(inputs):
    """The nodes whose heartbeats are among some inputs."""
    return [given.node for given in inputs if type(given) is NodeBeat]


def test_only_the_node_with_room_is_asked_when_a_container_ends(bench, submit, monkeypatch):
    bench.join("n1", "n2", "n3")
    bench.runtime.turn(1, [submit(40)])
    asked = inputs_handled(bench, monkeypatch)
    on_n2 = next(o.container for o in bench.engine.launched if o.node == "n2")
    bench.runtime.turn(2, [ContainerExited(on_n2, 0)])
    assert nodes_asked(asked) == ["n2"]


def test_no_node_is_offered_without_demand(bench, submit, monkeypatch):
    bench.join("n1", "n2")
    bench.runtime.turn(1, [submit(1)])
    asked = inputs_handled(bench, monkeypatch)
    bench.runtime.turn(2, [ContainerExited(bench.engine.launched[0].container, 0)])
    assert not nodes_asked(asked)


def test_one_of_many_equal_nodes_represents_all(make_bench, monkeypatch):
    bench = make_bench(SETTINGS)
    bench.join(*(f"n{number}" for number in range(50)))
    tasks = (TaskGroup("t", 100, (1024, 1)),)
    asked = inputs_handled(bench, monkeypatch)
    bench.runtime.turn(1, [SubmitApplication("ann", "root.small", tasks=tasks)])
    assert len(bench.engine.launched) == 6  # the queue's maximum
    assert len(nodes_asked(asked)) < 12


def left_over_everywhere(make_bench, submit, **settings):
    """A bench whose 50 nodes have 1024 MB left, while 20 applications want 2048: what the next turn
    has to take, that ends a container on each node."""
    bench = make_bench(FairSettings(maximum_allocation=(4096, 4), **settings))
    bench.join(*(f"n{number}" for number in range(50)))
    bench.runtime.turn(1, [submit(50, memory_mb=3072)])
    bench.runtime.turn(2, [submit(50)])
    bench.runtime.turn(3, [submit(1, memory_mb=2048, user=f"u{n}") for n in range(20)])
    assert len(bench.engine.launched) == 100
    return bench, [ContainerExited(order.container, 0) for order in bench.engine.launched[50:]]


def test_an_unusable_node_represents_all_equal_ones(make_bench, submit, monkeypatch):
    bench, ends = left_over_everywhere(make_bench, submit, reservable_nodes=0.0)
    asked = inputs_handled(bench, monkeypatch)
    bench.runtime.turn(10_000, ends)
    assert len(nodes_asked(asked)) == 1


def test_applications_that_may_not_reserve_are_passed_over_as_a_whole(
    make_bench, submit, monkeypatch
):
    bench, ends = left_over_everywhere(make_bench, submit, reservable_nodes=0.0)
    offer = Heartbeat._offer
    offered = []
    monkeypatch.setattr(
        Heartbeat, "_offer", lambda self, one, *more: offered.append(one) or offer(self, one, *more)
    )
    bench.runtime.turn(10_000, ends)
    assert offered == []


def test_applications_below_their_share_reserve_what_is_left(make_bench, submit):
    bench, ends = left_over_everywhere(make_bench, submit, reservable_nodes=0.02)
    bench.runtime.turn(10_000, ends)
    reserved = [node.reservation for node in bench.state.nodes.values() if node.reservation]
    assert len({one.application for one in reserved}) == len(reserved) == 20


def test_offers_are_counted_once_in_an_interval_while_an_application_waits(make_bench):
    bench = make_bench(FairSettings(locality_threshold_node=1.0, locality_threshold_rack=1.0))
    bench.join(*(f"n{number}" for number in range(10)))
    near = (TaskGroup("t", 1, (1024, 1), hosts=("far-away",), racks=("/far",)),)
    bench.runtime.turn(0, [SubmitApplication("ann", tasks=near)])
    granted_ms = None
    now_ms = 0
    while granted_ms is None:
        deadline_ms = bench.runtime.next_deadline_ms()
        assert deadline_ms == now_ms + 1_000
        now_ms = deadline_ms
        bench.runtime.settle(now_ms)
        if bench.engine.launched:
            granted_ms = now_ms
    # Only the eleventh of ten nodes' offers makes it accept what is merely in one of its racks.
    assert granted_ms == 1_000
    offers = [r.now_ms for r in bench.records for e in r.events if isinstance(e, OffersCounted)]
    assert offers == [0] * 10 + [1_000]


def test_what_waits_for_a_near_node_gets_it_at_once_when_it_has_room(make_bench, submit):
    bench = make_bench(FairSettings(locality_threshold_node=1.0, locality_threshold_rack=1.0))
    bench.join("n1", "n2", memory_mb=1024)
    bench.runtime.turn(0, [submit(2)])
    near = (TaskGroup("t", 1, (1024, 1), hosts=("n2",)),)
    bench.runtime.turn(1, [SubmitApplication("bob", tasks=near)])
    on = {order.node: order.container for order in bench.engine.launched}
    bench.runtime.turn(10, [ContainerExited(on["n2"], 0)])
    assert (bench.engine.launched[-1].user, bench.engine.launched[-1].node) == ("bob", "n2")


def test_a_reserved_node_is_given_to_its_owner_when_it_has_room(make_bench, submit):
    bench = make_bench(FairSettings(maximum_allocation=(4096, 4)))
    bench.join("n1")
    bench.runtime.turn(0, [submit(8, user="ann")])
    bench.runtime.turn(1, [submit(1, memory_mb=4096, user="bob")])
    for number, order in enumerate(bench.engine.launched[:4]):
        bench.runtime.turn(10 + number, [ContainerExited(order.container, 0)])
    assert bench.engine.launched[-1].user == "bob"


def test_a_node_with_some_room_left_is_reserved_though_nothing_fits(make_bench, submit):
    bench = make_bench(FairSettings(maximum_allocation=(4096, 4)))
    bench.join("n1")
    bench.runtime.turn(0, [submit(4, user="ann")])
    bench.runtime.turn(1, [submit(1, memory_mb=4096, user="bob")])
    assert bench.state.nodes["n1"].reservation is None  # no room: it would be worth nothing
    bench.runtime.turn(2, [ContainerExited(bench.engine.launched[0].container, 0)])
    assert bench.state.nodes["n1"].reservation is not None
    bench.runtime.turn(3, [submit(1, user="carl")])
    assert [order.user for order in bench.engine.launched] == ["ann"] * 4


def test_a_reservation_that_is_done_with_gives_way_at_once(make_bench, submit):
    bench = make_bench(FairSettings(maximum_allocation=(4096, 4)))
    bench.join("n1")
    bench.runtime.turn(0, [submit(4, user="ann")])
    bench.runtime.turn(1, [submit(1, memory_mb=4096, user="bob")])
    first, second = (order.container for order in bench.engine.launched[:2])
    bench.runtime.turn(2, [ContainerExited(first, 0)])
    bench.runtime.turn(3, [submit(2, user="carl")])
    assert bench.state.nodes["n1"].reservation is not None
    # In one instant n1 is asked in vain, and then its owner gets a container elsewhere.
    bench.runtime.turn(4, [ContainerExited(second, 0), NodeJoined("n2", (4096, 4))])
    placed = [(order.user, order.node) for order in bench.engine.launched[4:]]
    assert placed == [("bob", "n2"), ("carl", "n1"), ("carl", "n1")]


def test_events_on_other_nodes_are_not_offers_to_a_waiting_application(make_bench, submit):
    settings = FairSettings(locality_threshold_node=1.0, locality_threshold_rack=1.0)
    bench = make_bench(settings)
    bench.join(*(f"n{number}" for number in range(10)))
    bench.runtime.turn(0, [submit(4, user="bob")])
    near = (TaskGroup("t", 1, (1024, 1), racks=("/far",)),)
    bench.runtime.turn(0, [SubmitApplication("ann", tasks=near)])
    for number, order in enumerate(bench.engine.launched[:3]):
        bench.runtime.turn(100 + number, [ContainerExited(order.container, 0)])
    offers = [
        event
        for record in bench.records
        for event in record.events
        if isinstance(event, OffersCounted) and event.application == 2
    ]
    # Ten nodes were offered, then three times the one that had a container less. After 22 offers
    # it would have taken any node.
    assert len(offers) == 13
    assert {order.user for order in bench.engine.launched} == {"bob"}


def random_input(chance: random.Random, bench):
    """Something that may happen to a cluster."""
    nodes = list(bench.state.nodes)
    running = [c for a in bench.state.applications.values() for c in a.attempt.launched]
    match chance.randrange(12):
        case 0:
            size = (chance.choice([2048, 4096, 8192]), chance.choice([2, 4, 8]))
            return NodeJoined(f"n{chance.randrange(1000)}", size, f"/r{chance.randrange(2)}")
        case 1 if len(nodes) > 3 and chance.random() < 0.3:
            return NodeLost(chance.choice(nodes))
        case 2 if nodes and chance.random() < 0.3:
            return NodeResized(chance.choice(nodes), (chance.choice([1024, 4096, 6144]), 4))
        case 3 if bench.state.applications and chance.random() < 0.3:
            return KillApplication(chance.choice(list(bench.state.applications)))
        case 4 | 5:
            size = (chance.choice([512, 1024, 1536, 3072, 4096]), chance.choice([1, 1, 2]))
            hosts = tuple(chance.sample(nodes, 2)) if chance.random() < 0.2 and nodes[1:] else ()
            group = TaskGroup("t", chance.randrange(1, 12), size, hosts=hosts)
            queue = chance.choice(["root.small", "root.large", "root.few"])
            return SubmitApplication("ann", queue, tasks=(group,))
        case 6:
            request = ContainerRequest(2, (1024, 1), hosts=tuple(nodes[:1]), relax=False)
            return SubmitApplication("bob", "root.large", requests=(request,))
        case _ if running:
            return ContainerExited(chance.choice(running), chance.choice([0, 0, 0, 1, -100]))
    return NodeJoined("n0", (4096, 4))


@pytest.mark.parametrize("entitled_after_ms", [None, 2_000])
@pytest.mark.parametrize("seed", range(30))
def test_no_node_would_take_anything_more_after_settling(make_bench, seed, entitled_after_ms):
    """Within an interval at the latest; also after a restart in the middle."""
    chance = random.Random(seed)
    settings = FairSettings(
        entitled_after_ms=entitled_after_ms,
        assign_multiple=chance.random() < 0.5,
        maximum_allocation=(4096, 4),
        increment_allocation=(512, 1),
        minimum_allocation=(512, 1),
        allocations=SETTINGS.allocations,
    )
    bench = make_bench(settings)
    bench.join("n0", "n1", "n2", "n3")
    now_ms = 0
    for step in range(50):
        now_ms += chance.choice([0, 10, 500, 5_000])
        bench.runtime.turn(now_ms, [random_input(chance, bench) for _ in range(3)])
        if step == 25:
            bench.restart()
        end_ms = now_ms + 1_000
        while (deadline_ms := bench.runtime.next_deadline_ms()) and deadline_ms <= end_ms:
            now_ms = deadline_ms
            bench.runtime.settle(now_ms)
        steps = bench.runtime.feed(now_ms, [NodeBeat(node) for node in bench.state.nodes])
        left = [e for _, events in steps for e in events if isinstance(e, ContainerAllocated)]
        assert left == [], f"step {step}"
        check(bench.state)


@pytest.mark.parametrize("seed", range(10))
def test_a_reserved_node_that_is_not_asked_would_have_done_nothing(make_bench, seed):
    chance = random.Random(seed)
    settings = FairSettings(
        maximum_allocation=(4096, 4),
        reservable_nodes=chance.choice([0.05, 1.0]),
        locality_threshold_node=chance.choice([-1.0, 0.5]),
        preemption=chance.random() < 0.5,
        allocations=SETTINGS.allocations,
    )
    bench = make_bench(settings)
    bench.join("n0", "n1", "n2", "n3")
    state, kept = bench.state, 0
    for step in range(100):
        bench.runtime.turn(step * 1_000, [random_input(chance, bench) for _ in range(3)])
        for name, node in list(state.nodes.items()):
            if state.keeps_reservation(node):
                kept += 1
                ((_, events),) = bench.runtime.feed(step * 1_000, [NodeBeat(name)])
                assert events == (), f"step {step}, {name}"
    assert kept > 5


def test_a_reserved_node_without_room_is_counted_among_the_beats_and_not_asked(
    make_bench, submit, monkeypatch
):
    bench, ends = left_over_everywhere(make_bench, submit, reservable_nodes=0.02)
    bench.runtime.turn(10_000, ends)
    reserved = [node for node in bench.state.nodes.values() if node.reservation]
    assert len(reserved) == 20
    asked = inputs_handled(bench, monkeypatch)
    counted = []
    bench.runtime.turn(20_000, [submit(1, memory_mb=4096)], lambda: bool(counted.append(None)))
    assert nodes_asked(asked) == []
    assert len(counted) >= len(reserved)


@pytest.mark.parametrize(("dominant", "containers"), [(False, 4), (True, 2)])
def test_nodes_without_free_vcores_are_asked_where_memory_alone_counts(
    submit, dominant, containers
):
    leaf = CapacityQueueSettings(capacity=Percentage(100.0), maximum_master_share=1.0)
    root = CapacityQueueSettings(children=("default",), capacity=Percentage(100.0))
    settings = CapacitySettings(
        queues={"root": root, "root.default": leaf},
        minimum_allocation=(128, 1),
        dominant=dominant,
    )
    manager = ResourceManager(family_of("capacity").create(ResourceTypes()))
    runtime = Runtime(manager, MemoryJournal(), recording_engine())
    load = LoadConfiguration(msgspec.json.encode(settings), 1)
    runtime.feed(0, [load, NodeJoined("n1", (4096, 2))])
    runtime.turn(0, [submit(9)])
    assert len(manager.state.nodes["n1"].containers) == containers
