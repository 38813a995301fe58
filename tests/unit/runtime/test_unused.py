"""Containers in which a driver launches nothing are taken back after a while."""

import pytest

from fairshare.core.model.events import ContainerCompleted, ExitCode
from fairshare.core.model.inputs import (
    ContainerStarted,
    LaunchContainer,
    MasterRegistered,
    RequestContainers,
    SubmitApplication,
)
from fairshare.core.model.work import Command, ContainerRequest

SIZE = (1024, 1)
DRIVER = Command(("driver",))


@pytest.fixture
def driver(make_bench):
    """A driver that has two containers since 20 s, of which each may be unused for 5 s."""

    def made(submission: SubmitApplication):
        bench = make_bench(unused_expiry_ms=5_000)
        bench.join("n1")
        bench.runtime.settle(10_000)
        bench.runtime.turn(11_000, [submission])
        (master,) = bench.state.applications[1].containers
        bench.runtime.turn(12_000, [ContainerStarted(master), MasterRegistered(1)])
        wish = RequestContainers(1, (ContainerRequest(2, SIZE),))
        bench.runtime.turn(20_000, [wish])
        bench.runtime.settle(21_000)
        assert len(bench.state.applications[1].containers) == 3
        return bench

    return made


OWN = SubmitApplication("ann", master=SIZE, driver=DRIVER)


def expired(bench) -> list[tuple[int, str]]:
    return [
        (record.now_ms, event.diagnostics)
        for record in bench.records
        for event in record.events
        if isinstance(event, ContainerCompleted) and event.exit_code == ExitCode.ABORTED
    ]


def test_what_is_not_launched_in_time_is_taken_back(driver):
    bench = driver(OWN)
    used = max(bench.state.applications[1].containers)
    bench.runtime.turn(22_000, [LaunchContainer(1, used, Command(("work",)))])
    assert bench.runtime.next_deadline_ms() <= 26_000
    bench.runtime.settle(24_999)
    assert expired(bench) == []
    bench.runtime.settle(26_000)
    ((_, words),) = expired(bench)
    assert "nothing was launched in it for 5000 ms" in words
    application = bench.state.applications[1]
    assert used in application.containers
    assert len(application.containers) == 2  # the master's, and the one that is used
    assert not application.over


def test_a_container_that_its_node_reports_as_running_is_used(driver):
    bench = driver(OWN)
    used = max(bench.state.applications[1].containers)
    bench.runtime.turn(22_000, [ContainerStarted(used)])
    bench.runtime.settle(26_000)
    assert len(expired(bench)) == 1
    assert used in bench.state.applications[1].containers


def test_a_restart_forgets_no_unused_container(driver):
    bench = driver(OWN)
    bench.restart(unused_expiry_ms=5_000)
    bench.runtime.settle(26_000)
    assert len(expired(bench)) == 2


def test_containers_of_an_outside_master_stay(driver):
    bench = driver(SubmitApplication("ann", master=SIZE))
    bench.runtime.settle(100_000)
    assert expired(bench) == []
