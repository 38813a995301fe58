"""The container that is killed on purpose."""

from fairshare.client.answers import Application, Container, Progress, Task
from fairshare.client.errors import Refused
from fairshare.demonstration.applications.results import Casualty, Stage


class Cluster:
    """Stands for a client: remembers what was stopped, and tells how the task stands."""

    def __init__(self) -> None:
        self.stopped: list[str] = []
        self.refuses = False
        self.task = Task("map", 7, "RUNNING", 1, "young")

    def stop_container(self, container: str) -> None:
        if self.refuses:
            raise Refused(409, "container-over", "it is over")
        self.stopped.append(container)

    def tasks(self, application: str) -> tuple[Task, ...]:
        return (Task("map", 6, "RUNNING", 1, "old"), self.task)


def application(succeeded: int) -> Application:
    return Application(
        id="a",
        state="RUNNING",
        user="production",
        progress=Progress(total=10, succeeded=succeeded),
        containers=(
            Container("old", state="RUNNING", group="map", task=6, allocated_ms=1),
            Container("young", state="RUNNING", group="map", task=7, allocated_ms=2),
            Container("unborn", state="ALLOCATED", group="map", task=8, allocated_ms=3),
        ),
    )


def test_nothing_is_killed_before_enough_is_done() -> None:
    cluster = Cluster()
    casualty = Casualty(cluster, 0.5)
    assert casualty.step(application(4)) is None
    assert cluster.stopped == []


def test_the_task_of_a_killed_container_is_followed_until_it_has_succeeded() -> None:
    cluster = Cluster()
    casualty = Casualty(cluster, 0.5)
    assert casualty.step(application(5)) == ("killed on purpose: a container of production (map 7)")
    assert cluster.stopped == ["young"]
    cluster.task = Task("map", 7, "WAITING", 1, "young", 143)
    assert casualty.step(application(5)) is None
    cluster.task = Task("map", 7, "RUNNING", 2, "second")
    assert casualty.step(application(5)) == "map 7 runs again in another container"
    assert casualty.step(application(5)) is None
    cluster.task = Task("map", 7, "SUCCEEDED", 2, "second", 0)
    assert casualty.step(application(6)) == "map 7 has run again, and succeeded"
    assert (casualty.stage, casualty.successor) == (Stage.SUCCEEDED, "second")
    assert casualty.step(application(6)) is None


def test_another_container_is_chosen_when_one_was_faster_than_the_order_to_stop_it() -> None:
    cluster = Cluster()
    casualty = Casualty(cluster, 0.5)
    casualty.step(application(5))
    cluster.task = Task("map", 7, "SUCCEEDED", 1, "young", 0)
    assert "before the order came" in (casualty.step(application(6)) or "")
    assert casualty.stage is Stage.WAITING
    assert casualty.step(application(6)) is not None
    assert len(cluster.stopped) == 2


def test_a_refused_order_does_no_harm() -> None:
    cluster = Cluster()
    cluster.refuses = True
    casualty = Casualty(cluster, 0.5)
    assert casualty.step(application(5)) is None
    assert casualty.stage is Stage.WAITING
