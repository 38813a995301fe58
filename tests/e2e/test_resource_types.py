"""A real server whose nodes have more than memory and vcores."""

import json
from pathlib import Path

import pytest
from tests.served import FAIR_SITE, Served

TYPES = """<configuration>
<property><name>yarn.resource-types</name><value>yarn.io/gpu</value></property>
</configuration>
"""


@pytest.fixture
def server(tmp_path: Path):
    """A server with two processors for graphics."""
    files = {
        "yarn-site.xml": FAIR_SITE,
        "resource-types.xml": TYPES,
        "fair-scheduler.xml": "<allocations><queue name='a'/></allocations>",
        "fairshare.toml": (
            '[engine]\nmemory_mb = 1024\nvcores = 4\n[engine.resources]\n"yarn.io/gpu" = 2\n'
        ),
    }
    made = Served(tmp_path / "conf", files=files)
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
