"""Situations in which something waits: the named cause is the one in the way, the printed remedy
starts it, and lifting less than that does not.
"""

import msgspec
import pytest
from tests.unit.core.schedulers.waiting import Cluster, ask, capacity, fair

from fairshare.core.model.inputs import (
    ContainerExited,
    DrainNode,
    GangDue,
    KillApplication,
    LoadConfiguration,
    UndrainNode,
    UpdateShares,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.fair.settings import Amount, QueueSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.core.schedulers.reasons import Cause
from fairshare.server.insight.why import Words

WORDS = Words(ResourceTypes(), 1)


def explained(cluster, application):
    """The weightiest reason and its words."""
    reason = cluster.why(application)[0]
    return reason, WORDS.explain(reason)


def reload(cluster, settings):
    cluster.feed(LoadConfiguration(msgspec.json.encode(settings), 1))
    cluster.run()


def end(cluster, application):
    """All containers of an application end."""
    for container in tuple(cluster.manager.state.applications[application].containers):
        cluster.feed(ContainerExited(container, 0))
    cluster.run()


def limited(maximum_mb, **more):
    """A Fair Scheduler with one queue of at most so much memory."""
    return fair([QueueSettings("root.a", max_share=Amount(absolute=(maximum_mb, 8)), **more)])


def parts(parent=100.0, child=100.0, **leaf):
    """A Capacity Scheduler with root.p and root.p.x, whose maximums are parts of their parents'."""
    queues = {
        "root": CapacityQueue(children=("p", "q"), capacity=Percentage(100.0)),
        "root.p": CapacityQueue(
            children=("x",), capacity=Percentage(50.0), maximum_capacity=Percentage(parent)
        ),
        "root.p.x": CapacityQueue(
            capacity=Percentage(100.0),
            maximum_capacity=Percentage(child),
            maximum_master_share=1.0,
            user_limit_factor=10.0,
            **leaf,
        ),
        "root.q": CapacityQueue(capacity=Percentage(50.0)),
    }
    return CapacitySettings(queues=queues, maximum_allocation=(65536, 64))


# One limit: its remedy is enough.


def test_the_fair_schedulers_maximum():
    cluster = Cluster("fair", limited(3072))
    one = cluster.submit(ask(5))
    cluster.run()
    reason, words = explained(cluster, one)
    assert (reason.cause, reason.queue, reason.also) == (Cause.QUEUE_MAXIMUM, "root.a", ())
    assert "or its maximum is raised" in words.remedy
    reload(cluster, limited(5120))
    assert cluster.containers(one) == 5


def test_the_maximum_of_the_parent_is_named_as_the_parents():
    cluster = Cluster("capacity", parts(parent=50.0))
    one = cluster.submit(ask(6), queue="root.p.x")
    cluster.run()
    reason, words = explained(cluster, one)
    assert (reason.cause, reason.queue, reason.also) == (Cause.QUEUE_MAXIMUM, "root.p", ())
    assert "root.p uses" in words.sentence
    reload(cluster, parts(parent=100.0))
    assert cluster.containers(one) == 6


def test_the_maximums_of_parent_and_child_are_both_named_where_both_are_reached():
    cluster = Cluster("fair", nested(4096, 4096))
    one = cluster.submit(ask(6), queue="root.p.a")
    cluster.run()
    reason, words = explained(cluster, one)
    assert {reason.queue, *(other.queue for other in reason.also)} == {"root.p", "root.p.a"}
    assert "(1)" in words.remedy
    assert "(2)" in words.remedy
    reload(cluster, nested(4096, 8192))
    assert cluster.containers(one) == 4
    reload(cluster, nested(8192, 8192))
    assert cluster.containers(one) == 6


def nested(parent_mb, child_mb):
    return fair(
        [
            QueueSettings("root.p", parent=True, max_share=Amount(absolute=(parent_mb, 8))),
            QueueSettings("root.p.a", max_share=Amount(absolute=(child_mb, 8))),
        ]
    )


def test_the_remedy_for_a_lone_user_names_no_other_user():
    def settings(factor):
        return capacity(minimum_user_limit_percent=25.0, user_limit_factor=factor)

    cluster = Cluster("capacity", settings(0.25))
    one = cluster.submit(ask(6))
    cluster.run()
    reason, words = explained(cluster, one)
    assert (reason.cause, reason.count) == (Cause.USER_LIMIT, 0)
    assert "other user" not in words.remedy
    reload(cluster, settings(1.0))
    assert cluster.containers(one) == 6


def test_a_user_whose_limit_others_lower_may_wait_for_them():
    settings = capacity(minimum_user_limit_percent=10.0, maximum_master_share=1.0)
    cluster = Cluster("capacity", settings)
    cluster.submit(ask(6), user="ann")
    cluster.run()
    other = cluster.submit(ask(8), user="bob")
    cluster.run()
    one = cluster.submit(ask(2), user="ann")
    cluster.run()
    reason, words = explained(cluster, one)
    assert (reason.cause, reason.user, reason.count) == (Cause.USER_LIMIT, "ann", 1)
    assert "the 1 other user there has all they want" in words.remedy
    cluster.feed(KillApplication(other))
    cluster.run()
    assert cluster.containers(one) == 2


def test_a_users_weight_is_named_where_it_makes_the_limit():
    def settings(weight):
        return capacity(
            minimum_user_limit_percent=100.0,
            user_limit_factor=1.0,
            user_weights={"ann": weight},
        )

    cluster = Cluster("capacity", settings(0.25))
    one = cluster.submit(ask(6))
    cluster.run()
    reason, words = explained(cluster, one)
    assert (reason.cause, reason.weight) == (Cause.USER_LIMIT, 0.25)
    assert "whose weight is 0.25" in words.sentence
    assert "the user's weight" in words.remedy
    reload(cluster, settings(1.0))
    assert cluster.containers(one) == 6


# Two limits at once: all are named, since lifting one starts nothing.


def test_a_maximum_that_is_reached_while_no_node_has_room():
    cluster = Cluster(
        "fair",
        fair(
            [QueueSettings("root.a", max_share=Amount(absolute=(2048, 8))), QueueSettings("root.b")]
        ),
    )
    one = cluster.submit(ask(5))
    cluster.run()
    other = cluster.submit(ask(6), queue="root.b")
    cluster.run()
    reason, words = explained(cluster, one)
    assert reason.cause is Cause.QUEUE_MAXIMUM
    assert [one.cause for one in reason.also] == [Cause.NO_ROOM]
    assert "all of this is so" in words.remedy
    assert "No node has 1,024 MB, 1 vcore free" in words.remedy
    larger = fair([QueueSettings("root.a"), QueueSettings("root.b")])
    reload(cluster, larger)
    assert cluster.containers(one) == 2
    end(cluster, other)
    assert cluster.containers(one) == 5


def test_a_limit_on_running_applications_while_no_node_has_room():
    def settings(most):
        return fair([QueueSettings("root.a", max_running_applications=most)])

    cluster = Cluster("fair", settings(1))
    one = cluster.submit(ask(8))
    two = cluster.submit(ask(1))
    cluster.run()
    reason, words = explained(cluster, two)
    assert reason.cause is Cause.QUEUE_APPLICATIONS
    assert [other.cause for other in reason.also] == [Cause.NO_ROOM]
    assert "all of this is so" in words.remedy
    reload(cluster, settings(2))
    assert cluster.containers(two) == 0
    end(cluster, one)
    assert cluster.containers(two) == 1


def test_a_users_limit_while_no_node_has_room():
    settings = capacity(
        minimum_user_limit_percent=25.0, user_limit_factor=0.25, maximum_master_share=1.0
    )
    cluster = Cluster("capacity", settings)
    one = cluster.submit(ask(6), user="ann")
    cluster.run()
    others = [cluster.submit(ask(3), user=user) for user in ("bob", "cid")]
    cluster.run()
    assert list(map(cluster.containers, (one, *others))) == [3, 3, 2]
    reason, words = explained(cluster, one)
    assert reason.cause is Cause.USER_LIMIT
    assert [other.cause for other in reason.also] == [Cause.NO_ROOM]
    assert "all of this is so" in words.remedy
    raised = capacity(
        minimum_user_limit_percent=25.0, user_limit_factor=1.0, maximum_master_share=1.0
    )
    reload(cluster, raised)
    assert cluster.containers(one) == 3
    for other in others:
        cluster.feed(KillApplication(other))
    cluster.run()
    assert cluster.containers(one) == 6


def test_limits_of_a_user_and_of_a_queue_on_running_applications():
    def settings(queue, user):
        queues = [QueueSettings("root.a", max_running_applications=queue)]
        return fair(queues, user_max_applications={"ann": user})

    cluster = Cluster("fair", settings(1, 1))
    cluster.submit(ask(1))
    two = cluster.submit(ask(1))
    cluster.run()
    assert len(cluster.why(two)) == 2
    for reason in cluster.why(two):
        assert "all of this is so" in WORDS.explain(reason).remedy
    reload(cluster, settings(2, 1))
    assert cluster.containers(two) == 0
    reload(cluster, settings(2, 2))
    assert cluster.containers(two) == 1


# What no waiting changes.


@pytest.mark.parametrize("settings", [limited(3072), parts(parent=50.0, child=100.0)])
def test_a_container_larger_than_its_queues_maximum_never_starts(settings):
    fair_scheduler = not isinstance(settings, CapacitySettings)
    cluster = Cluster("fair" if fair_scheduler else "capacity", settings)
    one = cluster.submit(ask(1, 6144), queue="root.a" if fair_scheduler else "root.p.x")
    cluster.run()
    reason, words = explained(cluster, one)
    assert reason.cause is Cause.QUEUE_MAXIMUM
    assert "is larger than the maximum of" in words.sentence
    assert words.remedy.startswith("It never starts as it is")
    assert "containers" not in words.remedy


# Groups of one application.


def test_an_application_whose_maps_find_no_room_does_not_wait_for_itself():
    cluster = Cluster("fifo", FifoSettings())
    first = cluster.submit(ask(8))
    cluster.run()
    tasks = (TaskGroup("map", 2, (1024, 1)), TaskGroup("reduce", 1, (1024, 1), after=("map",)))
    two = cluster.submit(tasks=tasks)
    cluster.run()
    found = cluster.why(two)
    assert [reason.cause for reason in found] == [Cause.NO_ROOM, Cause.GROUPS_AHEAD]
    cluster.feed(KillApplication(first))
    cluster.run()
    assert [reason.cause for reason in cluster.why(two)] == [Cause.GROUPS_AHEAD]


# Nodes.


def test_a_drained_node_with_room_is_named():
    nodes = (("n1", (8192, 8)), ("n2", (8192, 8)))
    cluster = Cluster("fifo", FifoSettings(), nodes)
    cluster.feed(DrainNode("n1"))
    cluster.submit(ask(8))
    two = cluster.submit(ask(1))
    cluster.run()
    reason, words = explained(cluster, two)
    assert (reason.cause, reason.drained) == (Cause.NO_ROOM, "n1")
    assert "n1 has room, and is being drained." in words.sentence
    assert "`fairshare admin undrain n1`" in words.remedy
    cluster.feed(UndrainNode("n1"))
    cluster.run()
    assert cluster.containers(two) == 1


def test_a_drained_node_that_is_full_too_is_not_named():
    nodes = (("n1", (8192, 8)), ("n2", (8192, 8)))
    cluster = Cluster("fifo", FifoSettings(), nodes)
    cluster.submit(ask(16))
    cluster.run()
    cluster.feed(DrainNode("n1"))
    two = cluster.submit(ask(1))
    cluster.run()
    reason, words = explained(cluster, two)
    assert (reason.cause, reason.drained) == (Cause.NO_ROOM, "")
    assert "drained" not in words.sentence


# Preemption.


def test_a_preemption_under_way_is_mentioned_with_its_instant():
    settings = msgspec.structs.replace(
        fair(
            [
                QueueSettings("root.a"),
                QueueSettings(
                    "root.b",
                    min_share=(4096, 4),
                    min_share_timeout_ms=0,
                ),
            ]
        ),
        preemption=True,
        wait_before_kill_ms=9_000,
        preemption_utilization_threshold=0.0,
    )
    cluster = Cluster("fair", settings)
    cluster.submit(ask(8))
    cluster.run()
    two = cluster.submit(ask(2), queue="root.b")
    for now_ms in (1, 2, 3):
        cluster.manager.handle(now_ms, UpdateShares())
    (reason,) = cluster.why(two)
    assert (reason.cause, reason.preempting) == (Cause.NO_ROOM, 2)
    words = Words(ResourceTypes(), 1, reason.kill_at_ms - 9_000)
    assert "2 containers of others are being preempted, the first within 9 s." in (
        words.explain(reason).sentence
    )


def gang_of(count, memory_mb=1024):
    return {"tasks": (TaskGroup("t", count, (memory_mb, 1), gang=True, gang_timeout_ms=30_000),)}


def test_a_gang_that_holds_containers_says_what_is_missing_and_until_when():
    cluster = Cluster("fair", fair())
    other = cluster.submit(ask(4))
    cluster.run()
    gang = cluster.submit(**gang_of(6))
    cluster.run()
    words = Words(ResourceTypes(), 1, 10_000)
    held = next(one for one in cluster.why(gang) if one.cause is Cause.GANG_HOLDS)
    assert (held.count, held.containers, held.group) == (4, 2, 0)
    explanation = words.explain(held)
    assert explanation.sentence == (
        "It holds 4 of the 6 containers of its gang, which start together, and gives them back in"
        " 20 s."
    )
    assert explanation.remedy.startswith("It starts when the 2 missing containers are allocated")
    end(cluster, other)
    assert cluster.why(gang) == []


def test_a_paused_gang_says_when_it_tries_again():
    cluster = Cluster("fair", fair())
    cluster.submit(ask(4))
    cluster.run()
    gang = cluster.submit(**gang_of(6))
    cluster.run()
    cluster.manager.handle(30_000, GangDue(gang, 0))
    (reason,) = cluster.why(gang)
    assert (reason.cause, reason.containers, reason.due_ms) == (Cause.GANG_PAUSED, 6, 60_000)
    words = Words(ResourceTypes(), 1, 50_000).explain(reason)
    assert (
        words.sentence
        == "Its gang did not get all of its 6 containers in time, and gave them back."
    )
    assert words.remedy.endswith("as soon as that is so, and in 10 s in any case.")


def test_a_gang_that_the_empty_cluster_cannot_hold_says_so():
    cluster = Cluster("fair", fair())
    gang = cluster.submit(**gang_of(9))
    cluster.run()
    reason, words = explained(cluster, gang)
    assert (reason.cause, reason.containers, reason.count) == (Cause.GANG_TOO_LARGE, 9, 8)
    assert words.sentence.startswith("The 9 containers of its gang start together")
    assert words.remedy == (
        "It never starts as it is: ask for fewer or smaller containers, or add nodes."
    )
