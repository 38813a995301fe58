"""What processes of xdist leave out of their reports is what nothing is printed from."""

import pytest
from tests.reports import is_routine


@pytest.mark.parametrize("when", ["setup", "teardown"])
def test_a_part_that_passed_is_routine_but_the_test_itself_is_not(when: str) -> None:
    assert is_routine("testreport", {"data": {"outcome": "passed", "when": when}})
    assert not is_routine("testreport", {"data": {"outcome": "passed", "when": "call"}})


@pytest.mark.parametrize("outcome", ["failed", "skipped"])
@pytest.mark.parametrize("when", ["setup", "call", "teardown"])
def test_whatever_else_became_of_a_part_is_reported(outcome: str, when: str) -> None:
    assert not is_routine("testreport", {"data": {"outcome": outcome, "when": when}})


@pytest.mark.parametrize("name", ["logfinish", "runtest_protocol_complete", "workerfinished"])
def test_a_message_that_the_run_waits_for_is_sent(name: str) -> None:
    assert not is_routine(name, {"item_index": 3})
