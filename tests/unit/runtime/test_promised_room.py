"""Room that containers are preempted for stays with the application that it is for, though they end
one after another: others get it only beside that."""

import pytest
from tests.unit.runtime.conftest import Bench, tasks

from fairshare.core.model.identifiers import application_of
from fairshare.core.model.inputs import ContainerExited, ContainerStarted
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings

MANY = AllocationSettings(
    queues={name: QueueSettings(name=name) for name in ("root.ann", "root.bob")},
    fair_share_timeout_ms=0,
    fair_share_threshold=1.0,
)


def crowded(memory_mb=4096, wanted_mb=2048, **settings):
    """Many small tasks of one user on a full node, and then one as large as the other's share."""
    bench = Bench(
        FairSettings(
            preemption=True,
            assign_multiple=True,
            wait_before_kill_ms=0,
            wait_before_next_starvation_check_ms=0,
            allocations=MANY,
            minimum_allocation=(512, 1),
            increment_allocation=(512, 1),
            **settings,
        )
    )
    bench.join("n1", memory_mb=memory_mb, vcores=16)
    bench.runtime.turn(1, [tasks(40)])
    for container in [*bench.engine.live]:
        bench.runtime.turn(2, [ContainerStarted(container, holds_room=True)])
    bench.runtime.turn(3, [tasks(memory_mb=wanted_mb, user="bob")])
    bench.runtime.turn(4, [tasks(8, memory_mb=512)])
    return bench


def preempt_until_the_large_task_runs(bench):
    """What was preempted ends one by one; returns how many had to go."""
    launched, gone = len(bench.engine.launched), []
    for now_ms in range(1_000, 40_000, 1_000):
        bench.runtime.turn(now_ms, [])
        stopping = [one for one in bench.engine.stopped if one in bench.engine.live]
        if stopping:
            bench.engine.live.discard(stopping[0])
            gone.append(stopping[0])
            bench.runtime.turn(now_ms + 1, [ContainerExited(stopping[0], 143)])
        for order in bench.engine.launched[launched:]:
            bench.runtime.turn(now_ms + 2, [ContainerStarted(order.container, holds_room=True)])
            if application_of(order.container) == 2:
                return len(gone)
        launched = len(bench.engine.launched)
    return None


ENTITLED = {"reservable_nodes": 0.0, "entitled_after_ms": 60_000}


@pytest.mark.parametrize(("memory_mb", "wanted_mb"), [(4096, 2048), (5632, 2560)])
def test_two_small_tasks_are_preempted_once_for_one_large_one(memory_mb, wanted_mb):
    bench = crowded(memory_mb, wanted_mb, **ENTITLED)
    assert preempt_until_the_large_task_runs(bench) == 2


def test_where_whole_nodes_are_reserved_others_take_what_ends_first_as_in_hadoop():
    assert preempt_until_the_large_task_runs(crowded()) is None
