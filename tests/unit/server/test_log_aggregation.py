"""The status of an application's logs, from what its nodes report."""

import pytest

from fairshare.runtime.projections.application_versions import UnrecordedChanges
from fairshare.server.log_aggregation import LogAggregation


@pytest.fixture
def changes():
    return UnrecordedChanges()


@pytest.fixture
def logs(changes):
    made = LogAggregation(changes)
    made.enabled, made.timeout_ms = True, 1_000
    made.runs(1, "a")
    made.runs(1, "b")
    return made


def test_a_cluster_without_aggregation_says_so(changes):
    logs = LogAggregation(changes)
    logs.runs(1, "a")
    logs.reported(1, "a", "SUCCEEDED")
    assert (logs.status(1), changes.version) == ("DISABLED", 0)


def test_logs_have_not_started_until_the_first_node_reports_them(logs):
    assert (logs.status(1), logs.status(2)) == ("NOT_START", "NOT_START")
    logs.reported(1, "a", "RUNNING")
    assert logs.status(1) == "RUNNING"
    logs.reported(1, "b", "RUNNING_WITH_FAILURE")
    assert logs.status(1) == "RUNNING_WITH_FAILURE"


@pytest.mark.parametrize("last", ["SUCCEEDED", "FAILED"])
def test_logs_are_final_when_the_application_is_over_and_all_nodes_are_ready(logs, last):
    logs.reported(1, "a", last)
    logs.ended(1, 0)
    assert logs.status(1) == "RUNNING"
    logs.reported(1, "b", "SUCCEEDED")
    assert logs.status(1) == last
    logs.reported(1, "c", "RUNNING")
    logs.runs(1, "c")
    assert logs.status(1) == last


def test_nodes_may_be_ready_before_the_end_of_the_application(logs):
    logs.reported(1, "a", "SUCCEEDED")
    logs.reported(1, "b", "SUCCEEDED")
    assert logs.status(1) == "RUNNING"
    logs.ended(1, 0)
    assert logs.status(1) == "SUCCEEDED"


def test_a_node_that_does_not_report_in_time_is_waited_for_no_longer(logs):
    logs.reported(1, "a", "SUCCEEDED")
    logs.runs(2, "a")
    logs.ended(1, 500)
    logs.expire(1_499)
    assert logs.status(1) == "RUNNING"
    logs.expire(1_500)
    assert (logs.status(1), logs.status(2)) == ("TIME_OUT", "NOT_START")


def test_changes_are_found_by_the_version_before_them(logs, changes):
    version = changes.version
    logs.runs(2, "a")
    logs.reported(1, "a", "RUNNING")
    logs.reported(1, "a", "RUNNING")
    assert changes.since(version) == [1, 2]
    assert changes.since(changes.version) == []


def test_nothing_is_kept_of_an_application_that_is_forgotten(logs):
    logs.ended(1, 0)
    logs.forget(1)
    logs.expire(10_000)
    assert logs.status(1) == "NOT_START"
