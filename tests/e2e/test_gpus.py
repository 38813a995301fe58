"""A GPU each for four tasks on two pretended GPUs, and a server that is killed between."""

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

PATIENCE_S = 60.0


class Server:
    """A process of `fairshare serve` that assigns two pretended GPUs; it can be killed."""

    def __init__(self, path: Path) -> None:
        self.conf, self.state = path / "conf", path / "state"
        self.conf.mkdir()
        (self.conf / "fair-scheduler.xml").write_text("<allocations/>")
        (self.conf / "fairshare.toml").write_text(
            '[server]\nport = 0\n[engine]\nmemory_mb = 4096\nvcores = 8\ngpus = ["0", "1"]\n'
        )
        self.begin()

    def begin(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "fairshare", "serve", "--conf", str(self.conf)),
                *("--state", str(self.state), "--no-hadoop", "--stop-containers", *options),
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

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE_S)

    def verb(self, *words: str) -> str:
        verb, *arguments = words
        done = subprocess.run(
            [sys.executable, "-m", "fairshare", verb, "--url", self.url, *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def server(tmp_path: Path):
    made = Server(tmp_path)
    yield made
    made.end()


TASK = """
    echo $FAIRSHARE_TASK_INDEX began $CUDA_VISIBLE_DEVICES >> {log}
    mkdir {log}.$CUDA_VISIBLE_DEVICES || echo $CUDA_VISIBLE_DEVICES twice at once >> {log}
    while [ ! -e {log}.go ]; do sleep 0.02; done
    rmdir {log}.$CUDA_VISIBLE_DEVICES
"""


def until(condition) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_four_tasks_share_two_gpus_and_never_one_at_once(server, tmp_path):
    log = tmp_path / "log"

    def lines() -> list[str]:
        return log.read_text().splitlines() if log.exists() else []

    (node,) = json.loads(server.verb("nodes", "--json"))["nodes"]
    assert node["total"]["yarn.io/gpu"] == 2
    assert node["attributes"]["gpus"] == "0,1"
    ask = ("--resource", "yarn.io/gpu=1", "--memory", "256m", "--count", "4")
    number = server.verb("submit", *ask, "--", "sh", "-c", TASK.format(log=log)).strip()
    until(lambda: len(lines()) == 2)
    assert {line.split()[2] for line in lines()} == {"0", "1"}
    assert "GPU 0" in server.verb("status", number)
    server.kill()
    server.begin()
    # Nothing begins: the containers of the killed server have both GPUs.
    assert len(lines()) == 2
    Path(f"{log}.go").touch()
    until(lambda: json.loads(server.verb("status", number, "--json"))["state"] == "FINISHED")
    assert sorted(line.split()[0] for line in lines()) == ["0", "1", "2", "3"], lines()
    path = f"/api/v1/applications/{number}/containers"
    with urllib.request.urlopen(server.url + path, timeout=PATIENCE_S) as answer:
        containers = json.loads(answer.read())["containers"]
    # Either GPU may have had more of them: the one whose tasks end first.
    had = [line.split()[2] for line in sorted(lines())]
    assert [one["gpus"] for one in sorted(containers, key=lambda one: one["task"])] == [
        [gpu] for gpu in had
    ]
