"""What a round of the monitor counts as selected, and for how long.

The rules that can be tested from outside are in `tests/scenarios/own/preemption`; each of those
files ran on Hadoop as well.
"""

from typing import Any

from tests.unit.core.schedulers.capacity.playground import (
    HALVES,
    Playground,
    asks,
    beat,
    node,
    submit,
)

from fairshare.core.schedulers.capacity.preemption.ideal import Claim
from fairshare.core.schedulers.capacity.preemption.selection import Selection

MONITOR = "yarn.resourcemanager.monitor.capacity.preemption."
PREEMPTED_HALVES = {
    "yarn.resourcemanager.scheduler.monitor.enable": "true",
    "yarn.resourcemanager.scheduler.monitor.policies": (
        "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity."
        "ProportionalCapacityPreemptionPolicy"
    ),
    MONITOR + "total_preemption_per_round": "1.0",
    MONITOR + "natural_termination_factor": "1.0",
    MONITOR + "max_wait_before_kill": "15000",
    **HALVES,
}


def starving(**properties: str | None) -> Playground:
    """A node of eight containers, all of them a's, and b asks for three."""
    found = Playground([node("n1", 8_192)], base=PREEMPTED_HALVES, **properties)
    found.do(submit("one", "root.a", asks(8)), beat("n1", 8), submit("two", "root.b", asks(3)))
    return found


def chosen(found: Playground) -> int:
    number: int = found.seen["apps"]["one"]["to_preempt"]
    return number


def test_selected_containers_stay_selected_while_the_monitor_only_observes():
    found = starving()
    found.do({"preempt": 1})
    assert chosen(found) == 3
    only = {"reload": {"properties": {MONITOR + "observe_only": "true"}}}
    found.do({"kill": "two"}, only, {"advance": "60s"}, {"preempt": 1})
    assert chosen(found) == 3
    found.do({"reload": {"properties": {MONITOR + "observe_only": "false"}}}, {"preempt": 1})
    assert chosen(found) == 0


def test_a_balance_wait_of_zero_means_the_wait_of_the_others():
    """What is selected beyond the guarantees is spared for 15 s then, not for 0 s."""
    balance = MONITOR + "preemption-to-balance-queue-after-satisfied."
    more: dict[str, Any] = {
        balance + "enabled": "true",
        balance + "max-wait-before-kill": "0",
        "root.queues": "a,b,c",
        "root.a.capacity": "25",
        "root.b.capacity": "25",
        "root.c.capacity": "50",
        "root.a.user-limit-factor": "9",
        "root.b.user-limit-factor": "9",
    }
    found = Playground([node("n1", 8_192)], base=PREEMPTED_HALVES, **more)
    found.do(submit("one", "root.a", asks(6)), beat("n1", 6))
    found.do(submit("two", "root.b", asks(2)), beat("n1", 2), submit("more", "root.b", asks(6)))
    found.do({"preempt": 1})
    first = chosen(found)
    assert first > 0
    found.do({"advance": "14s"}, {"preempt": 1})
    assert found.on("one") == {"n1": 6}
    found.do({"advance": "1s"}, {"preempt": 1})
    assert found.on("one") == {"n1": 6 - first}


def test_a_reservation_that_is_taken_counts_as_chosen_from_its_application_and_its_leaf():
    found = Playground([node("n1", 8_192), node("n2", 8_192)], base=PREEMPTED_HALVES)
    found.do(submit("full", "root.a", asks(7)), beat("n1", 7))
    found.do(submit("one", "root.a", asks(1, mb=2_048)), beat("n1"))
    attempt = found.state.attempts[2]
    assert list(attempt.reservations) == ["n1"]
    selection = Selection(found.state, found.state.total)
    claims = {
        leaf.queue.name: leaf for leaf in Claim(found.state, found.state.root, "", None).leaves()
    }
    assert selection.chosen_from(claims["root.a"]) == []
    selection.reserved["n1"] = None
    size = attempt.reservations["n1"].resource
    assert selection.chosen_of(attempt, "") == [size]
    assert selection.chosen_of(found.state.attempts[1], "") == []
    assert selection.chosen_from(claims["root.a"]) == [size]
    assert selection.chosen_from(claims["root.b"]) == []


def test_containers_on_a_reserved_node_go_though_another_queue_has_the_short_name_of_their_leaf():
    """Deliberate: Hadoop looks up their leaf by that name, and finds neither of the two."""
    more = {
        MONITOR + "select_based_on_reserved_containers": "true",
        "root.queues": "a,b",
        "root.b.queues": "a,c",
        "root.b.a.capacity": "50",
        "root.b.c.capacity": "50",
        "root.b.c.user-limit-factor": "9",
    }
    nodes = [node("n1", 5_120), node("n2", 4_096), node("n3", 1_024)]
    found = Playground(nodes, base=PREEMPTED_HALVES, **more)
    found.do(submit("one", "root.a", asks(8)), beat("n1", 4), beat("n2", 4))
    found.do(submit("two", "root.b.c", asks(1, mb=2_048)), beat("n1"))
    assert found.seen["nodes"]["n1"]["reserved_for"] == "two"
    found.do({"preempt": 1})
    assert chosen(found) == 1
