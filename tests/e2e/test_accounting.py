"""The month's report of a real server: what ended is accounted for once, also across a crash."""

import csv
import io
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.forked import fairshare
from tests.served import PATIENCE_S, SMALL_MACHINE, Served


class Server(Served):
    """A server, and the command line in front of it."""

    def __init__(self, path: Path) -> None:
        files = {"fair-scheduler.xml": "<allocations/>"}
        super().__init__(path / "conf", "--no-hadoop", *SMALL_MACHINE, files=files)
        self.environment = {**os.environ, "FAIRSHARE_STATE": str(self.state), "COLUMNS": "200"}
        self.environment.pop("FAIRSHARE_URL", None)

    def run(self, *arguments: str, code: int = 0) -> str:
        """What a verb prints."""
        done = fairshare(*arguments, env=self.environment)
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
    server.kill()
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
