"""What Hadoop decides in several ways from run to run is told from what differs."""

from typing import Any

from conformance.repetition import settle

DOCUMENT: dict[str, Any] = {"steps": [{"preempt": 1}] * 3}


def record(*marked: str) -> dict[str, Any]:
    """A record with one application chosen from in each step; `-`: nothing is chosen."""
    state: dict[str, Any] = {"apps": {}, "queues": {}, "nodes": {}}
    steps = []
    for number, app in enumerate(marked):
        events = [] if app == "-" else [{"event": "marked", "app": app, "container": 1}]
        steps.append({"step": number, "kind": "preempt", "events": events, "state": state})
    return {"steps": steps}


def settled(ours: dict[str, Any], *theirs: dict[str, Any]) -> tuple[int | None, str | None]:
    """The step at which ours parts from the nearest record, and what is said of chance."""
    nearest, chance = settle(DOCUMENT, theirs, ours, amounts=True)
    first = nearest.verdict.first
    return None if first is None else first.step, chance


def test_ours_may_agree_with_another_run_of_hadoop_than_the_first() -> None:
    found = settled(record("a", "b", "a"), record("a", "a", "a"), record("a", "b", "a"))
    assert found == (None, "as another run of Hadoop's")


def test_ours_may_part_where_runs_of_hadoop_part() -> None:
    found = settled(record("a", "c", "a"), record("a", "a", "a"), record("a", "b", "a"))
    assert found == (1, "at step 1, as Hadoop's own runs do")


def test_what_hadoop_decides_the_same_each_time_differs() -> None:
    same = record("a", "b", "a")
    assert settled(record("a", "b", "-"), same, same, same) == (2, None)


def test_runs_of_hadoop_that_diverge_at_another_step_excuse_no_difference() -> None:
    ours = record("a", "c", "a")
    assert settled(ours, record("b", "b", "a"), record("a", "b", "a")) == (1, None)
    assert settled(ours, record("a", "b", "a"), record("a", "b", "b")) == (1, None)


def test_a_refused_configuration_is_never_by_chance() -> None:
    refused = {"name": "x", "steps": [], "error": "no"}
    assert settled(record("a", "b", "a"), refused, refused) == (None, None)
    nearest, _ = settle(DOCUMENT, [refused, refused], record("a", "b", "a"), amounts=True)
    assert nearest.verdict.decision is not None
