"""Runs go on, or end, at what differs knowingly."""

from typing import Any

import pytest
from conformance.differences import without_known

DOCUMENT = {"steps": [{"heartbeat": "all"}, {"heartbeat": "all"}]}


def record(running: int, pending: int, *, over: bool = False) -> dict[str, Any]:
    """Two steps: nothing counts, then so many applications of the leaf `root.a`, which has two."""

    def step(number: int, running: int, pending: int) -> dict[str, Any]:
        queue = {"type": "leaf", "running_apps": running, "pending_apps": pending}
        ended = "KILLED" if over else "PENDING"
        apps = {
            "a": {"state": "RUNNING", "queue": "root.a"},
            "b": {"state": ended, "queue": "root.a"},
        }
        state = {"apps": apps, "queues": {"root.a": queue}}
        return {"step": number, "kind": "heartbeat", "state": state}

    return {"steps": [step(0, 0, 0), step(1, running, pending)]}


def known(theirs: dict[str, Any], ours: dict[str, Any]) -> tuple[int, list[str]]:
    """How many steps are left to compare, and what was found."""
    left, right, found = without_known(DOCUMENT, theirs, ours)
    assert len(left["steps"]) == len(right["steps"])
    return len(left["steps"]), found


def test_a_run_ends_where_an_application_counts_twice_in_hadoop() -> None:
    steps, found = known(record(2, 1), record(1, 1))
    assert steps == 1
    assert "counts twice for root.a" in found[0]


def test_a_run_ends_where_one_that_is_over_counts_in_hadoop() -> None:
    assert known(record(1, 1, over=True), record(1, 0, over=True))[0] == 1


@pytest.mark.parametrize("ours", [(1, 1), (2, 0), (0, 2)])
def test_other_differences_in_the_numbers_of_applications_are_compared(
    ours: tuple[int, int],
) -> None:
    assert known(record(1, 1), record(*ours)) == (2, [])


def test_what_counts_twice_on_both_sides_is_compared() -> None:
    assert known(record(2, 1), record(2, 1)) == (2, [])


def test_what_counts_twice_here_alone_is_compared() -> None:
    assert known(record(1, 1), record(2, 1)) == (2, [])


def served(app: str, *, weight: float = 0.0, policy: str = "drf") -> dict[str, Any]:
    """Two steps: nothing, then a container for an application. `root.q` has a weight, and `a` and
    `b` run beside it, `b2` in the leaf of `b`."""
    queue = {"type": "leaf", "weight": 1.0, "policy": "fair", "used": {"memory-mb": 1024}}
    queues = {
        "root": {**queue, "type": "parent", "policy": policy},
        "root.q": {**queue, "weight": weight, "used": {"memory-mb": 0}},
        "root.a": queue,
        "root.b": queue,
    }
    leaves = {"a": "root.a", "b": "root.b", "b2": "root.b"}
    apps = {name: {"state": "RUNNING", "queue": leaf} for name, leaf in leaves.items()}
    state = {"apps": apps, "queues": queues}
    events = [{"event": "allocated", "app": app, "node": "n1"}]
    steps = [{"step": 0, "state": state}, {"step": 1, "events": events, "state": state}]
    return {"steps": [{"kind": "heartbeat", **step} for step in steps]}


def test_a_run_ends_where_a_share_that_is_not_a_number_changes_the_order() -> None:
    steps, found = known(served("a"), served("b"))
    assert steps == 1
    assert "root.q has the weight 0" in found[0]


@pytest.mark.parametrize(
    ("how", "apps"),
    [
        ({"weight": 0.5}, ("a", "b")),
        ({"policy": "fair"}, ("a", "b")),
        ({}, ("b", "b2")),
    ],
)
def test_an_order_that_numbers_decide_is_compared(
    how: dict[str, Any], apps: tuple[str, str]
) -> None:
    assert known(served(apps[0], **how), served(apps[1], **how)) == (2, [])


def test_the_same_order_is_compared_in_spite_of_a_share_that_is_not_a_number() -> None:
    assert known(served("a"), served("a")) == (2, [])


@pytest.mark.parametrize("ours", [{}, {"error": "root.a.capacity is no number"}])
def test_a_run_ends_where_hadoop_compares_parts_of_different_queues(ours: dict[str, str]) -> None:
    message = (
        "Total of Auto Created leaf queues guaranteed capacity : 0.6 exceeds Parent queue's root.a"
        " guaranteed capacity 0.45.Cannot enforce policy to auto create queues beyond parent"
        " queue's capacity"
    )
    theirs, own = record(1, 1), record(1, 1)
    for side in (theirs, own):
        side["steps"][1]["kind"] = "reload"
    own["steps"][1].update(ours)
    assert known(theirs, own) == (2, [])
    theirs["steps"][1]["error"] = message
    steps, found = known(theirs, own)
    assert steps == 1
    assert "left half-way" in found[0]


def comes_back(state: str, *, error: str | None = None) -> dict[str, Any]:
    """A step in which `x` comes back into a queue that is gone, and one that follows."""
    reported = (
        "Application killed on recovery as it was submitted to queue b which no longer exists"
    )
    apps = {"x": {"state": state, "diagnostics": reported if state == "KILLED" else ""}}
    events = [{"event": "app", "app": "x", "state": state}]
    first = {"step": 0, "kind": "submit", "events": events, "state": {"apps": apps}}
    if error is not None:
        first["error"] = error
    return {"steps": [first, {"step": 1, "kind": "heartbeat", "state": {"apps": apps}}]}


def test_a_recovered_application_of_a_removed_queue_is_left_out_where_hadoop_kills_it() -> None:
    document = {"steps": [{"submit": {"app": "x", "recovering": True}}, {"heartbeat": "all"}]}
    refused = comes_back("REJECTED", error="unknown queue: b")
    left, right, found = without_known(document, comes_back("KILLED"), refused)
    assert [dict(step) for step in left["steps"]] == [dict(step) for step in right["steps"]]
    assert found == ["step 0: x comes back into a queue that is no leaf"]
    assert without_known(document, comes_back("PENDING"), refused)[2] == []
    assert without_known(document, comes_back("KILLED"), comes_back("PENDING"))[2] == []


def test_a_run_ends_where_a_file_is_refused_with_which_hadoop_would_not_start_again() -> None:
    ours = record(1, 1)
    ours["steps"][1]["error"] = (
        "RM uses DefaultResourceCalculator, which looks at memory alone, but there are further"
        " resource types: gpu"
    )
    steps, found = known(record(1, 1), ours)
    assert (steps, len(found)) == (1, 1)
    both = record(1, 1)
    both["steps"][1]["error"] = "RM uses DefaultResourceCalculator"
    assert known(both, ours) == (2, [])


def test_a_run_ends_where_hadoop_refuses_a_move_out_of_a_former_leaf() -> None:
    document = {"steps": [{"heartbeat": "all"}, {"move": {"app": "a", "queue": "root.b"}}]}

    def moved(error: str | None) -> dict[str, Any]:
        found = record(1, 1)
        found["steps"][1]["kind"] = "move"
        if error is not None:
            found["steps"][1]["error"] = error
        return found

    refused = moved("The specified Queue: root.a is not a Leaf Queue.")
    left, _, found = without_known(document, refused, moved(None))
    assert len(left["steps"]) == 1
    assert found == ["step 1: a is moved out of root.a, which is no leaf any longer"]
    target = moved("The specified Queue: root.b is not a Leaf Queue.")
    assert without_known(document, target, moved(None))[2] == []
    assert without_known(document, refused, refused)[2] == []


def test_a_state_that_a_refused_reload_leaves_behind_is_known():
    def step(state, error="refused"):
        queues = {"root.a": {"state": state, "used": {"memory-mb": 1}}}
        step = {
            "step": 1,
            "kind": "reload",
            "state": {"time": 0, "queues": queues, "apps": {}, "nodes": {}},
        }
        return {**step, "error": error} if error else step

    document = {"scheduler": "capacity", "steps": [{"update": 1}, {"reload": {}}]}
    first = {**step("RUNNING", ""), "step": 0, "kind": "update"}

    def found(theirs, own):
        records = ({"steps": [first, theirs]}, {"steps": [first, own]})
        return without_known(document, *records)[2]

    assert "applied in part" in str(found(step("STOPPED"), step("RUNNING")))
    assert "applied in part" not in str(found(step("STOPPED", ""), step("RUNNING", "")))
    assert "applied in part" not in str(found(step("RUNNING"), step("RUNNING")))


def test_a_run_ends_where_a_refused_reload_leaves_applications_out_in_hadoop() -> None:
    def reloaded(running: int, pending: int, error: str | None = "refused") -> dict[str, Any]:
        found = record(running, pending)
        found["steps"][1].update(kind="reload", **({} if error is None else {"error": error}))
        return found

    steps, found = known(reloaded(0, 0), reloaded(1, 1))
    assert (steps, "without its applications" in found[0]) == (1, True)
    assert known(reloaded(0, 0), reloaded(0, 1)) == (2, [])
    assert known(reloaded(0, 0, None), reloaded(1, 1, None)) == (2, [])


def test_an_application_whose_leaf_makes_hadoop_fail_is_left_out() -> None:
    """In the oracle it waits for ever; all others are compared."""
    document = {"steps": [{"heartbeat": "all"}, {"submit": {"app": "b", "user": "ann"}}]}
    theirs, own = record(1, 1), record(1, 0)
    for side in (theirs, own):
        side["steps"][1]["kind"] = "submit"
        side["steps"][1]["state"]["queues"] = {}
    own["steps"][1]["state"]["apps"]["b"]["state"] = "FAILED"
    assert without_known(document, theirs, own) == (theirs, own, [])
    theirs["steps"][1]["error"] = (
        "Min resource configuration <memory:1024, vCores:1> is greater than its max value:"
        "<memory:791, vCores:1> in queue:root.b.ann"
    )
    left, right, found = without_known(document, theirs, own)
    assert left["steps"][1]["state"] == right["steps"][1]["state"]
    assert found == ["step 1: the leaf for b would have amounts above their maximum"]
