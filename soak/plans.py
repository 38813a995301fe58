"""`python -m soak.plans`: random lives of servers, whose histories a plan must reproduce.

Each life is a few seconds of a real server of the Fair or the Capacity Scheduler, in turn: its
writer, its clock, its journal, with containers that are timers. Applications of tasks, of gangs
and of drivers come; nodes are lost and join, are drained and undrained, have labels; applications
are killed, many of them at once, and what is stopped keeps its room for a while; the configuration
is reloaded; queues are starved and preempt.
Then the unchanged configuration is planned on the journal: each grant must be made again, the same
container on the same node, within 10 ms. What is random follows from the seed, but for the moments
at which the server runs, and the turns that it leaves half done: the journal has both. The lives in
which the machine kept it waiting for long count apart.
"""

import argparse
import asyncio
import contextlib
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import msgspec
from tests.manual_engine import ManualEngine

from fairshare.core.model.events import ContainerCompleted, ExitCode
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import (
    AddLabels,
    ContainerExited,
    ContainerStarted,
    DrainNode,
    Input,
    KillApplication,
    LabelNodes,
    LaunchContainer,
    LoadConfiguration,
    MasterRegistered,
    NodeJoined,
    NodeLost,
    ReleaseContainers,
    RequestContainers,
    SubmitApplication,
    UndrainNode,
    UnregisterMaster,
)
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup
from fairshare.core.schedulers.capacity.settings import (
    ALL_LABELS,
    CapacitySettings,
    LabelCapacity,
    MonitorSettings,
    Percentage,
)
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.errors import InputError
from fairshare.lab.plan.planning import Proof, proof_of, reproduced
from fairshare.lab.verbs.histories import read_world
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings

BEAT_MS = 100
CALM_MS = 25
"""A server that is kept waiting for longer decides in another order than one on a machine that is
never busy."""
ACTS = {
    "tasks": 10,
    "gang": 2,
    "driver": 3,
    "kill": 2,
    "kill many": 1,
    "drain": 1,
    "undrain": 2,
    "lose": 1,
    "join": 3,
    "reload": 1,
    "label": 1,
}
"""What is done to a server, and how often compared with the rest."""
LENGTH = 32
"""So much is done to it in its life, within two or three seconds."""
STOP_S = 0.03
"""What was stopped ends at the next multiple of this time, together with the rest of it."""
SCHEDULERS = ("fair", "capacity")
QUEUES = ("root.a", "root.b", "root.c")
LABEL = "gpu"
NODES = ("n1", "n2", "n3")
NODE = {"memory-mb": 8192, "vcores": 8}


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
    everything = {LABEL: LabelCapacity(Percentage(100.0), Percentage(100.0))}
    queues = {
        "root": CapacityQueue(
            children=tuple(name.removeprefix("root.") for name in QUEUES),
            capacity=Percentage(100.0),
            label_capacities=everything,
        )
    }
    for name, weight in zip(QUEUES, weights, strict=True):
        first = name == QUEUES[0]
        queues[name] = CapacityQueue(
            capacity=Percentage(100.0 * weight / sum(weights)),
            maximum_capacity=Percentage(100.0),
            user_limit_factor=10.0,
            maximum_master_share=1.0,
            accessible_labels=(ALL_LABELS,) if first else (),
            label_capacities=everything if first else {},
        )
    monitor = MonitorSettings(
        enabled=True,
        monitor_on=True,
        interval_ms=100,
        wait_before_kill_ms=100,
        total_per_round=1.0,
        natural_termination_factor=1.0,
    )
    return CapacitySettings(queues=queues, labels_enabled=True, monitor=monitor)


class Verdict(msgspec.Struct):
    """How well a life was reproduced, what was in it by kind, and the longest time in ms that the
    machine kept the server waiting."""

    proof: Proof
    kinds: Counter[str]
    lag_ms: float

    @property
    def calm(self) -> bool:
        """Whether the machine let the server run nearly always."""
        return self.lag_ms < CALM_MS

    @property
    def whole(self) -> bool:
        """Whether every grant was made again."""
        return self.proof.reproduced == self.proof.grants


class TimedEngine(ManualEngine):
    """Containers that end by timers of the event loop."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        offers = (NodeOffer(one, "/default-rack", NODE, {}) for one in NODES)
        super().__init__(path, *offers, starts=False)
        self._chance = chance

    def launch(self, order: LaunchOrder) -> None:
        super().launch(order)
        self.report(ContainerStarted(order.container, holds_room=True))
        if order.command.arguments == ("drive",):
            return
        code = 1 if self._chance.random() < 0.05 else 0
        run_s = self._chance.uniform(0.05, 0.8)
        asyncio.get_running_loop().call_later(run_s, self.end, order.container, code)

    def stop(self, container: ContainerId) -> None:
        loop = asyncio.get_running_loop()
        at_s = (loop.time() // STOP_S + 1) * STOP_S
        loop.call_at(at_s, self.end, container, 143, "stopped")


class Life:
    """One server, and what happens to it."""

    def __init__(self, folder: Path, seed: int, scheduler: str) -> None:
        self.folder = folder
        self._scheduler = scheduler
        self._chance = random.Random(seed)
        self._engine = TimedEngine(folder / "containers", random.Random(seed + 1))
        self._weights = (1.0, 2.0, 1.0)
        self.lag_ms = 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Live, and end."""
        settings = settings_with(self._scheduler, self._weights)
        server = LiveServer(
            LiveSettings(
                scheduler=self._scheduler,
                types=settings.types,
                scheduler_settings=msgspec.json.encode(settings),
                heartbeat_interval_ms=BEAT_MS,
                state_directory=self.folder / "state",
                stop_containers=True,
            ),
            lambda settings, path: self._engine,
        )
        await server.start("http://127.0.0.1:1")
        try:
            self._tasks.add(asyncio.create_task(self._measure()))
            if self._scheduler == "capacity":
                await self._ask(server, AddLabels({LABEL: False}))
            for _ in range(LENGTH):
                await self._act(server)
                await asyncio.sleep(self._chance.uniform(0.005, 0.15))
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for application in tuple(server.service.state.applications.values()):
                if not application.over:
                    await self._ask(server, KillApplication(application.id))
        finally:
            await server.close()

    async def _measure(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            before_s = loop.time()
            await asyncio.sleep(0.002)
            self.lag_ms = max(self.lag_ms, 1000 * (loop.time() - before_s) - 2)

    async def _act(self, server: LiveServer) -> None:
        (kind,) = self._chance.choices(tuple(ACTS), tuple(ACTS.values()))
        applications = [one.id for one in server.service.state.applications.values()]
        match kind:
            case "tasks":
                await self._ask(server, self._submission())
            case "gang":
                await self._ask(server, self._submission(gang=True))
            case "driver":
                task = asyncio.create_task(self._drive(server))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case "kill" if applications:
                await self._ask(server, KillApplication(self._chance.choice(applications)))
            case "kill many":
                some = self._chance.sample(applications, len(applications) // 2)
                await asyncio.gather(*(self._ask(server, KillApplication(one)) for one in some))
            case "label" if self._scheduler == "capacity":
                label = self._chance.choice((LABEL, ""))
                await self._ask(server, LabelNodes({self._chance.choice(NODES): label}))
            case "drain":
                await self._ask(server, DrainNode(self._chance.choice(NODES[1:])))
            case "undrain":
                await self._ask(server, UndrainNode(self._chance.choice(NODES[1:])))
            case "lose" if "n3" in server.service.state.nodes:
                await self._ask(server, NodeLost("n3"))
            case "join" if "n3" not in server.service.state.nodes:
                await self._ask(server, NodeJoined("n3", tuple(NODE.values())))
            case "reload":
                self._weights = tuple(self._chance.choice((0.5, 1.0, 4.0)) for _ in QUEUES)
                encoded = msgspec.json.encode(settings_with(self._scheduler, self._weights))
                epoch_ms = server.service.state.epoch_ms
                await self._ask(server, LoadConfiguration(encoded, epoch_ms))

    @staticmethod
    async def _ask(server: LiveServer, given: Input) -> None:
        with contextlib.suppress(InputError):  # refused, as an unknown node or an ended application
            await server.service.ask(given)

    def _submission(self, *, gang: bool = False) -> SubmitApplication:
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

    async def _drive(self, server: LiveServer) -> None:
        """A master: it registers, requests, launches, releases, and unregisters."""
        given = SubmitApplication(
            "dan", self._chance.choice(QUEUES), master=(1024, 1), driver=Command(("drive",))
        )
        events = await server.service.ask(given)
        number = next(iter(events)).application  # type: ignore[union-attr]
        applications = server.service.state.applications
        while not any(one in self._engine.live for one in applications[number].containers):
            await asyncio.sleep(0.01)
            if applications[number].over:
                return
        master = next(iter(applications[number].containers))
        await self._ask(server, MasterRegistered(number))
        await asyncio.sleep(self._chance.uniform(0.01, 0.1))
        asked = self._chance.randint(1, 6)
        request = ContainerRequest(asked, (1024, 1))
        await self._ask(server, RequestContainers(number, (request,)))
        done: set[int] = {master}
        until_s = asyncio.get_running_loop().time() + 1.0
        while asyncio.get_running_loop().time() < until_s and not applications[number].over:
            for container in [one for one in applications[number].containers if one not in done]:
                done.add(container)
                if self._chance.random() < 0.2:
                    await self._ask(server, ReleaseContainers(number, (container,)))
                else:
                    command = Command(("true",))
                    await self._ask(server, LaunchContainer(number, container, command))
            await asyncio.sleep(0.01)
        await self._ask(server, UnregisterMaster(number))
        self._engine.report(ContainerExited(master, 0))


def judge(state: Path) -> tuple[Proof, Counter[str]]:
    """How well a plan with the unchanged configuration reproduces a life; and what was in it."""
    world = read_world(state)
    found = reproduced(world, BEAT_MS, 600_000)
    kinds: Counter[str] = Counter(type(one.input).__name__ for one in world.entries)
    with contextlib.closing(SqliteJournal(state, read_only=True)) as journal:
        kinds["preempted"] = sum(
            type(event) is ContainerCompleted and event.exit_code == ExitCode.PREEMPTED
            for record in journal.records()
            for event in record.events
        )
    return proof_of(world, found), kinds


def live(seed: int, scheduler: str, keep: Path | None = None) -> Verdict:
    """One life, and the verdict. The state directory of a life that is not whole is kept below
    `keep`."""
    with tempfile.TemporaryDirectory(prefix="fairshare-plans-") as folder:
        life = Life(Path(folder), seed, scheduler)
        asyncio.run(life.run())
        proof, kinds = judge(life.folder / "state")
        verdict = Verdict(proof, kinds, life.lag_ms)
        if keep is not None and not verdict.whole:
            name = f"{scheduler}-{seed}"
            shutil.copytree(life.folder / "state", keep / name, dirs_exist_ok=True)
        return verdict


def main() -> int:
    """Run lives, and say how many grants were made again."""
    parser = argparse.ArgumentParser(prog="python -m soak.plans", description=__doc__)
    parser.add_argument("--lives", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scheduler", choices=SCHEDULERS, help="all lives under this one")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the state directories of lives not whole"
    )
    given = parser.parse_args()
    verdicts = []
    for seed in range(given.seed, given.seed + given.lives):
        scheduler = given.scheduler or SCHEDULERS[seed % len(SCHEDULERS)]
        one = live(seed, scheduler, given.keep)
        verdicts.append(one)
        print(
            f"seed {seed}, {scheduler}: {one.proof.reproduced} of {one.proof.grants} grants,"
            f" at most {one.proof.largest_ms} ms apart;"
            f" the machine was late by {one.lag_ms:.0f} ms",
            flush=True,
        )
    for title, some in (
        ("calm", [one for one in verdicts if one.calm]),
        ("disturbed", [one for one in verdicts if not one.calm]),
    ):
        again = sum(one.proof.reproduced for one in some)
        grants = sum(one.proof.grants for one in some)
        print(
            f"{title}: {sum(one.whole for one in some)} of {len(some)} lives whole,"
            f" {again} of {grants} grants"
        )
    kinds = sum((one.kinds for one in verdicts), Counter[str]())
    print(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    return 0 if all(one.whole for one in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
