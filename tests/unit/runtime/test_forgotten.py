"""Applications that are over are forgotten while the runtime's books still speak of them."""

import msgspec
import pytest

from fairshare.core.model.inputs import (
    ContainerStarted,
    ForgetApplications,
    KillApplication,
    LaunchContainer,
    MasterRegistered,
    RequestContainers,
    SetSafeMode,
    SubmitApplication,
)
from fairshare.core.model.work import Command, ContainerRequest

SIZE = (1024, 1)


@pytest.fixture
def quiet(make_bench):
    bench = make_bench(unused_expiry_ms=600_000)
    bench.join("n1")
    bench.runtime.settle(10_000)
    return bench


def end_and_forget(bench, now_ms: int, *applications: int) -> None:
    bench.runtime.turn(now_ms, [KillApplication(number) for number in applications])
    bench.runtime.turn(now_ms + 1_000, [ForgetApplications(applications)])
    assert not set(applications) & bench.state.applications.keys()


def test_the_lifetime_of_a_forgotten_application_sets_no_deadline(quiet, submit):
    def living(seconds: int):
        return msgspec.structs.replace(submit(), lifetime_s=seconds)

    quiet.runtime.turn(20_000, [living(8), living(3_600)])
    end_and_forget(quiet, 21_000, 2)
    quiet.runtime.settle(28_000)
    assert quiet.state.applications[1].over
    quiet.runtime.settle(4_000_000)
    quiet.runtime.settle(4_100_000)  # queues are tidied up
    assert quiet.runtime.next_deadline_ms() is None


def test_lifetimes_of_forgotten_applications_take_no_memory(quiet, submit):
    living = msgspec.structs.replace(submit(), lifetime_s=86_400)
    quiet.runtime.turn(20_000, [living])
    for number in range(2, 302):
        quiet.runtime.turn(20_000 + number, [living])
        quiet.runtime.turn(20_000 + number, [KillApplication(number)])
        quiet.runtime.turn(20_000 + number, [ForgetApplications((number,))])
    assert len(quiet.runtime._agenda._lifetimes._heap) < 100


def test_a_driver_may_hold_a_container_unused_while_later_drivers_are_forgotten(quiet):
    quiet.join("n2", "n3", now_ms=15_000)
    driver = SubmitApplication("ann", master=SIZE, driver=Command(("driver",)))
    quiet.runtime.turn(20_000, [driver])
    (master,) = quiet.state.applications[1].containers
    quiet.runtime.turn(20_000, [ContainerStarted(master), MasterRegistered(1)])
    quiet.runtime.turn(20_000, [RequestContainers(1, (ContainerRequest(1, SIZE),))])
    assert len(quiet.state.applications[1].containers) == 2
    quiet.runtime.turn(21_000, [driver])
    quiet.runtime.settle(22_000)
    assert quiet.state.applications[2].containers
    end_and_forget(quiet, 23_000, 2)
    quiet.runtime.settle(700_000)
    assert quiet.state.applications[1].containers.keys() == {master}


@pytest.mark.parametrize("forgotten_before_the_end", [True, False])
def test_the_safe_mode_may_outlive_applications(quiet, submit, forgotten_before_the_end):
    quiet.runtime.turn(20_000, [submit(), submit()])
    quiet.runtime.turn(21_000, [SetSafeMode(True)])
    end_and_forget(quiet, 22_000, 1, 2)
    if not forgotten_before_the_end:
        quiet.restart()
    quiet.runtime.turn(25_000, [SetSafeMode(False)])
    quiet.runtime.turn(26_000, [submit()])
    assert quiet.state.applications[3].containers


def test_what_is_forgotten_in_the_batch_that_launched_it_is_not_launched(quiet):
    quiet.join("n2", "n3", now_ms=15_000)
    driver = SubmitApplication("ann", master=SIZE, driver=Command(("driver",)))
    quiet.runtime.turn(20_000, [driver])
    (master,) = quiet.state.applications[1].containers
    quiet.runtime.turn(20_000, [ContainerStarted(master), MasterRegistered(1)])
    quiet.runtime.turn(20_000, [RequestContainers(1, (ContainerRequest(1, SIZE),))])
    own = max(quiet.state.applications[1].containers)
    launched = len(quiet.engine.launched)
    command = Command(("work",))
    quiet.runtime.turn(
        21_000,
        [LaunchContainer(1, own, command), KillApplication(1), ForgetApplications((1,))],
    )
    assert len(quiet.engine.launched) == launched
    assert set(quiet.engine.stopped) == {master, own}
