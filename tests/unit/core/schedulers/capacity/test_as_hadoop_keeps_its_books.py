"""What Hadoop stores of users, headrooms and orders, and when it examines them again.

Each of these was found by runs beside Hadoop's own scheduler (docs/conformance.md). Numbers are
derived by hand; sizes are MB, the smallest container is 1024.
"""

from typing import Any

from tests.unit.core.schedulers.capacity.playground import (
    HALVES,
    Playground,
    asks,
    beat,
    game,
    memory,
    node,
    reload,
    submit,
    users,
)

from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.inputs import NodeBeat, NodeResized
from fairshare.core.schedulers.capacity.events import LimitsComputed


def headroom(found: Playground, app: str) -> int:
    room: int = found.seen["apps"][app]["headroom"]["memory-mb"]
    return room


def move(app: str, queue: str) -> dict[str, Any]:
    return {"move": {"app": app, "queue": queue}}


# Headroom.


def test_a_moved_application_keeps_the_headroom_of_the_queue_that_it_left_until_its_turn_comes():
    """Of the half that a user may have it has used 1024, which do not count for a any more."""
    found = game(submit("one", "root.a", asks(4)), beat("n1"))
    assert headroom(found, "one") == 9_216
    found.do(move("one", "root.b"))
    assert headroom(found, "one") == 10_240
    found.do(reload(**{"root.a.user-limit-factor": "3"}))  # looks at all, in their new queues
    assert headroom(found, "one") == 9_216


def test_an_application_without_asks_gets_a_headroom_when_its_turn_comes():
    found = game(submit("idle", "root.a"), submit("one", "root.a", asks(1)))
    assert headroom(found, "idle") == 0
    found.do(beat("n1"))
    assert headroom(found, "idle") > 0


def test_resizing_a_node_to_its_own_size_recomputes_limits():
    found = game(submit("idle", "root.a"))
    manager = found.runner._cluster.manager
    size = found.state.nodes["n1"].total
    events = manager.handle(found.runner._cluster.now_ms, NodeResized("n1", size))
    assert LimitsComputed("root") in events
    assert headroom(found, "idle") == 10_240


def test_a_refused_reload_recomputes_limits_and_changes_nothing_else():
    found = game(submit("idle", "root.a"))
    before = found.seen["queues"]
    assert found.refusal(reload(**{"root.a.capacity": "70"}))
    assert headroom(found, "idle") == 10_240
    assert found.seen["queues"] == before


# Users.


def test_a_leaf_has_a_record_of_a_user_that_it_refused_for_a_user_limit():
    found = game(**{"root.a.maximum-applications": "1", "root.a.user-limit-factor": "0.5"})
    assert found.refusal(submit("one", "root.a"))
    assert list(users(found, "root.a")) == ["u"]


def test_a_leaf_has_no_record_of_a_user_that_it_refused_for_its_own_limit():
    found = game(submit("one", "root.a", user="ann"), **{"root.a.maximum-applications": "1"})
    assert found.refusal(submit("two", "root.a"))
    assert list(users(found, "root.a")) == ["ann"]


def test_a_user_record_is_removed_when_the_end_of_a_held_application_reduces_its_count():
    held = {"max-parallel-apps": "1"}
    found = game(submit("one", "root.a", asks(4)), submit("two", "root.a", asks(1)), **held)
    found.do({"kill": "two"})
    assert users(found, "root.a") == {}
    found.do(beat("n1"))
    assert found.on("one") == {}  # a user without a record may have nothing


# Held back by max-parallel-apps.


def test_another_priority_lets_one_that_is_held_back_wait_for_room_for_its_master():
    held = {"max-parallel-apps": "1", "yarn.cluster.max-application-priority": "10"}
    found = game(submit("one", "root.a"), submit("two", "root.a"), **held)
    assert found.seen["queues"]["root.a"]["pending_apps"] == 0
    found.do({"set_priority": {"app": "two", "priority": 3}})
    queue = found.seen["queues"]["root.a"]
    assert (queue["pending_apps"], queue["non_runnable_apps"]) == (1, 1)


def test_an_application_that_is_over_leaves_nothing_behind_whatever_its_priority_did():
    """Hadoop keeps such an application in its list and starts it again, and its room for masters is
    lost.

    There is room for two masters: `two` gets its own for its priority, and then waits for another.
    """
    held = {"max-parallel-apps": "1", "yarn.cluster.max-application-priority": "10"}
    few = {"root.a.maximum-am-resource-percent": "0.1"}
    found = game(submit("one", "root.a"), submit("two", "root.a"), **held, **few)
    found.do({"set_priority": {"app": "two", "priority": 3}}, {"node": {"add": node("n3")}})
    found.do({"node": {"remove": "n3"}}, reload(**{"max-parallel-apps": "5"}))
    queue = found.seen["queues"]["root.a"]
    assert (queue["pending_apps"], queue["running_apps"]) == (1, 2)
    found.do({"kill": "two"}, {"kill": "one"})
    queue = found.seen["queues"]["root.a"]
    assert (queue["pending_apps"], queue["running_apps"]) == (0, 0)


def test_a_master_that_waits_after_a_move_counts_once_when_its_node_is_relabelled():
    """Hadoop counts it on the new partition although the queue has not counted it on the old one:
    the limit there is 1024 more than is used from then on, and 1024 less on the new one."""
    found = Playground([node("n1"), node("n2")], **{"root.b.maximum-am-resource-percent": "0.05"})
    found.do({"labels": {"add": {"x": "exclusive"}}})
    found.do(submit("first", "root.b", am=memory(1024)), beat("n2"))
    found.do(submit("moved", "root.a", am=memory(1024)), beat("n1"), move("moved", "root.b"))
    assert found.seen["apps"]["moved"]["state"] == "PENDING"
    found.do({"labels": {"nodes": {"n1": "x"}}}, {"kill": "moved"})
    assert found.part("root.b", "")["am_used"] == memory(1024)
    assert found.part("root.b", "x")["am_used"] == memory(0)


def test_a_move_that_labels_forbid_does_not_change_the_headroom():
    """In Hadoop it has none on the default partition from then on."""
    found = Playground([node("n1"), node("n2")])
    found.do({"labels": {"add": {"x": "exclusive"}, "nodes": {"n2": "x"}}})
    found.do(submit("one", "root.a", asks(4), asks(4, "x", priority=2)), beat("n1"), beat("n2"))
    before = headroom(found, "one")
    assert found.refusal(move("one", "root.b"))
    assert headroom(found, "one") == before == 13_312


# Moves into its own queue, and orders.


def test_a_move_into_its_own_queue_lets_others_start_first():
    few = {"root.a.maximum-am-resource-percent": "0.05"}
    found = game(submit("one", "root.a"), submit("two", "root.a"), **few)
    assert found.seen["apps"]["two"]["state"] == "PENDING"
    found.do(move("one", "root.a"))
    assert found.seen["apps"]["two"]["state"] == "RUNNING"
    assert found.seen["apps"]["one"]["state"] == "PENDING"


def test_a_reload_discards_changes_that_the_fair_order_has_not_applied():
    """`one` got a container that the order was to apply at the next examination."""
    fair = {"root.a.ordering-policy": "fair"}
    looked = game(submit("one", "root.a", asks(4)), submit("two", "root.a", asks(4)), **fair)
    looked.do(beat("n1"), beat("n2"))
    assert (looked.on("one"), looked.on("two")) == ({"n1": 1}, {"n2": 1})
    forgot = game(submit("one", "root.a", asks(4)), submit("two", "root.a", asks(4)), **fair)
    forgot.do(beat("n1"), reload(**{"root.a.user-limit-factor": "3"}), beat("n2"))
    assert forgot.on("one") == {"n1": 1, "n2": 1}


def test_a_container_has_its_reserved_size_although_the_ask_has_changed():
    found = Playground([node("n1", 4_096), node("n2")], base=HALVES)
    found.do(submit("full", "root.a", asks(3)), beat("n1", 3))
    found.do(submit("big", "root.b", asks(1, mb=3_072)), beat("n1"))
    found.do({"ask": {"app": "big", "asks": [{"count": 1, "resources": memory(1_024)}]}})
    found.do({"finish": {"app": "full", "containers": 3}})
    events = found.runner._cluster.manager.handle(found.runner._cluster.now_ms, NodeBeat("n1"))
    [granted] = [event for event in events if isinstance(event, ContainerAllocated)]
    assert granted.resource[0] == 3_072
    assert found.seen["apps"]["big"]["used"]["memory-mb"] == 1_024  # as Hadoop counts it


# Deliberately different from Hadoop (docs/hadoop-differences.md).

PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption."


def test_leaves_of_one_short_name_do_not_keep_the_monitor_from_its_pass():
    """Hadoop looks leaves up by their short names for this, and the pass ends with an error."""
    monitor = {
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        "yarn.resourcemanager.scheduler.monitor.policies": (
            "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity."
            "ProportionalCapacityPreemptionPolicy"
        ),
        "yarn.cluster.max-application-priority": "10",
        PREEMPTION + "total_preemption_per_round": "1.0",
        PREEMPTION + "natural_termination_factor": "1.0",
        PREEMPTION + "intra-queue-preemption.enabled": "true",
        PREEMPTION + "intra-queue-preemption.preemption-order-policy": "priority_first",
        PREEMPTION + "intra-queue-preemption.minimum-threshold": "0.1",
        PREEMPTION + "intra-queue-preemption.max-allowable-limit": "1.0",
        "root.a.maximum-capacity": "50",
        "root.a.queues": "x",
        "root.b.queues": "x",
        "root.a.x.capacity": "100",
        "root.b.x.capacity": "100",
        "root.a.x.user-limit-factor": "10",
        "root.a.x.maximum-am-resource-percent": "1.0",
    }
    found = Playground([node("n1")], base=HALVES, **monitor)
    found.do(submit("low", "root.a.x", asks(5), priority=1), beat("n1", 5))
    found.do(submit("high", "root.a.x", asks(3), priority=9), {"preempt": 1})
    assert found.seen["apps"]["low"]["to_preempt"] > 0
