"""`python -m soak.questions`: questions to a real server that decides all the while, none of which
may change a decision, and with which no process may grow.

The server, its journal, its sockets and the process beside it are real; its containers are timers.
Applications come and are killed, moved and held, nodes are drained. Meanwhile clients ask why
something waits, what would start it, when it ends, what queues are owed, for the ledger; and of the
state directory what was at a moment, and for cases. At the end all records are decided again by a
server's core of which nothing was asked: each decision has to be the same. What is random follows
from the seed, but for the moments at which processes run.
"""

import argparse
import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.manual_engine import ManualEngine

from fairshare.api.work import Submission, TaskGroup
from fairshare.client import Client
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited, ContainerStarted
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.errors import FairshareError, InputError
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.web.listener import serve

FILES = {
    "yarn-site.xml": """<configuration>
  <property>
    <name>yarn.resourcemanager.scheduler.class</name>
    <value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
  </property>
  <property><name>yarn.scheduler.minimum-allocation-mb</name><value>1024</value></property>
  <property><name>yarn.scheduler.fair.preemption</name><value>true</value></property>
  <property>
    <name>yarn.scheduler.fair.preemption.cluster-utilization-threshold</name><value>0.5</value>
  </property>
  <property><name>yarn.resourcemanager.max-completed-applications</name><value>20</value></property>
</configuration>
""",
    "fair-scheduler.xml": """<allocations>
  <queue name="a"><weight>2</weight>
    <fairSharePreemptionTimeout>2</fairSharePreemptionTimeout>
    <fairSharePreemptionThreshold>1.0</fairSharePreemptionThreshold></queue>
  <queue name="b"><maxResources>50%</maxResources><maxRunningApps>3</maxRunningApps></queue>
  <queue name="c"/>
</allocations>
""",
    "fairshare.toml": "[retention]\nrecords = 100000000\nsnapshot_records = 500\n",
}
QUEUES = ("root.a", "root.b", "root.c")
NODES = tuple(f"n{number}" for number in range(1, 5))
NODE = {"memory-mb": 8192, "vcores": 8}
LIVE = 12
"""As many applications are there at a time."""
QUICK = {"why": 80, "owed": 13, "ledger": 7}
LONG = {
    "eta": 3,
    "why --prove": 4,
    "why then": 4,
    "eta of a submission": 1,
    "at": 4,
    "export-case": 1,
}
"""What is asked, and how often compared with the rest of its kind."""
LONG_PART = 1 / 200
"""Of the questions so many take seconds, and the others milliseconds."""
SIZED = 2_000
"""With fewer questions, which take seconds, a process has not come to its size by WARM."""
AHEAD = 0.01
"""By this part of its questions one kind may be ahead of the other."""
WARM = 0.5
"""After this part of the questions everything has its size."""
MOST_GROWTH = 1.1
"""How many times its size of then a process may have at the end. A server grows without questions,
too: it keeps past moments for its pages, up to a bound."""


class TimersEngine(ManualEngine):
    """Containers that end by timers of the event loop; it keeps nothing of those that ended."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        super().__init__(path, *(NodeOffer(one, "/default-rack", NODE, {}) for one in NODES))
        self._chance = chance

    def launch(self, order: LaunchOrder) -> None:
        """It runs, and ends by itself, seldom with a failure."""
        self.live.add(order.container)
        self.report(ContainerStarted(order.container))
        code = int(self._chance.random() < 0.05)
        run_s = self._chance.choice((0.5, 1.0, 3.0)) * self._chance.uniform(0.5, 1.5)
        asyncio.get_running_loop().call_later(run_s, self._ends, order.container, code)

    def _ends(self, container: ContainerId, code: int) -> None:
        if container in self.live:
            self.live.discard(container)
            self.report(ContainerExited(container, code))

    def stop(self, container: ContainerId) -> None:
        """It ends at once."""
        self._ends(container, 143)


def run_server(folder: Path, seed: int) -> None:
    """Serve until a signal, or until the soak is gone, which holds the other end of the input."""

    async def run() -> None:
        asyncio.get_running_loop().add_reader(0, os.kill, os.getpid(), signal.SIGTERM)
        overrides = Overrides(port=0, state_directory=folder / "state")
        server = LiveServer(
            read_settings(folder / "conf", overrides),
            lambda _, path: TimersEngine(path, random.Random(seed)),
        )
        await serve(server, lambda url: print(f"listening on {url}", flush=True))

    asyncio.run(run())


def processes_of(pid: int) -> dict[str, int]:
    """The resident sizes of a server and of the process beside it, in bytes."""
    sizes = {"server": _resident(pid)}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if b"lab.branch.following" in Path(f"/proc/{child}/cmdline").read_bytes():
            sizes["process beside it"] = _resident(int(child))
    return sizes


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Soak:
    """One run: a server, its load, those who ask, and what went wrong."""

    def __init__(self, folder: Path, seed: int, questions: int) -> None:
        self.folder = folder
        self.conf, self.state = folder / "conf", folder / "state"
        self.conf.mkdir()
        for name, text in FILES.items():
            (self.conf / name).write_text(text)
        self.violations: list[str] = []
        self.answered: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.submitted = 0
        long = max(1, round(questions * LONG_PART))
        self._whole = {"quick": questions - long, "long": long}
        self._left = dict(self._whole)
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._live: list[str] = []

    def run(self, url: str, pid: int, asking: int) -> tuple[dict[str, int], dict[str, int]]:
        """Ask all questions; the sizes of the processes when they were warm, and at the end."""
        load = threading.Thread(target=self._load, args=(url, self._chance.random()))
        load.start()
        askers = [
            threading.Thread(target=self._ask, args=(url, self._chance.random(), *kinds))
            for kinds in (("quick", QUICK), ("long", LONG))
            for _ in range(asking)
        ]
        for asker in askers:
            asker.start()
        warm: dict[str, int] = {}
        said_s = time.monotonic()
        while any(asker.is_alive() for asker in askers):
            time.sleep(0.5)
            if not warm and min(self._done(one) for one in self._left) > WARM:
                warm = processes_of(pid)
            if time.monotonic() - said_s > 60:
                said_s = time.monotonic()
                print(f"{self._left} questions are left; {processes_of(pid)}", flush=True)
        last = processes_of(pid)
        self._over.set()
        load.join()
        return warm, last

    def _done(self, which: str) -> float:
        return 1 - self._left[which] / self._whole[which]

    def _load(self, url: str, seed: float) -> None:
        chance = random.Random(seed)
        with Client(url) as client:
            while not self._over.wait(chance.uniform(0.05, 0.3)):
                try:
                    self._act(client, chance)
                except InputError as error:  # it has ended meanwhile, or may not be moved there
                    self.refused[f"the load: {error.code}"] += 1
                except FairshareError as error:
                    self.violations.append(f"the load: {error}")
                    return

    def _act(self, client: Client, chance: random.Random) -> None:
        live = [one.id for one in client.applications(limit=1_000) if one.finished_ms is None]
        with self._lock:
            self._live = live
        if len(live) < LIVE:
            client.submit_whole(submission(chance))
            self.submitted += 1
        if not live or chance.random() > 0.1:
            return
        one, node = chance.choice(live), chance.choice(NODES[2:])
        acts: tuple[Callable[[], object], ...] = (
            lambda: client.kill(one),
            lambda: client.move(one, chance.choice(QUEUES)),
            lambda: client.order_nodes("drain", [node]),
            lambda: client.order_nodes("undrain", [node]),
            lambda: client.order_nodes("undrain", [node]),
        )
        chance.choice(acts)()

    def _ask(self, url: str, seed: float, which: str, kinds: dict[str, int]) -> None:
        chance = random.Random(seed)
        with Client(url) as client:
            while self._left[which] > 0:
                ahead = self._done(which) > min(map(self._done, self._left)) + AHEAD
                with self._lock:
                    live = [] if ahead else self._live
                    self._left[which] -= bool(live)
                if not live:
                    time.sleep(0.05)
                    continue
                name = chance.choice(live)
                (kind,) = chance.choices(tuple(kinds), tuple(kinds.values()))
                try:
                    self._question(client, chance, kind, name)
                    self.answered[kind] += 1
                except InputError as error:
                    self.refused[f"{kind}: {error.code}"] += 1
                except Exception as error:
                    self.violations.append(f"{kind}: {error!r}")

    def _question(self, client: Client, chance: random.Random, kind: str, name: str) -> None:
        match kind:
            case "why":
                client.reasons(name)
            case "owed":
                client.owed(chance.choice(QUEUES))
            case "ledger":
                client.ledger(by=chance.choice((("queue",), ("queue", "user"), ("hour", "label"))))
            case "eta":
                client.eta(name)
            case "why --prove":
                client.prove(name)
            case "why then":
                client.reasons(name, at_ms=time.time_ns() // 1_000_000 - 5_000)
            case "eta of a submission":
                client.estimate(submission(chance))
            case "at":
                moment = chance.choice(("now", "5s", "30s"))
                self._command("at", moment, chance.choice(("queues", "apps", "nodes")))
            case _:
                self._command("export-case", "--at", "5s", "--conf", str(self.conf))

    def _command(self, verb: str, *words: str) -> None:
        """A question that a process of its own answers, from the state directory; raises InputError
        if there is no answer to it."""
        against = ("--against", str(self.state))
        words = (words[0], *against, *words[1:]) if verb == "at" else (*words, *against)
        done = _fairshare(verb, *words)
        if done.returncode == 1:
            raise InputError(_without_digits(done.stderr), done.stderr)
        if done.returncode:
            raise RuntimeError(done.stderr)

    def judge(self) -> None:
        """Whether all is decided again as it was, and only of what was submitted."""
        replay = _fairshare("replay", str(self.state), "--verify")
        print(replay.stdout.strip())
        if replay.returncode:
            self.violations.append(f"replay: {replay.stdout}{replay.stderr}")
        journal = SqliteJournal(self.state, read_only=True)
        inputs = Counter(type(record.input).__name__ for record in journal.records())
        journal.close()
        print(", ".join(f"{count:,} {kind}" for kind, count in inputs.most_common(6)))
        if inputs["SubmitApplication"] != self.submitted:
            self.violations.append(
                f"{self.submitted} were submitted, and {inputs['SubmitApplication']} are recorded"
            )


def submission(chance: random.Random) -> Submission:
    """Some tasks of some user, among which are many alike."""
    group = TaskGroup(
        name="t",
        count=chance.randint(1, 30),
        resources={"memory-mb": 1024 * chance.randint(1, 3), "vcores": 1},
        arguments=("true",),
    )
    return Submission(
        name=f"job-{chance.randint(1, 9)}",
        user=chance.choice(("ann", "bob", "eve")),
        queue=chance.choice(QUEUES),
        tasks=(group,),
    )


def _fairshare(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fairshare", *words], capture_output=True, text=True, check=False
    )


def _without_digits(text: str) -> str:
    """The beginning of a message that is the same for all numbers and names."""
    return " ".join(re.sub(r"\d+", "N", text).split())[:70]


def main() -> int:
    """Run it, print what happened; 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="python -m soak.questions", description=__doc__)
    parser.add_argument("--questions", type=int, default=4_000)
    parser.add_argument("--asking", type=int, default=2, help="of both kinds as many at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        run_server(options.serve, options.seed)
        return 0
    begun_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fairshare-questions-") as folder:
        soak = Soak(Path(folder), options.seed, options.questions)
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "soak.questions"),
                *("--seed", str(options.seed), "--serve", folder),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        with process.stdout:
            url = process.stdout.readline().removeprefix("listening on ").strip()
            try:
                warm, last = soak.run(url, process.pid, options.asking)
            finally:
                process.terminate()
                process.wait(60)
        asked_s = time.monotonic() - begun_s
        soak.judge()
        files = {path.name: path.stat().st_size for path in soak.state.iterdir()}
    answered = sum(soak.answered.values())
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in soak.answered.most_common())
    refused = sum(soak.refused.values())
    print(f"{answered:,} questions answered and {refused:,} refused in {asked_s:.0f} s: {kinds}")
    print("refused: " + ", ".join(f"{n:,} {k}" for k, n in soak.refused.most_common()))
    for name, size in last.items():
        print(f"{name}: {warm.get(name, 0) / 1e6:.1f} MB when warm, {size / 1e6:.1f} MB at the end")
        if options.questions >= SIZED and size > MOST_GROWTH * warm.get(name, size):
            soak.violations.append(f"{name} grew")
    beside = {name: size for name, size in files.items() if not name.startswith("journal")}
    print("files: " + ", ".join(f"{name} {size:,}" for name, size in sorted(beside.items())))
    print(f"{len(soak.violations)} violations")
    for violation in soak.violations[:50]:
        print(f"  {violation}")
    return 1 if soak.violations else 0


if __name__ == "__main__":
    sys.exit(main())
