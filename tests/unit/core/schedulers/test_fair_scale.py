"""Promises about many applications: limits hold for hundreds, and a grant's cost hardly grows."""

import sys
from collections.abc import Callable

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated, Event
from fairshare.core.model.inputs import (
    FinishApplication,
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.settings.registry import family_of

ONE = ContainerRequest(1, (1024, 1))
MANY = ContainerRequest(50, (1024, 1))


def manager_of(*queues: QueueSettings, assign_multiple: bool = False) -> ResourceManager:
    """A Fair Scheduler with these queues and no node."""
    manager = ResourceManager(family_of("fair").create(ResourceTypes()))
    settings = FairSettings(
        assign_multiple=assign_multiple,
        dynamic_max_assign=False,
        allocations=AllocationSettings(queues={queue.name: queue for queue in queues}),
    )
    manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), 1))
    return manager


def submit(manager: ResourceManager, count: int, request: ContainerRequest, queue: str) -> None:
    for _ in range(count):
        manager.handle(0, SubmitApplication("ann", queue, requests=(request,)))


def calls_of(call: Callable[[], object]) -> int:
    """How many Python functions one call enters: a cost that does not depend on the machine."""
    count = 0

    def entered(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(entered)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count


def test_three_hundred_applications_under_a_limit_of_seven_are_accepted_and_all_end() -> None:
    manager = manager_of(QueueSettings("root.q", max_running_applications=7))
    manager.handle(0, NodeJoined("n", (16384, 16)))
    submit(manager, 300, ONE, "q")
    ended: list[int] = []
    while len(ended) < 300:
        running = [
            application.id
            for application in manager.state.applications.values()
            if application.attempt.runnable
        ]
        assert 1 <= len(running) <= 7
        manager.handle(0, UpdateShares())
        for _ in running:
            manager.handle(0, NodeBeat("n"))
        for identifier in running:
            assert manager.state.applications[identifier].containers
            manager.handle(0, FinishApplication(identifier))
        ended += running
    assert ended == sorted(set(ended))


def test_with_sixteen_times_the_applications_a_grant_costs_less_than_twice_as_much() -> None:
    def cost(applications: int) -> int:
        manager = manager_of(QueueSettings("root.q"))
        manager.handle(0, NodeJoined("n", (65536, 64)))
        submit(manager, applications, MANY, "q")
        manager.handle(0, UpdateShares())
        manager.handle(0, NodeBeat("n"))
        events: list[Event] = []

        def beat() -> None:
            events.extend(manager.handle(0, NodeBeat("n")))

        calls = calls_of(beat)
        assert any(isinstance(event, ContainerAllocated) for event in events)
        return calls

    assert cost(1600) < 2 * cost(100)


@pytest.mark.slow
def test_shares_and_limits_hold_on_a_thousand_nodes() -> None:
    manager = manager_of(
        QueueSettings("root.heavy", weight=3.0),
        QueueSettings("root.light"),
        QueueSettings("root.bounded", weight=9.0, max_share=Amount(absolute=(102400, 9999))),
        assign_multiple=True,
    )
    for number in range(1000):
        manager.handle(0, NodeJoined(f"n{number}", (4096, 4)))
    for queue in ("heavy", "light", "bounded"):
        submit(manager, 300, MANY, queue)
    manager.handle(0, UpdateShares())
    for number in range(1000):
        manager.handle(0, NodeBeat(f"n{number}"))
    check(manager.state)
    used_mb = {name: queue.used[0] for name, queue in manager.state.queues.items()}
    assert used_mb["root"] == 4096000
    assert used_mb["root.bounded"] == 102400
    assert abs(used_mb["root.heavy"] - 3 * used_mb["root.light"]) <= 4 * 1024


def test_the_limit_of_masters_is_computed_once_in_a_heartbeat_for_those_that_are_alike() -> None:
    def calls_of_a_heartbeat(waiting: int) -> int:
        manager = manager_of(QueueSettings("root.q", max_master_share=0.1))
        manager.handle(0, NodeJoined("n", (16384, 16)))
        for _ in range(waiting):
            manager.handle(0, SubmitApplication("ann", "q", master=(1024, 1)))
        manager.handle(0, UpdateShares())
        while manager.handle(0, NodeBeat("n")):
            pass
        return calls_of(lambda: manager.handle(0, NodeBeat("n")))

    assert calls_of_a_heartbeat(40) - calls_of_a_heartbeat(20) <= 20 * 8
