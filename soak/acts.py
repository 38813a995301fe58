"""What happens to servers whose histories a plan must reproduce: their settings, and what is done.

All of it is random, and follows from a seed and the state of the server: a life in real time and
one in virtual time do the same.
"""

import random
from collections.abc import Callable, Iterator

import msgspec
from tests.labelled_queues import LABEL, QUEUES, WHOLE, capacity_queues, capacity_settings
from tests.manual_engine import ManualEngine

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import (
    DecommissionNode,
    DrainNode,
    HoldApplication,
    Input,
    KillApplication,
    LabelNodes,
    LaunchContainer,
    LoadConfiguration,
    MasterRegistered,
    MoveApplication,
    NodeJoined,
    NodeLost,
    NodeResized,
    ReleaseApplication,
    ReleaseContainers,
    RequestContainers,
    StartConditions,
    SubmitApplication,
    UndrainNode,
    UnregisterMaster,
)
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.core.schedulers.protocol import State

ACTS = {
    "tasks": 10,
    "later tasks": 1,
    "short-lived tasks": 1,
    "gang": 2,
    "driver": 3,
    "kill": 2,
    "kill many": 1,
    "hold": 1,
    "release": 1,
    "move": 1,
    "drain": 1,
    "undrain": 2,
    "decommission": 1,
    "resize": 1,
    "lose": 1,
    "join": 3,
    "reload": 1,
    "label": 1,
}
"""What is done to a server, and how often compared with the rest."""
LENGTH = 32
"""So much is done to it in its life, within two or three seconds."""
WEIGHTS = (1.0, 2.0, 1.0)
NODES = ("n1", "n2", "n3")
NODE = {"memory-mb": 8192, "vcores": 8}
BEAT_MS = 100
STOP_MS = 30
"""What was stopped ends at the next multiple of this time, together with the rest of it."""


def loading(scheduler: str, weights: tuple[float, ...], epoch_ms: int) -> LoadConfiguration:
    """The settings with these weights, as an input."""
    return LoadConfiguration(msgspec.json.encode(settings_with(scheduler, weights)), epoch_ms)


def settings_with(scheduler: str, weights: tuple[float, ...]) -> FairSettings | CapacitySettings:
    """Queues with these weights, which preempt after a tenth of a second."""
    if scheduler == "capacity":
        return _capacity_settings(weights)
    queues = {
        name: QueueSettings(
            name, weight=weight, fair_share_timeout_ms=100, fair_share_threshold=1.0
        )
        for name, weight in zip(QUEUES, weights, strict=True)
    }
    return FairSettings(
        allocations=AllocationSettings(queues=queues, from_file=True),
        preemption=True,
        preemption_utilization_threshold=0.5,
        wait_before_kill_ms=100,
    )


def _capacity_settings(weights: tuple[float, ...]) -> CapacitySettings:
    shares = [100.0 * weight / sum(weights) for weight in weights]
    further = {
        "maximum_capacity": WHOLE,
        "user_limit_factor": 10.0,
        "maximum_master_share": 1.0,
    }
    return capacity_settings(
        capacity_queues(shares, lambda _: further),
        preempts=True,
        interval_ms=100,
        wait_before_kill_ms=100,
    )


class Acts:
    """What is done to a server of one scheduler, one act after the other."""

    def __init__(self, chance: random.Random, scheduler: str) -> None:
        self._chance = chance
        self._scheduler = scheduler

    def pause_ms(self) -> float:
        """The time to the next act."""
        return self._chance.uniform(5, 150)

    def run(self) -> tuple[float, int]:
        """How long in ms a container runs, and its exit code."""
        return self._chance.uniform(50, 800), int(self._chance.random() < 0.05)

    def next(self, state: State, now_ms: int) -> list[Input]:
        """The next act, as inputs that come at once."""
        chance = self._chance
        (kind,) = chance.choices(tuple(ACTS), tuple(ACTS.values()))
        alive = [one.id for one in state.applications.values() if not one.over]
        match kind:
            case "tasks":
                return [self._tasks()]
            case "later tasks":
                begin_ms = state.epoch_ms + now_ms + chance.randint(0, 600)
                return [
                    msgspec.structs.replace(self._tasks(), start=StartConditions(begin_ms=begin_ms))
                ]
            case "short-lived tasks":
                return [msgspec.structs.replace(self._tasks(), lifetime_s=1)]
            case "gang":
                return [self._tasks(gang=True)]
            case "driver":
                command = Command(("drive",))
                queue = chance.choice(QUEUES)
                return [SubmitApplication("dan", queue, master=(1024, 1), driver=command)]
            case "kill" if alive:
                return [KillApplication(chance.choice(alive))]
            case "kill many":
                return [KillApplication(one) for one in chance.sample(alive, len(alive) // 2)]
            case "hold" if alive:
                return [HoldApplication(chance.choice(alive))]
            case "release" if alive:
                return [ReleaseApplication(chance.choice(alive))]
            case "move" if alive:
                return [MoveApplication(chance.choice(alive), chance.choice(QUEUES))]
            case "drain":
                return [DrainNode(chance.choice(NODES[1:]))]
            case "undrain":
                return [UndrainNode(chance.choice(NODES[1:]))]
            case "decommission":
                return [DecommissionNode(NODES[2], chance.choice((0, 200, 700)))]
            case "resize":
                total = tuple(amount // chance.choice((1, 2)) for amount in NODE.values())
                return [NodeResized(chance.choice(NODES), total, chance.choice((-1, 0, 300)))]
            case "lose" if NODES[2] in state.nodes:
                return [NodeLost(NODES[2])]
            case "join" if NODES[2] not in state.nodes:
                return [NodeJoined(NODES[2], tuple(NODE.values()))]
            case "reload":
                weights = tuple(chance.choice((0.5, 1.0, 4.0)) for _ in QUEUES)
                return [loading(self._scheduler, weights, state.epoch_ms)]
            case "label" if self._scheduler == "capacity":
                return [LabelNodes({chance.choice(NODES): chance.choice((LABEL, ""))})]
            case _:
                return []

    def _tasks(self, *, gang: bool = False) -> SubmitApplication:
        chance = self._chance
        group = TaskGroup(
            "t",
            chance.randint(1, 6 if gang else 30),
            (1024 * chance.randint(1, 3), 1),
            Command(("true",)),
            hosts=chance.choice(((), (), NODES[:1], NODES[1:])),
            gang=gang,
            gang_timeout_ms=500,
        )
        return SubmitApplication(
            chance.choice(("ann", "bob")), chance.choice(QUEUES), tasks=(group,)
        )

    def driven(
        self, application: Callable[[], Application], engine: ManualEngine
    ) -> Iterator[tuple[list[Input], float]]:
        """What a master does once its application is submitted, with the time in ms that it waits
        after each of it: it registers, requests, launches, releases, unregisters, and ends."""
        chance, number = self._chance, application().id
        while not any(one in engine.live for one in application().containers):
            yield [], 10
            if application().over:
                return
        master = next(iter(application().containers))
        yield [MasterRegistered(number)], chance.uniform(10, 100)
        request = ContainerRequest(chance.randint(1, 6), (1024, 1))
        yield [RequestContainers(number, (request,))], 0
        done: set[ContainerId] = {master}
        for _ in range(100):
            if application().over:
                break
            given: list[Input] = []
            for container in [one for one in application().containers if one not in done]:
                done.add(container)
                if chance.random() < 0.2:
                    given.append(ReleaseContainers(number, (container,)))
                else:
                    given.append(LaunchContainer(number, container, Command(("true",))))
            yield given, 10
        yield [UnregisterMaster(number)], 0
        engine.end(master)
