"""What Hadoop does when users lose their records, nodes shrink, and siblings have equal keys.

Each of these was found by runs beside Hadoop's own scheduler (docs/conformance.md). Sizes are MB,
the smallest container is 1024.
"""

from typing import Any

import pytest
from tests.unit.core.schedulers.capacity.playground import (
    CAPACITY,
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

from fairshare.core.model.applications import Application
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt
from fairshare.core.schedulers.capacity.orders import application_key
from fairshare.core.schedulers.capacity.queues import CapacityQueue

HELD = {"max-parallel-apps": "1"}
HELD_BY_USER = {"user.max-parallel-apps": "1"}
GPU = "example.com/gpu"
GPUS = {
    **HALVES,
    "yarn.resource-types": GPU,
    CAPACITY + "resource-calculator": (
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
    ),
}


def with_gpus(name: str, gpus: int, mb: int = 10_240) -> dict[str, Any]:
    return {"name": name, "resources": {"memory-mb": mb, "vcores": 100, GPU: gpus}}


def gpu_asks(count: int, gpus: int, mb: int) -> dict[str, Any]:
    return {"count": count, "resources": {**memory(mb), GPU: gpus}, "priority": 1}


def resize(new: dict[str, Any]) -> dict[str, Any]:
    return {"node": {"resize": {"name": new["name"], "resources": new["resources"]}}}


# Users who have lost their record.


def test_a_node_that_changes_its_size_gives_users_of_its_containers_a_record_again():
    """Hadoop subtracts their use there and adds it again, as if the node's partition had
    changed."""
    found = game(submit("one", "root.a", asks(2)), beat("n1"), submit("two", "root.a"), **HELD)
    found.do({"kill": "two"})
    assert users(found, "root.a") == {}
    found.do(resize(node("n2", 8_192)))
    assert users(found, "root.a") == {}
    found.do(resize(node("n1", 8_192)))
    assert users(found, "root.a")["u"]["used"]["memory-mb"] == 0


def test_a_user_above_the_limit_gets_nothing_with_a_new_record_while_nothing_changes():
    """The limit is 1024, and 2048 are used: the last container is granted at the limit."""
    small = {"root.a.user-limit-factor": "0.1"}
    found = game(submit("one", "root.a", asks(9)), submit("two", "root.a"), **HELD, **small)
    found.do(beat("n1", 5))
    assert found.on("one") == {"n1": 2}
    found.do({"kill": "two"})
    assert users(found, "root.a") == {}
    found.do(submit("three", "root.a"), beat("n1"))
    assert users(found, "root.a")["u"]["used"]["memory-mb"] == 0
    assert found.on("one") == {"n1": 2}
    found.do(resize(node("n2", 8_192)), beat("n1"))  # now limits are computed anew
    assert found.on("one") == {"n1": 3}


def test_the_reach_of_a_leaf_is_recorded_for_the_first_application_with_a_user_record():
    """`one`, whose turn comes first, has lost its user's record; of 20480 b has 2048."""
    found = game(
        submit("one", "root.a", asks(1)),
        submit("lost", "root.a"),
        submit("two", "root.a", asks(9, mb=8_192), user="v"),
        submit("other", "root.b", asks(2), user="w"),
        **HELD_BY_USER,
    )
    found.do({"kill": "lost"}, beat("n1", 4))
    assert found.on("other") == {"n1": 2}
    found.do(beat("n1"))
    assert found.state.queues["root.a"].limit[0] == 20_480 - 2_048


# Nodes with negative amounts, and reserved resources of further types.


def test_a_node_with_a_negative_amount_of_a_type_grants_nothing():
    found = Playground([with_gpus("n1", 1), with_gpus("n2", 4)], base=GPUS)
    found.do(submit("one", "root.a", gpu_asks(1, 1, 1_024)), beat("n1"))
    assert found.on("one") == {"n1": 1}
    found.do(resize(with_gpus("n1", 0)), submit("two", "root.b", asks(1)), beat("n1"))
    assert found.on("two") == {}
    found.do({"finish": {"app": "one", "containers": 1}}, beat("n1"))
    assert found.on("two") == {"n1": 1}


def test_of_reservations_above_a_leaf_only_memory_and_vcores_count():
    """Of 3 GPUs 4 are used, 2 of them reserved: without those the root would be below its limit."""
    nodes = [with_gpus("n1", 2), with_gpus("n2", 0), with_gpus("n3", 2, 5_120)]
    found = Playground(nodes, base=GPUS)
    found.do(submit("full", "root.b", asks(1, mb=4_096)), beat("n3"))
    found.do(submit("one", "root.a", gpu_asks(2, 2, 2_048)), beat("n1"), beat("n3"))
    assert found.seen["nodes"]["n3"]["reserved_for"] == "one"
    found.do(resize(with_gpus("n1", 1)))
    found.do(submit("two", "root.b", asks(1)), beat("n2"))
    assert found.seen["apps"]["two"]["headroom"]["memory-mb"] == 0  # it never was its turn
    assert found.on("two") == {}
    found.do(resize(with_gpus("n1", 2)), beat("n2"))
    assert found.on("two") == {"n2": 1}


# Added nodes, and masters that wait for room.

ALONE = {
    CAPACITY + "maximum-am-resource-percent": "0.25",
    CAPACITY + "root.queues": "a",
    CAPACITY + "root.a.capacity": "100",
    CAPACITY + "root.a.user-limit-factor": "0.5",
    CAPACITY + "root.a.minimum-user-limit-percent": "1",
}


def one_runs_and_two_wait() -> Playground:
    """Of 4096 masters may have 1024; `bob` only waits, and counts for each user's limit."""
    found = Playground([node("n1", 4_096)], base=ALONE)
    found.do(submit("one", "root.a", asks(9), user="ann"), submit("two", "root.a", user="bob"))
    found.do(beat("n1"), submit("three", "root.a", user="ann"))
    assert found.seen["queues"]["root.a"]["running_apps"] == 1
    return found


@pytest.mark.parametrize(
    "change",
    [{"node": {"add": node("n2", 8_192)}}, resize(node("n1", 12_288))],
    ids=["add", "resize"],
)
def test_a_master_that_did_not_fit_while_another_user_waited_starts_after_a_change_of_nodes(
    change: dict[str, Any],
) -> None:
    """Masters may have 3072 then. In a first pass two users count, and each may have 768, which is
    1024; when `bob` has started only `ann` counts, and may have 1536, which is 2048. Hadoop makes
    a second pass."""
    found = one_runs_and_two_wait()
    found.do(change)
    assert found.seen["queues"]["root.a"]["running_apps"] == 3


# A leaf at its limit, and applications with reservations to release.


def only_on(host: str, mb: int) -> dict[str, Any]:
    return {**asks(1, mb=mb), "hosts": [host], "relax": False}


@pytest.mark.parametrize("between", [False, True], ids=["nobody between", "one who rests between"])
def test_an_application_without_asks_and_reservations_ends_the_search_in_a_full_leaf(
    between: bool,
) -> None:
    """a may have 6144 and has reserved them: 2048 for `one` on n1, 4096 for `three` on n3, which
    may take n2 instead if its turn comes."""
    nodes = [node(name, 4_096) for name in ("n1", "n2", "n3")]
    half = {"root.a.maximum-capacity": "50"}
    found = Playground(nodes, submit("full", "root.b", asks(6)), base=HALVES, **half)
    found.do(beat("n1", 3), beat("n3", 3), submit("one", "root.a", only_on("n1", 2_048)))
    if between:
        found.do(submit("two", "root.a"))
    found.do(submit("three", "root.a", asks(1, mb=4_096)), beat("n1"), beat("n3"))
    reserved = {name: part["reserved_for"] for name, part in found.seen["nodes"].items()}
    assert reserved == {"n1": "one", "n2": None, "n3": "three"}
    found.do(beat("n2"))
    assert found.on("three") == ({} if between else {"n2": 1})


# Reloads.

LEVEL = {
    CAPACITY + "maximum-am-resource-percent": "1.0",
    CAPACITY + "root.queues": "c",
    CAPACITY + "root.c.capacity": "100",
    CAPACITY + "root.c.queues": "a",
    CAPACITY + "root.c.a.capacity": "100",
    CAPACITY + "root.c.a.queues": "a,b",
    CAPACITY + "root.c.a.a.capacity": "50",
    CAPACITY + "root.c.a.b.capacity": "50",
}


def test_a_reload_puts_siblings_with_equal_keys_into_the_order_of_a_hash_map():
    """`root.c.a.b` comes before `root.c.a.a` in a table of 16."""
    both = submit("one", "root.c.a.a", asks(1)), submit("two", "root.c.a.b", asks(1))
    before = Playground([node("n1")], *both, beat("n1"), base=LEVEL)
    assert (before.on("one"), before.on("two")) == ({"n1": 1}, {})
    again = reload(**{"root.c.a.b.user-limit-factor": "3"})
    after = Playground([node("n1")], *both, again, beat("n1"), base=LEVEL)
    assert (after.on("one"), after.on("two")) == ({}, {"n1": 1})


def test_only_a_reload_detects_a_percentage_before_an_amount():
    """An amount hides the percentages that come before it."""
    amount = "[memory=5120,vcores=100]"
    mixed = {"root.c.a.a.capacity": "3", "root.c.a.b.capacity": amount}
    above = dict.fromkeys(("root.c.capacity", "root.c.a.capacity"), "[memory=10240,vcores=200]")
    Playground([node("n1")], base=LEVEL, **mixed, **above)
    amounts = {**mixed, "root.c.a.a.capacity": amount}
    found = Playground([node("n1")], base=LEVEL, **amounts, **above)
    refusal = found.refusal(reload(**{"root.c.a.a.capacity": "3"}))
    assert refusal is not None
    assert "mixed modes" in refusal


# Deliberately different from Hadoop (docs/hadoop-differences.md).


@pytest.mark.parametrize("end", ["finish", "release"])
def test_an_application_waiting_after_a_move_does_not_start_because_its_container_has_ended(
    end: str,
) -> None:
    """In Hadoop's fair order it does: a changed application is added to the active ones in any
    case. So it has started without room for its master, and still waits."""
    fair = {"root.b.ordering-policy": "fair", "root.b.maximum-am-resource-percent": "0.05"}
    found = game(submit("one", "root.b"), submit("two", "root.a", asks(9)), beat("n1"), **fair)
    found.do({"move": {"app": "two", "queue": "root.b"}})
    found.do({end: {"app": "two", "containers": 1}}, beat("n1"))
    queue = found.seen["queues"]["root.b"]
    assert (queue["running_apps"], queue["pending_apps"]) == (1, 1)
    assert found.on("two") == {}


def test_asks_of_a_new_master_recompute_the_limits_of_other_users_at_once() -> None:
    """Of the 2048 in turn `ann` may have 1024 when `new` asks as well. Then her record is removed,
    since the end of `held`, which max-parallel-apps holds back, reduces her count too far, and so
    the other user has the room alone; but that is no reason to recompute limits. Hadoop recomputes
    them at a master's heartbeat: here as if `one` had sent it between the two inputs."""
    few = {"user.max-parallel-apps": "1", "root.a.minimum-user-limit-percent": "1"}
    found = game(submit("one", "root.a", asks(8), user="ann"), **few)
    found.do(submit("held", "root.a", user="ann"), beat("n1"))
    assert found.seen["apps"]["one"]["headroom"]["memory-mb"] == 1_024
    found.do(submit("new", "root.a", asks(1), user="bob"))
    assert found.seen["apps"]["one"]["headroom"]["memory-mb"] == 0
    found.do({"move": {"app": "held", "queue": "root.a"}})
    assert found.seen["apps"]["one"]["headroom"]["memory-mb"] == 0


def test_an_application_admitted_after_a_move_frees_its_slot_when_it_ends() -> None:
    """`two` comes after `three` in b since its move, and first among its user's waiting
    applications. So Hadoop finds it twice in one pass: it starts it, then finds that no other may
    start, `two` as well. It continues, marked as held back, and its slot is lost when it ends."""
    one_place = {"root.b.max-parallel-apps": "1", "user.max-parallel-apps": "1"}
    found = game(submit("one", "root.b"), submit("two", "root.b"), **one_place)
    found.do(submit("three", "root.b", user="v"), {"move": {"app": "two", "queue": "root.b"}})
    found.do({"kill": "one"})
    states = {name: app["state"] for name, app in found.seen["apps"].items()}
    assert states == {"one": "KILLED", "two": "RUNNING", "three": "PENDING"}
    found.do({"kill": "two"})
    assert found.seen["apps"]["three"]["state"] == "RUNNING"


@pytest.mark.parametrize(("demand", "magnitude"), [(-1024, -512.0), (0, -512.0), (3, -256.0)])
def test_a_size_based_order_knows_demands_below_zero(demand, magnitude):
    """What Hadoop counts as used may be negative after a reservation of another size."""
    leaf = CapacityQueue("root.a", True, False, None, (0, 0))
    leaf.policy, leaf.size_based = "fair", True
    application = Application(1, SubmitApplication("u"), "root.a", 0, 0, 2)
    found = CapacityAttempt(application, 1, leaf)
    found.size, found.demand = -512, demand
    assert application_key(leaf, found)[0] == magnitude


# Queues that a reload removes.

WITHOUT_A = {"root.queues": "b", "root.b.capacity": "100"}


def test_a_queue_that_the_new_file_stops_may_be_removed_at_once():
    found = game()
    assert "not yet in stopped state" in (found.refusal(reload(**WITHOUT_A)) or "")
    found.do(reload(**WITHOUT_A, **{"root.a.state": "STOPPED"}))
    assert "root.a" not in found.seen["queues"]


STOPPED_A = {"root.a.state": "STOPPED"}
PARENT_A = {"root.a.queues": "x", "root.a.x.capacity": "100", **STOPPED_A}


def test_applications_in_a_removed_queue_continue_and_get_no_more_containers():
    found = game(submit("one", "root.a", asks(9)), beat("n1"))
    before = found.seen["apps"]["one"]
    assert before["containers"] < 10  # it asks for more
    found.do(reload(**WITHOUT_A, **STOPPED_A), beat("n1"))
    assert "root.a" not in found.seen["queues"]
    one = found.seen["apps"]["one"]
    assert (one["queue"], one["state"], one["containers"]) == (
        "root.a", "RUNNING", before["containers"],
    )  # fmt: skip
    assert found.seen["queues"]["root"]["used"]["memory-mb"] > 0
    found.do({"finish": "one"})
    assert found.seen["queues"]["root"]["used"]["memory-mb"] == 0


def test_a_stopped_leaf_with_applications_becomes_a_parent_and_they_stay_where_they_were():
    found = game(submit("one", "root.a", asks(1)), beat("n1"))
    assert "not yet in stopped state" in (
        found.refusal(reload(**{**PARENT_A, "root.a.state": "RUNNING"})) or ""
    )
    found.do(reload(**PARENT_A))
    queues = found.seen["queues"]
    assert found.seen["apps"]["one"]["queue"] == "root.a"
    assert queues["root.a"]["used"]["memory-mb"] == 0
    assert queues["root"]["used"]["memory-mb"] > 0
    found.do({"move": {"app": "one", "queue": "root.b"}}, {"finish": "one"})
    assert found.seen["queues"]["root"]["used"]["memory-mb"] == 0


def test_a_removed_queue_can_be_created_again_after_its_applications_have_ended():
    """Deliberately different from Hadoop: no application's use may count for two queues."""
    found = game(submit("one", "root.a", asks(1)), beat("n1"))
    found.do(reload(**WITHOUT_A, **STOPPED_A))
    back = reload(**{"root.queues": "a,b", "root.b.capacity": "50", "root.a.state": "RUNNING"})
    assert "root.a cannot be a leaf again yet" in (found.refusal(back) or "")
    found.do({"kill": "one"}, back, submit("two", "root.a"))
    assert found.seen["queues"]["root.a"]["state"] == "RUNNING"


# Siblings of different units.


def test_without_the_legacy_mode_the_larger_part_is_served_first_whatever_its_unit():
    """No queue uses anything: b's 60 % of 20480 come before a's 6144, which is less."""
    found = game(
        submit("one", "root.a", asks(1)),
        submit("two", "root.b", asks(1)),
        beat("n1"),
        **{
            "legacy-queue-mode.enabled": "false",
            "root.a.capacity": "[memory=6144,vcores=6]",
            "root.b.capacity": "60",
        },
    )
    assert (found.on("one"), found.on("two")) == ({}, {"n1": 1})
