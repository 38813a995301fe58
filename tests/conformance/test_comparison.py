from typing import Any

from conformance.comparison import compare


def step(events: list[dict[str, Any]] | None = None, **changes: Any) -> dict[str, Any]:
    """A step with one application and one queue; `changes` are the queue's."""
    state = {
        "apps": {"a": {"state": "RUNNING", "used": {"memory-mb": 1024}}},
        "queues": {"root": {"used": {"memory-mb": 1024}, "weight": 1.0, **changes}},
        "nodes": {},
    }
    return {"step": 0, "kind": "heartbeat", "events": events or [], "state": state}


def record(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"steps": list(steps)}


ALLOCATED = {"event": "allocated", "app": "a", "node": "n1", "container": 1}


def test_equal_records_are_identical() -> None:
    assert compare(record(step([ALLOCATED])), record(step([ALLOCATED]))).identical


def test_numbers_of_containers_and_wording_are_not_compared() -> None:
    other = {**ALLOCATED, "container": 7, "why": "because"}
    assert compare(record(step([ALLOCATED])), record(step([other]))).identical


def test_another_node_is_another_decision() -> None:
    verdict = compare(record(step([ALLOCATED])), record(step([{**ALLOCATED, "node": "n2"}])))
    assert verdict.decision is not None
    assert "event 0" in str(verdict.decision)
    assert verdict.state is None


def test_one_event_more_is_another_decision() -> None:
    verdict = compare(record(step()), record(step([ALLOCATED])))
    assert verdict.decision is not None
    assert verdict.decision.oracle is None


def test_a_refusal_on_one_side_is_another_decision() -> None:
    refused = {**step(), "error": "no"}
    assert compare(record(refused), record(step())).decision is not None
    assert compare(record(refused), record({**step(), "error": "other words"})).identical


def test_another_amount_is_another_state_and_no_other_decision() -> None:
    verdict = compare(record(step()), record(step(used={"memory-mb": 2048})))
    assert verdict.decision is None
    assert verdict.state is not None
    assert verdict.state.where == "queues.root.used"


def test_an_amount_that_is_not_named_is_zero() -> None:
    ours = record(step(used={"memory-mb": 1024, "vcores": 0}))
    assert compare(record(step()), ours).identical


def test_keys_that_the_oracle_does_not_record_are_not_compared() -> None:
    assert compare(record(step()), record(step(demand={"memory-mb": 1}))).identical
    assert not compare(record(step(demand={"memory-mb": 1})), record(step())).identical


def test_amounts_count_what_a_hash_map_chose() -> None:
    first = {"event": "marked", "app": "a"}
    completed = {"event": "completed", "app": "a", "node": "n1"}
    elsewhere = {**completed, "node": "n2"}
    left, right = record(step([first, completed])), record(step([elsewhere, first]))
    assert not compare(left, right).identical
    assert compare(left, right, amounts=True).identical
    assert not compare(left, record(step([first, first])), amounts=True).identical


def test_a_configuration_that_one_side_refuses_differs_at_the_start() -> None:
    verdict = compare({"error": "bad"}, record(step()))
    assert verdict.first is not None
    assert verdict.first.step is None
    assert compare({"error": "bad"}, {"error": "worse"}).identical


def test_a_failure_of_ours_is_a_difference() -> None:
    verdict = compare(record(step()), {"steps": [], "crash": "Traceback\nKeyError: 1"})
    assert verdict.first is not None
    assert verdict.first.signature == "crash KeyError: 1"
