"""How long tasks may run in a queue, under each scheduler."""

import msgspec
import pytest
from tests.managed import SETTINGS, Managed

from fairshare.core.model.events import (
    ApplicationRejected,
    ContainerAllocated,
    ContainerLaunched,
    RequestRefused,
)
from fairshare.core.model.inputs import (
    AddTasks,
    Changes,
    LaunchContainer,
    MasterRegistered,
    MoveApplication,
    RequestContainers,
    SubmitApplication,
    UpdateApplication,
)
from fairshare.core.model.time_limits import TimeLimit, limit_in
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup
from fairshare.core.schedulers.fair.settings import FairSettings

COMMAND = Command(("true",))
LIMITS = {"root": TimeLimit(1_000, 9_000)}


def task(limit_ms=None, name="t"):
    return TaskGroup(name, 1, (1024, 1), COMMAND, time_limit_ms=limit_ms)


def cluster(kind="fair", limits=LIMITS):
    settings = msgspec.structs.replace(SETTINGS[kind], time_limits=limits)
    return Managed(kind, settings, (4096, 4))


def launched(events):
    return [event for event in events if isinstance(event, ContainerLaunched)]


@pytest.mark.parametrize("kind", SETTINGS)
def test_a_task_without_a_limit_gets_the_default_of_its_queue(kind):
    managed = cluster(kind)
    managed.feed(SubmitApplication("ann", "default", tasks=(task(), task(2_000, "u"))))
    limits_ms = [event.time_limit_ms for _ in range(2) for event in launched(managed.beat())]
    assert sorted(limits_ms) == [1_000, 2_000]


@pytest.mark.parametrize("kind", SETTINGS)
def test_a_task_that_may_run_for_too_long_is_rejected_with_the_maximum(kind):
    managed = cluster(kind)
    events = managed.feed(SubmitApplication("ann", "default", tasks=(task(9_001),)))
    (rejected,) = [event for event in events if isinstance(event, ApplicationRejected)]
    assert "may run for 9 s at most" in rejected.reason


def test_without_limits_a_task_runs_without_one():
    managed = cluster(limits={})
    managed.feed(SubmitApplication("ann", "default", tasks=(task(),)))
    assert [event.time_limit_ms for event in launched(managed.beat())] == [None]


def test_what_a_queue_leaves_open_the_nearest_queue_above_says():
    limits = {
        "root": TimeLimit(10, 90),
        "root.a": TimeLimit(maximum_ms=50),
        "root.a.b": TimeLimit(default_ms=70),
    }
    assert limit_in(limits, "root.a.b") == TimeLimit(50, 50)
    assert limit_in(limits, "root.a") == TimeLimit(10, 50)
    assert limit_in(limits, "root.c.d") == TimeLimit(10, 90)
    assert limit_in({"root.a": TimeLimit(5, 5)}, "root.b") == TimeLimit()


@pytest.mark.parametrize("limit_ms", [0, 9_001], ids=["none", "too long"])
def test_a_limit_is_not_raised_beyond_the_maximum(limit_ms):
    managed = cluster()
    managed.feed(SubmitApplication("ann", "default", tasks=(task(),)))
    (event,) = managed.feed(UpdateApplication(1, Changes(time_limit_ms=limit_ms)))
    assert (type(event), event.code) == (RequestRefused, "time-limit-too-long")
    assert managed.feed(UpdateApplication(1, Changes(time_limit_ms=9_000)))[0].changes


def test_an_application_does_not_move_to_where_its_tasks_may_not_run_for_as_long():
    settings = FairSettings(time_limits={"root.short": TimeLimit(maximum_ms=500)})
    managed = Managed("fair", settings, (4096, 4))
    managed.feed(SubmitApplication("ann", "long", tasks=(task(),)))
    managed.feed(SubmitApplication("ann", "short", tasks=(task(),)))
    (event,) = managed.feed(MoveApplication(1, "root.short"))
    assert "root.short may run for 0.5 s at most" in event.reason
    assert managed.application.queue == "root.long"
    managed.feed(MoveApplication(2, "root.long"))
    assert managed.state.applications[2].queue == "root.long"


def driver(managed, **submission):
    """An application whose master has registered, and has a container."""
    managed.feed(SubmitApplication("ann", "default", master=(1024, 1), **submission))
    managed.beat()
    managed.feed(MasterRegistered(1))
    managed.feed(RequestContainers(1, (ContainerRequest(1, (1024, 1)),)))
    granted = [event for event in managed.beat() if isinstance(event, ContainerAllocated)]
    return granted[0].container


def test_what_a_driver_launches_has_the_limits_of_its_queue():
    managed = cluster()
    container = driver(managed, driver=COMMAND)
    (refusal,) = managed.feed(LaunchContainer(1, container, COMMAND, 9_001))
    assert refusal.code == "time-limit-too-long"
    (event,) = managed.feed(LaunchContainer(1, container, COMMAND))
    assert event.time_limit_ms == 1_000
    events = managed.feed(AddTasks(1, (task(),)))
    assert events[0].tasks[0].time_limit_ms == 1_000


def test_a_driver_runs_no_longer_than_a_task_may():
    managed = cluster()
    managed.feed(SubmitApplication("ann", "default", master=(1024, 1), driver=COMMAND))
    assert [event.time_limit_ms for event in launched(managed.beat())] == [9_000]


def test_a_master_of_hadoops_knows_nothing_of_them():
    managed = cluster()
    container = driver(managed)
    (event,) = managed.feed(LaunchContainer(1, container, COMMAND))
    assert event.time_limit_ms is None
