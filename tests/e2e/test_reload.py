"""A real server follows the files that somebody edits; nothing is restarted."""

import json
import subprocess
from pathlib import Path

import httpx
import pytest
from tests.forked import fairshare
from tests.served import SMALL_MACHINE, Served, until

SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property>
<property><name>yarn.scheduler.minimum-allocation-mb</name><value>64</value></property>
<property><name>yarn.resource-types.memory-mb.increment-allocation</name><value>64</value></property>
<property><name>yarn.scheduler.maximum-allocation-mb</name><value>{maximum}</value></property>
</configuration>
"""
LIMITED = """<allocations>
<queue name="a"><maxRunningApps>1</maxRunningApps></queue>
</allocations>
"""
OPEN = """<allocations>
<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
<queue name="a"><weight>3</weight></queue>
<queue name="b"/>
</allocations>
"""
BROKEN = "<allocations>\n<queue name='a'>\n</allocations>\n"
SMALL = {"memory-mb": 64, "vcores": 1}


class Server(Served):
    """A server, and the file that it watches."""

    def __init__(self, path: Path, toml: str) -> None:
        self.file = path / "conf" / "fair-scheduler.xml"
        files = {
            "yarn-site.xml": SITE.format(maximum=512),
            "fairshare.toml": toml,
            "fair-scheduler.xml": LIMITED,
        }
        super().__init__(path / "conf", *SMALL_MACHINE, files=files)
        self.http = httpx.Client(base_url=self.url + "/api/v1", timeout=60, trust_env=False)

    def submit(self, **body: object) -> httpx.Response:
        return self.http.post("/applications", json=body)

    def run(self, *, memory_mb: int = 64) -> httpx.Response:
        """One task in queue a that sleeps until it is killed."""
        size = {"memory-mb": memory_mb, "vcores": 1}
        return self.submit(queue="a", tasks=[{"command": "sleep 600", "resources": size}])

    def state_of(self, name: str) -> str:
        return str(self.http.get(f"/applications/{name}").json()["state"])

    def queues(self) -> dict[str, dict]:
        return {queue["name"]: queue for queue in self.http.get("/queues").json()["queues"]}

    def configuration(self) -> dict:
        found: dict = self.http.get("/configuration").json()
        return found

    def verb(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {"COLUMNS": "400", "PATH": "/usr/bin:/bin"}
        return fairshare(*words, "--url", str(self.http.base_url)[:-8], env=environment)

    def wait(self) -> tuple[int, str]:
        self.http.close()
        return super().wait()


@pytest.fixture
def start(tmp_path: Path):
    servers: list[Server] = []

    def started(toml: str) -> Server:
        servers.append(Server(tmp_path, toml))
        return servers[-1]

    yield started
    for server in servers:
        if server.process.poll() is None:
            server.end()


def test_weights_limits_and_policies_change_without_a_restart(start):
    server = start("[configuration]\ncheck_interval_ms = 50\nsettle_ms = 100\n")
    names = [server.run().json()["id"] for _ in range(2)]
    until(lambda: server.state_of(names[0]) == "RUNNING")
    assert server.state_of(names[1]) == "PENDING"

    server.file.write_text(OPEN)
    until(lambda: "root.b" in server.queues())
    assert (server.queues()["root.a"]["weight"], server.queues()["root.a"]["policy"]) == (3, "drf")
    until(lambda: server.state_of(names[1]) == "RUNNING")
    assert server.state_of(names[0]) == "RUNNING"
    assert "Configuration" not in server.verb("status").stdout

    server.file.write_text(BROKEN)
    error = until(lambda: server.configuration()["error"])
    assert f"{server.file}:3:" in error["message"]
    assert server.queues()["root.a"]["weight"] == 3
    reported = server.verb("status").stdout
    assert "the file cannot be used, and the last good one is in force" in " ".join(
        reported.split()
    )
    assert f"{server.file}:3:" in reported

    server.file.write_text(LIMITED)
    until(lambda: server.configuration()["error"] is None)
    assert server.queues()["root.a"]["max_running_applications"] == 1
    _, stderr = server.end()
    assert stderr.count(f"{server.file}:3:") == 1


def test_refresh_queues_takes_files_over_at_once(start):
    server = start("")  # looked at every ten seconds, as Hadoop does
    refused = server.run(memory_mb=1000)
    assert refused.status_code == 409
    server.file.write_text(OPEN)
    (server.conf / "yarn-site.xml").write_text(SITE.format(maximum=1024))
    assert "has changed, and is not in force yet" in server.verb("status").stdout

    done = server.verb("admin", "refresh-queues", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["needs_restart"] == []
    assert "root.b" in server.queues()
    assert server.run(memory_mb=1000).status_code == 201

    server.file.write_text(BROKEN)
    failed = server.verb("admin", "refresh-queues")
    assert failed.returncode == 1
    assert f"{server.file}:3:" in failed.stderr
    assert "root.b" in server.queues()


MONTH = """[fairness]
half_life_s = 60
[fairness.budgets.cores]
queue = "a"
resource = "vcores"
hours = {hours}
"""


def test_a_budget_ends_in_the_middle_of_a_job_is_raised_and_survives_a_restart(start):
    server = start(MONTH.format(hours=0.0002))
    running = server.run().json()["id"]
    until(lambda: server.state_of(running) == "RUNNING")
    refused = until(lambda: (answer := server.run()).status_code == 409 and answer)
    assert "the budget 'cores' of root.a is used up" in refused.json()["message"]
    assert server.state_of(running) == "RUNNING"
    assert "vcores" in server.verb("report").stdout
    assert server.queues()["root.a"]["past"]["part"] == 1

    (server.conf / "fairshare.toml").write_text(MONTH.format(hours=1))
    server.verb("admin", "refresh-queues")
    assert server.run().status_code == 201
    [before] = server.http.get("/accounting/report").json()["budgets"]
    assert (before["hours"], before["used_hours"] > 0.0002) == (1.0, True)

    server.kill()
    server.start()
    server.http = httpx.Client(base_url=server.url + "/api/v1", timeout=60, trust_env=False)
    [after] = server.http.get("/accounting/report").json()["budgets"]
    assert after["used_hours"] >= before["used_hours"]

    (server.conf / "fairshare.toml").write_text("")
    server.verb("admin", "refresh-queues")
    assert server.queues()["root.a"]["past"] is None
