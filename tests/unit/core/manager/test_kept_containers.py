"""Containers that outlive their master, for submissions that want it."""

import pytest
from tests.managed import SETTINGS, Managed

from fairshare.core.model.events import ApplicationState
from fairshare.core.model.identifiers import attempt_of
from fairshare.core.model.inputs import (
    AddTasks,
    ContainerExited,
    ContainerStarted,
    KillApplication,
    LaunchContainer,
    MasterRegistered,
    NodeBeat,
    NodeJoined,
    NodeLost,
    RequestContainers,
    SubmissionDetails,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup

KEPT = SubmissionDetails(keep_containers=True)
WORK = Command(("work",))


class Cluster(Managed):
    """An application with a driver and two containers of 1 GB that run, on two nodes of 8 GB."""

    def __init__(self, kind: str, details: SubmissionDetails = KEPT) -> None:
        super().__init__(kind, SETTINGS[kind], (8192, 8))
        self.feed(
            SubmitApplication(
                "ann", "root.default", master=(1024, 1), driver=Command(("drive",)), details=details
            )
        )
        self.settle()
        self.feed(MasterRegistered(1))
        self.feed(NodeJoined("n2", (8192, 8)))
        self.run_two("n2")

    def settle(self, *nodes: str) -> None:
        for _ in range(4):
            self.beat(*nodes)
        for container in self.application.attempt.launched:
            self.feed(ContainerStarted(container))

    def run_two(self, node: str) -> None:
        before = set(self.application.containers)

        self.feed(RequestContainers(1, (ContainerRequest(2, (1024, 1)),)))
        self.settle(node)
        for container in [c for c in self.application.containers if c not in before]:
            self.feed(LaunchContainer(1, container, WORK))
            self.feed(ContainerStarted(container))

    def lose_master(self) -> None:
        self.feed(ContainerExited(self.application.attempt.master, 1))

    def used_by_the_queue(self):
        return self.manager.state.queues["root.default"].used


@pytest.fixture(params=sorted(SETTINGS))
def kind(request) -> str:
    return request.param


def test_running_containers_go_on_and_the_next_master_has_them(kind):
    cluster = Cluster(kind)
    two = [c for c in cluster.application.containers if c != cluster.application.attempt.master]
    cluster.lose_master()
    assert cluster.application.attempt.number == 2
    assert list(cluster.application.containers) == two
    assert set(cluster.application.attempt.launched) == set(two)
    assert cluster.used_by_the_queue() == (2048, 2)
    cluster.settle()
    cluster.feed(MasterRegistered(1))
    cluster.run_two("n1")
    attempts = [attempt_of(container) for container in cluster.application.containers]
    assert attempts == [1, 1, 2, 2, 2]
    assert cluster.used_by_the_queue() == (5120, 5)


def test_without_the_option_all_containers_end_with_the_master(kind):
    cluster = Cluster(kind, SubmissionDetails())
    cluster.lose_master()
    assert not cluster.application.containers
    assert cluster.used_by_the_queue() == (0, 0)


def test_a_kept_container_ends_like_any_other(kind):
    cluster = Cluster(kind)
    first, second = (
        c for c in cluster.application.containers if c != cluster.application.attempt.master
    )
    cluster.lose_master()
    cluster.feed(ContainerExited(first, 0))
    assert list(cluster.application.containers) == [second]
    cluster.feed(NodeLost("n2"))
    assert cluster.used_by_the_queue() == (0, 0)


def test_a_container_that_does_not_run_yet_ends_with_the_master(kind):
    cluster = Cluster(kind)

    cluster.feed(RequestContainers(1, (ContainerRequest(1, (1024, 1)),)))
    cluster.feed(UpdateShares())
    cluster.feed(NodeBeat("n1"))
    assert len(cluster.application.containers) == 4
    cluster.lose_master()
    assert len(cluster.application.containers) == 2


def test_tasks_of_groups_end_since_the_next_master_asks_for_them_again(kind):
    cluster = Cluster(kind)
    cluster.feed(AddTasks(1, (TaskGroup("t", 2, (1024, 1), command=WORK),)))
    cluster.settle()
    assert len(cluster.application.containers) == 5
    cluster.lose_master()
    assert len(cluster.application.containers) == 2


def test_the_last_attempt_keeps_nothing(kind):
    cluster = Cluster(kind, SubmissionDetails(keep_containers=True, max_attempts=1))
    cluster.lose_master()
    assert cluster.application.state == ApplicationState.FAILED
    assert not cluster.application.containers


def test_killing_the_application_ends_kept_containers(kind):
    cluster = Cluster(kind)
    cluster.lose_master()
    cluster.feed(KillApplication(1))
    assert not cluster.application.containers
    assert cluster.used_by_the_queue() == (0, 0)


def test_what_a_user_of_a_leaf_uses_is_remembered_by_the_capacity_scheduler():
    cluster = Cluster("capacity")
    cluster.lose_master()
    user = cluster.manager.state.queues["root.default"].users.get("ann")
    assert user.used == {"": (2048, 2)}
