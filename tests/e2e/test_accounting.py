"""The month's report of a real server: what ended is accounted for once, also across a crash."""

import csv
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PATIENCE_S = 60.0


class Server:
    """A process of `fairshare serve`, and the command line in front of it."""

    def __init__(self, path: Path) -> None:
        self.state, self.conf = path / "state", path / "conf"
        self.conf.mkdir()
        (self.conf / "fair-scheduler.xml").write_text("<allocations/>")
        self.process: subprocess.Popen[str] | None = None
        self.environment = {**os.environ, "FAIRSHARE_STATE": str(self.state), "COLUMNS": "200"}
        self.environment.pop("FAIRSHARE_URL", None)

    def start(self) -> None:
        """Start it, and wait until it listens."""
        serve = (sys.executable, "-m", "fairshare", "serve", "--port", "0", "--no-hadoop")
        self.process = subprocess.Popen(
            [
                *serve,
                "--conf",
                str(self.conf),
                "--state",
                str(self.state),
                "--memory-mb",
                "1024",
                "--vcores",
                "4",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "listening on " in line:
                return
        self.end()
        raise AssertionError("the server did not start")

    def end(self, *, kill: bool = False) -> None:
        """End it, or kill it with SIGKILL."""
        if self.process is not None:
            if kill:
                self.process.kill()
            else:
                self.process.terminate()
            self.process.communicate(timeout=PATIENCE_S)
            self.process = None

    def run(self, *arguments: str, code: int = 0) -> str:
        """What a verb prints."""
        done = subprocess.run(
            [sys.executable, "-m", "fairshare", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def history(self, count: int, *arguments: str) -> list[dict[str, str]]:
        """The rows of `history` as CSV, once there are so many."""
        until_s = time.monotonic() + PATIENCE_S
        while True:
            text = self.run("history", *arguments, "--format", "csv")
            rows = list(csv.DictReader(io.StringIO(text)))
            if len(rows) >= count:
                return rows
            assert time.monotonic() < until_s, text
            time.sleep(0.1)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    made.start()
    yield made
    made.end()


def test_what_ended_is_accounted_for_once_across_a_crash_of_the_server(server):
    small = ("--memory", "64m", "--wait")
    busy = f"{sys.executable} -c 'sum(range(3_000_000))'"
    server.run("submit", "--name", "good", "--tag", "t", *small, "--", "sh", "-c", busy)
    server.run(
        *("submit", "--name", "bad", "--max-attempts", "2", *small, "--", "sh", "-c", "exit 7"),
        code=7,
    )
    shown = server.run("status", "2")
    assert "sh -c 'exit 7'" in shown
    assert "Ended" in shown
    server.end(kill=True)
    server.start()
    bad, good = server.history(2)
    assert (good["name"], good["state"], good["exit_code"], good["tags"]) == (
        "good",
        "FINISHED",
        "0",
        "t",
    )
    assert float(good["cpu_seconds"]) > 0
    assert int(good["peak_memory_mb"]) > 0
    assert (bad["state"], bad["exit_code"], bad["containers"]) == ("FAILED", "7", "2")
    assert bad["command"] == "sh -c 'exit 7'"
    assert len(server.history(3, "--containers")) == 3
    month = time.strftime("%Y-%m")
    report = json.loads(server.run("report", "--by", "name", "--month", month, "--json"))
    assert {row["group"][0]: row["containers"] for row in report["rows"]} == {"good": 1, "bad": 2}
    assert "good" in server.run("report", "--by", "name")
    server.run("report", "--by", "name", "--month", "2026-13", code=2)
