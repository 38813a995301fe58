"""Containers on a real Ray cluster of two nodes, while servers, drivers, agents and raylets die.

Each task notes when it runs and holds a lock meanwhile: a second one beside it notes a defect.
"""

import signal
from pathlib import Path

import httpx
import pytest
from tests.ray_cluster.conftest import agents, signal_process, wait

from fairshare.client.executor import Executor

TASK = """
exec 9>"{folder}/$FAIRSHARE_TASK_INDEX.lock"
flock -n 9 || {{ echo twice > "{folder}/defect"; exit 9; }}
echo begin >> "{folder}/$FAIRSHARE_TASK_INDEX.log"
sleep {seconds}
echo end >> "{folder}/$FAIRSHARE_TASK_INDEX.log"
"""


class Notes:
    """What the tasks of a test have written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def tasks(self, count: int, seconds: float, **more):
        """A group of tasks that note what they do."""
        command = TASK.format(folder=self.folder, seconds=seconds)
        resources = {"memory-mb": 128, "vcores": 1}
        return {"count": count, "command": command, "resources": resources, **more}

    def begun(self) -> int:
        """How often a task began."""
        return sum(file.read_text().count("begin") for file in self.folder.glob("*.log"))

    def check(self, count: int) -> None:
        """Each task ran to its end, and none beside itself."""
        assert not (self.folder / "defect").exists()
        ended = [file.read_text().count("end") for file in self.folder.glob("*.log")]
        assert len(ended) == count
        assert min(ended) >= 1


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path / "notes")


def test_tasks_and_python_calls_run_on_all_nodes(server, notes):
    application = server.submit(queue="root.one", tasks=[notes.tasks(8, 0.5)])
    wait(lambda: server.ended(application), "all tasks")
    notes.check(8)
    containers = server.get(f"applications/{application}/containers")["containers"]
    assert {one["node"] for one in containers} == set(server.nodes())
    printed = server.submit(queue="root.one", tasks=[{"command": "echo hello"}])
    wait(lambda: server.ended(printed), "the task that prints")
    (container,) = server.get(f"applications/{printed}/containers")["containers"]
    log = httpx.get(f"{server.url}/api/v1/containers/{container['id']}/logs/stdout")
    assert (log.text, log.headers["X-Fairshare-Complete"]) == ("hello\n", "true")
    with Executor("root.two", url=server.url) as executor:
        assert list(executor.map(lambda number: 2 * number, range(5))) == [0, 2, 4, 6, 8]


def test_containers_outlive_server_driver_and_agents_and_run_once(server, cluster, notes):
    application = server.submit(queue="root.one", tasks=[notes.tasks(4, 20)])
    wait(lambda: notes.begun() == 4, "all tasks run")
    server.kill()
    server.start()
    wait(lambda: len(server.nodes()) == 2, "two nodes")
    signal_process(server.driver(), signal.SIGKILL)
    killed = agents(cluster)
    assert len(killed) == 2
    for agent in killed:
        signal_process(agent, signal.SIGKILL)
    wait(lambda: server.ended(application), "all tasks", 90)
    notes.check(4)
    assert notes.begun() == 4


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_what_ran_on_a_lost_node_runs_again_and_never_twice_at_once(server, cluster, notes, fault):
    application = server.submit(queue="root.one", tasks=[notes.tasks(4, 12)])
    wait(lambda: notes.begun() == 4, "all tasks run")
    cluster.order(f"{fault} 1")
    wait(lambda: len(server.nodes()) == 1, "the node is lost")
    if fault == "freeze":
        cluster.order("thaw 1")
    wait(lambda: server.ended(application), "all tasks", 120)
    notes.check(4)
    containers = server.get(f"applications/{application}/containers")["containers"]
    lost = [one for one in containers if one["exit_code"] != 0]
    # If the machine pauses for longer than the fence, the other node counts as lost as well.
    most = 6 if len({one["node"] for one in lost}) == 1 else 4 + len(lost)
    assert 6 <= notes.begun() <= most


def test_a_node_that_joins_later_is_used(server, cluster):
    cluster.order("add")
    assert len(wait(lambda: len(server.nodes()) == 3 and server.nodes(), "the third node")) == 3


def test_containers_outlive_the_head_and_new_ones_start_afterwards(server, cluster, notes):
    application = server.submit(queue="root.one", tasks=[notes.tasks(4, 15)])
    wait(lambda: notes.begun() == 4, "all tasks run")
    cluster.order("stop-gcs")
    later = server.submit(queue="root.two", tasks=[{"command": "true"}])
    cluster.order("start-gcs")
    wait(lambda: server.ended(application) and server.ended(later), "all tasks", 90)
    notes.check(4)
    assert notes.begun() == 4
