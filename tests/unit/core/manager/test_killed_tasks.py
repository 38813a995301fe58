"""One task of an application is killed for good; the others go on."""

import pytest
from tests.managed import SETTINGS, Managed

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ContainerCompleted, Event, RequestRefused
from fairshare.core.model.inputs import (
    ContainerExited,
    HoldApplication,
    KillTask,
    ReleaseApplication,
    RequeueApplication,
    SubmitApplication,
)
from fairshare.core.model.tasks import TaskState
from fairshare.core.model.work import Command, TaskGroup
from fairshare.runtime.snapshot import freeze, thaw

COMMAND = Command(("true",))


class Cluster(Managed):
    """One node of four containers, and one application."""

    def __init__(self, kind: str, *groups: TaskGroup) -> None:
        super().__init__(kind, SETTINGS[kind], (4096, 4))
        self.feed(SubmitApplication("ann", "default", tasks=groups))

    def kill(self, task: int, group: int = 0, **more: str) -> tuple[Event, ...]:
        return self.feed(KillTask(1, group, task, **more))

    def exit(self, task: int, code: int = 0, group: int = 0) -> None:
        container = self.application.tasks.groups[group].running[task]
        self.feed(ContainerExited(container, code))

    def states(self, group: int = 0) -> str:
        """The first letters of the states of a group's tasks."""
        progress = self.application.tasks.groups[group]
        return "".join(progress.state(task)[0] for task in range(progress.spec.count))


def group(count: int, name: str = "t", **more: object) -> TaskGroup:
    return TaskGroup(name, count, (1024, 1), COMMAND, **more)


@pytest.fixture(params=("fair", "capacity", "fifo"))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def refusal(events: tuple[Event, ...]) -> RequestRefused:
    (event,) = events
    assert isinstance(event, RequestRefused)
    return event


def asked(application: Application) -> int:
    return sum(key.anywhere.count for key in application.attempt.asks.keys.values() if key.anywhere)


def test_a_killed_task_that_runs_ends_and_does_not_run_again(kind):
    cluster = Cluster(kind, group(2, max_attempts=4))
    cluster.run()
    (ended,) = [e for e in cluster.kill(1) if isinstance(e, ContainerCompleted)]
    assert ended.diagnostics == "Task killed by user."
    assert cluster.run() == []
    assert cluster.states() == "RK"


def test_a_killed_task_that_waits_asks_for_no_container(kind):
    cluster = Cluster(kind, group(6))
    cluster.run()
    cluster.kill(5)
    assert asked(cluster.application) == 1
    for task in range(4):
        cluster.exit(task)
    assert [event.task for event in cluster.run()] == [4]
    assert cluster.states() == "SSSSRK"


def test_the_next_task_takes_the_place_of_a_killed_one_within_at_once(kind):
    cluster = Cluster(kind, group(4, at_once=2))
    cluster.run()
    cluster.kill(0)
    assert [event.task for event in cluster.run()] == [2]
    cluster.kill(3)
    cluster.exit(1)
    assert cluster.run() == []
    assert asked(cluster.application) == 0


def test_the_application_is_killed_if_the_rest_of_it_succeeds(kind):
    cluster = Cluster(kind, group(3))
    cluster.run()
    cluster.kill(1)
    cluster.exit(0)
    cluster.exit(2)
    assert cluster.application.state == "KILLED"
    assert cluster.application.diagnostics == "1 of 3 tasks of group t was killed: 1."


def test_the_application_has_failed_if_a_task_failed_besides(kind):
    cluster = Cluster(kind, group(3, keep_going=True, max_attempts=1))
    cluster.run()
    cluster.exit(2, code=1)
    cluster.kill(0)
    cluster.kill(1)
    assert cluster.application.state == "FAILED"
    assert cluster.application.diagnostics == (
        "1 of 3 tasks of group t failed: 2. 2 of 3 tasks of group t were killed: 0,1."
    )


def test_killing_the_last_waiting_task_ends_an_application_that_nothing_runs_of(kind):
    cluster = Cluster(kind, group(1))
    cluster.feed(HoldApplication(1))
    cluster.kill(0)
    assert cluster.application.state == "KILLED"
    assert not cluster.state.attempts


def test_a_group_after_one_with_a_killed_task_does_not_start(kind):
    cluster = Cluster(kind, group(2, "map"), group(1, "reduce", after=("map",)))
    cluster.run()
    cluster.exit(0)
    cluster.kill(1)
    assert cluster.application.state == "KILLED"
    assert "Group reduce did not start." in cluster.application.diagnostics


def test_a_group_that_needs_only_a_part_of_the_other_starts_nevertheless(kind):
    reduce = group(1, "reduce", after=("map",), slow_start=0.5)
    cluster = Cluster(kind, group(2, "map"), reduce)
    cluster.run()
    cluster.kill(1)
    cluster.exit(0)
    assert [(event.group, event.task) for event in cluster.run()] == [(1, 0)]


def test_a_task_of_a_held_application_stays_killed_after_its_release(kind):
    cluster = Cluster(kind, group(3))
    cluster.feed(HoldApplication(1))
    cluster.kill(1)
    cluster.feed(ReleaseApplication(1))
    assert [event.task for event in cluster.run()] == [0, 2]


def test_a_requeued_application_runs_its_killed_tasks_again(kind):
    cluster = Cluster(kind, group(2))
    cluster.run()
    cluster.kill(0)
    cluster.feed(RequeueApplication(1))
    assert [event.task for event in cluster.run()] == [0, 1]


def test_a_task_that_waits_after_a_failure_is_killed(kind):
    cluster = Cluster(kind, group(2, max_attempts=9))
    cluster.run()
    cluster.exit(0, code=1)  # now it pauses
    assert cluster.application.tasks.groups[0].paused
    cluster.kill(0)
    assert not cluster.application.tasks.groups[0].paused
    cluster.exit(1)
    assert cluster.application.state == "KILLED"


@pytest.mark.parametrize(
    ("spec", "place", "code"),
    [
        (group(2), (0, 2), "unknown-task"),
        (group(2), (1, 0), "unknown-task"),
        (group(2), (0, -1), "unknown-task"),
        (group(2, gang=True), (0, 0), "part-of-gang"),
        (group(2, gang=True, gang_restart="task"), (0, 0), "part-of-gang"),
    ],
)
def test_a_task_that_cannot_be_killed_is_refused(kind, spec, place, code):
    cluster = Cluster(kind, spec)
    cluster.run()
    assert refusal(cluster.kill(place[1], place[0])).code == code


def test_a_task_is_killed_once_and_not_after_its_end(kind):
    cluster = Cluster(kind, group(3))
    cluster.run()
    cluster.exit(0)
    cluster.kill(1)
    for task, state in ((0, "SUCCEEDED"), (1, "KILLED")):
        refused = refusal(cluster.kill(task))
        assert refused.code == "task-over"
        assert refused.reason == f"task t/{task} of application 1 is already {state}"


def test_a_snapshot_keeps_which_tasks_are_killed(kind):
    cluster = Cluster(kind, group(3))
    cluster.run()
    cluster.kill(1)
    manager = thaw(freeze(1, 0, {"manager": cluster.manager}))["manager"]
    assert manager.state.applications[1].tasks.groups[0].state(1) is TaskState.KILLED
