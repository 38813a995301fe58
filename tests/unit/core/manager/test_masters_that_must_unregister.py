"""A master that must unregister fails if it exits without, whatever its exit code, as in YARN."""

import pytest
from tests.unit.core.manager.test_kept_containers import SETTINGS, Cluster

from fairshare.core.model.events import ApplicationState
from fairshare.core.model.inputs import ContainerExited, SubmissionDetails, UnregisterMaster

MUST_WITHIN_10_S = SubmissionDetails(
    must_unregister=True, max_attempts=2, failures_validity_ms=10_000
)
MUST = SubmissionDetails(must_unregister=True, max_attempts=2)


@pytest.fixture(params=sorted(SETTINGS))
def kind(request):
    return request.param


def test_exit_code_zero_alone_is_a_failed_attempt(kind):
    cluster = Cluster(kind, MUST)
    application = cluster.application
    cluster.feed(ContainerExited(application.attempt.master, 0))
    assert application.state != ApplicationState.FINISHED
    assert (application.attempt.number, application.failed_attempts) == (2, 1)


def test_the_last_failed_attempt_fails_the_application(kind):
    cluster = Cluster(kind, MUST)
    cluster.feed(ContainerExited(cluster.application.attempt.master, 0))
    cluster.settle()
    cluster.feed(ContainerExited(cluster.application.attempt.master, 0))
    assert cluster.application.state == ApplicationState.FAILED


def test_failures_older_than_the_validity_interval_do_not_count(kind):
    cluster = Cluster(kind, MUST_WITHIN_10_S)
    application = cluster.application
    for attempt in range(1, 6):
        assert (application.attempt.number, application.over) == (attempt, False)
        cluster.feed(ContainerExited(application.attempt.master, 1))
        cluster.now_ms += 10_000
        cluster.settle()
    assert application.failed_attempts == 5
    cluster.now_ms += 10_000
    cluster.feed(ContainerExited(application.attempt.master, 1))
    cluster.settle()
    cluster.now_ms += 9_000 - (cluster.now_ms - application.recent_failures_ms[-1])
    cluster.feed(ContainerExited(application.attempt.master, 1))
    assert application.state == ApplicationState.FAILED


def test_a_master_that_has_unregistered_ends_the_application(kind):
    cluster = Cluster(kind, MUST)
    cluster.feed(UnregisterMaster(1, "SUCCEEDED"))
    cluster.feed(ContainerExited(cluster.application.attempt.master, 0))
    assert cluster.application.state == ApplicationState.FINISHED


def test_a_driver_of_ours_succeeds_by_its_exit_code(kind):
    cluster = Cluster(kind, SubmissionDetails())
    cluster.feed(ContainerExited(cluster.application.attempt.master, 0))
    assert cluster.application.state == ApplicationState.FINISHED
