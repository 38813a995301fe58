"""Task applications: the manager is their master. Plain inputs in, events out."""

import msgspec
import pytest
from tests.managed import SETTINGS, Managed

from fairshare.api.work import EndSignal
from fairshare.core.manager.lifecycle import _failure, _times_and_last
from fairshare.core.model.events import (
    ApplicationRejected,
    ApplicationState,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    Event,
    ExitCode,
)
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import (
    AddTasks,
    ContainerExited,
    FinishApplication,
    Input,
    KillApplication,
    LaunchContainer,
    MasterRegistered,
    NodeBeat,
    NodeJoined,
    NodeLost,
    ReleaseContainers,
    RequestContainers,
    SubmitApplication,
    TasksDue,
    UpdateShares,
)
from fairshare.core.model.tasks import TaskBoard, TaskState
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup


class Cluster(Managed):
    """A resource manager with one node of 8 GB."""

    step_ms = 10

    def __init__(self) -> None:
        super().__init__("fair", SETTINGS["fair"], (8192, 8))

    def exit(self, container: ContainerId, code: int = 0) -> tuple[Event, ...]:
        return self.feed(ContainerExited(container, code))

    def state_of(self, application: int = 1) -> ApplicationState:
        return self.state.applications[application].state

    def refusal(self, given: Input) -> str:
        """The code of the refusal that an input meets."""
        (event,) = self.feed(given)
        return str(getattr(event, "code", event))


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def group(name: str = "map", count: int = 2, **more: object) -> TaskGroup:
    return msgspec.structs.replace(TaskGroup(name, count, (1024, 1)), **more)


def test_an_application_is_finished_when_all_its_tasks_have_succeeded(cluster: Cluster) -> None:
    cluster.feed(SubmitApplication("ann", tasks=(group(),)))
    first, second = cluster.launch()
    assert (first.task, second.task) == (0, 1)
    cluster.exit(first.container)
    assert cluster.state_of() == ApplicationState.RUNNING
    cluster.exit(second.container)
    assert cluster.state_of() == ApplicationState.FINISHED


def test_an_application_starts_with_its_first_container_and_not_with_its_submission(cluster):
    cluster.feed(SubmitApplication("ann", tasks=(group(count=8),)))
    cluster.launch()
    cluster.feed(SubmitApplication("bob", tasks=(group(count=1),)))
    waiting = cluster.state.applications[2]
    cluster.launch()
    assert waiting.started_ms == 0
    for container in tuple(cluster.state.applications[1].containers):
        cluster.exit(container)
    cluster.launch()
    assert waiting.started_ms > waiting.submitted_ms + cluster.step_ms


def test_a_failed_task_runs_again_in_another_container(cluster: Cluster) -> None:
    cluster.feed(SubmitApplication("ann", tasks=(group(count=1),)))
    (first,) = cluster.launch()
    cluster.exit(first.container, 1)
    assert cluster.launch() == []
    cluster.now_ms += 1_250
    cluster.feed(TasksDue(1))
    (again,) = cluster.launch()
    assert again.task == first.task
    assert again.container != first.container
    cluster.exit(again.container)
    assert cluster.state_of() == ApplicationState.FINISHED


def test_a_task_that_fails_too_often_fails_the_application_and_names_the_task(
    cluster: Cluster,
) -> None:
    cluster.feed(SubmitApplication("ann", tasks=(group(count=2, max_attempts=2),)))
    for _ in range(2):
        launched = cluster.launch()
        cluster.now_ms += 60_000  # it ran for longer than any pause
        cluster.exit(launched[0].container, 3)
        if cluster.state_of() == ApplicationState.FAILED:
            break
    application = cluster.manager.state.applications[1]
    assert application.state == ApplicationState.FAILED
    assert "group map failed 2 times" in application.diagnostics
    assert "exit code 3" in application.diagnostics
    assert not application.containers


@pytest.mark.parametrize(
    ("attempts", "diagnostics", "reported"),
    [
        (4, "exit code 1\nno such file", "4 times, the last time with exit code 1. no such file"),
        (4, "it ran too long", "4 times, the last time with exit code 1. it ran too long"),
        (
            2,
            "exit code 12 of a child",
            "2 times, the last time with exit code 1. exit code 12 of a",
        ),
        (1, "exit code 1", "once, with exit code 1."),
    ],
)
def test_the_diagnostics_have_the_number_of_failures_and_the_exit_code_once(
    attempts: int, diagnostics: str, reported: str
) -> None:
    last = ContainerCompleted(7, 1, diagnostics)
    assert _times_and_last(attempts, last).startswith(reported)


def test_a_container_that_was_taken_away_does_not_count_as_a_failure(cluster: Cluster) -> None:
    cluster.feed(SubmitApplication("ann", tasks=(group(count=1, max_attempts=1),)))
    for _ in range(3):
        (launched,) = cluster.launch()
        cluster.exit(launched.container, ExitCode.ABORTED)
    (launched,) = cluster.launch()
    cluster.exit(launched.container)
    assert cluster.state_of() == ApplicationState.FINISHED


def test_a_group_waits_for_the_groups_before_it(cluster: Cluster) -> None:
    groups = (group("map", 2), group("reduce", 1, after=("map",)))
    cluster.feed(SubmitApplication("ann", tasks=groups))
    maps = cluster.launch()
    assert [one.group for one in maps] == [0, 0]
    cluster.exit(maps[0].container)
    assert cluster.launch() == []
    cluster.exit(maps[1].container)
    (reduce,) = cluster.launch()
    assert reduce.group == 1


def test_with_a_slow_start_a_group_begins_when_that_part_has_succeeded(cluster: Cluster) -> None:
    groups = (group("map", 4), group("reduce", 1, after=("map",), slow_start=0.5))
    cluster.feed(SubmitApplication("ann", tasks=groups))
    maps = cluster.launch()
    cluster.exit(maps[0].container)
    assert cluster.launch() == []
    cluster.exit(maps[1].container)
    assert [one.group for one in cluster.launch()] == [1]


def test_tasks_of_a_lost_node_run_on_another(cluster: Cluster) -> None:
    cluster.feed(SubmitApplication("ann", tasks=(group(count=2),)))
    assert len(cluster.launch()) == 2
    events = cluster.feed(NodeLost("n1"))
    assert sum(isinstance(e, ContainerCompleted) for e in events) == 2
    cluster.feed(NodeJoined("n2", (8192, 8)))
    assert sorted(one.task for one in cluster.launch()) == [0, 1]


def test_a_killed_application_leaves_nothing_behind(cluster: Cluster) -> None:
    cluster.feed(SubmitApplication("ann", tasks=(group(count=3),)))
    cluster.launch()
    events = cluster.feed(KillApplication(1))
    assert sum(isinstance(e, ContainerCompleted) for e in events) == 3
    assert cluster.state_of() == ApplicationState.KILLED
    assert cluster.manager.state.used == (0, 0)
    assert cluster.refusal(KillApplication(1)) == "application-over"


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ((group("a"), group("a")), "two groups of tasks are called a"),
        ((group("a", after=("b",)),), "waits for b, which does not exist"),
        (
            (group("a", after=("b",)), group("b", after=("a",))),
            "these groups wait for each other: a, b",
        ),
        ((group("a", 0),), "has no tasks"),
        ((group("a", slow_start=1.5),), "slow_start that is not within"),
        ((group("a", max_attempts=0),), "max_attempts below 1"),
        ((group("a", time_limit_ms=0),), "time limit below 1 ms"),
        ((group("", 1),), "needs a name"),
        ((group("a", resource=(99999, 1)),), "Requested resource=<memory:99999, vCores:1>"),
        ((group("a", resource=(1024, -1)),), "vcores=-1 is below 0"),
    ],
)
def test_tasks_that_cannot_be_run_are_refused_with_the_reason(
    cluster: Cluster, groups: tuple[TaskGroup, ...], words: str
) -> None:
    events = cluster.feed(SubmitApplication("ann", tasks=groups))
    rejected = events[-1]
    assert isinstance(rejected, ApplicationRejected)
    assert words in rejected.reason
    assert cluster.state_of() == ApplicationState.REJECTED


DRIVER = SubmitApplication("bob", driver=Command(("run",)), master=(1024, 1))


def start_driver(cluster: Cluster) -> ContainerId:
    """A driver whose master runs and has registered; its container."""
    cluster.feed(DRIVER)
    (launched,) = cluster.launch()
    assert launched.command == Command(("run",))
    cluster.feed(MasterRegistered(1))
    return launched.container


def test_a_driver_asks_for_containers_and_says_what_they_run(cluster: Cluster) -> None:
    start_driver(cluster)
    cluster.feed(RequestContainers(1, (ContainerRequest(2, (1024, 1)),)))
    cluster.feed(UpdateShares())
    granted = [e for e in cluster.feed(NodeBeat("n1")) if isinstance(e, ContainerAllocated)]
    assert len(granted) == 2
    container = granted[0].container
    (launched,) = cluster.feed(LaunchContainer(1, container, Command(("work",))))
    assert isinstance(launched, ContainerLaunched)
    assert cluster.refusal(LaunchContainer(1, container, Command())) == "already-launched"
    assert cluster.refusal(LaunchContainer(1, 7, Command())) == "unknown-container"
    cluster.feed(ReleaseContainers(1, (container, granted[1].container)))
    assert cluster.refusal(ReleaseContainers(1, (container,))) == "unknown-container"


def test_a_driver_may_hand_groups_of_tasks_to_the_manager(cluster: Cluster) -> None:
    start_driver(cluster)
    cluster.feed(AddTasks(1, (group("map", 2),)))
    launched = cluster.launch()
    assert [one.group for one in launched] == [0, 0]
    for one in launched:
        cluster.exit(one.container)
    assert cluster.state_of() == ApplicationState.RUNNING  # the driver decides when it is over
    assert cluster.refusal(AddTasks(1, (group("map", 2),))) == "invalid-tasks"
    cluster.feed(FinishApplication(1))
    assert cluster.state_of() == ApplicationState.FINISHED


def test_a_driver_that_ends_well_finishes_its_application(cluster: Cluster) -> None:
    cluster.exit(start_driver(cluster))
    assert cluster.state_of() == ApplicationState.FINISHED


def test_a_driver_that_fails_is_started_again_and_then_given_up(cluster: Cluster) -> None:
    container = start_driver(cluster)
    cluster.feed(AddTasks(1, (group("map", 2),)))
    cluster.launch()
    cluster.exit(container, 1)
    application = cluster.manager.state.applications[1]
    assert (application.attempt.number, application.state) == (2, ApplicationState.PENDING)
    assert not application.tasks.groups  # the new driver begins anew
    (launched,) = cluster.launch()
    cluster.exit(launched.container, 1)
    assert application.state == ApplicationState.FAILED
    assert "failed 2 times" in application.diagnostics


def test_calls_for_applications_that_do_not_run_are_refused(cluster: Cluster) -> None:
    asks = (ContainerRequest(1, (1024, 1)),)
    assert cluster.refusal(RequestContainers(9, asks)) == "unknown-application"
    cluster.feed(DRIVER)
    assert cluster.refusal(RequestContainers(1, asks)) == "not-running"
    assert cluster.refusal(MasterRegistered(1)) == "not-running"


def test_an_exit_of_an_unknown_container_changes_nothing(cluster: Cluster) -> None:
    assert cluster.exit(12345) == ()


def test_a_command_that_cannot_start_has_used_up_all_attempts() -> None:
    last = ContainerCompleted(7, 127, "cannot run 'x': no such command", cannot_start=True)
    assert _failure(4, last) == (
        "cannot start (exit code 127), and was not tried again: cannot run 'x': no such command"
    )
    board = TaskBoard()
    board.add((TaskGroup("a", 2, (1, 1)), TaskGroup("b", 2, (1, 1), gang=True)))
    board.launched(7, 0, 0)
    board.completed(7, 127, final=True)
    assert (board.hopeless, board.groups[0].state(0)) == ((0, 0), TaskState.FAILED)
    assert (list(board.groups[0].waiting), board.groups[0].failed) == ([1], {0: 1})
    board.launched(8, 1, 0)
    board.launched(9, 1, 1)
    board.completed(9, 126, final=True)
    assert board.groups[1].failures_of(0) == 4  # the gang starts together, or not at all


TIMED_OUT = {"exit_code": 143, "diagnostics": "killed: ran longer than its time limit of 2 s"}
OUT_OF_MEMORY = {"exit_code": -104, "diagnostics": "killed: used 1024 MB, limit 1024 MB"}


@pytest.mark.parametrize(
    ("end", "timed_out"), [(TIMED_OUT, True), (OUT_OF_MEMORY, False)], ids=["time", "memory"]
)
@pytest.mark.parametrize(
    ("group", "attempts"),
    [
        (TaskGroup("t", 1, (1024, 1)), 1),
        (TaskGroup("t", 1, (1024, 1), max_attempts=3), 3),
        (TaskGroup("t", 1, (1024, 1), Command(end_signal=EndSignal(name="USR1"))), 4),
    ],
    ids=["by-default", "max-attempts", "signal"],
)
def test_a_task_beyond_its_time_or_memory_is_tried_again_only_if_the_submission_says_so(
    group, attempts, end, timed_out
) -> None:
    cluster = Cluster()
    cluster.feed(SubmitApplication("ann", "default", tasks=(group,)))
    for _ in range(attempts):
        assert cluster.state_of() == ApplicationState.RUNNING
        (launched,) = cluster.launch()
        cluster.now_ms += 100_000
        cluster.feed(ContainerExited(launched.container, **end, timed_out=timed_out))
    assert cluster.state_of() == ApplicationState.FAILED
    words = cluster.state.applications[1].diagnostics
    assert end["diagnostics"] in words
    assert ("failed, with no further attempt: " in words) == (attempts == 1)
    assert cluster.state.applications[1].cause == ("TIMEOUT" if timed_out else "OUT_OF_MEMORY")


def test_other_tasks_of_an_array_go_on_when_one_has_run_out_of_time() -> None:
    cluster = Cluster()
    group = TaskGroup("t", 2, (1024, 1), keep_going=True)
    cluster.feed(SubmitApplication("ann", "default", tasks=(group,)))
    first, second = cluster.launch() + cluster.launch()
    cluster.feed(ContainerExited(first.container, **TIMED_OUT, timed_out=True))
    assert cluster.state_of() == ApplicationState.RUNNING
    assert cluster.launch() == []
    cluster.exit(second.container)
    assert cluster.state_of() == ApplicationState.FAILED
    assert cluster.state.applications[1].cause == "TIMEOUT"


def test_the_cause_is_that_of_the_container_that_failed_last_and_nothing_but_a_failure() -> None:
    cluster = Cluster()
    group = TaskGroup("t", 2, (1024, 1), keep_going=True)
    for _ in range(2):
        cluster.feed(SubmitApplication("ann", "default", tasks=(group,)))
    cluster.launch()
    cluster.launch()
    (first, second), (third, _) = (
        application.containers for application in cluster.state.applications.values()
    )
    for container in (first, third):
        cluster.feed(ContainerExited(container, **OUT_OF_MEMORY))
    cluster.feed(ContainerExited(second, 127, cannot_start=True))
    cluster.feed(KillApplication(2))
    causes = [application.cause for application in cluster.state.applications.values()]
    assert (cluster.state_of(1), cluster.state_of(2), causes) == ("FAILED", "KILLED", ["", ""])
