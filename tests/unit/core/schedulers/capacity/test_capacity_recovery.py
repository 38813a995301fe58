"""The Capacity Scheduler's state follows from its events alone."""

import json
from typing import Any

import pytest

from fairshare.core.model.events import Event
from fairshare.core.schedulers.capacity import orders
from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.lab.scenarios.document import read_scenario
from fairshare.lab.scenarios.runner import Runner

MONITOR = "yarn.resourcemanager.monitor.capacity.preemption."


def document(**properties: str) -> str:
    capacity = "yarn.scheduler.capacity."
    return json.dumps(
        {
            "scenario": 1,
            "name": "a bit of everything",
            "source": "own",
            "scheduler": "capacity",
            "properties": {
                "yarn.resourcemanager.scheduler.monitor.enable": "true",
                MONITOR + "total_preemption_per_round": "1.0",
                MONITOR + "natural_termination_factor": "1.0",
                "yarn.cluster.max-application-priority": "10",
                capacity + "maximum-am-resource-percent": "0.5",
                capacity + "root.queues": "a,b",
                capacity + "root.a.capacity": "50",
                capacity + "root.a.user-limit-factor": "3",
                capacity + "root.b.capacity": "50",
                capacity + "root.b.max-parallel-apps": "1",
                **properties,
            },
            "nodes": [{"name": "n", "count": 3, "resources": {"memory-mb": 6144, "vcores": 6}}],
            "steps": [
                submit("x", "root.a", 8, am=True),
                {"heartbeat": {"node": "n1", "times": 6}},
                {"heartbeat": {"node": "n2", "times": 6}},
                {"heartbeat": {"node": "n3", "times": 3}},
                submit("y", "root.b", 4),
                submit("z", "root.b", 4),
                {"heartbeat": "all"},
                {"preempt": 1},
                {"advance": "15s"},
                {"preempt": 1},
                {"set_priority": {"app": "x", "priority": 3}},
                {"heartbeat": "all"},
                {"node": {"remove": "n3"}},
                {"finish": {"app": "x", "containers": 1}},
                {"kill": "y"},
                {"move": {"app": "z", "queue": "root.a"}},
                {"reload": {"properties": {capacity + "root.a.user-limit-factor": "1"}}},
                {"heartbeat": "all"},
            ],
        }
    )


def submit(name: str, queue: str, count: int, *, am: bool = False) -> dict[str, Any]:
    step: dict[str, Any] = {
        "app": name,
        "user": "u",
        "queue": queue,
        "asks": [{"count": count, "resources": {"memory-mb": 2048, "vcores": 1}}],
    }
    if am:
        step["am"] = {"memory-mb": 1024, "vcores": 1}
    return {"submit": step}


def summary(state: CapacityState) -> dict[str, Any]:
    """All values that later decisions depend on, orders as they are when next read."""
    for queue in state.queues.values():
        orders.settle(queue)
    return {
        "queues": {
            queue.name: (
                queue.limit,
                queue.runnable,
                queue.number_of_applications,
                queue.order,
                queue.waiting,
                sorted(queue.held),
                {
                    label: [getattr(share, slot) for slot in type(share).__slots__]
                    for label, share in queue.shares.items()
                },
                {
                    user.name: (user.used, user.active, user.ratios, user.applications)
                    for user in queue.users.users.values()
                },
                queue.users.ratios,
            )
            for queue in state.queues.values()
        },
        "applications": {
            one.id: (
                one.stage,
                one.priority,
                one.used,
                one.reserved,
                one.looked_at,
                sorted(one.containers),
                {order: key.opportunities for order, key in one.asks.keys.items()},
            )
            for one in state.attempts.values()
        },
        "selected": state.selected_ms,
    }


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"yarn.scheduler.capacity.lazy-preemption-enabled": "true"},
        {
            "yarn.scheduler.capacity.resource-calculator": (
                "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
            ),
            "yarn.scheduler.capacity.root.a.ordering-policy": "fair",
        },
    ],
    ids=["as it comes", "lazy preemption", "dominant and fair"],
)
def test_a_state_rebuilt_from_events_is_the_same(properties: dict[str, str]) -> None:
    scenario = read_scenario(document(**properties), "everything.yaml")
    runner = Runner(scenario, verify=True)
    scheduler = runner._cluster.scheduler
    assert isinstance(scheduler, CapacityScheduler)
    history: list[tuple[int, Event]] = []
    handlers = scheduler.state.handlers
    for kind, handler in list(handlers.items()):
        handlers[kind] = lambda now_ms, event, handler=handler: (
            history.append((now_ms, event)),
            handler(now_ms, event),
        )
    again = Runner(scenario)
    copy = again._cluster.scheduler.state
    assert isinstance(copy, CapacityState)
    for step in scenario.steps:
        outcome = runner.step(step)
        assert outcome.error is None
    for now_ms, event in history:
        copy.apply(now_ms, event)
    assert len(history) > 20
    assert summary(copy) == summary(scheduler.state)
