"""The Fair Scheduler on small clusters: shares follow weights, limits hold, every queue is
served."""

import msgspec
import pytest
from tests.facts.fair_dump import dump_queues

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated, Event, RequestRefused, SharesUpdated
from fairshare.core.model.inputs import (
    ContainerExited,
    Input,
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    RequestContainers,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.core.schedulers.protocol import at_once
from fairshare.core.schedulers.shares import Claim, fair_shares
from fairshare.runtime.graph import Writer
from fairshare.runtime.snapshot import STORED
from fairshare.settings.registry import family_of


class Cluster:
    """A Fair Scheduler over some nodes of 16 GB and 16 vcores."""

    def __init__(self, *queues: QueueSettings, nodes: int = 1, policy: str = "fair") -> None:
        self.manager = ResourceManager(family_of("fair").create(ResourceTypes()))
        self.settings = FairSettings(
            assign_multiple=True,
            dynamic_max_assign=False,
            allocations=AllocationSettings(
                queues={queue.name: queue for queue in queues}, default_policy=policy
            ),
        )
        self.load(self.settings)
        for number in range(nodes):
            self.feed(NodeJoined(f"n{number}", (16384, 16)))

    def feed(self, given: Input) -> tuple[Event, ...]:
        events = self.manager.handle(0, given)
        check(self.manager.state)
        return events

    def load(self, settings: FairSettings) -> tuple[Event, ...]:
        return self.feed(LoadConfiguration(msgspec.json.encode(settings), 1))

    def submit(self, queue: str, count: int, size: Resource = (1024, 1), user: str = "u") -> int:
        request = ContainerRequest(count, size)
        self.feed(SubmitApplication(user, queue, requests=(request,)))
        return len(self.manager.state.applications)

    def settle(self) -> list[ContainerAllocated]:
        self.feed(UpdateShares())
        events = [e for node in tuple(self.manager.state.nodes) for e in self.feed(NodeBeat(node))]
        return [event for event in events if isinstance(event, ContainerAllocated)]

    def used_mb(self, queue: str) -> int:
        return self.manager.state.queues[queue].used[0]


def test_two_queues_share_by_weight() -> None:
    cluster = Cluster(QueueSettings("root.a", weight=3.0), QueueSettings("root.b"))
    cluster.submit("a", 99)
    cluster.submit("b", 99)
    cluster.settle()
    assert (cluster.used_mb("root.a"), cluster.used_mb("root.b")) == (12288, 4096)


def test_a_queue_that_is_alone_gets_everything() -> None:
    cluster = Cluster(QueueSettings("root.a"), QueueSettings("root.b", weight=9.0))
    cluster.submit("a", 99)
    assert len(cluster.settle()) == 16


def test_a_queue_below_its_minimum_is_served_first() -> None:
    cluster = Cluster(QueueSettings("root.a", min_share=(10240, 10)), QueueSettings("root.b"))
    cluster.submit("b", 99)
    cluster.submit("a", 99)
    cluster.settle()
    assert cluster.used_mb("root.a") == 10240


def test_no_queue_grows_above_its_maximum() -> None:
    maximum = Amount(absolute=(3072, 99))
    cluster = Cluster(QueueSettings("root.a", max_share=maximum), QueueSettings("root.b"))
    cluster.submit("a", 99)
    cluster.submit("b", 4)
    cluster.settle()
    assert (cluster.used_mb("root.a"), cluster.used_mb("root.b")) == (3072, 4096)


def test_in_a_fifo_queue_the_first_application_gets_everything() -> None:
    cluster = Cluster(QueueSettings("root.a", policy="fifo"))
    first, second = cluster.submit("a", 20), cluster.submit("a", 20)
    assert {event.application for event in cluster.settle()} == {first}
    for container in list(cluster.manager.state.applications[first].containers):
        cluster.feed(ContainerExited(container, 0))
    assert [e.application for e in cluster.settle()] == [first] * 4 + [second] * 12


def test_under_drf_dominant_shares_are_equal() -> None:
    cluster = Cluster(QueueSettings("root", parent=True, policy="drf"), policy="drf")
    one = cluster.submit("a", 99, (1024, 1))
    two = cluster.submit("b", 99, (1024, 3))
    cluster.settle()
    used = cluster.manager.state.applications
    assert used[one].used == (7168, 7)
    assert used[two].used == (3072, 9)


def test_applications_above_the_limit_wait_and_start_when_one_ends() -> None:
    cluster = Cluster(QueueSettings("root.a", max_running_applications=1))
    first, second = cluster.submit("a", 1), cluster.submit("a", 1)
    assert [event.application for event in cluster.settle()] == [first]
    from fairshare.core.model.inputs import FinishApplication

    cluster.feed(FinishApplication(first))
    assert [event.application for event in cluster.settle()] == [second]


def test_a_user_without_a_queue_gets_one_by_name() -> None:
    cluster = Cluster()
    cluster.submit("default", 1, user="first.last")
    assert "root.first_dot_last" in cluster.manager.state.queues


def test_steady_shares_count_queues_in_which_nothing_runs() -> None:
    cluster = Cluster(QueueSettings("root.a"), QueueSettings("root.b"))
    cluster.submit("a", 1)
    cluster.feed(UpdateShares())
    views = {view.name: view for view in cluster.manager.scheduler.queue_views()}
    assert views["root.a"].fair_share[0] == 16384
    assert views["root.b"].fair_share[0] == 0
    assert views["root.a"].steady_fair_share[0] == views["root.b"].steady_fair_share[0] == 8192


def test_views_made_in_steps_leave_out_a_queue_that_comes_meanwhile_as_a_whole() -> None:
    cluster = Cluster(QueueSettings("root.a"), QueueSettings("root.b"))
    scheduler = cluster.manager.scheduler
    steps = scheduler.queue_views_in_steps()
    next(steps)
    cluster.submit("default", 1, user="late")
    views = at_once(steps)
    assert "root.late" in scheduler.state.queues
    assert "root.late" not in [view.name for view in views]
    assert sorted(views[0].children) == [view.name for view in views[1:]]


def test_readers_see_new_steady_shares_before_an_update_and_change_nothing() -> None:
    cluster = Cluster(QueueSettings("root.a"), QueueSettings("root.b"))
    cluster.feed(UpdateShares())
    cluster.feed(NodeJoined("n9", (4096, 4)))
    scheduler = cluster.manager.scheduler
    before = Writer(STORED).write({"queues": scheduler.state.queues})
    assert [view.steady_fair_share[0] for view in scheduler.queue_views()] == [20480, 10240, 10240]
    assert "SteadyFairShare: <memory:20480, vCores:20>" in dump_queues(scheduler.state)
    assert Writer(STORED).write({"queues": scheduler.state.queues}) == before
    cluster.feed(UpdateShares())
    assert scheduler.state.queues["root.a"].steady_fair_share[0] == 10240


def test_an_update_that_changes_nothing_emits_no_event() -> None:
    cluster = Cluster()
    cluster.submit("a", 1)
    assert cluster.feed(UpdateShares()) == (SharesUpdated(),)
    assert cluster.feed(UpdateShares()) == ()


def test_a_heartbeat_that_grants_nothing_emits_no_event() -> None:
    cluster = Cluster()
    cluster.submit("a", 17)
    cluster.settle()
    assert cluster.feed(NodeBeat("n0")) == ()


def test_a_larger_container_than_allowed_is_refused_as_a_whole() -> None:
    cluster = Cluster()
    application = cluster.submit("a", 1)
    requests = (ContainerRequest(1, (1024, 1)), ContainerRequest(1, (9999, 1)))
    (refused,) = cluster.feed(RequestContainers(application, requests))
    assert isinstance(refused, RequestRefused)
    assert "Requested resource=<memory:9999, vCores:1>" in refused.reason


def test_a_reload_changes_weights_at_once() -> None:
    cluster = Cluster(QueueSettings("root.a"), QueueSettings("root.b"))
    cluster.submit("a", 99)
    cluster.submit("b", 99)
    queues = {
        "root.a": QueueSettings("root.a", weight=3.0),
        "root.b": QueueSettings("root.b"),
    }
    allocations = msgspec.structs.replace(cluster.settings.allocations, queues=queues)
    cluster.load(msgspec.structs.replace(cluster.settings, allocations=allocations))
    cluster.settle()
    assert (cluster.used_mb("root.a"), cluster.used_mb("root.b")) == (12288, 4096)


@pytest.mark.parametrize("count", [1, 50])
def test_large_containers_reserve_a_node_and_get_it(count: int) -> None:
    cluster = Cluster(nodes=2)
    cluster.submit("a", 64)
    cluster.settle()
    big = cluster.submit("b", count, (8192, 4))
    cluster.settle()
    state = cluster.manager.state
    (node,) = [node for node in state.nodes.values() if node.reservation is not None]
    for container in list(node.containers)[:8]:
        cluster.feed(ContainerExited(container, 0))
    granted = cluster.settle()
    assert [event.reserved for event in granted if event.application == big] == [True]


def test_shares_are_found_for_maximums_that_a_float_rounds_down() -> None:
    odd = Claim(1.0, 0, 2**53 + 1)
    assert fair_shares(2**63 - 1, [odd, odd]) == [2**53, 2**53]
