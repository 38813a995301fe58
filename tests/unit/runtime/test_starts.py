"""Applications that start later: after others, at an instant, when they are released."""

import msgspec
import pytest
from tests.unit.core.schedulers.waiting import Cluster, fair

from fairshare.core.model.events import ApplicationRejected, ApplicationState, RequestRefused
from fairshare.core.model.inputs import (
    Condition,
    ContainerExited,
    HoldApplication,
    KillApplication,
    MoveApplication,
    ReleaseApplication,
    RequeueApplication,
    StartConditions,
    SubmitApplication,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.fair.settings import QueueSettings
from fairshare.core.schedulers.pools.settings import PoolsSettings
from fairshare.core.schedulers.reasons import reasons

PENDING, RUNNING, KILLED, FINISHED = (
    ApplicationState.PENDING,
    ApplicationState.RUNNING,
    ApplicationState.KILLED,
    ApplicationState.FINISHED,
)


def after(submission, *numbers, outcome="ok", **more):
    conditions = tuple(Condition(number, outcome) for number in numbers)
    start = StartConditions(conditions, **more)
    return msgspec.structs.replace(submission, start=start)


def state(bench, number):
    return bench.state.applications[number].state


def end(bench, now_ms, code=0, number=1):
    containers = list(bench.state.applications[number].containers)
    return bench.runtime.turn(now_ms, [ContainerExited(one, code) for one in containers])


def why(bench, number):
    limits = bench.manager.scheduler.limits_of(number)
    return reasons(bench.state.applications[number], limits, bench.state)


@pytest.fixture
def nodes(bench):
    bench.join("n1", "n2")
    bench.runtime.settle(10_000)
    return bench


def test_an_application_starts_when_those_before_it_have_succeeded(nodes, submit):
    nodes.runtime.turn(20_000, [submit(), submit(), after(submit(), 1, 2)])
    assert [state(nodes, number) for number in (1, 2, 3)] == [RUNNING, RUNNING, PENDING]
    end(nodes, 21_000)
    assert state(nodes, 3) == PENDING
    end(nodes, 22_000, number=2)
    assert state(nodes, 3) == RUNNING
    assert nodes.state.deferred == nodes.state.dependents == {}
    check(nodes.state)


@pytest.mark.parametrize(
    ("outcome", "code", "expected"),
    [
        ("ok", 0, RUNNING),
        ("ok", 1, KILLED),
        ("failed", 0, KILLED),
        ("failed", 1, RUNNING),
        ("any", 0, RUNNING),
        ("any", 1, RUNNING),
    ],
)
def test_how_an_application_ended_decides_about_the_next_one(
    nodes, submit, outcome, code, expected
):
    first = submit(max_attempts=1)
    nodes.runtime.turn(20_000, [first, after(submit(), 1, outcome=outcome)])
    end(nodes, 21_000, code)
    assert state(nodes, 2) == expected


def test_a_chain_that_breaks_is_killed_to_its_end_and_says_why(nodes, submit):
    chain = [submit(max_attempts=1), *(after(submit(), number) for number in range(1, 5))]
    always = after(submit(), 5, outcome="any")
    nodes.runtime.turn(20_000, [*chain, always])
    end(nodes, 21_000, 1)
    assert [state(nodes, number) for number in range(2, 6)] == [KILLED] * 4
    assert nodes.state.applications[2].diagnostics == (
        "Application killed: it was to start when application_1700000000000_0001 ends well,"
        " which ended as FAILED."
    )
    assert state(nodes, 6) == RUNNING


def test_what_has_ended_before_counts_too(nodes, submit):
    nodes.runtime.turn(20_000, [submit(max_attempts=1)])
    end(nodes, 21_000, 1)
    nodes.runtime.turn(22_000, [after(submit(), 1, outcome="any"), after(submit(), 1)])
    assert (state(nodes, 2), state(nodes, 3)) == (RUNNING, KILLED)


def test_an_unknown_application_before_it_is_refused(nodes, submit):
    [(_, (event,))] = nodes.runtime.feed(20_000, [after(submit(), 7)])
    assert isinstance(event, ApplicationRejected)
    assert event.code == "unknown-application"


def test_an_application_begins_at_its_instant(nodes, submit):
    nodes.runtime.turn(20_000, [after(submit(), begin_ms=60_000)])
    assert nodes.runtime.next_deadline_ms() == 60_000
    nodes.runtime.settle(59_999)
    assert state(nodes, 1) == PENDING
    nodes.runtime.settle(60_000)
    assert state(nodes, 1) == RUNNING


def test_a_restart_forgets_no_begin_and_no_dependency(nodes, submit):
    nodes.runtime.turn(20_000, [after(submit(), begin_ms=60_000), after(submit(), 1)])
    nodes.restart()
    nodes.runtime.settle(21_000)
    assert nodes.runtime.next_deadline_ms() == 60_000
    nodes.runtime.settle(60_000)
    end(nodes, 61_000)
    assert (state(nodes, 1), state(nodes, 2)) == (FINISHED, RUNNING)


def test_a_begin_in_the_past_is_now(nodes, submit):
    nodes.runtime.turn(20_000, [after(submit(), begin_ms=19_000)])
    assert state(nodes, 1) == RUNNING


def test_a_lifetime_counts_from_the_begin(nodes, submit):
    late = msgspec.structs.replace(after(submit(), begin_ms=60_000), lifetime_s=10)
    nodes.runtime.turn(20_000, [late])
    nodes.runtime.settle(60_000)
    nodes.runtime.settle(69_000)
    assert state(nodes, 1) == RUNNING
    nodes.runtime.settle(70_000)
    assert state(nodes, 1) == KILLED
    assert "of 10 s is over" in nodes.state.applications[1].diagnostics


@pytest.mark.parametrize("more", [{}, {"begin_ms": 25_000}, {"begin_ms": 29_000}, {"held": True}])
def test_what_is_not_over_at_its_deadline_is_killed(nodes, submit, more):
    given = msgspec.structs.replace(after(submit(), **more), deadline_ms=30_000)
    nodes.runtime.turn(20_000, [given])
    nodes.runtime.settle(29_999)
    assert not nodes.state.applications[1].over
    nodes.runtime.settle(30_000)
    assert state(nodes, 1) == KILLED
    assert nodes.state.applications[1].diagnostics == (
        "Application killed: its deadline has passed."
    )


@pytest.mark.parametrize(("begin_ms", "deadline_ms"), [(0, 20_000), (40_000, 40_000)])
def test_a_deadline_that_cannot_be_met_is_refused(nodes, submit, begin_ms, deadline_ms):
    given = after(submit(), begin_ms=begin_ms)
    given = msgspec.structs.replace(given, deadline_ms=deadline_ms)
    [(_, (event,))] = nodes.runtime.feed(20_000, [given])
    assert event.code == "invalid-deadline"


def test_what_is_held_starts_when_it_is_released(nodes, submit):
    nodes.runtime.turn(20_000, [after(submit(), held=True)])
    assert state(nodes, 1) == PENDING
    nodes.runtime.turn(21_000, [ReleaseApplication(1)])
    assert state(nodes, 1) == RUNNING


def test_what_is_held_does_not_start_when_its_turn_comes(nodes, submit):
    nodes.runtime.turn(20_000, [submit(), after(submit(), 1), HoldApplication(2)])
    end(nodes, 21_000)
    assert state(nodes, 2) == PENDING
    nodes.runtime.turn(22_000, [ReleaseApplication(2)])
    assert state(nodes, 2) == RUNNING


def test_holding_what_runs_lets_it_end_and_starts_no_more_of_it(nodes, submit):
    nodes.runtime.turn(20_000, [submit(12)])
    nodes.runtime.turn(20_500, [HoldApplication(1)])
    assert nodes.state.applications[1].attempt.asks.pending == (0, 0)
    end(nodes, 21_000)
    assert nodes.state.applications[1].containers == {}
    assert state(nodes, 1) == RUNNING
    nodes.runtime.turn(22_000, [submit(user="bob")])
    assert state(nodes, 2) == RUNNING
    nodes.runtime.turn(23_000, [ReleaseApplication(1)])
    assert len(nodes.state.applications[1].containers) == 4
    end(nodes, 24_000)
    assert state(nodes, 1) == FINISHED
    check(nodes.state)


def test_a_driver_is_held_before_it_starts_and_not_after(nodes):
    driver = SubmitApplication("ann", master=(1024, 1), driver=Command(("work",)))
    big = msgspec.structs.replace(driver, master=(8192, 1))
    nodes.join("n9", memory_mb=8192, now_ms=19_000)
    nodes.runtime.turn(20_000, [big, big, HoldApplication(2)])
    end(nodes, 21_000)
    assert nodes.state.applications[2].containers == {}
    nodes.runtime.turn(22_000, [ReleaseApplication(2)])
    assert len(nodes.state.applications[2].containers) == 1
    [(_, (event,)), *_] = nodes.runtime.feed(23_000, [HoldApplication(2)])
    assert event.code == "cannot-hold"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (ReleaseApplication(1), "not-held"),
        (RequeueApplication(2), "not-started"),
        (HoldApplication(9), "unknown-application"),
        (HoldApplication(1, user="bob"), ""),
    ],
)
def test_orders_that_mean_nothing_are_refused(nodes, submit, given, code):
    nodes.runtime.turn(20_000, [submit(), after(submit(), held=True)])
    [(_, (event,)), *_] = nodes.runtime.feed(21_000, [given])
    assert (event.code if isinstance(event, RequestRefused) else "") == code


def test_a_requeued_application_begins_again_with_its_next_attempt(nodes, submit):
    nodes.runtime.turn(20_000, [submit(3)])
    first = list(nodes.state.applications[1].containers)
    nodes.runtime.turn(21_000, [ContainerExited(first[0], 0)])
    nodes.runtime.turn(22_000, [RequeueApplication(1)])
    application = nodes.state.applications[1]
    assert sorted(nodes.engine.stopped) == sorted(first[1:])
    assert (application.attempt.number, application.failed_attempts) == (2, 0)
    assert len(application.tasks.groups[0].running) == 3
    end(nodes, 23_000)
    assert state(nodes, 1) == FINISHED
    check(nodes.state)


def test_what_waits_to_start_can_be_killed(nodes, submit):
    nodes.runtime.turn(20_000, [submit(), after(submit(), 1, begin_ms=90_000)])
    nodes.runtime.turn(21_000, [KillApplication(2)])
    assert nodes.state.deferred == nodes.state.dependents == {}
    assert nodes.runtime.next_deadline_ms() != 90_000
    end(nodes, 22_000)
    assert state(nodes, 2) == KILLED


def test_all_reasons_of_a_deferred_application_are_given_together(nodes, submit):
    nodes.runtime.turn(20_000, [submit(), after(submit(), 1, begin_ms=90_000, held=True)])
    (first,) = why(nodes, 2)
    second, third = first.also
    assert (first.cause, second.cause, third.cause) == (
        "held",
        "applications-ahead",
        "begins-later",
    )
    assert (second.ahead, third.due_ms) == ((1,), 90_000)


def test_every_scheduler_starts_holds_and_requeues(each_scheduler):
    runtime, _, size = each_scheduler
    manager = runtime.manager
    work = SubmitApplication("ann", "root.a", tasks=(TaskGroup("t", 4, size),))
    held = msgspec.structs.replace(work, start=StartConditions(held=True))
    runtime.turn(1, [work, after(work, 1), held, after(work, begin_ms=90_000)])
    applications = manager.state.applications
    for step, (now_ms, inputs) in enumerate(
        [
            (2_000, [HoldApplication(1), RequeueApplication(1)]),
            (4_000, [ReleaseApplication(1)]),
            (6_000, [RequeueApplication(1)]),
            (8_000, []),
        ]
    ):
        runtime.turn(now_ms, inputs)
        runtime.settle(now_ms + 1_000)
        assert len(applications[1].containers) == (0 if step == 0 else 4)
        assert not any(applications[number].attempt.active for number in (2, 3, 4))
        manager.scheduler.application_view(2)
        check(manager.state)
    runtime.turn(10_000, [ContainerExited(one, 0) for one in tuple(applications[1].containers)])
    runtime.settle(12_000)
    assert len(applications[2].containers) == 4
    runtime.turn(13_000, [KillApplication(number) for number in (2, 3, 4)])
    assert all(one.over for one in applications.values())
    check(manager.state)


def two_leaves():
    leaf = CapacityQueue(capacity=Percentage(50.0))
    root = CapacityQueue(children=("a", "b"), capacity=Percentage(100.0))
    queues = {"root": root, "root.a": leaf, "root.b": leaf}
    return CapacitySettings(queues=queues, maximum_allocation=(65536, 64))


@pytest.mark.parametrize(
    ("kind", "settings", "target"),
    [
        ("fair", fair([QueueSettings("root.a"), QueueSettings("root.b")]), "root.b"),
        ("capacity", two_leaves(), "root.b"),
        ("pools", PoolsSettings(), "root.b"),
    ],
)
def test_a_held_application_is_moved_and_starts_in_the_other_queue(kind, settings, target):
    cluster = Cluster(kind, settings, nodes=())
    held = StartConditions(held=True)
    one = ContainerRequest(1, (1, 0, 1, 0) if kind == "pools" else (1024, 1))
    number = cluster.submit(one, queue="root.a", start=held)
    cluster.feed(MoveApplication(number, "b"))
    state = cluster.manager.state
    assert (state.applications[number].queue, number in state.attempts) == (target, False)
    check(state)
    cluster.feed(ReleaseApplication(number))
    assert state.attempts[number].application.queue == target
    assert number in state.queues[target].attempts
    check(state)
    missing = MoveApplication(number, "root.nowhere")
    if kind != "pools":  # which makes it
        assert isinstance(cluster.feed(missing)[-1], RequestRefused)
