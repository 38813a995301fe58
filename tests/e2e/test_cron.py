"""Cron jobs of a real server whose last applications still run when they are due again."""

import json
import os
import sqlite3
import subprocess
import sys

import pytest

from .test_server import ALLOCATIONS, YARN_SITE, Server

JOBS = ("skip", "queue", "replace")


@pytest.fixture
def conf(tmp_path):
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "yarn-site.xml").write_text(YARN_SITE)
    (folder / "fair-scheduler.xml").write_text(ALLOCATIONS)
    return folder


def shell(server, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "fairshare", *arguments],
        env={**os.environ, "FAIRSHARE_URL": server.url},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def runs(server, name, outcomes):
    """The runs of a job, the newest first, once they have these outcomes."""

    def found():
        job = json.loads(shell(server, "cron", "show", name, "--json"))
        have = [run["outcome"] for run in job["runs"]]
        return job["runs"] if have == outcomes else None

    return server.until(found)


def make_due(state):
    """As if the server had been down at the time of each job."""
    with sqlite3.connect(state / "cron.sqlite3") as file:
        for user, name, body in file.execute("SELECT user, name, body FROM jobs").fetchall():
            due = json.dumps({**json.loads(body), "next_ms": 1_000}).encode()
            file.execute("UPDATE jobs SET body = ? WHERE user = ? AND name = ?", (due, user, name))
    file.close()


def test_jobs_that_overlap_skip_queue_or_replace_across_restarts(conf, tmp_path):
    server = Server(conf, tmp_path / "state", "--port", "0")
    small = ("--queue", "a", "--memory", "64m", "--max-attempts", "1")
    for name in JOBS:
        options = ("--overlap", name, *small, "--time-zone", "UTC")
        said = shell(server, "cron", "add", *options, name, "@yearly", "sleep", "600")
        assert said.startswith(f"{name}: next at ")
    refused = subprocess.run(
        [sys.executable, "-m", "fairshare", "cron", "add", "never", "0 0 30 2 *", "true"],
        env={**os.environ, "FAIRSHARE_URL": server.url},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (refused.returncode, "wrong day-of-month" in refused.stderr) == (1, True)

    first = {}
    for time in (1, 2):
        server.end()
        make_due(tmp_path / "state")
        server = Server(conf, tmp_path / "state", "--port", "0")
        for name in JOBS if time == 1 else ():
            (run,) = runs(server, name, ["submitted"])
            first[name] = run["application"]
    runs(server, "skip", ["skipped", "submitted"])
    runs(server, "queue", ["queued", "submitted"])
    replaced, before = runs(server, "replace", ["submitted", "submitted"])
    assert (before["application"], before["state"]) == (first["replace"], "KILLED")
    assert server.application(replaced["application"])["tags"] == ["cron=replace"]
    assert server.application(first["skip"])["finished_ms"] is None

    shell(server, "kill", first["queue"])
    second, _ = runs(server, "queue", ["submitted", "submitted"])
    assert second["application"] not in first.values()
    assert "paused" in shell(server, "cron", "pause", "queue")
    shell(server, "cron", "delete", "skip")
    listed = shell(server, "cron", "list")
    assert ("skip" in listed, "replace" in listed, "paused" in listed) == (False, True, True)
    server.post("/shutdown", json={"stop_containers": True})
    server.wait()
