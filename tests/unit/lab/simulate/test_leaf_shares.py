"""The shares that a simulation reads often are those of the queues' views."""

from pathlib import Path

import pytest

from fairshare.lab.testing.cluster import FairshareCluster

EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.mark.parametrize(
    ("example", "scheduler"),
    [("three-teams", "fair"), ("three-teams", "fifo"), ("three-teams-capacity", "capacity")],
)
def test_leaf_shares_are_those_of_the_views(example, scheduler):
    cluster = FairshareCluster(EXAMPLES / example, scheduler=scheduler)
    queue = "root.default" if scheduler == "fifo" else "root.research"
    cluster.submit(queue, tasks=20, duration_s=30)
    cluster.advance(5)
    found = cluster._manager.scheduler
    views = {view.name: view.fair_share for view in found.queue_views() if view.leaf}
    assert found.leaf_shares() == views
    least = {view.name: view.min_share for view in found.queue_views() if view.leaf}
    none = found.state.none
    assert {name: found.leaf_guarantees().get(name, none) for name in least} == least
    assert any(any(share) for share in views.values())
