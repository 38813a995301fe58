"""A real server whose nodes have more than memory and vcores."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE_S = 60.0

SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property>
<property><name>yarn.scheduler.minimum-allocation-mb</name><value>64</value></property>
<property><name>yarn.resource-types.memory-mb.increment-allocation</name><value>64</value></property>
</configuration>
"""
TYPES = """<configuration>
<property><name>yarn.resource-types</name><value>yarn.io/gpu</value></property>
</configuration>
"""


class Server:
    """A process of `fairshare serve` with two processors for graphics."""

    def __init__(self, path: Path) -> None:
        conf, self.state = path / "conf", path / "state"
        conf.mkdir()
        (conf / "yarn-site.xml").write_text(SITE)
        (conf / "resource-types.xml").write_text(TYPES)
        (conf / "fair-scheduler.xml").write_text("<allocations><queue name='a'/></allocations>")
        (conf / "fairshare.toml").write_text(
            "[server]\nport = 0\n[engine]\nmemory_mb = 1024\nvcores = 4\n"
            '[engine.resources]\n"yarn.io/gpu" = 2\n'
        )
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "fairshare", "serve", "--conf", str(conf)),
                "--stop-containers",
                *("--state", str(self.state)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            _, stderr = self.process.communicate(timeout=PATIENCE_S)
            raise AssertionError(f"the server did not start: {line}{stderr}")
        self.url = line.removeprefix("listening on ").strip()

    def verb(self, *words: str) -> subprocess.CompletedProcess[str]:
        verb, *arguments = words
        return subprocess.run(
            [sys.executable, "-m", "fairshare", verb, "--url", self.url, *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def server(tmp_path: Path):
    made = Server(tmp_path)
    yield made
    made.end()


def test_containers_are_granted_further_types_and_no_more_than_there_are(server):
    (node,) = json.loads(server.verb("nodes", "--json").stdout)["nodes"]
    assert node["total"] == {"memory-mb": 1024, "vcores": 4, "yarn.io/gpu": 2}
    sizes = ("--queue", "a", "--memory", "64m")
    done = server.verb(
        "submit", *sizes, "--resource", "yarn.io/gpu=1", "--count", "3", "--wait", "--", "true"
    )
    assert done.returncode == 0, done.stderr
    unknown = server.verb("submit", *sizes, "--resource", "yarn.io/tpu=1", "--", "true")
    assert unknown.returncode == 1
    assert "yarn.io/tpu" in unknown.stderr

    waiting = server.verb(
        "submit", *sizes, "--resource", "yarn.io/gpu=1", "--count", "3", "--", "sleep", "600"
    )
    name = waiting.stdout.split()[-1]

    def use() -> tuple[int, int]:
        shown = json.loads(server.verb("status", "--json").stdout)
        return shown["used"]["yarn.io/gpu"], shown["pending"]["yarn.io/gpu"]

    for _ in range(50):
        if use() == (2, 1):
            break
    assert use() == (2, 1)
    assert server.verb("kill", name).returncode == 0
