"""What may be changed of an application that waits or runs, and what follows of it."""

import pytest
from tests.managed import SETTINGS, Managed

from fairshare.core.manager import lifetimes
from fairshare.core.manager.groups import INCOMPLETE
from fairshare.core.model.events import (
    ApplicationUpdated,
    ContainerCompleted,
    Event,
    RequestRefused,
)
from fairshare.core.model.inputs import (
    Changes,
    Condition,
    ContainerExited,
    HoldApplication,
    KillApplication,
    MoveApplication,
    NodeJoined,
    ReleaseApplication,
    RequeueApplication,
    StartConditions,
    SubmitApplication,
    UpdateApplication,
)
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.record import Record
from fairshare.runtime.orders import LimitOrder, Order, OrderBook, limits_in_force
from fairshare.runtime.snapshot import freeze, thaw

COMMAND = Command(("true",))


class Cluster(Managed):
    """A node of four containers."""

    def __init__(self, kind: str = "fair", *groups: TaskGroup, **more: object) -> None:
        super().__init__(kind, SETTINGS[kind], (4096, 4))
        if groups:
            self.feed(SubmitApplication("ann", "default", tasks=groups, **more))

    def update(self, number: int = 1, user: str = "", **changes: object) -> tuple[Event, ...]:
        return self.feed(UpdateApplication(number, Changes(**changes), user))

    def orders(self, *events: Event) -> list[Order]:
        record = Record(1, self.now_ms, UpdateApplication(1, Changes()), events)
        return OrderBook(self.state).orders(record)

    def refusal(self, number: int = 1, **changes: object) -> tuple[str, str]:
        (event,) = self.update(number, **changes)
        assert isinstance(event, RequestRefused)
        return event.code, event.reason

    def sizes(self) -> list[tuple[int, ...]]:
        return [one.resource for one in self.application.containers.values()]


def group(count: int, name: str = "t", **more: object) -> TaskGroup:
    return TaskGroup(name, count, **{"resource": (1024, 1), "command": COMMAND, **more})


@pytest.fixture(params=("fair", "capacity", "fifo"))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def test_what_waits_gets_the_new_size_and_what_runs_keeps_its_own(kind):
    cluster = Cluster(kind, group(8))
    assert len(cluster.run()) == 4
    cluster.update(sizes={"memory-mb": 2048})
    assert cluster.sizes() == [(1024, 1)] * 4
    assert cluster.application.attempt.asks.pending == (8192, 4)
    first, second, *_ = cluster.application.containers
    for container in (first, second):
        cluster.feed(ContainerExited(container, 0))
    cluster.run()
    assert cluster.sizes() == [(1024, 1), (1024, 1), (2048, 1)]
    cluster.feed(RequeueApplication(1))
    cluster.run()
    assert cluster.sizes() == [(2048, 1)] * 2, "a new attempt begins with what was said last"


def test_a_throttle_is_raised_lowered_and_taken_away(kind):
    cluster = Cluster(kind, group(8, at_once=2))
    assert len(cluster.run()) == 2
    cluster.update(at_once=3)
    assert len(cluster.run()) == 1
    cluster.update(at_once=1)
    first, *_ = cluster.application.containers
    cluster.feed(ContainerExited(first, 0))
    assert cluster.run() == []
    cluster.update(at_once=0)
    assert len(cluster.run()) == 2


def test_a_time_limit_reaches_what_runs_what_waits_and_a_server_that_starts_again(kind):
    cluster = Cluster(kind, group(6), group(1, "other", time_limit_ms=5_000))
    cluster.run()
    running = list(cluster.application.tasks.groups[0].running.values())
    events = cluster.update(time_limit_ms=60_000, group="t")
    (updated,) = events
    assert isinstance(updated, ApplicationUpdated)
    orders = cluster.orders(updated)
    assert orders == [LimitOrder(container, 60_000) for container in running]
    assert list(limits_in_force(cluster.state)) == orders
    cluster.feed(ContainerExited(running[0], 0))
    (launched,) = cluster.run()
    assert launched.time_limit_ms == 60_000
    cluster.update(time_limit_ms=0)
    assert {order.time_limit_ms for order in limits_in_force(cluster.state)} == {None}


def test_a_size_and_a_limit_together_reach_a_group_that_runs_and_one_that_waits(kind):
    cluster = Cluster(kind, group(2, "runs"), group(4, "waits"))
    cluster.run()
    events = cluster.update(sizes={"memory-mb": 2048}, time_limit_ms=60_000)
    runs, waits = (progress.spec for progress in cluster.application.tasks.groups)
    assert (runs.resource, runs.time_limit_ms) == ((1024, 1), 60_000)
    assert (waits.resource, waits.time_limit_ms) == ((2048, 1), 60_000)
    orders = cluster.orders(*events)
    assert [order.time_limit_ms for order in orders] == [60_000] * 4
    assert orders == list(limits_in_force(cluster.state))
    code, _ = cluster.refusal(group="runs", sizes={"memory-mb": 512}, time_limit_ms=5)
    assert code == "nothing-waits"
    assert cluster.application.tasks.groups[0].spec.time_limit_ms == 60_000


def test_name_and_tags_are_replaced_and_a_snapshot_keeps_all_of_it(kind):
    cluster = Cluster(kind, group(8), tags=("old",))
    cluster.run()
    cluster.update(name="night", tags=("a", "b"), at_once=5, sizes={"vcores": 2})
    state = thaw(freeze(1, 1, {"manager": cluster.manager}))["manager"].state
    for application in (cluster.application, state.applications[1]):
        submission = application.submission
        assert (submission.name, submission.tags) == ("night", ("a", "b"))
        assert application.attempt.submission is submission
        spec = application.tasks.groups[0].spec
        assert spec is submission.tasks[0]
        assert (spec.at_once, spec.resource) == (5, (1024, 2))


def test_what_waits_for_its_start_gets_other_conditions(kind):
    cluster = Cluster(kind, group(8))
    cluster.feed(SubmitApplication("ann", "default", tasks=(group(1),)))
    after = StartConditions((Condition(1, "failed"),), 10_000)
    cluster.feed(SubmitApplication("ann", "default", tasks=(group(1),), start=after))
    cluster.update(3, after=(Condition(1), Condition(2)))
    assert cluster.state.deferred[3].after == (Condition(1), Condition(2))
    cluster.update(3, begin_ms=0, after=(Condition(2),), name="x")
    cluster.run()
    cluster.feed(KillApplication(2))
    assert cluster.state.applications[3].state == "KILLED"
    after = StartConditions((Condition(1),), held=True)
    cluster.feed(SubmitApplication("ann", "default", tasks=(group(1),), start=after))
    cluster.update(4, after=(), begin_ms=0)
    assert cluster.state.deferred[4] == StartConditions(held=True)
    cluster.feed(ReleaseApplication(4))
    assert cluster.state.applications[4].attempt.active


def test_no_two_applications_wait_for_each_other():
    cluster = Cluster("fair", group(1))
    for other in (1, 2):
        after = StartConditions((Condition(other),))
        cluster.feed(SubmitApplication("ann", "default", tasks=(group(1),), start=after))
    assert cluster.refusal(2, after=(Condition(3),))[0] == "invalid-condition"
    assert cluster.refusal(2, after=(Condition(2),))[0] == "invalid-condition"
    assert cluster.state.deferred[2].after == (Condition(1),)


def test_the_search_for_a_cycle_ends_where_there_are_many_conditions(monkeypatch):
    monkeypatch.setattr(lifetimes, "MOST_FOLLOWED", 3)
    cluster = Cluster("fair", group(1))
    for other in (1, 2, 3, 4, 5):
        after = StartConditions((Condition(other),))
        cluster.feed(SubmitApplication("ann", "default", tasks=(group(1),), start=after))
    cluster.update(6, after=(Condition(4),))
    code, words = cluster.refusal(6, after=(Condition(5),))
    assert (code, "more than 3 conditions" in words) == ("invalid-condition", True)
    assert cluster.state.deferred[6].after == (Condition(4),)


def test_an_application_that_is_held_is_changed_and_moved_and_asks_when_it_is_released(kind):
    cluster = Cluster(kind, group(8))
    cluster.run()
    cluster.feed(HoldApplication(1))
    cluster.update(sizes={"memory-mb": 2048}, at_once=6)
    assert cluster.application.attempt.asks.pending == (0, 0)
    if kind != "fifo":
        cluster.feed(MoveApplication(1, "root.default"))
    cluster.feed(ReleaseApplication(1))
    assert cluster.application.attempt.asks.pending == (4096, 2)


def test_a_gang_gives_back_what_it_holds_of_the_old_size(kind):
    cluster = Cluster(kind, group(4, gang=True))
    cluster.feed(NodeJoined("n2", (1024, 1)))
    cluster.feed(KillApplication(1))
    cluster.feed(SubmitApplication("bob", "default", tasks=(group(2),)))
    cluster.run()
    cluster.feed(SubmitApplication("ann", "default", tasks=(group(4, gang=True),)))
    assert cluster.run() == []
    held = list(cluster.state.gangs[3, 0].held)
    assert held
    events = cluster.update(3, sizes={"memory-mb": 512})
    ended = [one for one in events if isinstance(one, ContainerCompleted)]
    assert [one.container for one in ended] == held
    assert INCOMPLETE not in ended[0].diagnostics
    for container in tuple(cluster.state.applications[2].containers):
        cluster.feed(ContainerExited(container, 0))
    launched = [one for _ in range(4) for one in cluster.run()]
    assert len(launched) == 4


def test_a_gang_that_was_too_large_asks_again_at_once_with_a_size_that_fits(kind):
    cluster = Cluster(kind, group(4, gang=True, resource=(2048, 1)))
    assert cluster.run() == []
    (gang,) = cluster.state.gangs.values()
    assert (gang.paused, gang.most) == (True, 2)
    cluster.update(sizes={"memory-mb": 1536})
    assert (gang.paused, gang.most) == (True, 2)
    cluster.update(sizes={"memory-mb": 1024})
    for _ in range(4):  # a heartbeat may grant one container only
        cluster.beat()
    assert cluster.sizes() == [(1024, 1)] * 4
    assert not cluster.state.gangs


def test_a_reservation_of_the_old_size_is_given_back():
    cluster = Cluster("fair", group(1))
    cluster.run()
    cluster.feed(SubmitApplication("ann", "default", tasks=(TaskGroup("t", 1, (4096, 1)),)))
    cluster.run()
    assert cluster.state.nodes["n1"].reservation is not None
    cluster.update(2, sizes={"memory-mb": 1024})
    assert cluster.state.nodes["n1"].reservation is None
    (launched,) = cluster.run()
    assert cluster.state.applications[2].containers[launched.container].resource == (1024, 1)


def test_what_cannot_be_changed_is_refused_with_its_reason_and_then_nothing_changes(kind):
    cluster = Cluster(kind, group(2), group(6, "u"))
    cluster.run()
    before = freeze(1, 1, {"manager": cluster.manager})
    assert cluster.refusal(after=())[0] == "already-started"
    assert cluster.refusal(name="x", begin_ms=5)[0] == "already-started"
    code, words = cluster.refusal(sizes={"memory-mb": 512}, group="t", name="x")
    assert (code, "keep the size that they have" in words) == ("nothing-waits", True)
    code, words = cluster.refusal(at_once=2, group="w")
    assert (code, words.endswith("it has t, u")) == ("unknown-group", True)
    assert cluster.refusal(sizes={"gpus": 1})[0] == "unknown-resource"
    assert "memory" in cluster.refusal(sizes={"memory-mb": 2**40}, name="x")[1]
    assert freeze(1, 1, {"manager": cluster.manager}) == before


def test_an_application_that_is_over_and_one_with_its_own_master_are_not_changed():
    cluster = Cluster("fair", group(1))
    cluster.feed(SubmitApplication("ann", "default", master=(1024, 1), driver=COMMAND))
    assert cluster.refusal(2, at_once=2)[0] == "no-tasks"
    cluster.update(2, name="driver")
    assert cluster.state.applications[2].submission.name == "driver"
    cluster.feed(KillApplication(1))
    assert cluster.refusal(1, name="x")[0] == "application-over"
    assert cluster.refusal(9, name="x")[0] == "unknown-application"
