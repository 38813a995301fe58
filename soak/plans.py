"""`python -m soak.plans`: random lives of servers, whose histories a plan must reproduce.

Each life is a few seconds of a real server of the Fair or the Capacity Scheduler, in turn: its
writer, its clock, its journal, with containers that are timers. Applications of tasks, of gangs
and of drivers come, are moved, held and killed, many of them at once; nodes are lost and join, are
drained and decommissioned, get other sizes and labels; what is stopped keeps its room for a while;
the configuration is reloaded; queues are starved and preempt.
Then the unchanged configuration is planned on the journal: each grant must be made again, the same
container on the same node, within 10 ms; from the first record on, and from each of the snapshots
that are taken at random moments. What is random follows from the seed, but for the moments
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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from tests.labelled_queues import LABEL, SCHEDULERS
from tests.manual_engine import ManualEngine

from fairshare.core.model.events import ContainerCompleted, ExitCode
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import (
    AddLabels,
    ContainerStarted,
    Input,
    KillApplication,
    SubmitApplication,
)
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.errors import InputError
from fairshare.lab.branch.history import History, origin_in
from fairshare.lab.plan.planning import Proof, proof_of, reproduced
from fairshare.lab.verbs.histories import read_world
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from soak.acts import BEAT_MS, LENGTH, NODE, NODES, STOP_MS, WEIGHTS, Acts, settings_with

SAVED = 0.12
"""The part of all acts after which a snapshot is taken."""

CALM_MS = 25
"""A server that is kept waiting for longer decides in another order than one on a machine that is
never busy."""


class Verdict(msgspec.Struct):
    """How well a life was reproduced, what was in it by kind, and the longest time in ms that the
    machine kept the server waiting."""

    proof: Proof
    kinds: Counter[str]
    lag_ms: float
    cuts: tuple[Proof, ...] = ()
    """The same from each snapshot on."""

    @property
    def calm(self) -> bool:
        """Whether the machine let the server run nearly always."""
        return self.lag_ms < CALM_MS

    @property
    def whole(self) -> bool:
        """Whether every grant was made again, from the beginning and from each snapshot on."""
        return all(one.reproduced == one.grants for one in (self.proof, *self.cuts))


class TimedEngine(ManualEngine):
    """Containers that end by timers of the event loop."""

    def __init__(self, path: Path, acts: Acts) -> None:
        offers = (NodeOffer(one, "/default-rack", NODE, {}) for one in NODES)
        super().__init__(path, *offers, starts=False)
        self._acts = acts

    def launch(self, order: LaunchOrder) -> None:
        super().launch(order)
        self.report(ContainerStarted(order.container, holds_room=True))
        if order.command.arguments == ("drive",):
            return
        run_ms, code = self._acts.run()
        asyncio.get_running_loop().call_later(run_ms / 1000, self.end, order.container, code)

    def stop(self, container: ContainerId) -> None:
        loop = asyncio.get_running_loop()
        at_s = (1000 * loop.time() // STOP_MS + 1) * STOP_MS / 1000
        loop.call_at(at_s, self.end, container, 143, "stopped")


class Life:
    """One server, and what happens to it."""

    def __init__(self, folder: Path, seed: int, scheduler: str) -> None:
        self.folder = folder
        self._scheduler = scheduler
        self._acts = Acts(random.Random(seed), scheduler)
        self._chance = random.Random(seed + 2)
        self.snapshots: dict[int, Snapshot] = {}
        self._engine = TimedEngine(folder / "containers", Acts(random.Random(seed + 1), scheduler))
        self.lag_ms = 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Live, and end."""
        settings = settings_with(self._scheduler, WEIGHTS)
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
                await asyncio.sleep(self._acts.pause_ms() / 1000)
                if self._chance.random() < SAVED:
                    await server.retention.save_soon()
                    for sequence in server.journal.snapshots():
                        self.snapshots[sequence] = server.journal.snapshot(sequence)
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
        inputs = self._acts.next(server.service.state, server.service.now_ms())
        for given, events in zip(
            inputs, await asyncio.gather(*(self._ask(server, one) for one in inputs)), strict=True
        ):
            if type(given) is SubmitApplication and given.driver is not None and events:
                task = asyncio.create_task(self._drive(server, events[0].application))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    @staticmethod
    async def _ask(server: LiveServer, given: Input) -> Sequence[Any]:
        """The events; none if it is refused, as of an unknown node or an ended application."""
        with contextlib.suppress(InputError):
            return await server.service.ask(given)
        return ()

    async def _drive(self, server: LiveServer, number: ApplicationId) -> None:
        applications = server.service.state.applications
        for inputs, wait_ms in self._acts.driven(lambda: applications[number], self._engine):
            for one in inputs:
                await self._ask(server, one)
            await asyncio.sleep(wait_ms / 1000)


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


def cuts(state: Path, snapshots: Iterable[Snapshot]) -> Iterator[Proof]:
    """The same from each of some snapshots on, without those of a server that was busy for as long
    as a snapshot waits: they don't have what it knew beside the state."""
    with History.open(state) as history:
        for origin in map(origin_in, snapshots):
            if origin.memory is not None:
                world = history.world(origin)
                yield proof_of(world, reproduced(world, BEAT_MS, 600_000))


def live(seed: int, scheduler: str, keep: Path | None = None) -> Verdict:
    """One life, and the verdict. The state directory of a life that is not whole is kept below
    `keep`."""
    with tempfile.TemporaryDirectory(prefix="fairshare-plans-") as folder:
        life = Life(Path(folder), seed, scheduler)
        asyncio.run(life.run())
        proof, kinds = judge(life.folder / "state")
        from_cuts = tuple(cuts(life.folder / "state", life.snapshots.values()))
        verdict = Verdict(proof, kinds, life.lag_ms, from_cuts)
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
            f" at most {one.proof.largest_ms} ms apart, and all of them from"
            f" {sum(cut.reproduced == cut.grants for cut in one.cuts)} of {len(one.cuts)}"
            " snapshots on;"
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
            f" {again} of {grants} grants, and all of them from"
            f" {sum(cut.reproduced == cut.grants for one in some for cut in one.cuts)} of"
            f" {sum(len(one.cuts) for one in some)} snapshots on"
        )
    kinds = sum((one.kinds for one in verdicts), Counter[str]())
    print(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    return 0 if all(one.whole for one in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
