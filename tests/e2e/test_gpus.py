"""A GPU each for four tasks on two pretended GPUs, and a server that is killed between."""

import json
import urllib.request
from pathlib import Path

import pytest
from tests.served import PATIENCE_S, Served, until

from fairshare.engines.local.gpus.found import find_gpus


@pytest.fixture
def server(tmp_path: Path):
    if len(find_gpus()) == 1:
        pytest.skip("this machine has one GPU, and a second one cannot be declared beside it")
    files = {
        "fair-scheduler.xml": "<allocations/>",
        "fairshare.toml": '[engine]\nmemory_mb = 4096\nvcores = 8\ngpus = ["0", "1"]\n',
    }
    made = Served(tmp_path / "conf", "--no-hadoop", files=files)
    yield made
    made.end()


def output(server: Served, *words: str) -> str:
    """What a verb prints."""
    done = server.verb(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


TASK = """
    echo $FAIRSHARE_TASK_INDEX began $CUDA_VISIBLE_DEVICES >> {log}
    mkdir {log}.$CUDA_VISIBLE_DEVICES || echo $CUDA_VISIBLE_DEVICES twice at once >> {log}
    while [ ! -e {log}.go ]; do sleep 0.02; done
    rmdir {log}.$CUDA_VISIBLE_DEVICES
"""


def test_four_tasks_share_two_gpus_and_never_one_at_once(server, tmp_path):
    log = tmp_path / "log"

    def lines() -> list[str]:
        return log.read_text().splitlines() if log.exists() else []

    (node,) = json.loads(output(server, "nodes", "--json"))["nodes"]
    assert node["total"]["yarn.io/gpu"] == 2
    assert node["attributes"]["gpus"] == "0,1"
    ask = ("--resource", "yarn.io/gpu=1", "--memory", "256m", "--count", "4")
    number = output(server, "submit", *ask, "--", "sh", "-c", TASK.format(log=log)).strip()
    until(lambda: len(lines()) == 2)
    assert {line.split()[2] for line in lines()} == {"0", "1"}
    assert "GPU 0" in output(server, "status", number)
    server.kill()
    server.start()
    # Nothing begins: the containers of the killed server have both GPUs.
    assert len(lines()) == 2
    Path(f"{log}.go").touch()
    until(lambda: json.loads(output(server, "status", number, "--json"))["state"] == "FINISHED")
    assert sorted(line.split()[0] for line in lines()) == ["0", "1", "2", "3"], lines()
    path = f"/api/v1/applications/{number}/containers"
    with urllib.request.urlopen(server.url + path, timeout=PATIENCE_S) as answer:
        containers = json.loads(answer.read())["containers"]
    # Either GPU may have had more of them: the one whose tasks end first.
    had = [line.split()[2] for line in sorted(lines())]
    assert [one["gpus"] for one in sorted(containers, key=lambda one: one["task"])] == [
        [gpu] for gpu in had
    ]
