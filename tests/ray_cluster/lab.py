"""A day of a lab with three machines, shortened: `make lab-cluster`.

Three hosts (`tests/hosts.py`) with root's Ray cluster and a server whose containers run under the
accounts of ann and bob. While both submit work, one host is killed and boots again, one is cut off
from the network and returns, one leaves and joins again, and the server is killed. In the end each
task has succeeded once, none ran beside itself, and every file belongs to its user.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import httpx
from tests.hosts import USERS, Host, Hosts

SOCKET = "/run/fairshare/fairshare.sock"
FENCE_S = 8
VARIABLES = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "5",
}
TASK = """
exec 9>"$HOME/notes/$FAIRSHARE_APPLICATION.$FAIRSHARE_TASK_INDEX"
flock -n 9 || { echo twice > "$HOME/notes/defect"; exit 9; }
sleep SECONDS
id -un
hostname
"""
PATIENCE_S = 180.0


class Lab:
    """The hosts, with a server on the first one."""

    def __init__(self, say: Callable[[str], None] = lambda words: None) -> None:
        self.say = say
        self.hosts = Hosts("gpu1", "gpu2", "gpu3", variables=VARIABLES)
        self.first, self.second, self.third = self.hosts.all
        self.homes = self.hosts.folder / "home"

    def start(self) -> None:
        """The cluster, then the server."""
        for host in self.hosts.all:
            self.join(host)
        for user in USERS:
            self.first.run("mkdir", "notes", "out", user=user)
        self.first.fairshare("init", "--users", ",".join(USERS), "--cluster", self.first.name)
        settings = self.hosts.folder / self.first.name / "fairshare" / "fairshare.toml"
        settings.write_text(f"{settings.read_text()}fence_s = {FENCE_S}\n")
        self.serve()
        self.wait(lambda: len(self.nodes()) == len(self.hosts.all), "all nodes")

    def join(self, host: Host) -> None:
        """Let a host join, and give it the token before, as an administrator would."""
        sizes = (
            "--cpus",
            "4",
            "--memory",
            "1g",
            "--gpus",
            "2",
            "--label",
            f"model={host.name.upper()}",
        )
        if host is self.first:
            host.fairshare("node", "head", *sizes)
            return
        token = self.hosts.folder / self.first.name / "fairshare" / "ray-token"
        copy = self.hosts.folder / host.name / "fairshare"
        copy.mkdir(exist_ok=True)
        (copy / "ray-token").touch(0o600)
        (copy / "ray-token").write_text(token.read_text())
        host.fairshare("node", "join", self.first.name, *sizes)

    def serve(self) -> None:
        """Start the server."""
        self.first.fairshare("serve", "--background")

    def kill_server(self) -> None:
        """As a crash would."""
        found = self.first.run("pgrep", "-f", "fairshare serve").stdout.split()
        self.first.run("kill", "-9", *found)

    def get(self, path: str) -> Any:
        """An answer of the REST interface, for root."""
        way = httpx.HTTPTransport(uds=f"/proc/{self.first.pid}/root{SOCKET}")
        with httpx.Client(transport=way, base_url="http://localhost/api/v1", timeout=30) as http:
            return http.get(path).raise_for_status().json()

    def nodes(self) -> dict[str, int]:
        """How many containers run on the nodes that take them, by host."""
        found = self.get("/nodes")["nodes"]
        works = [one for one in found if one["state"] == "RUNNING"]
        return {one["name"].rpartition("-")[0]: one["containers"] for one in works}

    def submit(self, user: str, *words: str) -> str:
        """Submit as a user, in the user's home; the application."""
        return self.first.fairshare("submit", *words, user=user).split()[0]

    def containers(self, application: str) -> list[dict[str, Any]]:
        """All containers of an application."""
        path = f"/applications/{application}/containers"
        found: list[dict[str, Any]] = self.get(path)["containers"]
        return found

    def is_over(self, application: str) -> bool:
        """Whether an application has finished; fails if it ended otherwise."""
        details = self.get(f"/applications/{application}")
        assert details["state"] in ("PENDING", "RUNNING", "FINISHED"), details
        return bool(details["state"] == "FINISHED")

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait until a condition holds; its value."""
        end_s = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            assert time.monotonic() < end_s, f"not in {PATIENCE_S:g} s: {what}"
            time.sleep(0.3)
        return found

    def close(self) -> None:
        """End all of it."""
        self.hosts.close()


def day(lab: Lab, rounds: int, tasks: int, seconds: float) -> list[str]:
    """All faults, with so many applications of each user before each; their names."""
    applications: list[str] = []
    command = TASK.replace("SECONDS", f"{seconds:g}")

    def work(*places: Host) -> None:
        """Some of it for certain hosts alone, so that it runs there."""
        for host in places:
            words = ("--count", str(tasks), "--memory", "64m", "--output", "out/%j.%t")
            where = ("--nodelist", host.name)
            applications.append(lab.submit("ann", *words, *where, "--", "sh", "-c", command))
        for _ in range(rounds):
            for user in USERS:
                words = ("--count", str(tasks), "--memory", "64m", "--output", "out/%j.%t")
                applications.append(lab.submit(user, *words, "--", "sh", "-c", command))

    def runs_on(host: Host) -> bool:
        return lab.nodes().get(host.name, 0) > 0

    for host, fault in ((lab.third, "killed"), (lab.second, "cut off")):
        work(host)
        lab.wait(lambda host=host: runs_on(host), f"work on {host.name}")
        lab.say(f"{host.name} is {fault}")
        if fault == "killed":
            host.kill()
        else:
            host.connect(False)
        lab.wait(lambda host=host: host.name not in lab.nodes(), f"the loss of {host.name}")
        work()
        if fault == "killed":
            host.boot()
            lab.join(host)
        else:
            host.connect(True)
        lab.wait(lambda host=host: host.name in lab.nodes(), f"the return of {host.name}")
        lab.say(f"{host.name} is back")
    work()
    lab.say("the server is killed")
    lab.kill_server()
    lab.serve()
    lab.wait(lambda: len(lab.nodes()) == 3, "all nodes")
    work(lab.second)
    lab.wait(lambda: runs_on(lab.second), "work on gpu2")
    lab.say("gpu2 leaves when its tasks have ended, and joins again")
    lab.second.fairshare("node", "leave")
    lab.join(lab.second)
    work()
    return applications


def check(lab: Lab, applications: list[str], tasks: int) -> dict[str, int]:
    """That nothing is lost, nothing ran twice, and all belongs to its user; counts."""
    runs, ends = 0, 0
    for name in applications:
        lab.wait(lambda name=name: lab.is_over(name), name)
        containers = lab.containers(name)
        succeeded = [one for one in containers if one["exit_code"] == 0]
        assert len(succeeded) == tasks, (name, containers)
        runs, ends = runs + len(containers), ends + len(succeeded)
    for user, number in USERS.items():
        home = lab.homes / user
        assert not (home / "notes" / "defect").exists()
        files = [*(home / "out").iterdir(), *(home / "notes").iterdir()]
        assert {file.stat().st_uid for file in files} == {number}
        for file in (home / "out").iterdir():
            assert user in file.read_text().split(), file
    return {"applications": len(applications), "tasks": ends, "containers": runs}


def main(rounds: int) -> None:
    """The day, with what happens."""
    began_s = time.monotonic()

    def say(words: str) -> None:
        print(f"{time.monotonic() - began_s:6.1f} s  {words}", flush=True)

    lab = Lab(say)
    try:
        lab.start()
        say(f"{len(lab.hosts.all)} hosts, a server on {lab.first.name}, ann and bob")
        tasks = 6
        counts = check(lab, day(lab, rounds, tasks, 3), tasks)
        say(f"{counts}: nothing lost, nothing twice, all files of the right account")
    finally:
        lab.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
