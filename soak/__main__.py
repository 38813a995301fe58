"""`python -m soak`: lives of servers under load, each ended by a crash, and the verdict.

Half of the crashes are a SIGKILL at a chosen commit (before it, within it, after it), half one at
any time. Now and then rubbish is put behind the journal's last write, as a power cut leaves it; a
helper of the engine is killed or stopped; the disk is full; a copy of the journal is made, and one
is put in its place. Behind the middle of the run all servers are of the next version.
Everything is random and follows from the seed, but for the moments at which processes run.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from fairshare.client import Client
from fairshare.errors import FairshareError
from soak.faults import Helpers, SmallDisk, next_version, take_descriptors
from soak.workload import (
    Accepted,
    containers_that_ran_twice_at_once,
    new_job,
    submit,
    violations_of,
)

CONFIGURATION = {
    "yarn-site.xml": """<configuration>
  <property>
    <name>yarn.resourcemanager.scheduler.class</name>
    <value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
  </property>
  <property><name>yarn.scheduler.minimum-allocation-mb</name><value>64</value></property>
  <property><name>yarn.resource-types.memory-mb.increment-allocation</name><value>64</value></property>
  <property><name>yarn.resourcemanager.max-completed-applications</name><value>100000</value></property>
</configuration>
""",
    "fair-scheduler.xml": '<allocations><queue name="a"/><queue name="b"/></allocations>',
    "fairshare.toml": "[retention]\nrecords = 1000\nsnapshot_records = 100\n",
}
PLACES = ("before", "within", "after")
PATIENCE_S = 60.0


class Soak:
    """One run: a state directory, what was accepted, and what went wrong."""

    def __init__(
        self, root: Path, seed: int, *, only_crashes: bool = False, whole: bool = False
    ) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.accepted: dict[str, Accepted] = {}
        self.violations: list[str] = []
        self.crashes = dict.fromkeys((*PLACES, "any time"), 0)
        self.others = dict.fromkeys(
            (
                *("torn writes", "full disks", "disks without inodes", "servers without files"),
                *("backups", "restores", "deletions"),
            ),
            0,
        )
        self._number = 0
        self._lock = threading.Lock()
        self._given_away: set[str] = set()
        self._copy: tuple[Path, set[str]] | None = None
        self._path: Path | None = None
        self.only_crashes = only_crashes
        self.disk = SmallDisk(root, mount=not only_crashes)
        self.state = self.disk.path / "state"
        self.helpers = Helpers(self.state / "containers")
        self.conf = root / "conf"
        self.work = root / "work"
        for folder in (self.conf, self.work):
            folder.mkdir()
        for name, text in CONFIGURATION.items():
            if not (whole and name == "fairshare.toml"):  # which would trim the journal
                (self.conf / name).write_text(text)

    def start(self, place: str, count: int) -> tuple[subprocess.Popen[str], str] | None:
        """A server, and where it listens; None if it crashed before it listened."""
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "soak.server", place, str(count), "serve", "--port", "0"),
                "--trust-local-users",
                *("--conf", str(self.conf), "--state", str(self.state)),
                *("--memory-mb", "1024", "--vcores", "16", "--keep-containers"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment(),
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if line.startswith("listening on "):
            return process, line.removeprefix("listening on ").strip()
        _, errors = process.communicate(timeout=PATIENCE_S)
        if process.returncode != -signal.SIGKILL:
            self.violations.append(f"a server did not start ({process.returncode}): {errors}")
        return None

    def upgrade(self) -> None:
        """From now on servers are of the next version."""
        self._path = next_version(self.root)

    def _environment(self) -> dict[str, str]:
        before = () if self._path is None else (str(self._path),)
        return {**os.environ, "PYTHONPATH": os.pathsep.join((*before, *sys.path))}

    def crash_once(self) -> None:
        """One life: load until the server is dead."""
        chosen = self.random.random() < 0.5
        place = self.random.choice(PLACES) if chosen else "never"
        started = self.start(place, self.random.randint(1, 40))
        self.crashes[place if chosen else "any time"] += 1
        if started is not None:
            process, url = started
            self._load(process, url, self.random.uniform(0.05, 1.0))
        self._maybe_tear()
        self._maybe_restore()

    def _load(self, process: subprocess.Popen[str], url: str, seconds: float) -> None:
        over = threading.Event()
        seeds = [self.random.random() for _ in range(3)]
        clients = [threading.Thread(target=self._client, args=(url, s, over)) for s in seeds]
        fills = self.disk.mounted and self.random.random() < 0.15
        use_up, kind = self.random.choice(
            ((self.disk.fill, "full disks"), (self.disk.use_up_inodes, "disks without inodes"))
        )
        if not self.only_crashes and self.random.random() < 0.3:
            arguments = (process.pid, random.Random(self.random.random()), over)
            clients.append(threading.Thread(target=self.helpers.disturb, args=arguments))
        if not self.only_crashes and self.random.random() < 0.25:
            clients.append(threading.Thread(target=self._back_up))
        if not self.only_crashes and self.random.random() < 0.1:
            arguments = (process.pid, random.Random(self.random.random()), over)
            clients.append(threading.Thread(target=take_descriptors, args=arguments))
            self.others["servers without files"] += 1
        for client in clients:
            client.start()
        if fills:
            over.wait(seconds)
            use_up()
            self.others[kind] += 1
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        over.set()
        _, errors = process.communicate(timeout=PATIENCE_S)
        for client in clients:
            client.join()
        self.disk.make_room()
        if process.returncode != -signal.SIGKILL:
            self.violations.append(f"a server ended by itself ({process.returncode}): {errors}")

    def _client(self, url: str, seed: float, over: threading.Event) -> None:
        """Submits, lists and kills until the server is gone."""
        numbers = random.Random(seed)
        try:
            with Client(url) as client:
                while not over.is_set():
                    with self._lock:
                        self._number += 1
                        job = new_job(numbers, self._number)
                    identifier = submit(client, job, self.work, numbers)
                    with self._lock:
                        if identifier in self._given_away:
                            self.violations.append(f"{identifier} was given away twice")
                        self._given_away.add(identifier)
                        mine = self.accepted[identifier] = Accepted(job, identifier)
                    if job.killed:
                        client.kill(identifier)
                        mine.kill_acknowledged = True
                    over.wait(numbers.uniform(0.0, 0.3))
        except FairshareError:
            pass  # the server is gone: whatever was not acknowledged may or may not have happened

    def _maybe_tear(self) -> None:
        """What a power cut leaves behind the last write that was safe."""
        log = self.state / "journal.sqlite3-wal"
        if self.random.random() < 0.2 and log.exists():
            with log.open("ab") as file:
                file.write(self.random.randbytes(self.random.randint(1, 9_000)))
            self.others["torn writes"] += 1

    def _back_up(self) -> None:
        """A copy, and what must be in it."""
        with self._lock:
            known = set(self.accepted)
            target = self.root / f"copy-{self.others['backups']}"
            self.others["backups"] += 1
        made = self._fairshare("backup", str(target), "--state", str(self.state))
        if made.returncode == 0:
            earlier, self._copy = self._copy, (target, known)
            if earlier is not None:
                shutil.rmtree(earlier[0])
        elif "the disk is full" not in made.stderr and not self.disk.mounted:
            self.violations.append(f"backup: {made.stdout}{made.stderr}")

    def _maybe_restore(self) -> None:
        """Now and then an older copy is put in the place of the journal: the same one perhaps again
        and again, and perhaps when the files of what has ended are deleted."""
        if self._copy is None or self.random.random() >= 0.25:
            return
        copy, known = self._copy
        for path in self.state.glob("journal.sqlite3*"):
            path.unlink()
        for path in copy.iterdir():
            shutil.copy(path, self.state / path.name)
        self.accepted = {name: one for name, one in self.accepted.items() if name in known}
        for one in self.accepted.values():
            one.set_back, one.kill_acknowledged = True, False
        self.others["restores"] += 1
        if self.random.random() < 0.3:
            shutil.rmtree(self.state / "abandoned", ignore_errors=True)
            for settled in (self.state / "containers").glob("*/*/settled"):
                shutil.rmtree(settled.parent)
            self.others["deletions"] += 1
        if self.random.random() < 0.5:
            shutil.rmtree(copy)
            self._copy = None

    def _fairshare(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "fairshare", *arguments],
            capture_output=True,
            text=True,
            env=self._environment(),
            timeout=10 * PATIENCE_S,
        )

    def finish(self) -> None:
        """A last server that may live; everything that was accepted must come to its end."""
        started = self.start("never", 1)
        if started is None:
            return
        process, url = started
        with Client(url) as client:
            deadline_s = time.monotonic() + PATIENCE_S
            while time.monotonic() < deadline_s:
                known = {one.id: one for one in client.applications(limit=100_000)}
                if all(one.finished_ms is not None for one in known.values()):
                    break
                time.sleep(0.2)
            self.violations += [
                f"{one.id} never ended" for one in known.values() if one.finished_ms is None
            ]
        for identifier, one in self.accepted.items():
            found = known.get(identifier)
            state, name = (None, "") if found is None else (str(found.state), found.name)
            self.violations += violations_of(
                one, state, name, self.work, self.helpers.killed_containers
            )
        for container in containers_that_ran_twice_at_once(self.work):
            self.violations.append(f"{container} began while its task was running already")
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
        self._replay()

    def _replay(self) -> None:
        replay = self._fairshare("replay", str(self.state), "--verify")
        if replay.returncode:
            self.violations.append(f"replay: {replay.stdout}{replay.stderr}")
        print(replay.stdout.strip())


def live_on(soak: Soak, crashes: int, deadline_s: float) -> int:
    """One life after the other, and the last; how many crashed."""
    done = 0
    while done < crashes and time.monotonic() < deadline_s:
        if done == crashes // 2 and not soak.only_crashes:
            soak.upgrade()
        soak.crash_once()
        done += 1
        if done % 20 == 0:
            print(f"{done} crashes, {len(soak.accepted)} applications accepted", flush=True)
    soak.finish()
    return done


def main() -> int:
    """Run it, print what happened; 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--crashes", type=int, default=220)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--seconds", type=float, default=570.0, help="begin no life after this")
    parser.add_argument("--only-crashes", action="store_true", help="nothing else befalls a server")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="make this folder, in which the state stays, in disk/state, with all its records",
    )
    options = parser.parse_args()
    if options.keep is not None and not options.only_crashes:
        parser.error("--keep needs --only-crashes: without it the state is on a disk that goes")
    print(f"seed {options.seed}: python -m soak --crashes {options.crashes} --seed {options.seed}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the disk is given back
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        if options.keep is None:
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="fairshare-soak-"))
            )
        else:
            folder = options.keep.absolute()
            folder.mkdir(parents=True)
        whole = options.keep is not None
        soak = Soak(folder, options.seed, only_crashes=options.only_crashes, whole=whole)
        if not soak.disk.mounted and not soak.only_crashes:
            print("no disk becomes full: that needs root and a tmpfs")
        done = 0
        try:
            done = live_on(soak, options.crashes, begun + options.seconds)
        finally:
            soak.helpers.let_go()
            soak.disk.unmount()
    places = ", ".join(f"{count} {place}" for place, count in soak.crashes.items())
    others = ", ".join(f"{count} {name}" for name, count in soak.others.items())
    helpers = ", ".join(f"{count} {name}" for name, count in soak.helpers.counts.items())
    print(f"besides: {others}; killed or stopped: {helpers}")
    print(
        f"{done} crashes ({places} a commit) in "
        f"{time.monotonic() - begun:.0f} s; {len(soak.accepted)} applications accepted; "
        f"{len(soak.violations)} violations"
    )
    for violation in soak.violations[:50]:
        print(f"  {violation}")
    return 1 if soak.violations else 0


if __name__ == "__main__":
    sys.exit(main())
