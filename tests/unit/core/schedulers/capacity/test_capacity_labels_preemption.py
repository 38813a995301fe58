"""Preemption by partition, and what lazy preemption would release.

Numbers are derived from Hadoop's formulas by hand; sizes are MB, the smallest container is
1024.
"""

from tests.unit.core.schedulers.capacity.playground import (
    Playground,
    asks,
    beat,
    memory,
    node,
    submit,
)
from tests.unit.core.schedulers.capacity.test_capacity_recovery import summary

from fairshare.core.model.events import Event
from fairshare.core.model.invariants import check
from fairshare.lab.scenarios.runner import Runner

MONITOR = "yarn.resourcemanager.monitor.capacity.preemption."
PREEMPTION = {
    "yarn.resourcemanager.scheduler.monitor.enable": "true",
    MONITOR + "total_preemption_per_round": "1.0",
    MONITOR + "natural_termination_factor": "1.0",
    MONITOR + "max_wait_before_kill": "5000",
}
BOTH_USE_X = {
    "root.b.accessible-node-labels": "x",
    "root.a.accessible-node-labels.x.capacity": "50",
    "root.b.accessible-node-labels.x.capacity": "50",
}
ADD_X = {"labels": {"add": {"x": "exclusive"}}}
SHARE_X = {"labels": {"add": {"x": "shared"}}}


def preemption(*steps, **properties) -> Playground:
    nodes = [node("n1"), node("x1", label="x")]
    return Playground(nodes, *steps, **{**PREEMPTION, **properties})


def marked(game: Playground, app: str) -> int:
    found: int = game.seen["apps"][app]["to_preempt"]
    return found


def test_a_partition_is_taken_back_by_itself():
    """rich has all 10 of x and 10 of the default partition; b's half of x, 5120, is wanted, so 5
    containers of x are marked, and none on n1, where b has no asks."""
    game = preemption(
        ADD_X,
        submit("rich", "a", asks(10, "x"), asks(10, "", priority=2)),
        beat("x1", 10),
        beat("n1", 10),
        submit("poor", "b", asks(5, "x")),
        {"preempt": 1},
        **BOTH_USE_X,
    )
    assert game.on("rich") == {"n1": 10, "x1": 10}
    assert marked(game, "rich") == 5
    game.do({"advance": "5s"}, {"preempt": 1})
    assert game.on("rich") == {"n1": 10, "x1": 5}


def test_borrowed_containers_are_preempted_first():
    """rich has 6 of x as its own, then borrower, of the same leaf and older, borrows 4 there. The
    other leaf wants its half, 5120: what leaf b has above its own half are 10 - 5 = 5 containers.
    The 4 borrowed ones are marked first, then one of rich."""
    game = preemption(
        SHARE_X,
        submit("borrower", "b", asks(4, "")),
        submit("rich", "b", asks(6, "x")),
        beat("x1", 20),
        **BOTH_USE_X,
    )
    assert game.on("rich") == {"x1": 6}
    assert game.on("borrower") == {"x1": 4}
    game.do(submit("poor", "a", asks(5, "x")), {"preempt": 1})
    assert (marked(game, "borrower"), marked(game, "rich")) == (4, 1)


def lazy(*steps) -> Playground:
    """10 containers of rich, of which 5 may be killed for b after two rounds."""
    return Playground(
        [node("n1")],
        submit("rich", "a", asks(10)),
        beat("n1", 10),
        submit("poor", "b", asks(5)),
        {"preempt": 1},
        {"advance": "5s"},
        {"preempt": 1},
        *steps,
        **{**PREEMPTION, "lazy-preemption-enabled": "true"},
    )


def test_lazily_preempted_containers_live_until_another_container_needs_their_room():
    game = lazy()
    assert game.on("rich") == {"n1": 10}
    assert len(game.state.nodes["n1"].marked) == 5
    assert game.do(beat("n1", 2)).on("poor") == {"n1": 2}
    assert game.on("rich") == {"n1": 8}
    assert len(game.state.nodes["n1"].marked) == 3


def test_lazily_preempted_containers_are_spared_when_their_room_is_not_needed():
    """poor has ended: in the next round all five are safe again, and their room is not
    available."""
    game = lazy({"kill": "poor"}, {"preempt": 1})
    assert game.on("rich") == {"n1": 10}
    assert game.state.nodes["n1"].marked == {}
    assert marked(game, "rich") == 0
    for queue in game.state.queues.values():
        assert queue.share.killable == (0, 0)
    game.do(submit("late", "b", asks(1)), beat("n1"))
    assert game.on("late") == {}


def test_as_many_are_spared_as_are_not_wanted_any_longer():
    """Two of five asks are left: rich may keep 8, so two stay killable and three are spared."""
    game = lazy({"kill": "poor"}, submit("two", "b", asks(2)), {"preempt": 1})
    assert len(game.state.nodes["n1"].marked) == 2


def test_killable_room_moves_with_its_application():
    game = lazy({"move": {"app": "rich", "queue": "root.b"}})
    assert game.state.queues["root.a"].share.killable == (0, 0)
    assert game.state.queues["root.b"].share.killable[0] == 5120


def test_a_state_with_partitions_rebuilt_from_events_is_the_same():
    history: list[tuple[int, Event]] = []
    game = preemption(**{**BOTH_USE_X, "lazy-preemption-enabled": "true"})
    again = Runner(game._scenario([]))
    handlers = game.state.handlers
    for kind, handler in list(handlers.items()):
        handlers[kind] = lambda now_ms, event, handler=handler: (
            history.append((now_ms, event)),
            handler(now_ms, event),
        )
    game.do(
        SHARE_X,
        submit("borrower", "b", asks(4, "")),
        submit("rich", "b", asks(6, "x"), am=memory(1024), am_label="x"),
        beat("x1", 20),
        submit("poor", "a", asks(5, "x")),
        {"preempt": 1},
        {"labels": {"nodes": {"n1": "x", "x1": ""}}},
        beat("n1", 5),
        {"advance": "5s"},
        {"preempt": 1},
        beat("n1", 5),
        {"move": {"app": "rich", "queue": "root.a"}},
    )
    state = again._cluster.scheduler.state
    for now_ms, event in history:
        state.apply(now_ms, event)
    check(state)
    assert summary(state) == summary(game.state)
    assert state.partition_of == game.state.partition_of


# Reservations of queues with a higher priority (Hadoop: QueuePriorityContainerCandidateSelector).

URGENT = {
    "root.ordering-policy": "priority-utilization",
    "root.a.priority": "5",
    "ordering-policy.priority-utilization.underutilized-preemption.enabled": "true",
    "ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms": (
        "10000"
    ),
}
MOVE = "ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation"


def crowded(**properties) -> Playground:
    """b's master fills 2048 of n1, of 4096, and must not be killed; b's two containers fill n2. a,
    which has the higher priority, has reserved n1 for a container of 4096: of the 12288 in all that
    much is free, on n3, which sends no heartbeat. Its half is not reached."""
    return Playground(
        [node("n1", 4096), node("n2", 4096), node("n3", 4096)],
        submit("crowd", "b", asks(2, mb=2048), am=memory(2048)),
        beat("n1"),
        beat("n2", 2),
        submit("urgent", "a", asks(1, mb=4096)),
        beat("n1"),
        {"advance": "11s"},
        **{**PREEMPTION, **URGENT, **properties},
    )


def test_a_reservation_where_no_room_can_be_made_stays_unless_it_may_move():
    game = crowded()
    assert game.on("crowd") == {"n1": 1, "n2": 2}
    assert game.seen["nodes"]["n1"]["reserved_for"] == "urgent"
    game.do({"preempt": 1})
    assert game.seen["nodes"]["n1"]["reserved_for"] == "urgent"


def test_a_reservation_moves_to_a_node_where_room_can_be_made():
    """On n2 both containers of b may be killed: the reservation is there afterwards. In the next
    rounds they are marked, then killed, and n2 serves the ask that it is reserved for."""
    game = crowded(**{MOVE: "true"})
    game.do({"preempt": 1})
    nodes = game.seen["nodes"]
    assert [nodes[name]["reserved_for"] for name in ("n1", "n2")] == [None, "urgent"]
    assert game.seen["queues"]["root.a"]["reserved"]["memory-mb"] == 4096
    game.do({"preempt": 1}, {"advance": "5s"}, {"preempt": 1})
    assert game.on("crowd") == {"n1": 1}
    assert game.do(beat("n2")).on("urgent") == {"n2": 1}
    assert game.seen["queues"]["root.a"]["reserved"]["memory-mb"] == 0
    assert game.seen["queues"]["root.a"]["used"]["memory-mb"] == 4096
