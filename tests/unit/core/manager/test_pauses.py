"""What fails at once is tried again after a pause: tasks, and nodes that cannot start them."""

from itertools import pairwise

import msgspec
import pytest
from tests.managed import SETTINGS, Managed

from fairshare.core.model.events import (
    ContainerLaunched,
    Event,
    NodeFailing,
    NodeRecovered,
    TaskPaused,
)
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    KillApplication,
    NodeDue,
    NodeJoined,
    NodeLost,
    SubmitApplication,
    TasksDue,
)
from fairshare.core.model.nodes import pause_ms
from fairshare.core.model.work import Command, TaskGroup
from fairshare.runtime.agenda import Agenda
from fairshare.runtime.snapshot import freeze, thaw

ONE = TaskGroup("t", 1, (1024, 1), Command(("false",)), max_attempts=100)
FULL = "cannot write it: No space left on device"


class Cluster(Managed):
    """One node n1 of eight containers, with the timers of a runtime."""

    def __init__(self, *nodes: str) -> None:
        super().__init__("fair", SETTINGS["fair"], (8192, 8))
        for name in nodes:
            super().feed(NodeJoined(name, (8192, 8)))
        self.agenda = Agenda(self.manager.scheduler)

    def feed(self, given) -> tuple[Event, ...]:
        events = super().feed(given)
        if hasattr(self, "agenda"):
            self.agenda.note(self.now_ms, events)
        return events

    def launch(self, *nodes: str) -> list[ContainerLaunched]:
        """What the beats of nodes launch, once all that is due has been fed."""
        for due in self.agenda.due(self.now_ms):
            self.feed(due)
        return super().launch(*nodes)

    def fail(self, container, code=1, **more) -> tuple[Event, ...]:
        return self.feed(ContainerExited(container, code, **more))

    def sleep(self) -> int:
        """Let the time pass until the next pause is over; how long that is."""
        next_ms = self.agenda.next_ms()
        assert next_ms is not None
        before_ms, self.now_ms = self.now_ms, max(self.now_ms, next_ms)
        return self.now_ms - before_ms


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def submit(cluster: Cluster, **more: object) -> None:
    group = msgspec.structs.replace(ONE, **more)
    cluster.feed(SubmitApplication("ann", "default", tasks=(group,)))


def test_pauses_grow_to_a_minute():
    assert [pause_ms(before) for before in (0, 1, 2, 5, 6, 1_000)] == [
        *(1_000, 2_000, 4_000, 32_000, 60_000, 60_000)
    ]


def test_the_starts_of_a_task_that_fails_at_once_are_further_and_further_apart(cluster):
    submit(cluster)
    starts = []
    for _ in range(9):
        (launched,) = cluster.launch()
        starts.append(cluster.now_ms)
        cluster.fail(launched.container)
        assert cluster.launch() == []
        assert cluster.state.applications[1].attempt.asks.pending == (0, 0)
        cluster.sleep()
    apart = [after - before for before, after in pairwise(starts)]
    assert apart == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]


def test_a_task_that_ran_for_longer_than_its_pause_is_tried_again_at_once(cluster):
    submit(cluster)
    (launched,) = cluster.launch()
    cluster.now_ms += 1_000
    cluster.fail(launched.container)
    assert len(cluster.launch()) == 1


@pytest.mark.parametrize("code", [-100, -102])
def test_a_task_whose_container_was_taken_away_is_tried_again_at_once(cluster, code):
    submit(cluster)
    (launched,) = cluster.launch()
    cluster.fail(launched.container, code)
    assert len(cluster.launch()) == 1


def test_a_task_whose_output_has_no_room_pauses_and_does_not_fail(cluster):
    submit(cluster, max_attempts=1)
    for _ in range(3):
        (launched,) = cluster.launch()
        cluster.fail(launched.container, -101)
        assert cluster.launch() == []
        cluster.sleep()
    (launched,) = cluster.launch()
    cluster.fail(launched.container, 0)
    assert cluster.state.applications[1].state == "FINISHED"


def test_other_tasks_do_not_wait_for_the_pause_of_one(cluster):
    submit(cluster, count=9)
    launched = cluster.launch()
    assert len(launched) == 8
    cluster.fail(launched[0].container)
    (other,) = cluster.launch()
    assert other.task == 8


def test_a_gang_starts_again_together_after_the_pause_of_one_of_its_tasks(cluster):
    submit(cluster, count=3, gang=True)
    launched = cluster.launch()
    assert len(launched) == 3
    cluster.fail(launched[1].container)
    assert not cluster.state.applications[1].containers
    assert cluster.launch() == []
    cluster.sleep()
    assert len(cluster.launch()) == 3


def test_an_application_ends_with_its_last_task_and_not_before_a_pause_is_over(cluster):
    submit(cluster, count=2, max_attempts=2, keep_going=True)
    first, second = cluster.launch()
    cluster.fail(first.container)
    cluster.fail(second.container, 0)
    application = cluster.state.applications[1]
    assert application.state == "RUNNING"
    assert application.tasks.groups[0].lost == 0
    cluster.sleep()
    (again,) = cluster.launch()
    cluster.fail(again.container)
    assert application.state == "FAILED"


def test_the_pause_of_an_application_that_was_killed_is_forgotten(cluster):
    submit(cluster)
    (launched,) = cluster.launch()
    cluster.fail(launched.container)
    cluster.feed(KillApplication(1))
    assert cluster.agenda.next_ms() is None
    assert cluster.feed(TasksDue(1)) == ()


def test_pauses_of_a_recovered_state_are_over_when_they_were_to_be(cluster):
    submit(cluster)
    (launched,) = cluster.launch()
    (paused,) = [one for one in cluster.fail(launched.container) if type(one) is TaskPaused]
    assert Agenda(cluster.manager.scheduler).next_ms() == paused.until_ms
    assert cluster.feed(TasksDue(1)) == ()  # too early


def test_groups_from_a_snapshot_pause_apart(cluster):
    """Empty dictionaries that are shared before it are one object behind it, too."""
    for _ in range(2):
        submit(cluster)
    thawed = thaw(freeze(1, 0, {"manager": cluster.manager}))["manager"]
    first, second = (thawed.state.applications[number].tasks for number in (1, 2))
    first.pause(0, 0, 1_000)
    assert first.next_resume_ms == 1_000
    assert second.next_resume_ms is None
    assert second.groups[0].pauses == {}


def test_a_node_that_cannot_start_containers_gets_one_wave_after_each_pause():
    cluster = Cluster()
    submit(cluster, count=100)
    waves = []
    for _ in range(5):
        launched = cluster.launch()
        waves.append(len(launched))
        for one in launched:
            cluster.fail(one.container, -101, diagnostics=FULL, node_failed=True)
        assert cluster.launch() == []
        known = cluster.state.failing["n1"]
        assert known.reason == FULL
        assert known.until_ms == cluster.now_ms + pause_ms(len(waves) - 1)
        assert known.failures == len(waves)
        cluster.sleep()
    assert waves == [8] * 5


def test_a_node_has_recovered_when_it_starts_a_container(cluster):
    submit(cluster, count=9)
    first, *others = cluster.launch()
    cluster.fail(first.container, -100, node_failed=True)
    assert [type(one) for one in cluster.feed(ContainerStarted(others[0].container))][-1] is (
        NodeRecovered
    )
    assert not cluster.state.failing
    assert len(cluster.launch()) == 1


def test_other_nodes_go_on_while_one_fails():
    cluster = Cluster("n2")
    submit(cluster, count=30)
    launched = cluster.launch("n1")
    events = cluster.fail(launched[0].container, -100, node_failed=True)
    assert [type(one) for one in events].count(NodeFailing) == 1
    assert cluster.launch("n1") == []
    assert len(cluster.launch("n2")) == 8


def test_a_node_that_leaves_is_not_known_to_fail_when_it_returns(cluster):
    submit(cluster)
    (launched,) = cluster.launch()
    cluster.fail(launched.container, -100, node_failed=True)
    cluster.feed(NodeLost("n1"))
    assert not cluster.state.failing
    assert cluster.feed(NodeDue("n1")) == ()
