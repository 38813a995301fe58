"""Two hosts with a server each, and two with the database: many faults under load.

    python -m soak.two_hosts [--faults N] [--seed N]

Each host is a set of namespaces with a network, processes and a disk of its own, which needs root.
A PostgreSQL on `db1` has a synchronous standby on `db2`. Three clients, which know both servers,
submit tasks all the time. One fault after the other hits the server that leads, its host, or the
database, in random order:

    killed                the server, by SIGKILL; its containers go on
    without power         the host ends at once, with its containers and its disk
    frozen                the server, by SIGSTOP, for FROZEN_S
    cable pulled          nothing gets through to the host or from there, for AWAY_S
    no database           nothing gets through to the database alone, for AWAY_S
    shut down             the server, in order
    no other server       nothing gets through between the two servers, for AWAY_S
    database restarted    as after a crash
    primary replaced      db1 ends at once with its disk, its standby takes its place, and db1
                          becomes the standby; and the other way round the next time

After the last three the same server leads on, unless the standby was the first one to be heard
when the database was back. At the end each submission that was acknowledged must
have finished, none may be there twice, each task may have succeeded once, and a replay of the
journal must decide the same. Prints a table with the times from the fault until a server takes
submissions. Exits with 1 if anything is lost or there twice.
"""

import argparse
import contextlib
import ctypes
import os
import pwd
import random
import signal
import statistics
import subprocess
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import httpx
from tests.hosts import PYTHON, USERS, Host, Hosts, lacking, run
from tests.postgres import programs

from fairshare.api.applications import Application
from fairshare.api.work import Submission, TaskGroup
from fairshare.client import Client
from fairshare.errors import FairshareError

TAKEOVER_S = 3
AWAY_S = 10.0
FROZEN_S = 30.0
PATIENCE_S = 90.0
CLIENTS = 3
ACCOUNT = "ann"
DATABASE_PORT, PORT = 5432, 8088
FAIL_OVERS = ("killed", "without power", "frozen", "cable pulled", "no database", "shut down")
OTHERS = ("no other server", "database restarted", "primary replaced")
LOST = "02:00:00:00:00:01"
"""The address of a network card that no host has: frames for it get nowhere."""

CLONE_NEWNET = 0x40000000
NETWORK = "10.99.0"
US = f"{NETWORK}.254"
SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property>
</configuration>
"""
QUEUE = "<allocations><queue name='a'/></allocations>"


class Database:
    """The PostgreSQL of one host, whose disk ends with the host."""

    def __init__(self, host: Host, bin_folder: Path) -> None:
        self.host, self._bin = host, bin_folder
        self._data = "/var/lib/postgres/data"
        entry = pwd.getpwnam("postgres")
        self._as = (
            "setpriv",
            f"--reuid={entry.pw_uid}",
            f"--regid={entry.pw_gid}",
            "--clear-groups",
        )

    def create(self) -> None:
        """Begin a new one, as the primary."""
        self._prepare()
        words = ("-A", "trust", "-U", "fairshare", "-E", "UTF8", "--locale", "C", "--no-sync")
        self._run("initdb", "-D", self._data, *words)
        allowed = f"host all,replication all {NETWORK}.0/24 trust"
        self._run("sh", "-c", f"echo '{allowed}' >> {self._data}/pg_hba.conf")
        self.start()

    def follow(self, primary: "Database") -> None:
        """Become the synchronous standby of another one, with its content."""
        self._prepare()
        source = f"host={primary.host.address} user=fairshare application_name={self.host.name}"
        self._run("pg_basebackup", "-d", source, "-D", self._data, "-R", "--checkpoint=fast")
        self.start()
        primary.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{self.host.name}'")
        primary.execute("SELECT pg_reload_conf()")
        counted = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        _until(lambda: primary.execute(counted).strip() == "1", "the standby is synchronous")

    def promote(self) -> None:
        """Become the primary, without a standby."""
        self._run("pg_ctl", "-D", self._data, "-w", "promote")
        self.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.execute("SELECT pg_reload_conf()")

    def start(self) -> None:
        """Return when it takes connections."""
        options = f"-c listen_addresses=* -c port={DATABASE_PORT} -c unix_socket_directories=/tmp"
        log = f"{self._data}/log"
        self._run("pg_ctl", "-D", self._data, "-o", options, "-l", log, "-w", "start")

    def crash(self) -> None:
        """End at once."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def execute(self, statement: str) -> str:
        """What a statement answers."""
        words = ("-h", "/tmp", "-p", str(DATABASE_PORT), "-U", "fairshare", "-Atqc", statement)
        return self._run("psql", *words, "postgres")

    def _prepare(self) -> None:
        folder = Path(self._data).parent
        self.host.run("install", "-d", "-o", "postgres", "-m", "700", str(folder))

    def _run(self, program: str, *words: str) -> str:
        installed = self._bin / program
        path = str(installed) if installed.exists() else program
        # A server that it starts would keep a pipe open.
        with (self.host.folder / "output").open("w+") as output:
            line = self.host.line(*self._as, path, *words)
            code = subprocess.run(line, stdout=output, stderr=output, check=False).returncode
            output.seek(0)
            answer = output.read()
        if code:
            raise SystemExit(f"{self.host.name}: {program} {words}: {answer}")
        return answer


class Server:
    """The server of one host, whose state directory ends with the host."""

    def __init__(self, host: Host, databases: list[Database]) -> None:
        self.host, self._databases = host, databases
        self.url = f"http://{host.address}:{PORT}"
        self.state = f"/var/lib/fairshare-{host.name}"  # control groups are named after it
        self.log = host.folder / "server.log"
        conf = host.folder / "fairshare"  # /etc/fairshare there
        conf.mkdir()
        (conf / "yarn-site.xml").write_text(SITE)
        (conf / "fair-scheduler.xml").write_text(QUEUE)
        places = ",".join(database.host.address for database in databases)
        (conf / "fairshare.toml").write_text(
            "[retention]\nfinished_applications = 1000000\n[authentication]\ntokens = true\n"
            f"[engine]\nmemory_mb = 4096\nvcores = 8\n[state]\ntakeover_s = {TAKEOVER_S}\n"
            f'url = "postgresql://fairshare@{places}:{DATABASE_PORT}/postgres?connect_timeout=2"\n'
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = 0

    def prepare(self) -> None:
        """Make its directory, on a disk that is empty."""
        self.host.run("install", "-d", "-o", str(USERS[ACCOUNT]), "-m", "700", self.state)

    def fairshare(self, *words: str) -> str:
        """What a verb prints there."""
        return self.host.fairshare(*words, user=ACCOUNT)

    def start(self) -> None:
        """Start it, as a standby if another one leads."""
        words = ["serve", "--standby", "--conf", "/etc/fairshare", "--state", self.state]
        words += ["--listen", f"{self.host.address}:{PORT}", "--no-hadoop"]
        with self.log.open("ab") as log:
            line = self.host.line(PYTHON, "-P", "-m", "fairshare", *words, user=ACCOUNT)
            self._process = subprocess.Popen(line, stdout=log, stderr=log)
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        while not (found := children.read_text().split()):
            time.sleep(0.01)
        self._pid = int(found[0])

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        os.kill(self._pid, number)
        if number == signal.SIGCONT:  # nsenter has stopped itself with it
            self._process.send_signal(number)

    def wait(self) -> int:
        """Until it has ended; its exit code."""
        assert self._process is not None
        return self._process.wait(PATIENCE_S)

    def reaches(self, host: Host, reached: bool) -> None:
        """Let what it sends to a host arrive, or get nowhere."""
        change = ["del", host.address]
        if not reached:
            change = ["replace", host.address, "lladdr", LOST, "nud", "permanent"]
        run("nsenter", "-t", str(self.host.pid), "-n", "ip", "neigh", *change, "dev", "eth0")

    def answer(self) -> str:
        """ready, standby, or what else /readyz says."""
        try:
            answer = httpx.get(f"{self.url}/readyz", trust_env=False, timeout=2).json()
        except (httpx.HTTPError, ValueError):
            return "silent"
        return "standby" if "standby" in answer["checks"] else answer["status"]

    def until(self, what: str) -> None:
        """Wait for an answer."""
        _until(lambda: self.answer() == what, f"{self.host.name} is {what}")


class Load(threading.Thread):
    """A client that submits tasks without a pause."""

    def __init__(self, number: int, urls: str, token: str) -> None:
        super().__init__(daemon=True)
        self._number, self._urls, self.token = number, urls, token
        self.acknowledged: dict[str, str] = {}
        self.refused = 0
        self.ended = False

    def run(self) -> None:
        count = 0
        with Client(self._urls, token=self.token) as client:
            while not self.ended:
                count += 1
                name = f"load-{self._number}-{count}"
                resources = {"memory-mb": 128, "vcores": 1}
                group = TaskGroup(name="t", count=1, resources=resources, command="sleep 0.2")
                try:
                    application = client.submit(Submission(queue="a", name=name, tasks=(group,)))
                    self.acknowledged[name] = application
                except FairshareError:
                    self.refused += 1
                time.sleep(0.1)


class Soak:
    """The hosts, what runs there, and the faults."""

    def __init__(self, hosts: Hosts, bin_folder: Path) -> None:
        one, two, *others = hosts.all
        self.primary, self.replica = (Database(host, bin_folder) for host in others)
        databases = [self.primary, self.replica]
        self.leader, self.standby = (Server(host, databases) for host in (one, two))
        self.times_s: dict[str, list[float]] = defaultdict(list)
        self.taken_over = 0  # although the leader lives

    def start(self) -> list[Load]:
        """Start everything; the load."""
        self.primary.create()
        self.replica.follow(self.primary)
        for server in (self.leader, self.standby):
            server.prepare()
        words = ("admin", "token", "create", ACCOUNT, "--admin", "--state", self.leader.state)
        token = self.leader.fairshare(*words).split()[-1]
        self.leader.start()
        self.leader.until("ready")
        self.standby.start()
        self.standby.until("standby")
        urls = f"{self.leader.url},{self.standby.url}"
        loads = [Load(number, urls, token) for number in range(CLIENTS)]
        for load in loads:
            load.start()
        return loads

    def strike(self, fault: str) -> None:
        """Let one fault happen, and wait until all is as before."""
        if fault in FAIL_OVERS:
            self.times_s[fault].append(self._fail_over(fault))
            return
        began_s = time.monotonic()
        if fault == "no other server":
            self.leader.reaches(self.standby.host, False)
            while time.monotonic() < began_s + AWAY_S:
                if (answer := self.leader.answer()) != "ready":
                    raise SystemExit(f"{self.leader.host.name} is {answer} without the standby")
                time.sleep(0.2)
            self.leader.reaches(self.standby.host, True)
            began_s = time.monotonic()
        elif fault == "database restarted":
            self.primary.crash()
            self.primary.start()
        else:
            self.primary.host.kill()
            self.replica.promote()
        servers = (self.leader, self.standby)
        _until(lambda: any(one.answer() == "ready" for one in servers), "a server is ready")
        self.times_s[fault].append(time.monotonic() - began_s)
        if fault == "primary replaced":
            self.primary, self.replica = self.replica, self.primary
            self.replica.host.boot()
            self.replica.follow(self.primary)
        if self.standby.answer() == "ready":  # its takeover came before the next beat
            self.leader, self.standby = self.standby, self.leader
            self.taken_over += 1
            self.standby.wait()
            self.standby.start()
        self.leader.until("ready")
        self.standby.until("standby")

    def _fail_over(self, fault: str) -> float:
        """Until the other server leads; seconds."""
        leader, standby = self.leader, self.standby
        databases = (self.primary.host, self.replica.host)
        began_s = time.monotonic()
        if fault == "killed":
            leader.signal(signal.SIGKILL)
        elif fault == "without power":
            leader.host.kill()
        elif fault == "frozen":
            leader.signal(signal.SIGSTOP)
        elif fault == "cable pulled":
            leader.host.connect(False)
        elif fault == "no database":
            for host in databases:
                leader.reaches(host, False)
        else:
            leader.signal(signal.SIGTERM)
        standby.until("ready")
        took_s = time.monotonic() - began_s
        if fault in ("frozen", "cable pulled", "no database"):
            away_s = FROZEN_S if fault == "frozen" else AWAY_S
            time.sleep(max(0.0, away_s - took_s))
            if fault == "frozen":
                leader.signal(signal.SIGCONT)
            elif fault == "cable pulled":
                leader.host.connect(True)
            else:
                for host in databases:
                    leader.reaches(host, True)
            if leader.wait() != 1:
                raise SystemExit(f"{leader.host.name} did not notice that it leads no more")
        else:
            leader.wait()
        if fault == "without power":
            leader.host.boot()
            leader.prepare()
        leader.start()
        leader.until("standby")
        self.leader, self.standby = standby, leader
        return took_s

    def report(self, loads: list[Load]) -> int:
        """Print what happened; 1 if anything is lost, or there twice."""
        token = loads[0].token
        acknowledged = {name: one for load in loads for name, one in load.acknowledged.items()}
        refused = sum(load.refused for load in loads)
        with Client(self.leader.url, token=token) as client:
            states = {name: client.wait(one, 120).state for name, one in acknowledged.items()}
            applications: list[Application] = list(client.applications(limit=100_000))
            successes = Counter(
                application
                for application in acknowledged.values()
                for container in client.containers(application)
                if container.exit_code == 0
            )
        lost = [name for name, state in states.items() if state != "FINISHED"]
        names = Counter(application.name for application in applications)
        twice = [name for name, count in names.items() if count > 1]
        twice += [application for application, count in successes.items() if count > 1]
        print("\n| fault | times | s, least | median | most |")
        print("| --- | --- | --- | --- | --- |")
        for fault in (*FAIL_OVERS, *OTHERS):
            if all_s := self.times_s[fault]:
                least_s, middle_s, most_s = min(all_s), statistics.median(all_s), max(all_s)
                print(f"| {fault} | {len(all_s)} | {least_s:.1f} | {middle_s:.1f} | {most_s:.1f} |")
        self.leader.signal(signal.SIGTERM)
        self.leader.wait()
        replay = self.leader.fairshare("replay", self.leader.state, "--verify").strip()
        print(f"\nTook over from a server that lives: {self.taken_over} times.")
        print(f"{len(acknowledged):,} submissions were acknowledged, {refused:,} refused;")
        print(f"{len(lost)} lost, {len(twice)} twice; replay: {replay}")
        for name in (*lost, *twice):
            print(f"  {name}")
        return int(bool(lost or twice))


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--faults", type=int, default=len(FAIL_OVERS) + len(OTHERS))
    parser.add_argument("--only", default=",".join((*FAIL_OVERS, *OTHERS)), help="these kinds")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    bin_folder = programs()
    if bin_folder is None:
        raise SystemExit("PostgreSQL is not installed: there is no initdb")
    if why := lacking():
        raise SystemExit(f"there can be no hosts of their own: {why}")
    print(f"seed {options.seed}", flush=True)
    hosts = Hosts("one", "two", "db1", "db2")
    wrong = 1
    try:
        _enter(hosts)
        wrong = _run(Soak(hosts, bin_folder), options)
    finally:
        for host in hosts.all[:2] if wrong else ():
            log = host.folder / "server.log"
            if log.exists():
                print(f"{host.name}: {log.read_text()[-2_000:]}", flush=True)
        hosts.close()
    raise SystemExit(wrong)


def _enter(hosts: Hosts) -> None:
    """Be on the network of the hosts: this thread, and those that it starts."""
    switch = ("nsenter", "-t", str(hosts.switch), "-n", "ip")
    run(*switch, "addr", "add", f"{US}/24", "dev", "br0")
    run(*switch, "link", "set", "lo", "up")
    with Path(f"/proc/{hosts.switch}/ns/net").open() as network:
        if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), CLONE_NEWNET):
            raise SystemExit(f"setns: {os.strerror(ctypes.get_errno())}")


def _run(soak: Soak, options: argparse.Namespace) -> int:
    chance = random.Random(options.seed)
    loads = soak.start()
    kinds: list[str] = []
    for count in range(options.faults):
        if not kinds:
            kinds = options.only.split(",")
            chance.shuffle(kinds)
        fault = kinds.pop()
        time.sleep(chance.uniform(0.5, 2))
        soak.strike(fault)
        print(f"{count + 1}: {fault}, {soak.times_s[fault][-1]:.1f} s", flush=True)
    for load in loads:
        load.ended = True
    for load in loads:
        load.join(PATIENCE_S)
    return soak.report(loads)


def _until(condition: Callable[[], object], what: str) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until_s:
            raise SystemExit(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(0.05)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
