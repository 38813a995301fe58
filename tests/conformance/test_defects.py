"""Where a defect of Hadoop's shows, and where something else differs that must be compared."""

from typing import Any

import pytest
from conformance.defects import Both, found

App = dict[str, Any]
GRANT = {"event": "allocated", "app": "x", "node": "n1", "priority": 1}
SELECTS = {"yarn.resourcemanager.monitor.x.select_based_on_reserved_containers": "true"}


def app(state: str, leaf: str = "root.a", containers: int = 1, **more: Any) -> App:
    return {"state": state, "queue": leaf, "containers": containers, **more}


def step(
    x: App,
    counts: tuple[int, int, int],
    kind: str = "heartbeat",
    events: list[dict[str, Any]] | None = None,
    policy: str = "fair",
) -> dict[str, Any]:
    """A step with the applications x and y, which is held back, both in root.a; `counts` are those
    that run, that wait for room and that are held back in its books."""
    keys = ("running_apps", "pending_apps", "non_runnable_apps")
    queue = {"type": "leaf", "policy": policy, **dict(zip(keys, counts, strict=True))}
    state = {
        "apps": {"x": x, "y": app("PENDING", containers=0)},
        "queues": {"root.a": queue},
        "nodes": {"n1": {"reserved_for": "y"}, "n2": {"reserved_for": None}},
    }
    return {"kind": kind, "events": events or [], "state": state}


def judged(
    before: dict[str, Any],
    theirs: dict[str, Any],
    ours: dict[str, Any],
    *steps: dict[str, Any],
    ours_before: dict[str, Any] | None = None,
    properties: dict[str, str] | None = None,
) -> str | None:
    """What is found at the last of the document's steps."""
    reported = [*steps, {theirs["kind"]: "all"}] if theirs["kind"] != "move" else list(steps)
    document = {"steps": reported, "properties": properties or {}}
    count = len(reported) - 1
    left = [before] * count + [theirs]
    right = [ours_before or before] * count + [ours]
    return found(Both(document, count, left, right))


PRIORITY = {"set_priority": {"app": "x", "priority": 3}}
MOVE = {"move": {"app": "x", "queue": "root.a"}}
TWICE = step(app("PENDING"), (1, 1, 1))


def test_an_application_that_stood_in_two_lists_leaves_an_entry_behind() -> None:
    over = app("FINISHED")
    known = judged(
        TWICE, step(over, (1, 0, 1), "finish"), step(over, (0, 0, 1), "finish"), PRIORITY
    )
    assert known == "x stood in two lists of root.a, and one still has it"
    again = app("PENDING", containers=0, attempt=2)
    known = judged(TWICE, step(again, (1, 0, 2), "node"), step(again, (0, 0, 2), "node"), PRIORITY)
    assert known is not None
    moved = app("PENDING")
    known = judged(
        TWICE, step(moved, (1, 1, 1), "move"), step(moved, (1, 0, 1), "move"), PRIORITY, MOVE
    )
    assert known is not None


@pytest.mark.parametrize(
    ("before", "theirs", "ours", "reported"),
    [
        (TWICE, (1, 0, 1), (0, 0, 1), {"ask": {"app": "x"}}),  # no priority was given
        (TWICE, (0, 0, 1), (0, 0, 0), PRIORITY),  # we have lost one
        (TWICE, (0, 0, 1), (1, 0, 1), PRIORITY),  # we have one too many
        (step(app("PENDING"), (1, 0, 1)), (1, 0, 1), (0, 0, 1), PRIORITY),  # it was in one list
        (step(app("RUNNING"), (1, 1, 1)), (1, 0, 1), (0, 0, 1), PRIORITY),  # it did not wait
    ],
)
def test_other_numbers_in_a_leaf_are_compared(
    before: dict[str, Any],
    theirs: tuple[int, int, int],
    ours: tuple[int, int, int],
    reported: dict[str, Any],
) -> None:
    over = app("FINISHED")
    assert (
        judged(before, step(over, theirs, "finish"), step(over, ours, "finish"), reported) is None
    )


def test_an_application_with_an_entry_left_that_has_not_left_its_leaf_is_compared() -> None:
    waits = app("PENDING")
    assert judged(TWICE, step(waits, (2, 1, 1)), step(waits, (1, 1, 1)), PRIORITY) is None


WAITS = step(app("PENDING"), (0, 1, 1))


def test_one_that_waits_and_is_served_in_a_fair_leaf_after_a_move() -> None:
    theirs = step(app("PENDING", containers=2), (0, 1, 1), events=[GRANT])
    assert judged(WAITS, theirs, WAITS, MOVE) == "x is served though it waits"


@pytest.mark.parametrize(
    ("theirs", "ours", "reported"),
    [
        (step(app("PENDING"), (0, 1, 1), events=[GRANT]), WAITS, PRIORITY),  # it was not moved
        (step(app("RUNNING"), (1, 0, 1), events=[GRANT]), WAITS, MOVE),  # it waits no longer
        (step(app("PENDING"), (0, 1, 1), events=[GRANT], policy="fifo"), WAITS, MOVE),
        (WAITS, step(app("PENDING"), (0, 1, 1), events=[GRANT]), MOVE),  # we serve it
    ],
)
def test_other_grants_are_compared(
    theirs: dict[str, Any], ours: dict[str, Any], reported: dict[str, Any]
) -> None:
    assert judged(WAITS, theirs, ours, reported) is None


def test_one_that_waits_is_served_though_its_last_container_has_ended_some_steps_before() -> None:
    rests = step(app("PENDING", containers=0), (0, 1, 1))
    theirs = step(app("PENDING"), (0, 1, 1), events=[GRANT])
    released = step(
        app("PENDING", containers=0),
        (0, 1, 1),
        "release",
        [{"event": "completed", "app": "x", "node": "n1"}],
    )
    reported = [MOVE, {"release": {"app": "x"}}, {"advance": 1}, {"heartbeat": "all"}]

    def after(*steps: dict[str, Any]) -> str | None:
        return found(Both({"steps": reported, "properties": {}}, 3, [*steps, theirs], [rests] * 4))

    assert after(WAITS, released, rests) == "x is served though it waits"
    assert after(WAITS, rests, rests) is None
    assert after(released, rests, rests) is None  # the move came after the end


def test_a_wait_with_grants_on_both_sides_is_compared() -> None:
    served = step(app("PENDING"), (0, 1, 1), events=[GRANT])
    other = step(app("PENDING"), (0, 1, 1), events=[GRANT, {**GRANT, "app": "y"}])
    assert judged(WAITS, served, other, MOVE) is None


def test_one_that_runs_and_is_listed_as_waiting_after_a_move() -> None:
    held = step(app("PENDING"), (0, 0, 2))
    theirs, ours = step(app("PENDING"), (1, 0, 1)), step(app("RUNNING"), (1, 0, 1))
    assert judged(held, theirs, ours, MOVE) == "x runs, and Hadoop lists it as waiting"
    assert judged(held, theirs, ours, PRIORITY) is None
    # Hadoop's lists have it: it waits there, and here it runs.
    assert (
        judged(held, step(app("PENDING"), (0, 0, 2)), step(app("RUNNING"), (0, 0, 2)), MOVE) is None
    )
    assert judged(held, theirs, step(app("RUNNING"), (2, 0, 1)), MOVE) is None


def marking(on: str, *chosen: str) -> dict[str, Any]:
    """A round that chooses containers of x, which is in root.b.a and has one on a node."""
    x = app("RUNNING", "root.b.a", on={on: 1})
    events = [{"event": "marked", "app": name} for name in chosen]
    made = step(x, (1, 0, 1), "preempt", events)
    made["state"]["queues"]["root.b.a"] = {"type": "leaf"}
    return made


def test_a_leaf_with_the_short_name_of_another_queue_gives_nothing_on_reserved_nodes() -> None:
    before, ours = marking("n1"), marking("n1", "x")
    known = judged(before, marking("n1"), ours, MOVE, properties=SELECTS)
    assert known == "containers of root.b.a on reserved nodes are passed over for its short name"


def test_other_choices_of_a_round_are_compared() -> None:
    before, ours = marking("n1"), marking("n1", "x")
    assert judged(before, marking("n1"), ours, MOVE) is None  # nobody selects for reservations
    assert judged(before, ours, before, MOVE, properties=SELECTS) is None  # Hadoop takes more
    elsewhere = marking("n2")
    assert judged(elsewhere, elsewhere, marking("n2", "x"), MOVE, properties=SELECTS) is None
    for one in (before, ours):
        del one["state"]["queues"]["root.a"]  # no other queue is called a
    assert judged(before, before, ours, MOVE, properties=SELECTS) is None
