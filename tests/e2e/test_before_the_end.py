"""The training of docs/jobs.md: preempted, it saves its state, and resumes when there is room."""

import re
import sys
from pathlib import Path

import httpx
import pytest
from tests.served import Served, until

PAGE = Path(__file__).parents[2] / "docs/jobs.md"
SITE = """<configuration>
  <property>
    <name>yarn.resourcemanager.scheduler.class</name>
    <value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
  </property>
  <property><name>yarn.scheduler.fair.preemption</name><value>true</value></property>
  <property>
    <name>yarn.scheduler.fair.preemption.cluster-utilization-threshold</name><value>0</value>
  </property>
  <property><name>yarn.scheduler.fair.waitTimeBeforeKill</name><value>100</value></property>
</configuration>
"""
QUEUES = """<allocations>
  <queue name="guest"><allowPreemptionFrom>true</allowPreemptionFrom></queue>
  <queue name="owner">
    <minResources>1024 mb, 1 vcores</minResources>
    <minSharePreemptionTimeout>1</minSharePreemptionTimeout>
  </queue>
</allocations>
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    files = {
        "yarn-site.xml": SITE,
        "fair-scheduler.xml": QUEUES,
        "fairshare.toml": "[engine]\nmemory_mb = 1024\nvcores = 1\n",
    }
    server = Served(tmp_path_factory.mktemp("server") / "conf", files=files)
    yield server.url
    server.end()


def submitted(url, queue, **task):
    group = {"resources": {"memory-mb": 1024, "vcores": 1}, **task}
    answer = httpx.post(f"{url}/api/v1/applications", json={"queue": queue, "tasks": [group]})
    return answer.json()


def state_of(url, application):
    return httpx.get(f"{url}/api/v1/applications/{application}").json()["state"]


def test_a_preempted_training_saves_its_state_and_resumes(url, tmp_path):
    program = re.findall(r"```python\n(import pathlib.*?)```", PAGE.read_text(), re.S)[0]
    seen = tmp_path / "seen"
    noted = "print(epoch, file=open('seen', 'a'), flush=True)\n    epoch += 1"
    assert program.count("    epoch += 1") == program.count("sleep(0.2)") == 1
    program = program.replace("epoch += 1", noted).replace("sleep(0.2)", "sleep(0.1)")
    # However late the preemption comes on a busy machine, the first run is not over before it.
    assert program.count("while epoch < 20:") == 1
    program = program.replace("epoch < 20", "epoch < 20 or not checkpoint.exists()")
    (tmp_path / "train.py").write_text(program)
    training = submitted(
        url,
        "root.guest",
        arguments=[sys.executable, "train.py"],
        directory=str(tmp_path),
        grace_ms=60_000,
        max_attempts=1,
    )["id"]
    until(lambda: seen.exists() and len(seen.read_text().split()) >= 5)
    owner = submitted(url, "root.owner", arguments=["true"])["id"]
    until((tmp_path / "epoch").exists)
    until(lambda: (tmp_path / "epoch").read_text())
    saved = int((tmp_path / "epoch").read_text())
    assert saved >= 4
    until(lambda: state_of(url, owner) == "FINISHED")
    until(lambda: state_of(url, training) == "FINISHED")
    # The rest, not all of it; the signal may have come between a note and its epoch.
    whole = max(20, saved)
    assert len(seen.read_text().split()) in (whole, whole + 1)
    containers = httpx.get(f"{url}/api/v1/applications/{training}/containers").json()["containers"]
    assert [one["exit_code"] for one in containers] == [-102, 0]  # preempted; its second run


def test_a_signal_so_long_before_no_time_limit_is_refused(url):
    refusal = submitted(
        url, "root.guest", arguments=["x"], end_signal={"name": "USR1", "before_ms": 1}
    )
    assert "end_signal.before_ms: there is no time limit" in str(refusal)
    refusal = submitted(url, "root.guest", arguments=["x"], end_signal={"name": "KILL"})
    assert "tasks[0].end_signal.name" in str(refusal)
