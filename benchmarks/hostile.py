"""What hostile callers cost the others: `python -m benchmarks.hostile [--minutes N]`.

Ordinary users submit small tasks and look at them, while one process attacks the same server in
every way that was once found to hurt: forged headers, numbers that do not fit, paths without end,
results and answers that are too large, silent connections, megabytes of environment (taken, killed
and refused), refusals without a token, applications that are forgotten at once, backups meanwhile.
For each minute it prints the memory of the server and how long the ordinary users waited. (What
needs the state directory taken away, or a restart, is in `tests/e2e/hostile`.)
"""

import argparse
import contextlib
import multiprocessing
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from benchmarks.own_server import url_of
from benchmarks.service import SITE, quantile

ALLOCATIONS = '<allocations><queue name="a"/><queue name="b"/></allocations>'

SHELL = """
[authentication]
tokens = true
proxies = ["127.0.0.9"]
[limits]
connections = 400
connections_per_address = 300
user_mb = 64
[retention]
finished_applications = 100
journal_mb = 256
"""
SMALL = {"memory-mb": 64, "vcores": 1}
ATTACKER = "127.0.0.2"
"""The address that the attacks come from; the ordinary users have 127.0.0.1."""

PAUSE_S = 0.1
ORDINARY = 3
NAMES = "/api/v1/applications"


class Hostile:
    """All attacks on one server, each in a thread of its own, until the process is ended."""

    def __init__(self, url: str, token: str, state: Path) -> None:
        self.url, self.state = url, state
        host, _, port = url.removeprefix("http://").rpartition(":")
        self.address = host, int(port)
        self.headers = {"Authorization": f"Bearer {token}"}

    def run(self, counts: "multiprocessing.Queue[str]") -> None:
        """Begin all of them, and tell each round that is done by its name."""
        attacks = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("attack_")]
        for attack in attacks:
            threading.Thread(target=self._again, args=(attack, counts), daemon=True).start()
        threading.Event().wait()

    def _again(self, attack: Callable[[httpx.Client], None], counts: Any) -> None:
        transport = httpx.HTTPTransport(local_address=ATTACKER)
        with httpx.Client(base_url=self.url, transport=transport, timeout=60) as http:
            while True:
                with contextlib.suppress(httpx.HTTPError, OSError):
                    attack(http)
                counts.put(attack.__name__.removeprefix("attack_"))
                time.sleep(PAUSE_S)

    def submit(self, http: httpx.Client, **more: Any) -> str | None:
        """Hand in an application; its name, if it was taken."""
        answer = http.post(NAMES, json={"queue": "b", **more}, headers=self.headers)
        return str(answer.json()["id"]) if answer.status_code == 201 else None

    def kill(self, http: httpx.Client, name: str) -> None:
        """End one's own."""
        http.post(f"{NAMES}/{name}/kill", json={}, headers=self.headers)

    def container(self, http: httpx.Client, name: str) -> str | None:
        """The container of an application that is over."""
        for _ in range(100):
            answer = http.get(f"{NAMES}/{name}/containers", headers=self.headers).json()
            ended = [one for one in answer.get("containers", ()) if one.get("exit_code") == 0]
            if ended:
                return str(ended[0]["id"])
            time.sleep(0.2)
        return None

    def attack_forged_headers(self, http: httpx.Client) -> None:
        """Somebody else, by saying so, from many addresses."""
        for number in range(20):
            forged = {"X-Forwarded-For": f"127.0.0.9, 10.0.0.{number}", "X-Forwarded-User": "root"}
            http.get("/api/v1/session", headers=forged)

    def attack_numbers(self, http: httpx.Client) -> None:
        """Numbers that fit nowhere, in both interfaces."""
        task = {"command": "true", "resources": SMALL}
        for number in (1e30, -1e30, 2**63, 2**31):
            body: dict[str, Any] = {"priority": number, "queue": "b", "am-container-spec": {}}
            http.post("/ws/v1/cluster/apps", json=body, headers=self.headers)
            self.submit(http, priority=number, tasks=[task])
            self.submit(http, tasks=[{**task, "count": number}])

    def attack_paths(self, http: httpx.Client) -> None:
        """Another path and another method each time."""
        for number in range(20):
            http.get(f"/static/{time.time_ns()}%0A", headers=self.headers)
            http.request(f"M{time.time_ns()}", f"/api/v1/x{number}", headers=self.headers)

    def attack_result(self, http: httpx.Client) -> None:
        """A result of a gigabyte that takes no room."""
        command = "truncate -s 1G ../result.pickle"
        name = self.submit(http, tasks=[{"command": command, "resources": SMALL}])
        container = name and self.container(http, name)
        if container:
            http.get(f"/api/v1/containers/{container}/result", headers=self.headers)

    def attack_unread_answers(self, http: httpx.Client) -> None:
        """A large answer is asked for forty times, and never taken."""
        command = "head -c 16777216 /dev/zero | tr '\\0' x"
        name = self.submit(http, tasks=[{"command": command, "resources": SMALL}])
        container = name and self.container(http, name)
        if not container:
            return
        path = f"/api/v1/containers/{container}/logs/stdout?limit=16777216"
        lines = (f"GET {path} HTTP/1.1", f"Host: {self.url.removeprefix('http://')}")
        head = "\r\n".join((*lines, f"Authorization: {self.headers['Authorization']}", "", ""))
        with self._sockets(40) as connections:
            for connection in connections:
                connection.sendall(head.encode())
            time.sleep(5)

    def attack_silence(self, http: httpx.Client) -> None:
        """Connections that say nothing, and half a header."""
        with self._sockets(200) as connections:
            for connection in connections[::2]:
                connection.sendall(b"GET / HT")
            time.sleep(12)

    @contextlib.contextmanager
    def _sockets(self, number: int) -> Any:
        with contextlib.ExitStack() as stack:
            found = []
            for _ in range(number):
                one = stack.enter_context(socket.socket())
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                one.settimeout(10)
                one.bind((ATTACKER, 0))
                one.connect(self.address)
                found.append(one)
            yield found

    def _groups(self, megabytes: int, memory_mb: int) -> list[dict[str, Any]]:
        environment = {"V": "x" * 100_000, "W": "x" * 100_000}
        resources = {"memory-mb": memory_mb, "vcores": 1}
        task = {"command": "sleep 60", "environment": environment, "resources": resources}
        return [{**task, "name": f"g{number}"} for number in range(megabytes * 5)]

    def attack_megabytes(self, http: httpx.Client) -> None:
        """Large submissions: killed at once, or refused since nothing is so large."""
        name = self.submit(http, tasks=self._groups(4, 64))
        if name:
            self.kill(http, name)
        self.submit(http, tasks=self._groups(4, 10_000_000))
        time.sleep(1)  # what is journaled has to be written: a disk is no processor

    def attack_without_token(self, http: httpx.Client) -> None:
        """Refusals with long paths, and with tokens that are none."""
        for number in range(50):
            path = f"/api/v1/{'a' * 400}{number}"
            http.get(path, headers={"Authorization": f"Bearer nothing-{number}"})

    def attack_lifetimes(self, http: httpx.Client) -> None:
        """One that lives for seconds beside many that are forgotten with a lifetime left."""
        sleeps = {"command": "sleep 99", "resources": SMALL}
        self.submit(http, lifetime_s=5, tasks=[sleeps])
        for _ in range(5):
            quick = {"command": "true", "resources": SMALL}
            self.submit(http, lifetime_s=3600, tasks=[quick])
        time.sleep(2)

    def attack_supervisors(self, http: httpx.Client) -> None:
        """Tasks that stop or kill what supervises them."""
        for signal in ("STOP", "9"):
            command = f"kill -{signal} $PPID; sleep 1"
            self.submit(http, tasks=[{"command": command, "resources": SMALL, "max_attempts": 1}])
        time.sleep(2)

    def attack_backups(self, http: httpx.Client) -> None:
        """No attack: the administrator's copies must end meanwhile."""
        copy = self.state.parent / f"copy-{time.time_ns()}"
        command = (sys.executable, "-m", "fairshare", "backup", copy, "--state", self.state)
        subprocess.run(command, capture_output=True, timeout=120, check=True)
        for path in copy.iterdir():
            path.unlink()
        copy.rmdir()
        time.sleep(20)


class Ordinary:
    """A user who submits a small task, waits for its end by asking, and begins again."""

    def __init__(self, url: str, token: str) -> None:
        self.submissions: list[float] = []
        self.answers: list[float] = []
        self.tasks: list[float] = []
        self.troubles: Counter[str] = Counter()
        self._url, self._headers = url, {"Authorization": f"Bearer {token}"}

    def run(self, over: threading.Event) -> None:
        """Until it is over."""
        with httpx.Client(base_url=self._url, headers=self._headers, timeout=60) as http:
            while not over.is_set():
                try:
                    self._once(http)
                except httpx.HTTPError as error:
                    self.troubles[type(error).__name__] += 1
                over.wait(PAUSE_S)

    def _once(self, http: httpx.Client) -> None:
        body = {"queue": "a", "tasks": [{"command": "true", "resources": SMALL}]}
        before_s = time.perf_counter()
        answer = http.post(NAMES, json=body)
        self.submissions.append(time.perf_counter() - before_s)
        if answer.status_code != 201:
            self.troubles[f"{answer.status_code} {answer.json().get('code')}"] += 1
            return
        path = f"{NAMES}/{answer.json()['id']}"
        state = ""
        while state not in ("FINISHED", "FAILED", "KILLED"):
            asked_s = time.perf_counter()
            answer = http.get(path)
            self.answers.append(time.perf_counter() - asked_s)
            if answer.status_code != 200:
                self.troubles[f"{answer.status_code} {answer.json().get('code')}"] += 1
                return
            state = answer.json()["state"]
            time.sleep(0.05)
        if state != "FINISHED":
            self.troubles[state] += 1
        self.tasks.append(time.perf_counter() - before_s)


def memory_mb(pid: int) -> tuple[int, int]:
    """What a process has in memory, and the most that it ever had (MB)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    resident_mb, peak_mb = (int(status[name].split()[0]) // 1024 for name in ("VmRSS", "VmHWM"))
    return resident_mb, peak_mb


def token_of(state: Path, user: str) -> str:
    """A token for a user of the server."""
    command = (sys.executable, "-m", "fairshare", "admin", "token", "create", user)
    made = subprocess.run(
        [*command, "--state", str(state)], capture_output=True, text=True, check=True
    )
    return made.stdout.split()[-1]


def middle_and_late(times: list[float]) -> str:
    """The p50 and the p99 of some times, in ms."""
    if not times:
        return f"{'-':>6} {'-':>6}"
    return f"{quantile(times, 0.5):6.0f} {quantile(times, 0.99):6.0f}"


def watch(server: subprocess.Popen[str], state: Path, url: str, minutes: int) -> int:
    """Attack, measure, print; the exit code."""
    counts: multiprocessing.Queue[str] = multiprocessing.Queue()
    attacker = multiprocessing.Process(
        target=Hostile(url, token_of(state, "mallory"), state).run, args=(counts,), daemon=True
    )
    users = [Ordinary(url, token_of(state, f"user{number}")) for number in range(ORDINARY)]
    over = threading.Event()
    threads = [threading.Thread(target=user.run, args=(over,)) for user in users]
    rounds: Counter[str] = Counter()
    troubles: Counter[str] = Counter()
    print("        memory (MB)   open  journal  submission (ms)  status (ms)    task (ms)")
    titles = ("minute", "now", "most", "files", "(MB)", *("p50", "p99") * 3, "tasks", "load")
    print(
        "{:6} {:>6} {:>6} {:>6} {:>8}{}".format(
            *titles[:5], "".join(map("{:>7}".format, titles[5:]))
        )
    )
    for thread in threads:
        thread.start()
    for minute in range(minutes + 1):  # the first is without attacks
        if minute == 1:
            attacker.start()
        time.sleep(60)
        if server.poll() is not None:
            print(f"the server ended with {server.returncode}")
            break
        now, most = memory_mb(server.pid)
        files = sum(1 for _ in Path(f"/proc/{server.pid}/fd").iterdir())
        size = sum(path.stat().st_size for path in state.glob("journal.sqlite3*")) / 1e6
        together = {
            kind: [one for user in users for one in getattr(user, kind)[:]]
            for kind in ("submissions", "answers", "tasks")
        }
        done = len(together["tasks"])
        for user in users:
            for kind in together:
                getattr(user, kind).clear()
            troubles += user.troubles
            user.troubles.clear()
        columns = " ".join(map(middle_and_late, together.values()))
        print(
            f"{minute or 'quiet':>6} {now:6} {most:6} {files:6} {size:8.0f} {columns} "
            f"{done:6} {os.getloadavg()[0]:5.1f}",
            flush=True,
        )
        with contextlib.suppress(queue.Empty):
            while True:
                rounds[counts.get_nowait()] += 1
    over.set()
    attacker.terminate()
    for thread in threads:
        thread.join()
    print("rounds of attacks: " + ", ".join(f"{n} {name}" for name, n in sorted(rounds.items())))
    print("troubles of ordinary users: " + (str(dict(troubles)) if troubles else "none"))
    return 0 if server.poll() is None else 1


def main() -> int:
    """Measure and print; 1 if the server ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairshare-hostile-") as folder:
        conf, state = Path(folder) / "conf", Path(folder) / "state"
        conf.mkdir()
        (conf / "yarn-site.xml").write_text(SITE)
        (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
        (conf / "fairshare.toml").write_text(SHELL)
        command = (sys.executable, "-m", "fairshare", "serve", "--port", "0", "--stop-containers")
        server = subprocess.Popen(
            [
                *(*command, "--trust-local-users", "--conf", conf, "--state", state),
                *("--memory-mb", "2048", "--vcores", "32"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the server's log has the refusals
            text=True,
        )
        try:
            return watch(server, state, url_of(server), options.minutes)
        finally:
            server.terminate()
            server.wait(60)


if __name__ == "__main__":
    sys.exit(main())
