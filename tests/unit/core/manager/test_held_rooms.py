"""A container whose node has reported it as running keeps its room there until the node reports its
end, whoever has decided it: `SchedulerNode.releaseContainer` of YARN."""

import pytest
from tests.managed import SETTINGS, Managed

from fairshare.core.model.events import ContainerCompleted, RoomFreed
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    DrainNode,
    ForgetApplications,
    KillApplication,
    NodeBeat,
    NodeJoined,
    NodeLost,
    NodeResized,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.work import TaskGroup


class Cluster(Managed):
    """One node of 4 GB, and the manager that it reports to."""

    step_ms = 20_000

    def __init__(self, kind: str = "fifo") -> None:
        super().__init__(kind, SETTINGS[kind], (4096, 4))

    def settle(self) -> None:
        self.feed(UpdateShares())
        while any(type(event) is not RoomFreed for event in self.feed(NodeBeat("n1"))):
            pass

    def submit(self, count: int = 1, memory_mb: int = 2048) -> list[int]:
        """The containers of an application with so many tasks."""
        number = self.state.next_application
        group = TaskGroup("t", count, (memory_mb, 1))
        self.feed(SubmitApplication("ann", tasks=(group,)))
        self.settle()
        return list(self.state.applications[number].containers)

    def run(self, *containers: int) -> None:
        """The node reports that they run."""
        for container in containers:
            self.feed(ContainerStarted(container, holds_room=True))

    @property
    def node(self):
        return self.state.nodes["n1"]


@pytest.fixture(params=sorted(SETTINGS))
def cluster(request) -> Cluster:
    return Cluster(request.param)


def test_the_use_ends_at_once_and_the_room_with_the_report(cluster):
    containers = cluster.submit(2)
    cluster.run(*containers)
    cluster.feed(KillApplication(1))
    assert cluster.state.used == (0, 0)
    assert cluster.state.applications[1].used == (0, 0)
    assert cluster.node.available[0] == 0
    assert cluster.node.containers == {}
    assert cluster.node.occupants == 2
    assert cluster.submit() == []  # there is no room yet

    events = cluster.feed(ContainerExited(containers[0], 143))
    assert events == (RoomFreed(containers[0], "n1"),)
    cluster.settle()
    assert len(cluster.state.applications[2].containers) == 1
    cluster.feed(ContainerExited(containers[1], 143))
    assert cluster.node.available[0] == 2048
    assert cluster.feed(ContainerExited(containers[1], 143)) == ()  # told twice
    assert cluster.state.ending == {}


def test_a_container_that_its_node_has_not_reported_leaves_at_once(cluster):
    cluster.submit(2)
    cluster.feed(KillApplication(1))
    assert cluster.node.available == (4096, 4)


def test_so_does_one_of_an_engine_that_reports_no_end_of_what_it_stops(cluster):
    for container in cluster.submit(2):
        cluster.feed(ContainerStarted(container))
    cluster.feed(KillApplication(1))
    assert cluster.node.available == (4096, 4)


def test_a_container_that_ends_by_itself_takes_one_report(cluster):
    (container,) = cluster.submit()
    cluster.run(container)
    events = cluster.feed(ContainerExited(container, 0, cpu_ms=7))
    assert events[0] == ContainerCompleted(container, 0, cpu_ms=7, reported=True)
    assert cluster.node.available == (4096, 4)
    assert cluster.state.running == {}


def test_a_report_is_heard_when_the_application_is_forgotten(cluster):
    (container,) = cluster.submit()
    cluster.run(container)
    cluster.feed(KillApplication(1))
    cluster.feed(ForgetApplications((1,)))
    assert cluster.feed(ContainerExited(container, 143)) == (RoomFreed(container, "n1"),)
    assert cluster.node.available == (4096, 4)


def test_what_is_ending_is_gone_with_its_node(cluster):
    (container,) = cluster.submit()
    cluster.run(container)
    cluster.feed(KillApplication(1))
    cluster.feed(NodeLost("n1"))
    assert cluster.state.ending == {}
    cluster.feed(NodeJoined("n1", (4096, 4)))
    assert cluster.node.available == (4096, 4)
    assert cluster.feed(ContainerExited(container, 143)) == ()


def test_a_drained_node_offers_what_its_ending_containers_hold(cluster):
    (container,) = cluster.submit()
    cluster.run(container)
    cluster.feed(DrainNode("n1"))
    cluster.feed(KillApplication(1))
    cluster.feed(NodeBeat("n1"))
    assert cluster.node.total == (2048, 1)
    cluster.feed(ContainerExited(container, 143))
    cluster.feed(NodeBeat("n1"))
    assert cluster.node.total == (0, 0)


def test_a_node_that_is_too_small_loses_no_more_than_it_must(cluster):
    """What is ending will be free: nobody else is ended in its place, and nobody twice."""
    containers = cluster.submit(4, 1024)
    cluster.run(*containers)
    ended = [
        event.container
        for event in cluster.feed(NodeResized("n1", (3072, 4), overcommit_timeout_ms=0))
        if isinstance(event, ContainerCompleted)
    ]
    assert ended == containers[-1:]
    assert cluster.node.available == (-1024, 0)
    events = cluster.feed(NodeResized("n1", (2048, 4), overcommit_timeout_ms=0))
    ended = [event.container for event in events if isinstance(event, ContainerCompleted)]
    assert ended == containers[-2:-1]
    for container in containers[2:]:
        cluster.feed(ContainerExited(container, 143))
    assert cluster.node.available == (0, 2)
