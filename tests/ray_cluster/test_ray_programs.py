"""Ray programs of two teams on one Ray cluster: who has what follows the queues, and what has to
go is warned, saves, and resumes.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.ray_cluster.conftest import Cluster, Server, wait

TRAINING = """
import os, pathlib, sys, time
import ray

folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
ray.init(log_to_driver=False)


@ray.remote(max_retries=-1, retry_exceptions=[InterruptedError])
def train(number):
    saved = folder / f"{number}.saved"
    step = int(saved.read_text()) if saved.exists() else 0
    with (folder / "begun").open("a") as notes:
        notes.write(f"{number} {step}\\n")
    while not (folder / "end").exists():
        if os.path.exists(os.environ["FAIRSHARE_WARNING_FILE"]):
            saved.write_text(str(step))
            raise InterruptedError("saved")
        time.sleep(0.1)
        step += 1
    return number


print("sum", sum(ray.get([train.remote(number) for number in range(1, count + 1)])), flush=True)
"""
PREEMPTION = """
  <property><name>yarn.scheduler.fair.preemption</name><value>true</value></property>
  <property>
    <name>yarn.scheduler.fair.preemption.cluster-utilization-threshold</name><value>0</value>
  </property>
  <property><name>yarn.scheduler.fair.waitTimeBeforeKill</name><value>100</value></property>
</configuration>"""
QUEUES = """<allocations>
  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
  <defaultFairSharePreemptionTimeout>1</defaultFairSharePreemptionTimeout>
  <defaultFairSharePreemptionThreshold>1.0</defaultFairSharePreemptionThreshold>
  <queue name="one"/>
  <queue name="two"/>
</allocations>"""
SHARE_S = 60
"""A minute from a change in demand."""


class Team:
    """A Ray program of a team, and what its tasks wrote."""

    def __init__(self, server: Server, queue: str, folder: Path, tasks: int, *options: str) -> None:
        self.folder = folder
        folder.mkdir()
        script = folder / "train.py"
        script.write_text(TRAINING)
        size = ("--memory", "600m", "--grace", "4s", "--directory", str(folder), "--export", "none")
        command = (sys.executable, str(script), str(folder), str(tasks))
        done = subprocess.run(
            (
                *(sys.executable, "-m", "fairshare", "submit", "--queue", queue, "--ray", *size),
                *(*options, "--", *command),
            ),
            env={**os.environ, "FAIRSHARE_URL": server.url},
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 0, done.stderr
        self.application = done.stdout.split()[0]
        self._server = server

    def containers(self) -> int:
        """How many run, its head's among them."""
        return len(self._server.get(f"applications/{self.application}")["containers"])

    def begun(self) -> list[list[str]]:
        """The number of each task that began, and its step."""
        notes = self.folder / "begun"
        return [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []

    def end(self) -> None:
        """Let the tasks come to their end, and wait until the program has."""
        (self.folder / "end").touch()
        wait(lambda: self._server.ended(self.application), "the program's end")


@pytest.fixture
def server(tmp_path, folder):
    cluster = Cluster(folder, 2, memory_mb=4096)
    made = Server(tmp_path, cluster)
    site = made.conf / "yarn-site.xml"
    site.write_text(site.read_text().replace("</configuration>", PREEMPTION))
    (made.conf / "fair-scheduler.xml").write_text(QUEUES)
    try:
        made.start()
        wait(lambda: len(made.nodes()) == 2, "two nodes")
        yield made
    finally:
        made.stop()
        cluster.stop()


def test_programs_of_two_teams_have_their_shares_and_a_preempted_task_resumes(server, tmp_path):
    one = Team(server, "root.one", tmp_path / "one", 3, "--count", "1", "--more", "2")
    wait(lambda: len(one.begun()) == 3, "its further workers run its tasks", SHARE_S)
    two = Team(server, "root.two", tmp_path / "two", 1, "--count", "1")
    wait(lambda: (one.containers(), two.containers()) == (2, 2), "half for each", SHARE_S)
    wait(lambda: len(two.begun()) == 1, "the second team's task")
    saved = {file.stem: file.read_text() for file in one.folder.glob("*.saved")}
    assert len(saved) == 2
    two.end()
    wait(lambda: one.containers() == 4, "what the second team had", SHARE_S)
    resumed = wait(lambda: one.begun()[3:] if len(one.begun()) == 5 else None, "both resume")
    assert dict(resumed) == saved
    one.end()
    log = subprocess.run(
        (sys.executable, "-m", "fairshare", "logs", one.application),
        env={**os.environ, "FAIRSHARE_URL": server.url},
        capture_output=True,
        text=True,
    )
    assert "sum 6" in log.stdout
