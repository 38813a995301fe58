"""What queues are owed, and by which cause each part of it."""

import msgspec
import pytest
from tests.unit.core.schedulers.waiting import Cluster as Waiting
from tests.unit.core.schedulers.waiting import ask

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import (
    HoldApplication,
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    SetSafeMode,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, LabelCapacity, Percentage
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.core.schedulers.reasons import Cause
from fairshare.server.insight.owed import (
    OF_CHOICE,
    OF_FREE_ROOM,
    OF_LIMITS,
    OF_ROOM,
    Claim,
    Debts,
    OwedCause,
    owed_parts,
)
from fairshare.server.insight.why import Explanation
from fairshare.settings.registry import family_of


class Cluster:
    """A Fair Scheduler with two queues, whose nodes have 4 GB each."""

    def __init__(self, nodes=2, *, policy="fair", **of_b):
        queues = {name: QueueSettings(name, policy=policy) for name in ("root.a", "root.b")}
        queues["root.b"] = msgspec.structs.replace(queues["root.b"], **of_b)
        allocations = AllocationSettings(queues=queues, from_file=True, default_policy=policy)
        settings = FairSettings(allocations=allocations, assign_multiple=False)
        self.manager = ResourceManager(family_of("fair").create(ResourceTypes()))
        self.nodes = [f"n{number}" for number in range(nodes)]
        self.now_ms = 0
        self.handle(LoadConfiguration(msgspec.json.encode(settings), 1))
        self.handle(*(NodeJoined(name, (4096, 4)) for name in self.nodes))

    def handle(self, *inputs):
        for one in inputs:
            self.manager.handle(self.now_ms, one)

    def submit(self, queue, count, size_mb=1024, vcores=1, **more):
        group = TaskGroup("t", count, (size_mb, vcores), **more)
        self.handle(SubmitApplication("ann", queue, tasks=(group,)))
        self.beat()

    def beat(self, rounds=8):
        for _ in range(rounds):
            self.now_ms += 1_000
            self.handle(UpdateShares(), *(NodeBeat(name) for name in self.nodes))

    def owed(self, queue="root.b"):
        """The memory that a queue is owed, by cause."""
        amounts = {}
        for claim in Debts(self.manager.scheduler, self.now_ms).claims(queue, ""):
            cause = str(claim.cause)
            amounts[cause] = amounts.get(cause, 0) + claim.amount[0]
        return amounts


def test_what_others_have_above_their_share_is_owed_by_them():
    cluster = Cluster()
    cluster.submit("root.a", 8)
    cluster.submit("root.b", 9)
    assert cluster.owed() == {"lender": 4096}
    assert cluster.owed("root.a") == {}


def test_what_is_not_asked_for_is_not_owed():
    cluster = Cluster()
    cluster.submit("root.a", 8)
    cluster.submit("root.b", 1)
    assert cluster.owed() == {"lender": 1024}
    cluster.handle(HoldApplication(2))
    cluster.beat()
    assert cluster.owed() == {}


def test_room_in_pieces_is_distinguished_from_room_that_others_hold():
    cluster = Cluster()
    cluster.submit("root.a", 2, 3072)
    cluster.submit("root.b", 1, 2048)
    assert cluster.owed() == {"fragmentation": 2048}


def test_less_than_one_container_is_a_remainder():
    cluster = Cluster(nodes=1, policy="fair")
    cluster.submit("root.a", 1, 2048)
    cluster.submit("root.b", 2, 1024)
    cluster.submit("root.b", 1, 3072)
    assert cluster.owed() == {}  # it has its share
    cluster = Cluster(nodes=1)
    cluster.submit("root.a", 1, 2048)
    cluster.submit("root.b", 1, 1024)
    cluster.submit("root.b", 1, 2048)
    assert cluster.owed() == {"remainder": 1024}


def test_a_limit_on_applications_is_charged_before_the_lack_of_room():
    cluster = Cluster(max_running_applications=1)
    cluster.submit("root.a", 8)
    cluster.submit("root.b", 1)
    cluster.submit("root.b", 5)
    assert cluster.owed() == {"lender": 1024, "applications": 3072}


def test_a_gang_that_a_maximum_keeps_from_starting_is_charged_to_that():
    cluster = Cluster(max_share=Amount(absolute=(2048, 8)))
    cluster.submit("root.b", 3, gang=True, gang_timeout_ms=1_000)
    assert cluster.owed() == {"maximum": 2048}
    cluster = Cluster()
    cluster.submit("root.b", 12, gang=True, gang_timeout_ms=1_000)
    assert cluster.owed() == {"impossible": 8192}


def labelled(**of_b):
    """Leaves with a half of the cluster each, of which b may use a partition with a node, too."""
    everything = {"gpu": LabelCapacity(Percentage(100.0), Percentage(100.0))}
    leaf = CapacityQueue(
        capacity=Percentage(50.0), maximum_master_share=1.0, user_limit_factor=10.0
    )
    leaves = {
        "root.a": leaf,
        "root.b": msgspec.structs.replace(
            leaf, accessible_labels=("gpu",), label_capacities=everything, **of_b
        ),
    }
    root = CapacityQueue(
        children=("a", "b"), capacity=Percentage(100.0), label_capacities=everything
    )
    settings = CapacitySettings(
        queues={"root": root, **leaves},
        maximum_allocation=(65536, 64),
        labels_enabled=True,
        labels={"gpu": True},
        label_of_node={"n2": "gpu"},
    )
    return Waiting("capacity", settings, nodes=(("n1", (8192, 8)), ("n2", (8192, 8))))


def test_a_gang_is_owed_in_the_partition_that_it_names():
    cluster = labelled()
    group = TaskGroup("t", 9, (1024, 1), gang=True, gang_timeout_ms=1_000, label="gpu")
    cluster.submit(queue="root.b", tasks=(group,))
    cluster.run()
    debts = Debts(cluster.manager.scheduler, 0)
    assert debts.claims("root.b", "") == []
    [claim] = debts.claims("root.b", "gpu")
    assert (claim.cause, claim.amount[0]) == (OwedCause.IMPOSSIBLE, 8192)


def test_a_maximum_that_admits_no_container_is_charged_before_a_limit_on_masters():
    maximum = Percentage(50.0)
    cluster = labelled(maximum_capacity=maximum, maximum_master_share=0.1)
    cluster.submit(ask(1), queue="root.b")
    cluster.submit(ask(1, 5120), queue="root.b")
    cluster.run()
    [claim] = Debts(cluster.manager.scheduler, 0).claims("root.b", "")
    assert (claim.cause, claim.reason.never) == (OwedCause.MAXIMUM, True)


def test_a_type_that_no_share_divides_is_the_cause_where_it_is_used_up():
    cluster = Cluster()
    cluster.submit("root.a", 4, 1024, 2)
    cluster.submit("root.b", 4)
    assert cluster.owed() == {"undivided": 4096}


def test_a_node_without_memory_is_not_about_the_vcores_that_it_lacks_too():
    cluster = Cluster()
    cluster.submit("root.a", 2, 2048, 2, hosts=("n0",), relax=False)
    cluster.submit("root.b", 1, 3072, 4, hosts=("n1",), relax=False)
    cluster.submit("root.b", 1, 1024, 1, hosts=("n0",), relax=False)
    assert cluster.owed() == {"locality": 1024}


def test_what_others_have_above_their_share_in_pieces_of_several_nodes_is_fragmentation():
    cluster = Cluster()
    cluster.submit("root.a", 6)  # three on each node, of which one of each is above its share
    cluster.submit("root.b", 1, 3072)
    assert cluster.owed() == {"fragmentation": 3072}


def test_what_is_used_of_a_type_that_does_not_count_is_not_lent():
    shares = {"root.a": 30.0, "root.b": 40.0, "root.c": 30.0}
    leaves = {
        name: CapacityQueue(
            capacity=Percentage(share), user_limit_factor=10.0, maximum_master_share=1.0
        )
        for name, share in shares.items()
    }
    root = CapacityQueue(children=("a", "b", "c"), capacity=Percentage(100.0))
    settings = CapacitySettings(queues={"root": root, **leaves}, maximum_allocation=(65536, 64))
    cluster = Waiting("capacity", settings, nodes=(("n1", (8192, 4)),))
    for queue, *request in (("a", 1, 4096), ("c", 2, 1024), ("b", 2, 1024), ("b", 1, 1024)):
        cluster.submit(ask(*request), queue=f"root.{queue}")
        cluster.run()
    # What root.a has above its share is one container, and root.c has no memory above its own.
    [claim] = Debts(cluster.manager.scheduler, 0).claims("root.b", "")
    assert (claim.cause, claim.amount[0]) == (OwedCause.FRAGMENTATION, 1024)


def test_safe_mode_stops_everything():
    cluster = Cluster()
    cluster.submit("root.a", 8)
    cluster.submit("root.b", 2)
    cluster.handle(SetSafeMode(True))
    assert cluster.owed() == {"stopped": 2048}


def test_a_place_that_is_asked_for_is_the_cause_while_other_nodes_have_room():
    cluster = Cluster()
    cluster.submit("root.a", 4, hosts=("n0",), relax=False)
    cluster.submit("root.b", 1, hosts=("n0",), relax=False)
    assert cluster.owed() == {"locality": 1024}


def test_the_parts_add_up_and_the_largest_is_first():
    cluster = Cluster()
    cluster.submit("root.b", 1)
    application = cluster.manager.state.applications[1]
    claims = [
        Claim(OwedCause.MAXIMUM, application, (1024, 1), None),
        Claim(OwedCause.LENDER, application, (9000, 1), None),
    ]
    parts = owed_parts(4096, 0, claims, lambda claim: Explanation(str(claim.cause), "wait"))
    found = [(part.kind, part.amount, part.first, part.sentence) for part in parts]
    assert found == [("lender", 3072, 1, "lender"), ("maximum", 1024, 1, "maximum")]
    (rest,) = owed_parts(4096, 0, [], lambda claim: Explanation("", ""))
    assert (rest.kind, rest.amount, rest.first) == ("other", 4096, None)


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_of_the_core_has_its_place(cause):
    assert [cause in of for of in (OF_LIMITS, OF_FREE_ROOM, OF_ROOM, OF_CHOICE)].count(True) == 1
