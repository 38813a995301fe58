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
