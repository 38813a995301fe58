"""What an engine is told."""

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import (
    ContainerExited,
    KillApplication,
    LaunchContainer,
    MasterRegistered,
    SubmitApplication,
)
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup
from fairshare.engines.protocol import TaskLaunch

AFTER_A_PAUSE_MS = 1_250
"""When a task is tried again that was launched in the first 250 ms, and failed at once."""


def test_a_task_is_launched_with_its_place_in_its_environment(bench, submit):
    bench.join("n1")
    command = Command(("/bin/true",))
    application = submit(2, user="ann", name="map", command=command, time_limit_ms=90_000)
    bench.runtime.turn(5, [application])
    order = bench.engine.launched[1]
    assert order.container == container_id(1, 1, 2)
    assert order.container_name == "container_1700000000000_0001_01_000002"
    assert order.application_name == "application_1700000000000_0001"
    assert (order.node, order.user, order.memory_mb, order.vcores) == ("n1", "ann", 1024, 1)
    assert order.resources == {"memory-mb": 1024, "vcores": 1}
    assert order.command is command
    assert order.time_limit_ms == 90_000
    assert order.environment == {
        "FAIRSHARE_APPLICATION_ID": "application_1700000000000_0001",
        "FAIRSHARE_CONTAINER_ID": "container_1700000000000_0001_01_000002",
        "FAIRSHARE_QUEUE": "root.ann",
        "FAIRSHARE_USER": "ann",
        "FAIRSHARE_TASK_GROUP": "map",
        "FAIRSHARE_TASK_INDEX": "1",
        "FAIRSHARE_TASK_COUNT": "2",
        "FAIRSHARE_TASK_ATTEMPT": "1",
    }


def test_the_attempt_counts_a_task_s_own_failures(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(1)])
    bench.runtime.turn(1, [ContainerExited(bench.engine.launched[0].container, -100)])
    bench.runtime.turn(2, [ContainerExited(bench.engine.launched[1].container, 3)])
    bench.runtime.settle(AFTER_A_PAUSE_MS)
    attempts = [o.environment["FAIRSHARE_TASK_ATTEMPT"] for o in bench.engine.launched]
    assert attempts == ["1", "1", "2"]


def test_the_live_server_adds_what_only_it_knows(make_bench):
    bench = make_bench(
        extra_environment=lambda application, master: {"WHO": f"{application.user} {master}"}
    )
    bench.join("n1")
    driver = SubmitApplication(
        user="ann",
        master=(1024, 1),
        driver=Command(("driver",)),
        tasks=(TaskGroup("t", 1, (1024, 1)),),
    )
    bench.runtime.turn(0, [driver])
    bench.runtime.turn(1, [MasterRegistered(1)])
    assert [o.environment["WHO"] for o in bench.engine.launched] == ["ann True", "ann False"]
    assert bench.engine.launched[0].command == Command(("driver",))
    assert "FAIRSHARE_TASK_INDEX" not in bench.engine.launched[0].environment


def test_a_master_s_container_runs_what_the_master_says(bench):
    bench.join("n1")
    request = (ContainerRequest(1, (1024, 1)),)
    bench.runtime.turn(0, [SubmitApplication(user="ann", requests=request)])
    assert bench.engine.launched == []
    container = container_id(1, 1, 1)
    launch = LaunchContainer(1, container, Command(("work",)), time_limit_ms=7)
    bench.runtime.feed(1, [launch])
    (order,) = bench.engine.launched
    assert (order.container, order.command.arguments, order.time_limit_ms) == (
        container,
        ("work",),
        7,
    )


def test_a_container_that_ended_by_itself_is_not_stopped(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(1)])
    bench.runtime.turn(1, [ContainerExited(bench.engine.launched[0].container, 0)])
    assert bench.engine.stopped == []


def test_containers_whose_end_was_decided_are_stopped(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(3)])
    first, second, third = (order.container for order in bench.engine.launched)
    bench.runtime.turn(1, [KillApplication(1)])
    assert bench.engine.stopped == [first, second, third]


def test_the_others_are_stopped_when_one_exit_ends_the_application(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(2, max_attempts=1)])
    first, second = (order.container for order in bench.engine.launched)
    bench.runtime.turn(1, [ContainerExited(first, 1)])
    assert bench.engine.stopped == [second]


def test_a_container_that_is_killed_in_the_same_batch_is_not_launched(bench, submit):
    bench.join("n1")
    bench.runtime.feed(0, [submit(1)])
    bench.runtime._settle(1)  # granted, but not committed yet
    bench.runtime._take(1, [KillApplication(1)])
    bench.runtime.finish()
    assert bench.engine.launched == []
    assert bench.engine.stopped == [container_id(1, 1, 1)]


def pretending(bench):
    """Lets the engine of a bench run nothing from now on; its launches."""
    launched = []
    bench.restart(pretend=launched.append)
    return launched


def test_an_engine_that_runs_nothing_gets_the_numbers_of_tasks_alone(bench, submit):
    bench.join("n1")
    launched = pretending(bench)
    bench.runtime.turn(0, [submit(2, name="map", time_limit_ms=90_000)])
    first, second = container_id(1, 1, 1), container_id(1, 1, 2)
    assert launched == [
        TaskLaunch(first, 0, "map", 0, 1, 90_000),
        TaskLaunch(second, 0, "map", 1, 1, 90_000),
    ]
    bench.runtime.turn(1, [ContainerExited(first, -100), ContainerExited(second, 3)])
    bench.runtime.settle(AFTER_A_PAUSE_MS)
    assert [(one.task, one.attempt) for one in launched[2:]] == [(0, 1), (1, 2)]
    assert bench.engine.launched == []


def test_an_engine_that_runs_nothing_gets_no_masters_that_run_elsewhere(bench):
    bench.join("n1")
    launched = pretending(bench)
    elsewhere = SubmitApplication("ann", master=(1024, 1))
    driven = SubmitApplication("bob", master=(1024, 1), driver=Command(("driver",)))
    bench.runtime.turn(0, [elsewhere, driven])
    assert launched == [TaskLaunch(container_id(2, 1, 1))]
