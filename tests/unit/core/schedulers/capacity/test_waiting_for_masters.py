"""Applications that wait for room for their masters are found by what they wait for, so that
thousands of them are no work for each other."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.core.schedulers.waiting import Cluster, capacity

from fairshare.core.model.events import ApplicationAdmitted
from fairshare.core.model.inputs import KillApplication, SetPriority
from fairshare.runtime.snapshot import freeze, thaw


@pytest.fixture
def crowded() -> Cluster:
    """Room for two masters of 1 GB, which are there; 30 applications of two users wait, each third
    one with a master of 2 GB."""
    cluster = Cluster("capacity", capacity(maximum_master_share=0.25, user_limit_factor=2.0))
    for number in range(32):
        large = number > 1 and number % 3 == 0
        cluster.submit(user=("ann", "bob")[number % 2], master=(2048 if large else 1024, 1))
    return cluster


def lines_of(call: Callable[[], object]) -> int:
    """How many lines of Python one call runs: a cost that does not depend on the machine."""
    count = 0

    def traced(frame: object, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def admitted(events) -> list[int]:
    return [event.application for event in events if type(event) is ApplicationAdmitted]


def waiting(cluster: Cluster) -> list[int]:
    leaf = cluster.manager.state.queues["root.a"]
    return [entry[-1] for entry in leaf.waiting]


def test_what_fits_is_admitted_in_the_order_of_priorities_and_numbers(crowded):
    assert waiting(crowded) == list(range(3, 33))
    assert admitted(crowded.feed(KillApplication(1))) == [3]
    crowded.feed(SetPriority(20, 0))
    assert admitted(crowded.feed(KillApplication(2))) == [5]  # 4 has a master of 2 GB
    assert admitted(crowded.feed(KillApplication(6))) == []  # it waited
    assert waiting(crowded) == [4, *range(7, 33)]


def test_many_that_are_alike_are_no_more_work_than_a_few(crowded):
    few = lines_of(lambda: crowded.feed(KillApplication(32)))
    for _ in range(300):
        crowded.submit(user="ann", master=(1024, 1))
    many = lines_of(lambda: crowded.feed(KillApplication(31)))
    assert many <= few + 20


def test_a_snapshot_brings_them_back(crowded):
    copy = thaw(freeze(1, 1, {"manager": crowded.manager}))["manager"]
    kinds = [m.state.queues["root.a"].waiting_kinds for m in (copy, crowded.manager)]
    assert kinds[0] == kinds[1]
    assert len(kinds[0]) == 4
    for number in (1, 2, 9):
        assert copy.handle(0, KillApplication(number)) == crowded.feed(KillApplication(number))
