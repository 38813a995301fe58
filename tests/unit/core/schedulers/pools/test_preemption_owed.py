"""A job of a pool below its share says which pools are above theirs, and what keeps the preemption
of 1.2 away."""

import pytest
from tests.unit.core.schedulers.pools.conftest import Cluster, maps, pools, settings, slots

from fairshare.core.schedulers.entitlement import Entitlement, Excess, Obstacle
from fairshare.core.schedulers.pools.settings import PoolAllocation, PoolsSettings
from fairshare.core.schedulers.reasons import reasons

PATIENT = pools(PoolAllocation("b"), fair_share_timeout_ms=60_000)
STARVED = pools(PoolAllocation("b", min_share=(1, 0), min_share_timeout_ms=30_000))


def owed(given: PoolsSettings, tasks: int = 8):
    """What pool b is owed after a has as many of the 8 map slots as it asks for."""
    cluster = Cluster(given, (4, 0), (4, 0))
    cluster.submit("a", maps(tasks))
    cluster.update()
    for _ in range(8):
        cluster.beat("n1")
        cluster.beat("n2")
    job = cluster.submit("b", maps(8))
    cluster.update(1_000)
    for _ in range(8):
        cluster.beat("n1")
        cluster.beat("n2")
    cluster.update()
    scheduler = cluster.scheduler
    application = cluster.manager.state.applications[job]
    found = reasons(application, scheduler.limits_of(job), scheduler.state)
    return found[0].preemption if found else None


@pytest.mark.parametrize(
    ("fields", "obstacle", "due_ms"),
    [
        ({"allocations": PATIENT}, Obstacle.OFF, 0),
        (
            {"allocations": PATIENT, "preemption": True, "preemption_only_log": True},
            Obstacle.OBSERVE_ONLY,
            0,
        ),
        ({"preemption": True}, Obstacle.NO_TIMEOUT, 0),
        ({"allocations": PATIENT, "preemption": True}, Obstacle.NOT_YET, 60_000),
        ({"allocations": STARVED, "preemption": True}, Obstacle.NOT_YET, 30_000),
    ],
    ids=["off", "only logged", "no timeout", "share", "minimum"],
)
def test_a_job_names_the_first_condition_that_is_not_met(fields, obstacle, due_ms):
    preemption = owed(settings("1.2", **fields))
    assert (preemption.obstacle, preemption.entitlement) == (obstacle, Entitlement.POOL_SHARE)
    assert (preemption.queue, preemption.used, preemption.share) == ("root.b", slots(0), slots(4))
    assert preemption.above == (Excess("root.a", slots(4)),)
    assert preemption.due_ms == due_ms


def test_a_pool_above_half_of_its_share_does_not_count_as_starved():
    preemption = owed(settings("1.2", allocations=PATIENT, preemption=True), tasks=5)
    assert preemption.obstacle is Obstacle.ABOVE_THRESHOLD


def test_a_pool_with_its_share_is_owed_nothing():
    assert owed(settings("1.2", preemption=True), tasks=4) is None


def test_the_releases_with_deficits_preempt_nothing():
    assert owed(settings("0.20")) is None
