"""A leaf's fair share is divided by weight at each update; between two updates applications keep
what they have."""

import msgspec
from tests.unit.core.schedulers.test_fair_sharing import Cluster

from fairshare.core.model.inputs import MoveApplication, RequestContainers, UpdateShares
from fairshare.core.model.resources import Resource
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.fair.settings import QueueSettings


def _share(cluster: Cluster, application: int) -> Resource:
    return cluster.manager.scheduler.application_view(application).fair_share


def _change_policy(cluster: Cluster, policy: str) -> None:
    """Of the queue; of the root, too, if that can have it."""
    queues = {"root.a": QueueSettings("root.a", policy=policy)}
    default = "fair" if policy == "fifo" else policy
    allocations = msgspec.structs.replace(
        cluster.settings.allocations, queues=queues, default_policy=default
    )
    cluster.load(msgspec.structs.replace(cluster.settings, allocations=allocations))
    cluster.feed(UpdateShares())


def test_applications_of_a_leaf_have_equal_shares_after_an_update() -> None:
    cluster = Cluster()
    first = cluster.submit("a", 9)
    cluster.feed(UpdateShares())
    second = cluster.submit("a", 9)
    assert [_share(cluster, one)[0] for one in (first, second)] == [16384, 0]
    cluster.feed(UpdateShares())
    assert [_share(cluster, one)[0] for one in (first, second)] == [8192, 8192]


def test_an_application_takes_its_share_into_another_queue_until_the_next_update() -> None:
    cluster = Cluster(QueueSettings("root.a"), QueueSettings("root.b"))
    moved, stays = cluster.submit("a", 9), cluster.submit("b", 9)
    cluster.feed(UpdateShares())
    cluster.feed(MoveApplication(moved, "root.b"))
    assert [_share(cluster, one)[0] for one in (moved, stays)] == [8192, 8192]
    cluster.submit("b", 9)
    cluster.feed(UpdateShares())
    assert [_share(cluster, one)[0] for one in (moved, stays)] == [5462, 5462]


def test_shares_of_a_type_that_is_divided_no_longer_stay_as_they_were() -> None:
    cluster = Cluster(policy="drf")
    first = cluster.submit("a", 9)
    cluster.feed(UpdateShares())
    assert _share(cluster, first) == (16384, 16)
    second = cluster.submit("a", 9)
    _change_policy(cluster, "fair")
    assert [_share(cluster, one) for one in (first, second)] == [(8192, 16), (8192, 0)]


def test_under_fifo_the_oldest_application_has_the_whole_share_and_others_keep_theirs() -> None:
    cluster = Cluster()
    first, second = cluster.submit("a", 9), cluster.submit("a", 9)
    cluster.feed(UpdateShares())
    third = cluster.submit("a", 9)
    _change_policy(cluster, "fifo")
    assert [_share(cluster, one)[0] for one in (first, second, third)] == [16384, 8192, 0]
    _change_policy(cluster, "fair")
    assert [_share(cluster, one)[0] for one in (first, second, third)] == [5462, 5462, 5462]


def test_an_application_whose_weight_changes_with_the_policy_keeps_its_share_of_other_types() -> (
    None
):
    cluster = Cluster(policy="drf")
    cluster.settings = msgspec.structs.replace(cluster.settings, size_based_weight=True)
    cluster.load(cluster.settings)
    first, second = cluster.submit("a", 1), cluster.submit("a", 1)
    cluster.feed(UpdateShares())
    before = [_share(cluster, one) for one in (first, second)]
    cluster.feed(RequestContainers(first, (ContainerRequest(9, (1024, 1)),)))
    _change_policy(cluster, "fair")
    after = [_share(cluster, one) for one in (first, second)]
    assert after[0][0] > before[0][0] > after[1][0]
    assert [one[1] for one in after] == [one[1] for one in before]
