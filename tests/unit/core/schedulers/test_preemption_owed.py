"""An application that waits below its share says who is above theirs, and what keeps preemption
away: the first condition that is not met."""

import msgspec
import pytest
from tests.unit.core.schedulers.waiting import Cluster, ask, fair

from fairshare.core.model.inputs import NodeBeat, UpdateShares
from fairshare.core.schedulers.capacity.settings import (
    CapacitySettings,
    MonitorSettings,
    Percentage,
)
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.entitlement import Entitlement, Excess, Obstacle
from fairshare.core.schedulers.fair.settings import QueueSettings

ON = MonitorSettings(enabled=True, monitor_on=True)
ON_WATCH = MonitorSettings(enabled=True, monitor_on=True, observe_only=True)


def owed(cluster, *, takes="root.b", wants="root.a", gigabytes=8):
    """What `wants` is owed after `takes` has all that it asks for of the only node's 8 GB."""
    cluster.submit(ask(gigabytes), queue=takes, user="bob")
    cluster.run()
    waiting = cluster.submit(ask(8), queue=wants)
    for _ in range(20):
        cluster.feed(NodeBeat("n1"))
    cluster.feed(UpdateShares())
    reasons = cluster.why(waiting)
    return reasons[0].preemption if reasons else None


def owed_of_size(cluster, memory_mb):
    """The same of one container of this size."""
    cluster.submit(ask(8), queue="root.b", user="bob")
    cluster.run()
    waiting = cluster.submit(ask(1, memory_mb), queue="root.a")
    for _ in range(20):
        cluster.feed(NodeBeat("n1"))
    cluster.feed(UpdateShares())
    [reason] = cluster.why(waiting)
    assert (reason.preemption is None) == (reason.preempting > 0)
    return reason.preemption


def of_fair(queues=None, *, preemption=True, utilization=0.8, **allocations):
    queues = queues or [QueueSettings("root.a"), QueueSettings("root.b")]
    settings = msgspec.structs.replace(
        fair(queues, **allocations),
        preemption=preemption,
        preemption_utilization_threshold=utilization,
    )
    return Cluster("fair", settings)


def of_capacity(monitor, *, b=None, above=40.0):
    share = Percentage(100.0 - above)
    queues = {
        "root": CapacityQueue(children=("a", "b"), capacity=Percentage(100.0)),
        "root.a": CapacityQueue(capacity=share, maximum_master_share=1.0),
        "root.b": b or CapacityQueue(capacity=Percentage(above), user_limit_factor=10.0),
    }
    settings = CapacitySettings(queues=queues, maximum_allocation=(65536, 64), monitor=monitor)
    return Cluster("capacity", settings)


@pytest.mark.parametrize(
    ("cluster", "obstacle"),
    [
        (of_fair(preemption=False), Obstacle.OFF),
        (of_fair(), Obstacle.NO_TIMEOUT),
        (of_fair(utilization=1.0, fair_share_timeout_ms=0), Obstacle.UTILIZATION),
        (of_fair(fair_share_timeout_ms=0, fair_share_threshold=0.0), Obstacle.ABOVE_THRESHOLD),
        (
            of_fair(
                [QueueSettings("root.a"), QueueSettings("root.b", preemptable=False)],
                fair_share_timeout_ms=60_000,
            ),
            Obstacle.PROTECTED,
        ),
        (of_fair(fair_share_timeout_ms=60_000), Obstacle.NOT_YET),
    ],
    ids=lambda value: value.value if isinstance(value, Obstacle) else "",
)
def test_the_fair_scheduler_names_the_first_condition_that_is_not_met(cluster, obstacle):
    preemption = owed(cluster)
    assert preemption.obstacle is obstacle
    assert (preemption.queue, preemption.used, preemption.share[0]) == ("root.a", (0, 0), 4096)
    assert preemption.above == (Excess("root.b", (4096, preemption.above[0].amount[1])),)


def test_preemption_takes_nothing_for_a_container_larger_than_what_is_lacking():
    def of(threshold, **queue):
        mine = QueueSettings("root.a", **queue)
        return of_fair(
            [mine, QueueSettings("root.b")],
            fair_share_timeout_ms=0,
            fair_share_threshold=threshold,
        )

    small = owed_of_size(of(0.5), 3072)
    assert (small.obstacle, small.threshold_percent) == (Obstacle.SMALL_DEFICIT, 50.0)
    assert owed_of_size(of(0.5), 2048) is None  # it is being preempted for
    assert owed_of_size(of(0.5, min_share=(3072, 1), min_share_timeout_ms=0), 3072) is None


def test_the_fair_scheduler_says_when_the_timeout_is_over():
    preemption = owed(of_fair(fair_share_timeout_ms=60_000))
    assert preemption.due_ms == 60_000


def test_the_utilization_counts_in_percent():
    preemption = owed(of_fair(utilization=1.0, fair_share_timeout_ms=0))
    assert (preemption.percent, preemption.threshold_percent) == (100.0, 100.0)


def test_an_application_that_has_its_fair_share_is_owed_nothing():
    cluster = of_fair()
    assert owed(cluster, gigabytes=4) is None


def test_a_cluster_where_all_share_one_queue_names_that_queue():
    preemption = owed(of_fair(), takes="root.b", wants="root.b")
    assert [one.queue for one in preemption.above] == ["root.b"]


@pytest.mark.parametrize(
    ("monitor", "b", "above", "obstacle"),
    [
        (MonitorSettings(), None, 40.0, Obstacle.OFF),
        (ON_WATCH, None, 40.0, Obstacle.OBSERVE_ONLY),
        (
            ON,
            CapacityQueue(
                capacity=Percentage(40.0), user_limit_factor=10.0, preemption_disabled=True
            ),
            40.0,
            Obstacle.PROTECTED,
        ),
        (ON, None, 95.0, Obstacle.SMALL_EXCESS),
        (ON, None, 40.0, Obstacle.NONE),
    ],
    ids=lambda value: value.value if isinstance(value, Obstacle) else "",
)
def test_the_capacity_scheduler_names_what_keeps_the_monitor_away(monitor, b, above, obstacle):
    preemption = owed(of_capacity(monitor, b=b, above=above))
    assert preemption.entitlement is Entitlement.GUARANTEED_CAPACITY
    assert preemption.obstacle is obstacle
    assert [one.queue for one in preemption.above] == ["root.b"]


def test_a_queue_at_its_guarantee_is_owed_nothing():
    cluster = of_capacity(MonitorSettings())
    assert owed(cluster, takes="root.a", wants="root.b") is not None
    assert owed(of_capacity(MonitorSettings()), takes="root.a", wants="root.a") is None
