"""A Capacity Scheduler in a scenario of its own, driven step by step."""

import json
from typing import Any

from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.lab.scenarios.description import Description
from fairshare.lab.scenarios.document import read_scenario
from fairshare.lab.scenarios.runner import Runner

CAPACITY = "yarn.scheduler.capacity."
HALVES = {
    CAPACITY + "maximum-am-resource-percent": "1.0",
    CAPACITY + "root.queues": "a,b",
    CAPACITY + "root.a.capacity": "50",
    CAPACITY + "root.b.capacity": "50",
    CAPACITY + "root.a.user-limit-factor": "2",
    CAPACITY + "root.b.user-limit-factor": "2",
}
"""Two queues of one half each, of which a user may have all."""
LABELS = {
    "yarn.node-labels.enabled": "true",
    CAPACITY + "maximum-am-resource-percent": "1.0",
    CAPACITY + "root.queues": "a,b",
    CAPACITY + "root.a.capacity": "50",
    CAPACITY + "root.b.capacity": "50",
    CAPACITY + "root.a.user-limit-factor": "10",
    CAPACITY + "root.b.user-limit-factor": "10",
    CAPACITY + "root.accessible-node-labels.x.capacity": "100",
    CAPACITY + "root.a.accessible-node-labels": "x",
    CAPACITY + "root.a.accessible-node-labels.x.capacity": "100",
    CAPACITY + "root.b.accessible-node-labels": " ",
}
"""Two queues of one half each; a has all of partition x, and b may not use it."""


def memory(mb: int) -> dict[str, int]:
    return {"memory-mb": mb, "vcores": mb // 1024}


def node(name: str, mb: int = 10_240, label: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "resources": {"memory-mb": mb, "vcores": 100}}
    return {**found, "label": label} if label else found


def asks(count: int, label: str | None = None, mb: int = 1024, priority: int = 1) -> dict[str, Any]:
    ask: dict[str, Any] = {"count": count, "resources": memory(mb), "priority": priority}
    return ask if label is None else {**ask, "label": label}


def submit(app: str, queue: str, *wanted: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"submit": {"app": app, "queue": queue, "user": "u", "asks": list(wanted), **more}}


def beat(name: str, times: int = 1) -> dict[str, Any]:
    return {"heartbeat": {"node": name, "times": times}}


class Playground:
    """One cluster. Its settings are properties without the prefix `yarn.scheduler.capacity.`, or
    full names that begin with `yarn.`."""

    def __init__(
        self,
        nodes: list[dict[str, Any]],
        *steps: dict[str, Any],
        base: dict[str, str] = LABELS,
        **properties: str | None,
    ) -> None:
        self.base = base
        self.nodes = nodes
        self.done: list[dict[str, Any]] = []
        named = self.named(properties)
        self.properties = {
            name: value for name, value in {**base, **named}.items() if value is not None
        }
        self.runner = Runner(self._scenario([]), verify=True)
        self.do(*steps)

    @staticmethod
    def named(properties: dict[str, Any]) -> dict[str, Any]:
        """Full names of properties."""
        return {
            name if name.startswith("yarn.") else CAPACITY + name: value
            for name, value in properties.items()
        }

    def _scenario(self, steps: list[dict[str, Any]]) -> Any:
        document = {
            "scenario": 1,
            "name": "playground",
            "source": "own",
            "scheduler": "capacity",
            "properties": self.properties,
            "nodes": self.nodes,
            "steps": steps,
        }
        return read_scenario(json.dumps(document), "playground.yaml")

    def do(self, *steps: dict[str, Any]) -> "Playground":
        """Carry out steps, none of which may be refused."""
        for step in steps:
            error = self.refusal(step)
            assert error is None, f"{step}: {error}"
        return self

    def refusal(self, step: dict[str, Any]) -> str | None:
        """Carry out one step; returns the reason of its refusal, or None."""
        [parsed] = self._scenario([step]).steps
        return self.runner.step(parsed).error

    @property
    def seen(self) -> Description:
        """The current state of the cluster."""
        return self.runner.describe()

    def on(self, app: str) -> dict[str, int]:
        """How many containers an application has on each node."""
        found: dict[str, int] = self.seen["apps"][app]["on"]
        return found

    def part(self, queue: str, label: str) -> Description:
        """A queue's part of a partition."""
        found: Description = self.seen["queues"][queue]["partitions"][label]
        return found

    @property
    def scheduler(self) -> CapacityScheduler:
        """The scheduler under test."""
        found = self.runner._cluster.scheduler
        assert isinstance(found, CapacityScheduler)
        return found

    @property
    def state(self) -> CapacityState:
        """Its whole state."""
        return self.scheduler.state


def game(*steps: dict[str, Any], **properties: str | None) -> Playground:
    """Two nodes, and two queues of one half each."""
    return Playground([node("n1"), node("n2")], *steps, base=HALVES, **properties)


def users(found: Playground, queue: str) -> dict[str, Any]:
    known: dict[str, Any] = found.seen["queues"][queue]["users"]
    return known


def reload(**properties: Any) -> dict[str, Any]:
    return {"reload": {"properties": Playground.named(properties)}}
