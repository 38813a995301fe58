"""What every registered scheduler does, whatever it decides.

The queues are those of an empty configuration directory. Tasks have the smallest container of the
scheduler, and one slot where its resources are slots.
"""

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import (
    ApplicationState,
    ApplicationSubmitted,
    ContainerLaunched,
    Event,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    DrainNode,
    Input,
    KillApplication,
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    NodeLost,
    SetSafeMode,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import fits, total
from fairshare.core.model.work import TaskGroup
from fairshare.core.record import Record
from fairshare.core.schedulers.reasons import reasons
from fairshare.runtime.recovery import recover, replay
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import FAMILIES

ROOM = 4
"""Containers that a node has room for."""


class Cluster:
    """A cluster of one scheduler that records each step, as a server does."""

    def __init__(self, name: str, directory) -> None:
        family = FAMILIES[name]
        settings = read_directory(directory, scheduler=name).settings
        self.family = family
        self.types = settings.types
        slots = [n for n in self.types.names if n.endswith("-slots")]
        smallest = getattr(settings, "minimum_allocation", self.types.none)
        self.size = self.types.vector({slots[0]: 1}) if slots else smallest
        self.node_size = tuple(amount * ROOM for amount in self.size)
        self.manager = ResourceManager(family.create(self.types))
        self.records: list[Record] = []
        self.now_ms = 0
        self.running: dict[ContainerId, None] = {}
        self.handle(LoadConfiguration(msgspec.json.encode(settings), 1_000))

    @property
    def state(self):
        return self.manager.state

    def handle(self, given: Input) -> tuple[Event, ...]:
        self.now_ms += 1_000
        events = self.manager.handle(self.now_ms, given)
        if events:
            self.records.append(Record(len(self.records) + 1, self.now_ms, given, events))
        for event in events:
            if type(event) is ContainerLaunched:
                self.running[event.container] = None
        check(self.state)
        return events

    def join(self, *names: str) -> None:
        for name in names:
            self.handle(NodeJoined(name, self.node_size))

    def submit(self, tasks: int, user: str = "ann") -> ApplicationId:
        group = TaskGroup("work", tasks, self.size)
        events = self.handle(SubmitApplication(user, "default", tasks=(group,)))
        return next(e.application for e in events if type(e) is ApplicationSubmitted)

    def beat(self, rounds: int = 12) -> None:
        """Let time pass: shares are updated, nodes beat, and launched tasks start."""
        for _ in range(rounds):
            self.handle(UpdateShares())
            for node in tuple(self.state.nodes):
                self.handle(NodeBeat(node))
            for container in tuple(self.running):
                if container not in self.live() or self.running[container] is not None:
                    continue
                self.handle(ContainerStarted(container))

    def live(self) -> dict[ContainerId, str]:
        """The live containers, and the node of each."""
        return {
            container: record.node
            for application in self.state.applications.values()
            for container, record in application.containers.items()
        }

    def finish_tasks(self) -> None:
        for container in tuple(self.running):
            if container in self.live():
                self.handle(ContainerExited(container, 0))
            del self.running[container]

    def run(self, application: ApplicationId, rounds: int = 30) -> ApplicationState:
        for _ in range(rounds):
            if self.state.applications[application].over:
                break
            self.beat(1)
            self.finish_tasks()
        return self.state.applications[application].state


@pytest.fixture(params=sorted(FAMILIES))
def cluster(request, tmp_path) -> Cluster:
    return Cluster(request.param, tmp_path)


def test_an_application_runs_its_tasks_and_leaves_nothing_behind(cluster):
    cluster.join("n1")
    application = cluster.submit(tasks=2 * ROOM + 1)
    assert cluster.run(application) == ApplicationState.FINISHED
    assert cluster.live() == {}
    assert cluster.state.nodes["n1"].available == cluster.node_size
    assert not any(cluster.state.used)
    assert {view.containers for view in cluster.manager.scheduler.queue_views(cluster.now_ms)} == {
        0
    }


def test_a_node_never_runs_more_than_it_offers(cluster):
    cluster.join("n1", "n2")
    for user in ("ann", "bob", "cid"):
        cluster.submit(3 * ROOM, user)
    for _ in range(6):
        cluster.beat(2)
        for node in cluster.state.nodes.values():
            used = [record.resource for record in node.containers.values()]
            assert fits(total(used, len(cluster.types.names)), cluster.node_size)
    assert cluster.live()


def test_the_views_of_queues_count_what_applications_use(cluster):
    cluster.join("n1")
    cluster.submit(2)
    cluster.submit(1, "bob")
    cluster.beat()
    views = {v.name: v for v in cluster.manager.scheduler.queue_views(cluster.now_ms)}
    used = total((a.used for a in cluster.state.applications.values()), len(cluster.types.names))
    assert any(used)
    assert views["root"].used == used


def test_a_waiting_application_has_a_cause(cluster):
    application = cluster.submit(tasks=1)
    cluster.beat()
    waiting = cluster.state.applications[application]
    limits = cluster.manager.scheduler.limits_of(application)
    assert reasons(waiting, limits, cluster.state)


def test_tasks_of_a_lost_node_run_again_elsewhere(cluster):
    cluster.join("n1")
    application = cluster.submit(tasks=ROOM)
    cluster.beat()
    assert set(cluster.live().values()) == {"n1"}
    cluster.join("n2")
    cluster.handle(NodeLost("n1"))
    cluster.running.clear()
    assert cluster.live() == {}
    assert cluster.run(application) == ApplicationState.FINISHED


def test_a_drained_node_receives_nothing(cluster):
    cluster.join("n1", "n2")
    cluster.handle(DrainNode("n1"))
    cluster.submit(2 * ROOM)
    cluster.beat()
    assert set(cluster.live().values()) == {"n2"}


def test_in_safe_mode_nothing_is_granted(cluster):
    cluster.join("n1")
    application = cluster.submit(1)
    cluster.handle(SetSafeMode(True))
    cluster.beat()
    assert cluster.live() == {}
    cluster.handle(SetSafeMode(False))
    assert cluster.run(application) == ApplicationState.FINISHED


def test_a_killed_application_frees_its_containers(cluster):
    cluster.join("n1")
    first = cluster.submit(ROOM)
    cluster.beat()
    second = cluster.submit(1, "bob")
    cluster.handle(KillApplication(first))
    cluster.running.clear()
    assert cluster.live() == {}
    assert cluster.run(second) == ApplicationState.FINISHED


def busy(cluster: Cluster) -> Cluster:
    cluster.join("n1", "n2")
    for user in ("ann", "bob"):
        cluster.submit(2 * ROOM, user)
    cluster.beat(3)
    cluster.finish_tasks()
    cluster.beat(3)
    cluster.handle(NodeLost("n2"))
    cluster.beat(2)
    return cluster


def test_the_same_records_lead_to_the_same_decisions(cluster):
    busy(cluster)
    assert replay(cluster.records, ResourceManager(cluster.family.create(cluster.types))) is None


def test_a_state_recovered_from_records_decides_on_as_before(cluster):
    busy(cluster)
    recovered = ResourceManager(cluster.family.create(cluster.types))
    recover(cluster.records, recovered.state)
    goes_on_alike(cluster, recovered)


def test_a_state_from_a_snapshot_decides_on_as_before(cluster):
    busy(cluster)
    position = cluster.records[-1]
    kept = freeze(position.sequence, position.now_ms, {"manager": cluster.manager})
    goes_on_alike(cluster, thaw(kept)["manager"])


def goes_on_alike(cluster: Cluster, other: ResourceManager) -> None:
    check(other.state)
    following: list[Input] = [NodeJoined("n3", cluster.node_size), UpdateShares()]
    for given in [*following, *[NodeBeat("n3")] * (ROOM + 1), NodeBeat("n1")]:
        cluster.now_ms += 1_000
        expected = cluster.manager.handle(cluster.now_ms, given)
        assert other.handle(cluster.now_ms, given) == expected
        for manager in (cluster.manager, other):
            manager.state.settle()
