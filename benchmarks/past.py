"""How long questions about the past of a long history take: `python -m benchmarks.past`.

A real LiveServer makes a state directory of N records: 50 users with applications in 20 queues, of
which hundreds wait, on 100 nodes with 2,000 containers. Then `fairshare at T queues`, `apps` and
`why` are asked about moments that are evenly distributed over the records, each in a process of its
own, as from a shell. `--state DIR` keeps the directory, and takes the one that is there.
"""

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

from tests.manual_engine import ManualEngine

from benchmarks.processes import Cost, cost_of, spread_of
from benchmarks.recovery import settings
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited, SubmitApplication
from fairshare.core.model.work import Command, TaskGroup
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.lab.branch.history import History
from fairshare.runtime.journal.sqlite import JOURNAL_FILE
from fairshare.server.server import LiveServer

NODES, PLACES = 100, 20
ROOM = NODES * PLACES
APPLICATIONS, TASKS = 300, 100
"""How many live at a time, with so many tasks each."""


class TurnoverEngine(ManualEngine):
    """Of its containers the oldest ends when the nodes are nearly full."""

    def __init__(self, path: Path) -> None:
        each = {"memory-mb": PLACES * 512, "vcores": PLACES}
        offers = [NodeOffer(f"n{n}", f"/r{n % 5}", each, {}) for n in range(NODES)]
        super().__init__(path, *offers, starts=False, stops=False)
        self._running: deque[ContainerId] = deque()

    def launch(self, order: LaunchOrder) -> None:
        """One begins, and another one ends."""
        self._running.append(order.container)
        if len(self._running) > ROOM - PLACES:
            self.report(ContainerExited(self._running.popleft(), 0))


async def fill(state: Path, records: int) -> None:
    """Let a server decide until its journal has so many records."""
    server = LiveServer(settings(state), lambda _, path: TurnoverEngine(path))
    await server.start("http://127.0.0.1:1")
    service = server.service
    submitted, version = 0, -1
    while service.version < records:
        live = sum(not one.over for one in service.state.applications.values())
        for number in range(submitted, submitted + APPLICATIONS - live):
            group = TaskGroup("t", TASKS, (512, 1), Command(("true",)))
            user, queue = f"user{number % 50}", f"root.q{number % 20}"
            await service.ask(SubmitApplication(user, queue, tasks=(group,)))
            submitted += 1
        for _ in range(50):
            version = await service.changed(version, 60.0)
    await server.close()


def command(state: Path, moment: str, *words: str) -> list[str]:
    """A question from a shell."""
    fairshare = [sys.executable, "-P", "-m", "fairshare"]
    return [*fairshare, "at", moment, "--against", str(state), *words]


def waiting(state: Path, moment: str) -> str:
    """The application that came first of those that live."""
    done = subprocess.run(
        command(state, moment, "apps", "--json"), capture_output=True, text=True, check=True
    )
    rows = json.loads(done.stdout)["applications"]
    return str(next(row["id"] for row in reversed(rows) if row["finished_ms"] is None))


def measure(state: Path, moments: int) -> None:
    """Ask, and print."""
    with History.open(state) as history:
        first, last = history.journal.first_record(), history.moment().position.sequence
        states = len(history.journal.snapshots())
    size_mb = (state / JOURNAL_FILE).stat().st_size / 1e6
    print(f"{last - first + 1:,} records, {states} states, {size_mb:,.0f} MB", flush=True)
    costs: dict[str, list[Cost]] = {"queues": [], "apps": [], "why": []}
    cost_of(command(state, f"record:{last}", "queues"))  # Python compiles what it imports
    for place in range(1, moments + 1):
        moment = f"record:{first + (last - first) * place // moments}"
        for verb, found in costs.items():
            words = [waiting(state, moment)] if verb == "why" else []
            found.append(cost_of(command(state, moment, verb, *words)))
    for verb, found in costs.items():
        wall_s = spread_of([one.wall_s for one in found])
        processor_s = spread_of([one.processor_s for one in found])
        print(
            f"at T {verb}: {wall_s.median:.2f} s, {wall_s.most:.2f} s at most; of a processor"
            f" {processor_s.median:.2f} s, {processor_s.most:.2f} s at most"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--state", type=Path, help="keep the state directory here, or take it")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        state = options.state
        if state is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fairshare-past-"))
            state = Path(folder) / "state"
        if not (state / JOURNAL_FILE).exists():
            begun = time.perf_counter()
            asyncio.run(fill(state, options.records))
            print(f"made in {time.perf_counter() - begun:.0f} s")
        measure(state, options.moments)


if __name__ == "__main__":
    main()
