"""Decide, record, commit, act."""

import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated, ContainerCompleted, SharesUpdated
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    KillApplication,
    NodeBeat,
    SubmitApplication,
    TidyQueues,
    UpdateShares,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.errors import JournalError
from fairshare.runtime.recovery import replay
from fairshare.runtime.runtime import NOT_STARTED
from fairshare.settings.registry import family_of

AFTER_A_PAUSE_MS = 1_250
"""When a task is tried again that was launched in the first 250 ms, and failed at once."""


def test_each_input_is_answered_with_its_events(bench, submit):
    steps = bench.runtime.feed(1, [submit(1), KillApplication(99), ContainerStarted(5)])
    assert [type(given) for given, _ in steps] == [
        SubmitApplication,
        KillApplication,
        ContainerStarted,
    ]
    assert [[type(event).__name__ for event in events][:1] for _, events in steps] == [
        ["QueueCreated"],
        ["RequestRefused"],
        [],
    ]


def test_an_input_without_events_is_not_recorded(bench):
    before = len(bench.records)
    bench.runtime.feed(1, [ContainerStarted(5), ContainerExited(5, 0), NodeBeat("nowhere")])
    assert len(bench.records) == before
    assert bench.runtime.position.sequence == before


def test_records_are_numbered_and_hold_the_instant(bench, submit):
    bench.runtime.feed(7, [submit(1), submit(1)])
    assert [(record.sequence, record.now_ms) for record in bench.records] == [
        (1, 0),
        (2, 7),
        (3, 7),
    ]


def test_time_does_not_go_back(bench, submit):
    bench.runtime.feed(7, [submit(1)])
    bench.runtime.feed(3, [submit(1)])
    assert bench.records[-1].now_ms == 7


def test_a_batch_is_one_commit(bench, submit):
    bench.join("n1")
    before = len(bench.journal.committed)
    bench.runtime.turn(1, [submit(1), submit(1)])
    assert len(bench.journal.committed) == before + 1
    assert len(bench.engine.launched) == 2


def test_nothing_is_ordered_before_it_is_committed(bench, submit):
    bench.join("n1")
    bench.runtime.turn(1, [submit(4)])
    assert len(bench.engine.launched) == 4
    assert bench.uncommitted == []


def test_nothing_is_ordered_when_the_commit_fails(bench, submit, monkeypatch):
    bench.join("n1")

    def fail():
        raise JournalError("the disk is full")

    monkeypatch.setattr(bench.journal, "commit", fail)
    with pytest.raises(JournalError, match="the disk is full"):
        bench.runtime.turn(1, [submit(1)])
    assert bench.engine.launched == []


def test_observers_see_each_record_before_its_orders(make_bench, submit):
    seen = []
    bench = make_bench(observers=[lambda record: seen.append(record.sequence)])
    orders_before = []
    launch = bench.engine.launch

    def note_then_launch(order):
        orders_before.append(len(seen))
        launch(order)

    bench.engine.launch = note_then_launch
    bench.join("n1")
    bench.runtime.turn(1, [submit(1)])
    assert seen == [record.sequence for record in bench.records]
    assert orders_before == [len(bench.records)]


def test_all_records_of_a_commit_are_shown_before_the_orders_of_any(make_bench, submit):
    seen: list[object] = []
    bench = make_bench(committed=lambda records: seen.extend(r.sequence for r in records))
    bench.engine.witness = lambda order: seen.append(order.node)
    bench.join("n1", "n2")
    bench.runtime.turn(1, [submit(8)])
    numbers = [record.sequence for record in bench.records]
    assert seen[: len(numbers)] == numbers
    assert set(seen[len(numbers) :]) == {"n1", "n2"}


def test_settling_updates_shares_before_nodes_beat(bench, submit):
    bench.join("n1")
    bench.runtime.feed(1, [submit(1)])
    steps = bench.runtime.settle(1)
    assert [type(given) for given, _ in steps] == [UpdateShares, NodeBeat]
    assert [type(event) for event in steps[0][1]] == [SharesUpdated]
    assert type(steps[1][1][0]) is ContainerAllocated


def test_settling_again_without_news_does_nothing(bench, submit):
    bench.join("n1")
    bench.runtime.turn(1, [submit(9)])
    before = len(bench.records)
    assert bench.runtime.settle(1) == []
    assert bench.runtime.settle(500_000) == []
    assert len(bench.records) == before


def test_an_engine_that_cannot_start_a_container_is_answered_with_its_exit(bench, submit):
    bench.join("n1")
    bench.engine.refuse = "no such node"
    bench.runtime.turn(1, [submit(1, max_attempts=2)])
    assert bench.records[-1].input == ContainerExited(
        1 << 40 | 1 << 32 | 1, NOT_STARTED, "no such node"
    )
    bench.runtime.settle(2)
    assert bench.state.applications[1].state == "RUNNING"
    assert bench.runtime.next_deadline_ms() == AFTER_A_PAUSE_MS
    bench.runtime.settle(AFTER_A_PAUSE_MS)
    assert bench.state.applications[1].state == "FAILED"
    assert bench.journal.committed[-1] == len(bench.records)


def test_there_is_no_deadline_when_nothing_can_happen(bench, submit):
    bench.join("n1")
    assert bench.runtime.next_deadline_ms() == 1  # somebody must settle first
    bench.runtime.turn(1, [submit(9)])
    deadline_ms = bench.runtime.next_deadline_ms()
    while deadline_ms is not None:
        assert deadline_ms < 60_000
        bench.runtime.settle(deadline_ms)
        deadline_ms = bench.runtime.next_deadline_ms()


def test_empty_dynamic_queues_are_tidied_up_after_a_while(bench, submit):
    bench.join("n1")
    bench.runtime.turn(1, [submit(1)])
    assert "root.ann" in bench.state.queues
    bench.runtime.turn(2, [ContainerExited(bench.engine.launched[0].container, 0)])
    deadline_ms = bench.runtime.next_deadline_ms()
    assert deadline_ms is not None
    while deadline_ms is not None and "root.ann" in bench.state.queues:
        bench.runtime.settle(deadline_ms)
        deadline_ms = bench.runtime.next_deadline_ms()
    assert "root.ann" not in bench.state.queues
    assert any(type(record.input) is TidyQueues for record in bench.records)


def test_a_marked_container_is_killed_when_its_time_has_come(make_bench, submit):
    from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings

    bench = make_bench(
        FairSettings(
            preemption=True,
            allocations=AllocationSettings(fair_share_timeout_ms=2_000, min_share_timeout_ms=2_000),
        )
    )
    bench.join("n1", "n2")
    bench.runtime.turn(0, [submit(8, user="ann")])
    bench.runtime.turn(100, [submit(8, user="bob")])
    killed_ms = None
    while killed_ms is None:
        deadline_ms = bench.runtime.next_deadline_ms()
        assert deadline_ms is not None
        assert deadline_ms < 60_000
        for _, events in bench.runtime.settle(deadline_ms):
            if any(isinstance(event, ContainerCompleted) for event in events):
                killed_ms = deadline_ms
    assert 17_000 <= killed_ms <= 19_000  # 2 s of patience, 15 s of warning, updates every 500 ms
    assert bench.engine.stopped
    bench.runtime.settle(killed_ms + 1)
    assert any(order.user == "bob" for order in bench.engine.launched)


def test_room_that_a_node_gives_back_is_given_on_in_the_same_turn(bench, submit):
    bench.join("n1", memory_mb=2048)
    bench.runtime.turn(0, [submit(2)])
    first, second = (order.container for order in bench.engine.launched)
    bench.runtime.turn(1, [ContainerStarted(first, True), ContainerStarted(second, True)])
    bench.runtime.turn(2, [submit(2), KillApplication(1)])
    assert len(bench.engine.launched) == 2
    bench.runtime.turn(3, [ContainerExited(second, 143)])
    assert len(bench.engine.launched) == 3
    bench.restart()
    assert bench.state.ending == {first: "n1"}
    bench.runtime.turn(4, [ContainerExited(first, 143)])
    assert len(bench.engine.launched) == 4
    fresh = ResourceManager(family_of("fair").create(ResourceTypes()))
    assert replay(bench.records, fresh) is None
