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
    NodeJoined,
    PreemptContainers,
    UndrainNode,
    UpdateShares,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.schedulers.capacity.settings import (
    CapacitySettings,
    MonitorSettings,
    Percentage,
)
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.fair.settings import Amount, QueueSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.core.schedulers.reasons import Cause
from fairshare.server.insight.why import Words, words_of

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
    [reason] = cluster.why(two)
    assert [one.cause for one in reason.also] == [Cause.QUEUE_APPLICATIONS]
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


def test_vcores_that_a_memory_calculator_ignores_never_limit_a_container():
    nodes = (("n1", (8192, 1)),)  # half of it has no vcore
    cluster = Cluster("capacity", parts(parent=50.0), nodes)
    cluster.submit(ask(4), queue="root.p.x")
    cluster.run()
    one = cluster.submit(ask(1), queue="root.p.x")
    cluster.run()
    reason, _ = explained(cluster, one)
    assert (reason.cause, reason.never) == (Cause.QUEUE_MAXIMUM, False)


def test_a_queue_that_may_run_nothing_says_that_waiting_does_not_help():
    def settings(most):
        return fair([QueueSettings("root.a", max_running_applications=most)])

    cluster = Cluster("fair", settings(0))
    one = cluster.submit(ask(1))
    cluster.run()
    reason, words = explained(cluster, one)
    assert (reason.cause, reason.never) == (Cause.QUEUE_APPLICATIONS, True)
    assert words.sentence == "root.a may run no applications: its maximum is 0."
    assert words.remedy.startswith("It never starts there")
    reload(cluster, settings(1))
    assert cluster.containers(one) == 1


def test_a_master_larger_than_the_part_of_all_masters_never_starts():
    def settings(part):
        return fair([QueueSettings("root.a", max_master_share=part)])

    cluster = Cluster("fair", settings(0.1))
    one = cluster.submit(master=(1024, 1), driver=Command(("drive",)))
    cluster.run()
    reason, words = explained(cluster, one)
    assert (reason.cause, reason.never) == (Cause.QUEUE_MASTERS, True)
    assert "may use 820 MB" in words.sentence
    assert "another application" not in words.remedy
    reload(cluster, settings(0.5))
    assert cluster.containers(one) == 1


def test_the_node_that_comes_nearest_to_a_container_that_is_too_large_is_one_node():
    nodes = (("n1", (8192, 3)), ("n2", (2048, 8)))
    cluster = Cluster("fair", fair(), nodes)
    one = cluster.submit(ask(1, 6144, 6))
    cluster.run()
    reason, words = explained(cluster, one)
    assert (reason.cause, reason.node) == (Cause.TOO_LARGE, "n1")
    assert words.sentence == (
        "One container of 6,144 MB, 6 vcores is larger than every node: n1 comes nearest with"
        " 8,192 MB, 3 vcores."
    )


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


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("fair", fair()), ("capacity", capacity(user_limit_factor=10.0, maximum_master_share=1.0))],
)
def test_a_request_behind_a_larger_one_of_its_own_application_says_so(kind, settings):
    cluster = Cluster(kind, settings)
    cluster.submit(ask(4))
    cluster.run()
    one = cluster.submit(ask(1, 6144, priority=1), ask(1, priority=2))
    cluster.run()
    found = {reason.priority: reason for reason in cluster.why(one)}
    assert found[2].cause is Cause.OWN_FIRST
    assert (
        words_of(cluster.manager.state)
        .explain(found[2])
        .sentence.startswith("Its own request for 6,144 MB")
    )
    assert cluster.containers(one) == 0


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


def test_the_only_node_that_is_large_enough_is_drained():
    cluster = Cluster("fair", fair(), (("n1", (8192, 8)), ("n2", (2048, 2))))
    cluster.feed(DrainNode("n1"))
    one = cluster.submit(ask(1, 4096))
    cluster.run()
    reason, words = explained(cluster, one)
    assert (reason.cause, reason.node) == (Cause.NODES_DRAINED, "n1")
    assert words.sentence.startswith("n1, the only node that it could use, is being drained")
    assert "`fairshare admin undrain n1`" in words.remedy
    cluster.feed(UndrainNode("n1"))
    cluster.run()
    assert cluster.containers(one) == 1


def test_the_only_host_that_is_accepted_is_drained():
    cluster = Cluster("fair", fair(), (("n1", (8192, 8)), ("n2", (8192, 8))))
    cluster.feed(DrainNode("n1"))
    one = cluster.submit(ask(1, hosts=("n1",), relax=False))
    cluster.run()
    reason, _ = explained(cluster, one)
    assert (reason.cause, reason.node) == (Cause.NODES_DRAINED, "n1")
    cluster.feed(UndrainNode("n1"))
    cluster.run()
    assert cluster.containers(one) == 1


def test_a_place_that_is_nowhere_is_not_taken_for_a_drained_one():
    cluster = Cluster("fair", fair(), (("n1", (8192, 8)), ("n2", (8192, 8))))
    cluster.feed(DrainNode("n1"))
    one = cluster.submit(ask(1, hosts=("n9",), relax=False))
    cluster.run()
    assert cluster.why(one)[0].cause is Cause.PLACE_UNKNOWN


def test_room_on_a_host_that_is_not_accepted_is_not_denied():
    cluster = Cluster("fair", fair(), (("n1", (8192, 8)), ("n2", (8192, 8))))
    cluster.submit(ask(8, hosts=("n1",), relax=False))
    cluster.run()
    one = cluster.submit(ask(1, hosts=("n1",), relax=False))
    cluster.run()
    reason, words = explained(cluster, one)
    assert (reason.cause, reason.node) == (Cause.NO_ROOM, "n1")
    assert words.sentence.startswith("No node that it accepts has 1,024 MB")


def test_no_node_has_less_than_nothing_free():
    cluster = Cluster("capacity", capacity())
    cluster.submit(ask(8))
    cluster.run()
    cluster.feed(NodeJoined("n1", (4096, 4), "/r1"))
    one = cluster.submit(ask(1), user="bob")
    cluster.run()
    room = [
        one
        for one in (cluster.why(one)[0], *cluster.why(one)[0].also)
        if one.cause is Cause.NO_ROOM
    ]
    assert [reason.available for reason in room] == [(0, 0)]


def test_types_that_do_not_count_are_left_out_of_the_words():
    cluster = Cluster("capacity", capacity(user_limit_factor=10.0, maximum_master_share=1.0))
    cluster.submit(ask(8))
    cluster.run()
    one = cluster.submit(ask(1))
    cluster.run()
    state = cluster.manager.state
    assert state.counts_memory_alone
    sentence = words_of(state).explain(cluster.why(one)[0]).sentence
    assert sentence.startswith("No node has 1,024 MB free: n1 comes nearest with 0 MB.")


def test_what_waits_is_informed_of_the_end_of_its_lifetime():
    cluster = Cluster("fair", fair())
    cluster.submit(ask(8))
    cluster.run()
    one = cluster.submit(ask(1), lifetime_s=30)
    cluster.run()
    found = cluster.why(one)
    assert [reason.cause for reason in found] == [Cause.NO_ROOM, Cause.LIFETIME]
    words = Words(ResourceTypes(), 1, 10_000).explain(found[-1])
    assert words.sentence.startswith("Its lifetime ends in 20 s, at ")


# Preemption.


def preempting(nodes):
    """Two queues with halves of these nodes, of which preemption takes all at once that it may."""
    leaf = CapacityQueue(
        capacity=Percentage(50.0), user_limit_factor=10.0, maximum_master_share=1.0
    )
    root = CapacityQueue(children=("a", "b"), capacity=Percentage(100.0))
    monitor = MonitorSettings(
        enabled=True,
        monitor_on=True,
        total_per_round=1.0,
        natural_termination_factor=1.0,
        wait_before_kill_ms=9_000,
    )
    queues = {"root": root, "root.a": leaf, "root.b": leaf}
    settings = CapacitySettings(queues=queues, monitor=monitor)
    return Cluster("capacity", settings, [(name, (8192, 8)) for name in nodes])


def test_a_preemption_is_not_reported_to_the_queue_whose_containers_are_taken():
    cluster = preempting(["n1"])
    cluster.submit(ask(8))
    cluster.run()
    borrower = cluster.submit(ask(2))
    owed = cluster.submit(ask(2), queue="root.b", user="bob")
    cluster.run()
    cluster.feed(PreemptContainers())
    cluster.feed(PreemptContainers())
    assert explained(cluster, owed)[0].preempting == 2
    assert explained(cluster, borrower)[0].preempting == 0


def test_a_preemption_is_not_reported_to_an_ask_that_does_not_accept_the_node():
    cluster = preempting(["n1", "n2"])
    cluster.submit(ask(6, hosts=("n2",), relax=False))
    cluster.submit(ask(2, hosts=("n2",), relax=False), queue="root.b")
    cluster.run()
    cluster.submit(ask(8, hosts=("n1",), relax=False))  # of which the last ones are taken
    cluster.run()
    anywhere = cluster.submit(ask(2), queue="root.b", user="bob")
    there = cluster.submit(ask(2, hosts=("n2",), relax=False), queue="root.b", user="eve")
    cluster.run()
    cluster.feed(PreemptContainers())
    cluster.feed(PreemptContainers())
    assert explained(cluster, anywhere)[0].preempting == 4
    assert explained(cluster, there)[0].preempting == 0


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


def test_a_gang_above_its_queues_maximum_holds_nothing_and_names_the_maximum():
    cluster = Cluster("fair", limited(4096))
    gang = cluster.submit(**gang_of(6))
    cluster.run()
    assert cluster.containers(gang) == 0
    reason, words = explained(cluster, gang)
    assert (reason.cause, reason.containers, reason.count) == (Cause.GANG_TOO_LARGE, 6, 4)
    assert words.sentence == (
        "The 6 containers of its gang start together, and the maximum of root.a (4,096 MB,"
        " 8 vcores) admit 4."
    )
    assert words.remedy.startswith("It never starts as it is")
    reload(cluster, limited(6144))
    cluster.manager.handle(reason.due_ms, GangDue(gang, 0))
    cluster.run()
    assert cluster.containers(gang) == 6


@pytest.mark.parametrize(("count", "starts"), [(8, True), (9, True), (10, False)])
def test_a_gang_above_its_users_limit_holds_nothing_and_names_the_limit(count, starts):

    nodes = (("n1", (16384, 16)),)
    settings = capacity(user_limit_factor=0.5, maximum_master_share=1.0)
    cluster = Cluster("capacity", settings, nodes)
    gang = cluster.submit(**gang_of(count))
    cluster.run()
    assert cluster.containers(gang) == (count if starts else 0)
    if not starts:
        reason, words = explained(cluster, gang)
        assert (reason.cause, reason.count) == (Cause.GANG_TOO_LARGE, 9)
        assert "the limit of ann in root.a" in words.sentence


def test_a_gang_that_others_in_its_queue_leave_too_little_does_not_try_again_and_again():
    cluster = Cluster("fair", limited(6144))
    other = cluster.submit(ask(2))
    cluster.run()
    gang = cluster.submit(**gang_of(6))
    cluster.run()
    cluster.manager.handle(30_000, GangDue(gang, 0))
    cluster.manager.handle(31_000, GangDue(gang, 0))  # four nodes' room, two too few of the queue
    reason, words = explained(cluster, gang)
    assert reason.cause is Cause.GANG_PAUSED
    assert "Now the maximum of root.a" in words.sentence
    end(cluster, other)
    cluster.manager.handle(32_000, GangDue(gang, 0))
    cluster.run()
    assert cluster.containers(gang) == 6


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
