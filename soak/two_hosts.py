"""Two servers with their state in one database, as on two hosts: many fail-overs under load.

    python -m soak.two_hosts [--fail-overs N] [--seed N]

A PostgreSQL of its own is started. Each server has a state directory of its own, and reaches the
database through a connection that can be cut. Three clients, which know both addresses, submit
tasks all the time. One fault after the other hits the server that leads, in random order:

    killed            by SIGKILL
    frozen            by SIGSTOP, and resumed ten seconds later
    cut off           nothing gets through to the database or from there, for ten seconds
    shut down         in order
    database killed   and started again: the same server leads on

At the end each submission that was acknowledged must have finished, none may be there twice, each
task may have succeeded once, and a replay of the journal must decide the same. Prints a table with
the times from the fault until a server takes submissions. Exits with 1 if anything is lost or there
twice.
"""

import argparse
import contextlib
import random
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

from tests.postgres import Postgres, programs

from fairshare.api.work import Submission, TaskGroup
from fairshare.client import Client
from fairshare.errors import FairshareError

TAKEOVER_S = 3
AWAY_S = 10.0
PATIENCE_S = 60.0
CLIENTS = 3
SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property>
</configuration>
"""
QUEUE = "<allocations><queue name='a'/></allocations>"


class Line(threading.Thread):
    """Forwards connections to a port, unless it is cut: then nothing gets through."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._cut = threading.Event()
        self._mend = threading.Event()
        self._ended = False
        self.start()

    def cut(self) -> None:
        """Let nothing through, and let neither side know."""
        self._cut.set()

    def mend(self) -> None:
        """Let connections through again; those that were cut end."""
        self._mend.set()
        self._cut.clear()

    def end(self) -> None:
        """Close everything."""
        self._ended = True
        self.join()

    def run(self) -> None:
        while not self._ended:
            if self._cut.is_set():
                time.sleep(0.05)
                continue
            if self._mend.is_set():
                self._mend.clear()
                for one in list(self._pairs):
                    self._close(one)
            for key, _ in self._selector.select(0.05):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj in self._pairs and not self._cut.is_set():
                    self._forward(key.fileobj)  # type: ignore[arg-type]
        for one in list(self._pairs):
            self._close(one)
        self._listener.close()

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self._target), 2)
        except OSError:
            near.close()
            return
        for one, other in ((near, far), (far, near)):
            self._pairs[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _forward(self, one: socket.socket) -> None:
        try:
            content = one.recv(1 << 16)
            if content:
                self._pairs[one].sendall(content)
                return
        except OSError:
            pass
        self._close(one)

    def _close(self, one: socket.socket) -> None:
        for end in (one, self._pairs.pop(one, None)):
            if end is not None:
                self._pairs.pop(end, None)
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(end)
                end.close()


class Host:
    """One host: its line to the database, its configuration, its state directory, its server."""

    def __init__(self, place: Path, name: str, database: str, port: int) -> None:
        self.name = name
        self.line = Line(port)
        self.conf, self.state = place / name / "conf", place / name / "state"
        self.conf.mkdir(parents=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        (self.conf / "yarn-site.xml").write_text(SITE)
        (self.conf / "fair-scheduler.xml").write_text(QUEUE)
        (self.conf / "fairshare.toml").write_text(
            "[retention]\nfinished_applications = 1000000\n"
            f"[engine]\nmemory_mb = 4096\nvcores = 8\n[state]\ntakeover_s = {TAKEOVER_S}\n"
            f'url = "postgresql://fairshare@127.0.0.1:{self.line.port}/{database}"\n'
        )
        self.log = place / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start its server."""
        words = ("serve", "--standby", "--conf", str(self.conf), "--state", str(self.state))
        words += ("--port", str(self.port), "--no-hadoop", "--trust-local-users")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "fairshare", *words],
                stdout=log,
                stderr=log,
            )

    def signal(self, number: int) -> None:
        """Send a signal to its server."""
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self) -> int:
        """Until its server has ended; its exit code."""
        assert self.process is not None
        return self.process.wait(PATIENCE_S)

    def answer(self) -> str:
        """ready, standby, or what else /readyz says."""
        import httpx

        try:
            answer = httpx.get(f"{self.url}/readyz", trust_env=False, timeout=2).json()
        except (httpx.HTTPError, ValueError):
            return "silent"
        return "standby" if "standby" in answer["checks"] else answer["status"]

    def until(self, what: str) -> None:
        """Wait for an answer."""
        until_s = time.monotonic() + PATIENCE_S
        while (answer := self.answer()) != what:
            if time.monotonic() > until_s:
                raise SystemExit(f"{self.name} is {answer}, not {what}; see {self.log}")
            time.sleep(0.05)


class Load(threading.Thread):
    """A client that submits tasks without a pause."""

    def __init__(self, number: int, urls: str) -> None:
        super().__init__(daemon=True)
        self._number, self._urls = number, urls
        self.acknowledged: dict[str, str] = {}
        self.refused = 0
        self.ended = False

    def run(self) -> None:
        count = 0
        with Client(self._urls) as client:
            while not self.ended:
                count += 1
                name = f"load-{self._number}-{count}"
                resources = {"memory-mb": 128, "vcores": 1}
                group = TaskGroup(name="t", count=1, resources=resources, command="sleep 0.2")
                try:
                    given = client.submit(Submission(queue="a", name=name, tasks=(group,)))
                    self.acknowledged[name] = given
                except FairshareError:
                    self.refused += 1
                time.sleep(0.1)


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--fail-overs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    where = programs()
    if where is None:
        raise SystemExit("PostgreSQL is not installed: there is no initdb")
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="fairshare-two-hosts-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "postgres").mkdir()
        postgres = Postgres(place / "postgres", where)
        database = postgres.url().rpartition("/")[2]
        hosts = [Host(place, name, database, postgres.port) for name in ("one", "two")]
        try:
            raise SystemExit(_run(hosts, postgres, options.fail_overs, options.seed))
        finally:
            for host in hosts:
                host.line.mend()
                if host.process is not None and host.process.poll() is None:
                    host.signal(signal.SIGCONT)
                    host.signal(signal.SIGTERM)
                    host.wait()
                host.line.end()
            postgres.stop()


def _run(hosts: list[Host], postgres: Postgres, fail_overs: int, seed: int) -> int:
    chance = random.Random(seed)
    leader, standby = hosts
    leader.start()
    leader.until("ready")
    standby.start()
    standby.until("standby")
    loads = [Load(number, ",".join(host.url for host in hosts)) for number in range(CLIENTS)]
    for load in loads:
        load.start()
    times: dict[str, list[float]] = defaultdict(list)
    kinds = ["killed", "frozen", "cut off", "shut down"]
    done = 0
    while done < fail_overs:
        chance.shuffle(kinds)
        for kind in kinds[: fail_overs - done]:
            time.sleep(chance.uniform(0.5, 2))
            times[kind].append(_fail_over(kind, leader, standby))
            leader, standby = standby, leader
            done += 1
            print(f"{done}: {kind}, {times[kind][-1]:.1f} s", flush=True)
        began_s = time.monotonic()
        postgres.stop()
        postgres.start()
        leader.until("ready")
        times["database killed"].append(time.monotonic() - began_s)
        standby.until("standby")
    for load in loads:
        load.ended = True
    for load in loads:
        load.join(PATIENCE_S)
    return _report(loads, leader, times)


def _fail_over(kind: str, leader: Host, standby: Host) -> float:
    began_s = time.monotonic()
    if kind == "killed":
        leader.signal(signal.SIGKILL)
    elif kind == "frozen":
        leader.signal(signal.SIGSTOP)
    elif kind == "cut off":
        leader.line.cut()
    else:
        leader.signal(signal.SIGTERM)
    standby.until("ready")
    took_s = time.monotonic() - began_s
    if kind in ("frozen", "cut off"):
        time.sleep(max(0.0, AWAY_S - took_s))
        leader.line.mend()
        leader.signal(signal.SIGCONT)
        if leader.wait() != 1:
            raise SystemExit(f"{leader.name} did not notice that it leads no more: {leader.log}")
    else:
        leader.wait()
    leader.start()
    leader.until("standby")
    return took_s


def _report(loads: list[Load], leader: Host, times: dict[str, list[float]]) -> int:
    acknowledged = {name: one for load in loads for name, one in load.acknowledged.items()}
    refused = sum(load.refused for load in loads)
    with Client(leader.url) as client:
        states = {name: str(client.wait(one, 120).state) for name, one in acknowledged.items()}
        applications = client.applications(limit=100_000)
        successes = Counter(
            one
            for one in acknowledged.values()
            for container in client.containers(one)
            if container.exit_code == 0
        )
    lost = [name for name, state in states.items() if state != "FINISHED"]
    names = Counter(application.name for application in applications)
    twice = [name for name, count in names.items() if count > 1]
    twice += [one for one, count in successes.items() if count > 1]
    print("\n| fault of the server that leads | times | s, least | median | most |")
    print("| --- | --- | --- | --- | --- |")
    for kind, found in sorted(times.items()):
        middle = statistics.median(found)
        print(f"| {kind} | {len(found)} | {min(found):.1f} | {middle:.1f} | {max(found):.1f} |")
    leader.signal(signal.SIGTERM)
    leader.wait()
    replay = subprocess.run(
        [sys.executable, "-P", "-m", "fairshare", "replay", str(leader.state), "--verify"],
        capture_output=True,
        text=True,
    )
    print(f"\n{len(acknowledged):,} submissions were acknowledged, {refused:,} refused;")
    print(f"{len(lost)} lost, {len(twice)} twice; replay: {replay.stdout.strip()}")
    for name in (*lost, *twice):
        print(f"  {name}")
    return int(bool(lost or twice or replay.returncode))


if __name__ == "__main__":
    main()
