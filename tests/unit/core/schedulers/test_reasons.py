"""Why something waits: each cause with its numbers, from the scheduler that causes it."""

import msgspec
import pytest
from tests.unit.core.schedulers.waiting import Cluster, ask, capacity, fair

from fairshare.core.model.inputs import (
    ChangeBlacklist,
    ContainerExited,
    DrainNode,
    KillApplication,
    MoveApplication,
    NodeJoined,
    NodeLost,
    SetSafeMode,
    SubmitApplication,
    UndrainNode,
    UpdateShares,
)
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, LabelCapacity, Percentage
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.fair.settings import Amount, QueueSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.core.schedulers.reasons import Cause


@pytest.fixture(params=["fair", "fifo", "capacity"])
def cluster(request):
    settings = {
        "fair": fair([QueueSettings("root.a")]),
        "fifo": FifoSettings(maximum_allocation=(65536, 64)),
        "capacity": capacity(maximum_master_share=1.0),
    }[request.param]
    return Cluster(request.param, settings)


def test_an_application_that_does_not_wait_has_no_reason(cluster):
    one = cluster.submit(ask(2))
    cluster.run()
    assert cluster.why(one) == []


def test_an_ask_larger_than_every_node_reports_the_largest_nodes_size(cluster):
    one = cluster.submit(ask(1, 16384))
    cluster.run()
    (reason,) = cluster.why(one)
    assert reason.cause is Cause.TOO_LARGE
    assert (reason.wanted, reason.available) == ((16384, 1), (8192, 8))


def test_a_full_cluster_names_the_node_that_comes_nearest(cluster):
    one = cluster.submit(ask(1, 6144, 6))
    cluster.run()
    two = cluster.submit(ask(3, 4096))
    cluster.run()
    assert cluster.why(one) == []
    (reason,) = cluster.why(two)
    if reason.cause is Cause.RESERVED_HERE:  # the fair and capacity schedulers may reserve
        assert reason.node == "n1"
    else:
        assert reason.cause is Cause.NO_ROOM
        assert (reason.node, reason.available[0]) == ("n1", 2048)
    assert reason.containers == 3


def test_before_the_next_heartbeat_there_is_no_obstacle(cluster):
    one = cluster.submit(ask(1))
    cluster.feed(UpdateShares())
    assert [reason.cause for reason in cluster.why(one)] == [Cause.NEXT_OFFER]


def test_a_place_that_is_not_in_the_cluster(cluster):
    one = cluster.submit(ask(1, hosts=("n9",), relax=False))
    cluster.run()
    assert [reason.cause for reason in cluster.why(one)] == [Cause.PLACE_UNKNOWN]


def test_a_cluster_without_nodes(cluster):
    state = cluster.manager.state
    one = cluster.submit(ask(1))
    cluster.feed(NodeLost("n1"))
    assert not state.nodes
    assert [reason.cause for reason in cluster.why(one)] == [Cause.NO_NODES]


def test_an_application_that_refuses_every_node(cluster):
    one = cluster.submit(ask(1))
    cluster.feed(ChangeBlacklist(one, ("n1",)))
    cluster.run()
    assert [reason.cause for reason in cluster.why(one)] == [Cause.BLACKLISTED]


def test_the_heaviest_reason_comes_first(cluster):
    one = cluster.submit(ask(9, 1024, priority=1), ask(1, 16384, priority=2))
    cluster.run()
    assert cluster.why(one)[0].cause is Cause.TOO_LARGE
    assert len(cluster.why(one)) == 2


def test_an_ended_application_does_not_wait(cluster):
    one = cluster.submit(ask(1, 16384))
    cluster.feed(KillApplication(one))
    assert cluster.why(one) == []


def test_a_group_that_waits_for_another_one():
    cluster = Cluster("fair", fair([QueueSettings("root.a")]))
    first = TaskGroup("map", 1, (1024, 1))
    then = TaskGroup("reduce", 1, (1024, 1), after=("map",))
    cluster.feed(SubmitApplication("ann", "root.a", tasks=(first, then)))
    cluster.run()
    (reason,) = cluster.why(1)
    assert (reason.cause, reason.group) == (Cause.GROUPS_AHEAD, 1)
    (container,) = cluster.manager.state.applications[1].containers
    cluster.feed(ContainerExited(container, 0))
    cluster.run()
    assert cluster.why(1) == []


def test_the_fair_schedulers_limit_on_running_applications_of_a_queue_above():
    queues = [QueueSettings("root.p", parent=True, max_running_applications=1)]
    queues.append(QueueSettings("root.p.a"))
    cluster = Cluster("fair", fair(queues))
    cluster.submit(ask(1), queue="root.p.a")
    two = cluster.submit(ask(1), queue="root.p.a")
    cluster.run()
    (reason,) = cluster.why(two)
    assert (reason.cause, reason.queue, reason.count) == (Cause.QUEUE_APPLICATIONS, "root.p", 1)


def test_the_fair_schedulers_limit_on_running_applications_of_a_user():
    settings = fair([QueueSettings("root.a")], user_max_applications={"ann": 1})
    cluster = Cluster("fair", settings)
    cluster.submit(ask(1))
    two = cluster.submit(ask(1))
    cluster.run()
    (reason,) = cluster.why(two)
    assert (reason.cause, reason.user, reason.count) == (Cause.USER_APPLICATIONS, "ann", 1)


def test_the_fair_schedulers_limit_on_masters():
    cluster = Cluster("fair", fair([QueueSettings("root.a", max_master_share=0.1)]))
    one = cluster.submit(master=(2048, 1))
    cluster.run()
    (reason,) = cluster.why(one)
    assert (reason.cause, reason.queue) == (Cause.QUEUE_MASTERS, "root.a")
    assert (reason.used, reason.limit, reason.wanted) == ((0, 0), (820, 1), (2048, 1))


def test_the_fair_schedulers_maximum_names_the_queue_that_is_full():
    queues = [
        QueueSettings("root.p", parent=True, max_share=Amount(absolute=(3072, 8))),
        QueueSettings("root.p.a"),
    ]
    cluster = Cluster("fair", fair(queues))
    one = cluster.submit(ask(5), queue="root.p.a")
    cluster.run()
    (reason,) = cluster.why(one)
    assert (reason.cause, reason.queue) == (Cause.QUEUE_MAXIMUM, "root.p")
    assert (reason.used, reason.limit, reason.containers) == ((3072, 3), (3072, 8), 2)


def test_the_application_served_first_is_named():
    cluster = Cluster("fifo", FifoSettings())
    cluster.submit(ask(8))
    one = cluster.submit(ask(8))
    two = cluster.submit(ask(1))
    cluster.run()
    (reason,) = cluster.why(two)
    assert (reason.cause, reason.count, reason.ahead) == (Cause.NO_ROOM, 1, (one,))


def test_the_capacity_schedulers_user_limit():
    cluster = Cluster("capacity", capacity(minimum_user_limit_percent=25.0, user_limit_factor=0.25))
    one = cluster.submit(ask(8))
    cluster.run()
    (reason,) = cluster.why(one)
    assert (reason.cause, reason.user, reason.queue) == (Cause.USER_LIMIT, "ann", "root.a")
    assert reason.used > reason.limit


def test_the_capacity_schedulers_limit_on_masters():
    cluster = Cluster("capacity", capacity(maximum_master_share=0.1))
    cluster.submit(master=(1024, 1))
    two = cluster.submit(master=(1024, 1))
    cluster.run()
    found = cluster.why(two)
    assert found[0].cause is Cause.QUEUE_MASTERS
    assert (found[0].used, found[0].wanted) == ((1024, 1), (1024, 1))


def test_the_capacity_schedulers_limit_on_parallel_applications():
    cluster = Cluster("capacity", capacity(maximum_parallel_applications=1))
    cluster.submit(ask(1))
    two = cluster.submit(ask(1))
    cluster.run()
    (reason,) = cluster.why(two)
    assert (reason.cause, reason.queue, reason.count) == (Cause.QUEUE_APPLICATIONS, "root.a", 1)


def two_leaves(**limits):
    """Two leaves, a with a quarter of the cluster and these limits, on two nodes."""
    queues = {
        "root": CapacityQueue(children=("a", "b"), capacity=Percentage(100.0)),
        "root.a": CapacityQueue(capacity=Percentage(25.0), maximum_master_share=1.0, **limits),
        "root.b": CapacityQueue(capacity=Percentage(75.0)),
    }
    settings = CapacitySettings(queues=queues, maximum_allocation=(65536, 64))
    return Cluster("capacity", settings, (("n1", (8192, 8)), ("n2", (8192, 8))))


@pytest.mark.parametrize(
    "limits", [{"maximum_capacity": Percentage(25.0)}, {"minimum_user_limit_percent": 50.0}]
)
def test_a_limit_that_its_own_reservation_has_reached_is_not_the_reason(limits):
    cluster = two_leaves(**limits)
    cluster.submit(ask(2, 5120), queue="root.b", user="bob")
    cluster.run()
    one = cluster.submit(ask(1, 4096))
    cluster.run()
    cluster.submit(ask(1), user="eve")  # which may halve the limit of ann
    assert [reason.cause for reason in cluster.why(one)] == [Cause.RESERVED_HERE]


def test_what_max_parallel_apps_held_back_is_passed_over_where_a_move_has_made_room():
    """As in Hadoop the application is held back until one of a full queue ends."""
    cluster = two_leaves(maximum_parallel_applications=1)
    one, two = (cluster.submit(ask(1)) for _ in range(2))
    cluster.feed(MoveApplication(one, "root.b"))
    cluster.run()
    (reason,) = cluster.why(two)
    assert (reason.cause, reason.queue, reason.user) == (Cause.PASSED_OVER, "root.a", "ann")
    assert cluster.containers(two) == 0


def test_safe_mode_is_the_reason_before_all_others(cluster):
    one = cluster.submit(ask(1))
    cluster.feed(SetSafeMode(True))
    cluster.run()
    assert [reason.cause for reason in cluster.why(one)] == [Cause.SAFE_MODE]


def test_a_node_that_is_drained_is_named_and_its_size_still_counts_for_what_may_be_asked(cluster):
    cluster.feed(DrainNode("n1"))
    one = cluster.submit(ask(1))
    cluster.run()
    (reason,) = cluster.why(one)
    assert (reason.cause, reason.node, reason.count) == (Cause.NODES_DRAINED, "n1", 1)
    cluster.feed(UndrainNode("n1"))
    cluster.run()
    assert cluster.why(one) == []


def test_a_queue_without_capacity_on_a_partition_says_so():
    settings = msgspec.structs.replace(
        capacity(accessible_labels=("gpu",)),
        labels_enabled=True,
        labels={"gpu": True},
        label_of_node={"n2": "gpu"},
    )
    cluster = Cluster("capacity", settings, (("n1", (8192, 8)), ("n2", (8192, 8))))
    one = cluster.submit(ask(1, label="gpu"))
    cluster.run()
    (reason,) = cluster.why(one)
    assert (reason.cause, reason.label) == (Cause.NO_CAPACITY, "gpu")


def test_a_master_that_lacks_free_vcores_waits_for_room_and_not_for_ever_for_a_limit():
    """Where the policy divides memory alone, what is free limits the vcores of masters."""
    queues = [QueueSettings("root.a", max_master_share=0.5), QueueSettings("root.b")]
    cluster = Cluster("fair", fair(queues))
    cluster.submit(ask(8, 512), queue="root.b")
    cluster.run()
    one = cluster.submit(master=(1024, 1))
    cluster.run()
    (reason,) = cluster.why(one)
    assert (reason.cause, reason.never) == (Cause.NO_ROOM, False)


def test_a_limit_on_masters_that_grows_with_what_is_free_does_not_last_for_ever():
    queues = [QueueSettings("root.a", max_master_share=0.3), QueueSettings("root.b")]
    cluster = Cluster("fair", fair(queues))
    cluster.submit(ask(5, 512), queue="root.b")
    cluster.run()
    one = cluster.submit(master=(1024, 2))
    cluster.run()
    (reason,) = cluster.why(one)
    assert (reason.cause, reason.limit[1], reason.never) == (Cause.QUEUE_MASTERS, 1, False)


def with_gpus(**leaf):
    """A leaf that may use all of a partition, and one node, which is in that partition."""
    everything = {"gpu": LabelCapacity(Percentage(100.0), Percentage(100.0))}
    settings = capacity(accessible_labels=("gpu",), label_capacities=everything, **leaf)
    root = msgspec.structs.replace(settings.queues["root"], label_capacities=everything)
    return msgspec.structs.replace(
        settings,
        queues={**settings.queues, "root": root},
        labels_enabled=True,
        labels={"gpu": True},
        label_of_node={"n1": "gpu"},
    )


def test_a_master_in_a_partition_without_nodes_waits_for_a_node():
    cluster = Cluster("capacity", with_gpus(maximum_master_share=1.0))
    cluster.submit(ask(1, label="gpu"))
    two = cluster.submit(ask(1, label="gpu"))
    cluster.run()
    reason = cluster.why(two)[0]
    assert (reason.cause, reason.label, reason.queue) == (Cause.NO_NODES, "", "root.a")
    cluster.feed(NodeJoined("n2", (8192, 8)))
    cluster.run()
    assert cluster.why(two) == []


def test_a_master_in_a_partition_whose_nodes_are_drained_names_one():
    cluster = Cluster("capacity", with_gpus(), (("n1", (8192, 8)), ("n2", (8192, 8))))
    cluster.feed(DrainNode("n2"))
    cluster.run()
    cluster.submit(ask(1, label="gpu"))
    two = cluster.submit(ask(1, label="gpu"))
    cluster.run()
    reason = cluster.why(two)[0]
    assert (reason.cause, reason.node, reason.count) == (Cause.NODES_DRAINED, "n2", 1)
