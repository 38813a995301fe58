"""A turn can be left after each beat of a node; the next one goes on where it was left."""

import random

import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.inputs import ContainerExited, DrainNode, NodeBeat, NodeLost, SetSafeMode
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.runtime.recovery import replay
from fairshare.settings.registry import family_of

from .test_heartbeat_rounds import SETTINGS, random_input


def after(beats):
    """Says that it is enough after so many beats."""
    count = 0

    def enough():
        nonlocal count
        count += 1
        return count >= beats

    return enough


def decisions(records):
    """Records without the pace of their runtime, which says when it was left."""
    return [(one.sequence, one.now_ms, one.input, one.events) for one in records]


def grants(records):
    return [event for record in records for event in record.events
            if isinstance(event, ContainerAllocated)]  # fmt: skip


def in_slices(bench, now_ms, inputs, beats):
    bench.runtime.turn(now_ms, inputs, after(beats))
    while bench.runtime.unsettled:
        bench.runtime.settle(now_ms, after(beats))


def settle_until(bench, end_ms, now_ms=0):
    """Go on, a beat or two in each turn, until nothing is due before then; the instant reached."""
    while (deadline_ms := bench.runtime.next_deadline_ms()) is not None and deadline_ms <= end_ms:
        now_ms = max(now_ms, deadline_ms)
        bench.runtime.settle(now_ms, after(2))
    return now_ms


def wide(make_bench, nodes=20):
    bench = make_bench()
    bench.join(*(f"n{number}" for number in range(nodes)))
    return bench


def replayed(bench):
    return replay(bench.records, ResourceManager(family_of("fair").create(ResourceTypes())))


def test_a_turn_that_has_had_enough_grants_no_more_and_says_that_it_must_go_on(make_bench, submit):
    bench = wide(make_bench)
    bench.runtime.turn(5, [submit(80)], after(10))
    assert len(bench.engine.launched) == 10
    assert bench.uncommitted == []
    assert bench.runtime.unsettled
    assert bench.runtime.next_deadline_ms() == 5
    bench.runtime.settle(6, after(10))
    assert len(bench.engine.launched) == 20
    bench.runtime.settle(7)
    assert len(bench.engine.launched) == 80
    assert not bench.runtime.unsettled


def test_a_round_goes_on_behind_the_node_where_it_was_left(make_bench, submit):
    bench = wide(make_bench, 5)
    bench.runtime.turn(0, [submit(10)], after(3))
    bench.runtime.turn(1, [submit(3, user="bob")], after(1))
    nodes = [event.node for event in grants(bench.records)]
    assert nodes == ["n0", "n1", "n2", "n3"]


def test_an_application_submitted_during_a_burst_is_served_before_its_end(make_bench, submit):
    bench = wide(make_bench)
    bench.runtime.turn(0, [submit(80)], after(10))
    bench.runtime.turn(1, [submit(2, user="bob")])
    settle_until(bench, 100)
    users = [order.user for order in bench.engine.launched]
    assert len(users) == 80
    assert users.index("bob") < 30


def test_a_node_that_is_lost_or_drained_in_between_is_granted_nothing(make_bench, submit):
    bench = wide(make_bench, 6)
    bench.runtime.turn(0, [submit(24)], after(2))
    bench.runtime.turn(1, [NodeLost("n2"), DrainNode("n3", None)])
    settle_until(bench, 100)
    assert {event.node for event in grants(bench.records)} == {"n0", "n1", "n4", "n5"}
    check(bench.state)


def test_nothing_is_granted_once_the_safe_mode_has_begun(make_bench, submit):
    bench = wide(make_bench)
    bench.runtime.turn(0, [submit(80)], after(10))
    bench.runtime.turn(1, [SetSafeMode(on=True)])
    bench.runtime.settle(2)
    assert len(bench.engine.launched) == 10
    assert not bench.runtime.unsettled
    bench.runtime.turn(3, [SetSafeMode(on=False)])
    assert len(bench.engine.launched) == 80


def test_room_made_in_between_on_a_node_that_was_passed_already_is_used(make_bench, submit):
    bench = wide(make_bench, 4)
    bench.runtime.turn(0, [submit(16)])
    first, other = (order.container for order in bench.engine.launched[:2])
    bench.runtime.turn(1, [ContainerExited(other, 0), submit(3, user="bob")], after(1))
    bench.runtime.turn(2, [ContainerExited(first, 0)], after(1))
    settle_until(bench, 100)
    assert [order.node for order in bench.engine.launched[16:]] == ["n1", "n0"]


def test_after_a_crash_in_the_middle_the_next_server_grants_the_rest(make_bench, submit):
    bench = wide(make_bench)
    bench.runtime.turn(0, [submit(80)], after(30))
    bench.restart()
    assert len(grants(bench.records)) == 30
    bench.runtime.settle(1)
    assert len(grants(bench.records)) == 80
    assert replayed(bench) is None
    check(bench.state)


def random_settings(chance):
    return FairSettings(
        assign_multiple=chance.random() < 0.5,
        maximum_allocation=(4096, 4),
        increment_allocation=(512, 1),
        minimum_allocation=(512, 1),
        locality_threshold_node=chance.choice([-1.0, 0.5]),
        allocations=SETTINGS.allocations,
    )


@pytest.mark.parametrize("seed", range(20))
def test_slices_decide_the_same_as_one_turn_while_nothing_comes_in_between(make_bench, seed):
    chance = random.Random(seed)
    settings = random_settings(chance)
    whole, sliced = make_bench(settings), make_bench(settings)
    for bench in (whole, sliced):
        bench.join("n0", "n1", "n2", "n3")
    now_ms = 0
    for _ in range(40):
        now_ms += chance.choice([0, 10, 500, 5_000])
        inputs = [random_input(chance, whole) for _ in range(3)]
        whole.runtime.turn(now_ms, inputs)
        in_slices(sliced, now_ms, inputs, chance.randrange(1, 4))
        assert decisions(sliced.records) == decisions(whole.records)
        assert sliced.runtime.next_deadline_ms() == whole.runtime.next_deadline_ms()


@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_fits_is_left_lying_when_inputs_come_between_slices(make_bench, seed):
    """Within an interval at the latest; and what was recorded is decided again by a replay."""
    chance = random.Random(seed)
    bench = make_bench(random_settings(chance))
    bench.join("n0", "n1", "n2", "n3")
    now_ms, left_open = 0, 0
    for step in range(60):
        now_ms += chance.choice([0, 1, 10, 500])
        inputs = [random_input(chance, bench) for _ in range(3)]
        bench.runtime.turn(now_ms, inputs, after(chance.randrange(1, 4)))
        check(bench.state)
        left_open += bench.runtime.unsettled
        if step % 6:
            continue
        now_ms = settle_until(bench, now_ms + 1_000, now_ms)
        steps = bench.runtime.feed(now_ms, [NodeBeat(node) for node in bench.state.nodes])
        left = [e for _, events in steps for e in events if isinstance(e, ContainerAllocated)]
        assert left == [], f"step {step}"
        check(bench.state)
    assert left_open > 5
    assert replayed(bench) is None
