"""Gangs: groups of tasks that start together, under a driver that knows nothing but a clock."""

import msgspec
import pytest
from tests.unit.core.schedulers.waiting import fair

from fairshare.core.model.events import (
    ApplicationState,
    ContainerCompleted,
    ExitCode,
    GangPaused,
    GangRestarted,
)
from fairshare.core.model.inputs import (
    ContainerExited,
    KillApplication,
    LoadConfiguration,
    NodeLost,
    SubmitApplication,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.settings import Amount, QueueSettings

TIMEOUT_MS = 10_000


@pytest.fixture
def gang(submit):
    def make(count=4, **group):
        return submit(count, gang=True, gang_timeout_ms=TIMEOUT_MS, **group)

    return make


@pytest.fixture
def busy(bench, submit):
    """Two nodes with room for eight containers, and an application that uses four of them."""

    def occupy(now_ms=0):
        bench.join("n1", "n2")
        bench.runtime.turn(now_ms, [submit(4, user="zoe")])
        occupants = tuple(bench.engine.launched)
        bench.engine.launched.clear()
        return [ContainerExited(order.container, 0) for order in occupants]

    return occupy


def events_of(steps, *kinds):
    return [event for _, events in steps for event in events if type(event) in kinds]


def held(bench):
    return {key: len(one.held) for key, one in bench.state.gangs.items()}


def launched(bench):
    return [order.container for order in bench.engine.launched]


def test_a_gang_starts_when_its_last_container_is_there(bench, busy, gang):
    ends = busy()
    bench.runtime.turn(0, [gang(6)])
    assert held(bench) == {(2, 0): 4}
    bench.runtime.turn(500, ends[:1])
    assert held(bench) == {(2, 0): 5}
    assert launched(bench) == []
    bench.runtime.turn(1_000, ends[1:2])
    assert len(launched(bench)) == 6
    assert bench.state.gangs == {}
    check(bench.state)


def test_a_gang_that_stays_incomplete_gives_its_containers_back(bench, busy, gang):
    busy()
    bench.runtime.turn(0, [gang(6)])
    assert bench.runtime.next_deadline_ms() == TIMEOUT_MS
    steps = bench.runtime.turn(TIMEOUT_MS, [])
    ends = events_of(steps, ContainerCompleted)
    assert [end.exit_code for end in ends] == [ExitCode.ABORTED] * 4
    assert "did not get all of its 6 containers within 10 s" in ends[0].diagnostics
    assert bench.state.applications[2].used == (0, 0)
    assert bench.state.applications[2].attempt.asks.pending == (0, 0)
    check(bench.state)


def test_others_use_what_a_gang_gave_back(bench, busy, gang, submit):
    busy()
    bench.runtime.turn(0, [gang(6)])
    bench.runtime.turn(0, [submit(4, user="bob")])
    assert len(launched(bench)) == 0
    bench.runtime.turn(TIMEOUT_MS, [])
    assert len(launched(bench)) == 4


def test_a_paused_gang_starts_as_soon_as_there_is_room_for_all(bench, busy, gang):
    ends = busy()
    bench.runtime.turn(0, [gang(6)])
    bench.runtime.turn(TIMEOUT_MS, [])
    bench.runtime.turn(TIMEOUT_MS + 1_000, ends[:1])
    assert held(bench) == {(2, 0): 0}
    bench.runtime.turn(TIMEOUT_MS + 2_000, ends[1:])
    assert len(launched(bench)) == 6


def test_pauses_become_longer_up_to_eight_timeouts(bench, busy, gang):
    busy()
    bench.runtime.turn(0, [gang(6)])
    pauses, now_ms = [], 0
    while len(pauses) < 5:
        now_ms = bench.runtime.next_deadline_ms()
        for event in events_of(bench.runtime.turn(now_ms, []), GangPaused):
            pauses.append((event.until_ms - now_ms) // TIMEOUT_MS)
    assert pauses == [1, 2, 4, 8, 8]


def test_a_gang_that_the_empty_cluster_cannot_hold_holds_nothing(bench, gang, submit):
    bench.join("n1")
    bench.runtime.turn(0, [gang(6)])
    assert held(bench) == {(1, 0): 0}
    assert bench.state.applications[1].attempt.asks.pending == (0, 0)
    assert bench.state.gangs[1, 0].most == 4
    bench.runtime.turn(0, [submit(4, user="bob")])
    assert len(launched(bench)) == 4
    bench.join("n2", "n3", now_ms=2_000)
    bench.runtime.turn(2_000, [])
    assert len(launched(bench)) == 10


def test_a_gang_that_was_above_its_queues_limit_starts_when_the_limit_is_raised(make_bench, gang):
    def limited(most_mb):
        return fair([QueueSettings("root.ann", max_share=Amount(absolute=(most_mb, 4)))])

    bench = make_bench(limited(2048))
    bench.join("n1")
    bench.runtime.turn(0, [gang(4)])
    assert bench.state.gangs[1, 0].most == 2
    raised = LoadConfiguration(msgspec.json.encode(limited(4096)), 1)
    bench.runtime.turn(2_000, [raised])
    assert len(launched(bench)) == 4


def test_two_gangs_that_hold_each_others_room_do_not_wait_for_ever(bench, gang):
    """Both come at one instant and get half of what they need; the younger one gives up."""
    bench.join("n1")
    bench.runtime.turn(0, [gang(3), gang(3, user="bob")])
    assert held(bench) == {(1, 0): 2, (2, 0): 2}
    now_ms = 0
    while bench.runtime.next_deadline_ms() is not None and now_ms < 10 * TIMEOUT_MS:
        now_ms = bench.runtime.next_deadline_ms()
        bench.runtime.turn(now_ms, [])
        if len(launched(bench)) == 3:
            break
    assert now_ms <= TIMEOUT_MS + 1
    assert set(bench.state.applications[1].containers) == set(launched(bench))
    exits = [ContainerExited(container, 0) for container in launched(bench)]
    bench.runtime.turn(now_ms + 1_000, exits)
    bench.runtime.turn(now_ms + 2_000, [])
    assert len(launched(bench)) == 6
    check(bench.state)


def test_a_lost_task_stops_its_gang_and_all_start_again(bench, gang):
    bench.join("n1", "n2")
    bench.runtime.turn(0, [gang(8)])
    assert len(launched(bench)) == 8
    first = launched(bench)
    done = next(c for c in first if c in bench.state.nodes["n1"].containers)
    bench.runtime.turn(1_000, [ContainerExited(done, 0)])
    steps = bench.runtime.turn(2_000, [NodeLost("n2")])
    assert events_of(steps, GangRestarted)
    assert len(bench.engine.stopped) >= 3
    progress = bench.state.applications[1].tasks.groups[0]
    assert (len(progress.waiting), progress.results) == (8, {})
    bench.join("n3", now_ms=3_000)
    bench.runtime.turn(3_000, [])
    assert len(launched(bench)) == 16
    bench.runtime.turn(4_000, [ContainerExited(c, 0) for c in launched(bench)[8:]])
    assert bench.state.applications[1].state == ApplicationState.FINISHED


def test_failures_of_all_tasks_of_a_gang_count_together(bench, gang):
    bench.join("n1")
    bench.runtime.turn(0, [gang(4, max_attempts=3)])
    for place in range(3):
        bench.runtime.settle(10_000 * place)  # pauses are over
        running = list(bench.state.applications[1].containers)
        assert len(running) == 4
        bench.runtime.turn(10_000 * place + 1, [ContainerExited(running[place], 7)])
    application = bench.state.applications[1]
    assert application.state == ApplicationState.FAILED
    assert "tasks of the gang t failed 3 times" in application.diagnostics


def test_held_containers_that_are_lost_are_requested_again(bench, busy, gang):
    busy()
    bench.runtime.turn(0, [gang(6)])
    lost = next(name for name, node in bench.state.nodes.items() if _held_on(bench, node))
    bench.runtime.turn(100, [NodeLost(lost)])
    still = held(bench)[2, 0]
    assert still < 4
    assert bench.state.applications[2].attempt.asks.pending == ((6 - still) * 1024, 6 - still)
    bench.join("n3", "n4", now_ms=200)
    bench.runtime.turn(200, [])
    assert len([order for order in bench.engine.launched if order.user == "ann"]) == 6
    check(bench.state)


def _held_on(bench, node):
    return set(bench.state.gangs[2, 0].held) & set(node.containers)


def test_a_group_after_a_gang_waits_for_all_of_it(bench):
    bench.join("n1")
    first = TaskGroup("first", 2, (1024, 1), gang=True)
    second = TaskGroup("second", 1, (1024, 1), after=("first",), slow_start=0.5)
    bench.runtime.turn(0, [SubmitApplication("ann", tasks=(first, second))])
    one, other = launched(bench)
    bench.runtime.turn(10, [ContainerExited(one, 0)])
    assert len(launched(bench)) == 2
    bench.runtime.turn(20, [ContainerExited(other, 0)])
    assert len(launched(bench)) == 3


def test_killing_an_application_forgets_its_gang(bench, busy, gang):
    busy()
    bench.runtime.turn(0, [gang(6)])
    bench.runtime.turn(10, [KillApplication(2)])
    assert bench.state.gangs == {}
    check(bench.state)


def test_a_gang_goes_on_waiting_after_a_restart_of_the_server(bench, busy, gang):
    ends = busy()
    bench.runtime.turn(0, [gang(6)])
    bench.restart()
    bench.runtime.settle(100)
    assert held(bench) == {(2, 0): 4}
    assert bench.runtime.next_deadline_ms() == TIMEOUT_MS
    bench.runtime.turn(500, ends)
    assert len(launched(bench)) == 6


def test_a_timeout_below_one_millisecond_is_refused(bench, submit):
    steps = bench.runtime.feed(0, [submit(gang=True, gang_timeout_ms=0)])
    assert "gang timeout below 1 ms" in steps[0][1][0].reason


def test_gangs_start_together_under_each_scheduler(each_scheduler):
    runtime, engine, size = each_scheduler
    state = runtime.manager.state
    runtime.turn(1, [SubmitApplication("ann", "root.a", tasks=(TaskGroup("t", 4, size),))])
    gang = TaskGroup("t", 6, size, gang=True, gang_timeout_ms=TIMEOUT_MS)
    runtime.turn(2_000, [SubmitApplication("ann", "root.a", tasks=(gang,))])
    assert [len(one.held) for one in state.gangs.values()] == [4]
    runtime.turn(4_000, [ContainerExited(one.container, 0) for one in tuple(engine.launched)])
    assert len(engine.launched) == 4 + 6
    check(state)


def test_a_gang_whose_program_bears_losses_restarts_the_lost_task_alone(bench, gang):
    bench.join("n1", "n2")
    bench.runtime.turn(0, [gang(8, gang_restart="task", max_attempts=2)])
    assert len(launched(bench)) == 8
    first = launched(bench)
    bench.runtime.turn(1_000, [ContainerExited(first[0], 7), ContainerExited(first[1], 7)])
    assert bench.engine.stopped == []
    assert len(launched(bench)) == 10
    bench.runtime.turn(2_000, [ContainerExited(launched(bench)[8], 7)])
    assert bench.state.applications[1].state == ApplicationState.FAILED
    assert "task 0 of group t failed 2 times" in bench.state.applications[1].diagnostics


def test_an_unknown_restart_is_refused(bench, submit):
    steps = bench.runtime.feed(0, [submit(gang=True, gang_restart="none")])
    assert "write all or task for gang_restart" in steps[0][1][0].reason
