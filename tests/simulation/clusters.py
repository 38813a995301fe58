"""A small simulated cluster under each scheduler, for tests of what its queues and users get."""

from pathlib import Path

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationRejected
from fairshare.core.model.inputs import LoadConfiguration, NodeJoined, SubmitApplication
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import fits
from fairshare.core.model.work import TaskGroup
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of

HOUR_S = 3_600
SLOTS = 32

FAIR = """<allocations>
  <queueMaxAMShareDefault>-1.0</queueMaxAMShareDefault>
  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
  <queue name="a"><schedulingPolicy>fifo</schedulingPolicy></queue><queue name="b"/>
  <queue name="p"><queue name="x"/><queue name="y"/></queue>
</allocations>"""
CAPACITIES = {"a": 10, "b": 10, "p": 80}


def capacity_file() -> str:
    prefix = "yarn.scheduler.capacity."
    properties = {f"{prefix}root.queues": "a,b,p", f"{prefix}root.p.queues": "x,y"}
    calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
    properties[f"{prefix}resource-calculator"] = calculator
    for name, percent in {**CAPACITIES, "p.x": 50, "p.y": 50}.items():
        properties[f"{prefix}root.{name}.capacity"] = str(percent)
        properties[f"{prefix}root.{name}.maximum-capacity"] = "100"
        properties[f"{prefix}root.{name}.user-limit-factor"] = "100"
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    return f"<configuration>{rows}</configuration>"


class Lab:
    """A simulated cluster of two nodes with 32 slots of one vcore and 1 GB."""

    def __init__(self, directory: Path, scheduler: str, fairness: str) -> None:
        self._directory, self.scheduler = directory, scheduler
        (directory / "fair-scheduler.xml").write_text(FAIR)
        (directory / "capacity-scheduler.xml").write_text(capacity_file())
        (directory / "fairshare.toml").write_text(fairness)
        configuration = read_directory(directory, scheduler)
        self.manager = ResourceManager(family_of(scheduler).create(configuration.types))
        self.state = self.manager.scheduler.state
        self.journal = MemoryJournal()
        slots, self._slot = ((SLOTS // 2, 0), (1, 0)) if scheduler == "pools" else ((), ())
        size = (1024 * SLOTS // 2, SLOTS // 2, *slots)
        self.simulator = Simulator(
            self.manager,
            msgspec.json.encode(configuration.settings),
            Workload((), ()),
            self.journal,
            nodes=[NodeJoined(name, size, "/r") for name in ("n1", "n2")],
        )
        self.simulator.run(until_ms=0)

    @property
    def now_ms(self) -> int:
        return self.simulator.clock.now_ms()

    def reload(self, fairness: str) -> None:
        (self._directory / "fairshare.toml").write_text(fairness)
        settings = read_directory(self._directory, self.scheduler).settings
        self.simulator.handle(LoadConfiguration(msgspec.json.encode(settings)))

    def submit(
        self,
        queue: str,
        user: str,
        tasks: int,
        *,
        task_s: int = 300,
        vcores: int = 1,
        limit_s: int | None = None,
    ) -> int:
        """The number of an application, or the reason of its refusal raised as ValueError."""
        size = (1024, vcores, *self._slot)
        limit_ms = None if limit_s is None else limit_s * 1_000
        group = TaskGroup(name="task", count=tasks, resource=size, time_limit_ms=limit_ms)
        queue = queue if self.scheduler in ("fair", "capacity") else "default"
        submission = SubmitApplication(user=user, queue=queue, name="work", tasks=(group,))
        plans = (GroupPlan(task_s * 1_000),)
        events = self.simulator.arrive(Arrival(self.now_ms, submission, plans))
        for event in events:
            if isinstance(event, ApplicationRejected):
                raise ValueError(event.code, event.reason)
        return self.state.next_application - 1

    def advance(self, seconds: float) -> None:
        self.simulator.run(until_ms=self.now_ms + round(seconds * 1_000))
        check(self.state)

    def used_by(self, user: str) -> int:
        return sum(one.used[1] for one in self.state.attempts.values() if one.user == user)

    def slots_of(self, user: str, seconds: int) -> float:
        """How many slots a user had on average for so long from now on."""
        steps = max(1, seconds // 300)
        found = []
        for _ in range(steps):
            self.advance(seconds / steps)
            found.append(self.used_by(user))
            self.assert_nothing_idle()
        return sum(found) / steps

    def assert_nothing_idle(self) -> None:
        rooms = [node.available for node in self.state.nodes.values()]
        for attempt in self.state.attempts.values():
            for key in attempt.asks.wanting:
                assert key.anywhere is not None
                assert not any(fits(key.anywhere.resource, room) for room in rooms)
