"""Groups of which only some tasks run at once, and groups that go on after failures."""

import pytest

from fairshare.core.manager.groups import check_groups
from fairshare.core.model.arrays import TaskArray
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.inputs import ContainerExited, NodeLost, SubmitApplication
from fairshare.core.model.invariants import check
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.schedulers.protocol import Refusal
from fairshare.core.schedulers.reasons import reasons


def running(bench, application=1):
    return [len(group.running) for group in bench.state.applications[application].tasks.groups]


def end(bench, now_ms, *codes, application=1):
    """Let the oldest containers of an application exit with these codes."""
    containers = list(bench.state.applications[application].containers)
    exits = [ContainerExited(one, code) for one, code in zip(containers, codes, strict=False)]
    bench.runtime.turn(now_ms, exits)


def test_at_most_so_many_tasks_run_at_once_until_all_have_run(bench, submit):
    bench.join("n1", "n2")
    bench.runtime.turn(0, [submit(7, at_once=3)])
    seen = []
    for now_ms in range(1_000, 8_000, 1_000):
        seen += running(bench)
        end(bench, now_ms, 0)
    assert seen == [3, 3, 3, 3, 3, 2, 1]
    assert bench.state.applications[1].state == ApplicationState.FINISHED
    check(bench.state)


def test_a_lost_node_does_not_let_more_tasks_run_than_allowed(bench, submit):
    bench.join("n1", "n2")
    bench.runtime.turn(0, [submit(9, at_once=5)])
    bench.runtime.turn(1_000, [NodeLost("n1")])
    bench.join("n3", "n4", now_ms=2_000)
    bench.runtime.turn(2_000, [])
    assert running(bench) == [5]
    end(bench, 3_000, 0, 1, 0)
    assert running(bench) == [5]
    check(bench.state)


def test_a_group_that_waits_for_another_has_a_limit_of_its_own(bench):
    bench.join("n1", "n2")
    size = (1024, 1)
    groups = (
        TaskGroup("map", 2, size),
        TaskGroup("reduce", 4, size, after=("map",), at_once=1),
    )
    bench.runtime.turn(0, [SubmitApplication("ann", tasks=groups)])
    end(bench, 1_000, 0, 0)
    assert running(bench) == [0, 1]


def test_what_waits_because_of_the_limit_is_explained(bench, submit):
    bench.join("n1", "n2")
    bench.runtime.turn(0, [submit(7, at_once=3)])
    limits = bench.manager.scheduler.limits_of(1)
    (reason,) = reasons(bench.state.applications[1], limits, bench.state)
    assert (reason.cause, reason.containers, reason.count) == ("tasks-at-once", 4, 3)


def test_tasks_that_fail_do_not_end_the_others_of_a_group_that_keeps_going(bench, submit):
    bench.join("n1", "n2")
    bench.runtime.turn(0, [submit(6, keep_going=True, max_attempts=1)])
    end(bench, 1_000, 0, 1, 1, 0)
    application = bench.state.applications[1]
    assert application.state == ApplicationState.RUNNING
    assert application.tasks.groups[0].lost_tasks == [1, 2]
    end(bench, 2_000, 0, 7)
    assert application.state == ApplicationState.FAILED
    assert application.diagnostics == "3 of 6 tasks of group t failed: 1,2,5."
    check(bench.state)


def test_a_task_of_such_a_group_has_all_its_attempts(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(2, keep_going=True, max_attempts=2)])
    end(bench, 1_000, 1, 0)
    assert running(bench) == [1]
    end(bench, 2_000, 0)
    assert bench.state.applications[1].state == ApplicationState.FINISHED


def test_a_group_behind_one_with_failures_does_not_start_and_the_application_ends(bench):
    bench.join("n1", "n2")
    size = (1024, 1)
    groups = (
        TaskGroup("map", 3, size, max_attempts=1, keep_going=True),
        TaskGroup("reduce", 1, size, after=("map",)),
        TaskGroup("some", 1, size, after=("map",), slow_start=0.5),
    )
    bench.runtime.turn(0, [SubmitApplication("ann", tasks=groups)])
    end(bench, 1_000, 0, 1, 0)
    assert running(bench) == [0, 0, 1]
    end(bench, 2_000, 0)
    application = bench.state.applications[1]
    assert application.state == ApplicationState.FAILED
    assert (
        application.diagnostics
        == "1 of 3 tasks of group map failed: 1. Group reduce did not start."
    )


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ({"at_once": 0}, "has at_once below 1"),
        (
            {"gang": True, "at_once": 2},
            "start together, and at_once allows 2",
        ),
        ({"gang": True, "keep_going": True}, "keep_going lets tasks end apart"),
    ],
)
def test_limits_that_contradict_the_group_are_refused(group, words):
    with pytest.raises(Refusal, match=words):
        check_groups([TaskGroup("t", 4, (1024, 1), **group)])


def test_limits_and_losses_outlive_a_restart(bench, submit):
    bench.join("n1", "n2")
    bench.runtime.turn(0, [submit(6, at_once=2, keep_going=True, max_attempts=1)])
    end(bench, 1_000, 1)
    bench.restart()
    bench.runtime.turn(2_000, [])
    assert running(bench) == [2]
    assert bench.state.applications[1].tasks.groups[0].lost_tasks == [0]


def test_a_task_of_an_array_gets_its_line_and_its_index(bench, submit):
    bench.join("n1")
    array = TaskArray(((0, 1, 1), (1, 4, 1)), ("one", "two; rm -rf"))
    command = Command(("work", "--on", "{}", "x{}"))
    bench.runtime.turn(0, [submit(2, array=array, command=command)])
    first, second = bench.engine.launched
    assert first.command.arguments == ("work", "--on", "one", "xone")
    assert second.command.arguments == ("work", "--on", "two; rm -rf", "xtwo; rm -rf")
    environment = second.environment
    assert environment["FAIRSHARE_ARRAY_LINE"] == "two; rm -rf"
    assert environment["FAIRSHARE_TASK_INDEX"] == "4"
    assert environment["FAIRSHARE_TASK_COUNT"] == "2"


def test_a_shell_gets_the_line_as_one_word(bench, submit):
    bench.join("n1")
    array = TaskArray(((0, 1, 1),), ("two; rm -rf",))
    command = Command(("/bin/sh", "-c", "wc < {}"))
    bench.runtime.turn(0, [submit(1, array=array, command=command)])
    [order] = bench.engine.launched
    assert order.command.arguments == ("/bin/sh", "-c", "wc < 'two; rm -rf'")


def test_an_array_of_numbers_puts_them_in_place(bench, submit):
    bench.join("n1")
    array = TaskArray(((0, 10, 5),))
    bench.runtime.turn(0, [submit(3, array=array, command=Command(("work", "{}")))])
    assert [order.command.arguments[1] for order in bench.engine.launched] == ["10", "15", "20"]


def test_failures_of_an_array_are_named_by_index(bench, submit):
    bench.join("n1")
    array = TaskArray(((0, 10, 5),))
    bench.runtime.turn(0, [submit(3, array=array, keep_going=True, max_attempts=1)])
    end(bench, 1_000, 0, 1, 1)
    assert bench.state.applications[1].diagnostics == "2 of 3 tasks of group t failed: 15,20."
