"""Cron jobs of a real server whose last applications still run when they are due again."""

import json
import os
import sqlite3
import time

from tests.forked import fairshare

from .test_server import conf as conf
from .test_server import serve as serve

PATIENCE_S = 60.0
JOBS = ("skip", "queue", "replace")


def shell(server, *arguments):
    done = fairshare(*arguments, env={**os.environ, "FAIRSHARE_URL": server.url})
    assert done.returncode == 0, done.stderr
    return done.stdout


def runs(server, name, outcomes):
    """The runs of a job, the newest first, once they have these outcomes."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        found = server.get(f"/cron/~/{name}").json()["runs"]
        if [run["outcome"] for run in found] == outcomes:
            return found
        assert time.monotonic() < deadline_s, found
        time.sleep(0.02)  # a skipped run is not a change that a server announces


def make_due(state):
    """As if the server had been down at the time of each job."""
    with sqlite3.connect(state / "cron.sqlite3") as file:
        for user, name, body in file.execute("SELECT user, name, body FROM jobs").fetchall():
            due = json.dumps({**json.loads(body), "next_ms": 1_000}).encode()
            file.execute("UPDATE jobs SET body = ? WHERE user = ? AND name = ?", (due, user, name))
    file.close()


def test_jobs_that_overlap_skip_queue_or_replace_across_restarts(serve):
    server = serve()
    small = ("--queue", "a", "--memory", "64m", "--max-attempts", "1")
    for name in JOBS:
        options = ("--overlap", name, *small, "--time-zone", "UTC")
        said = shell(server, "cron", "add", *options, name, "@yearly", "--", "sleep", "600")
        assert said.startswith(f"{name}: next at ")
    environment = {**os.environ, "FAIRSHARE_URL": server.url}
    refused = fairshare("cron", "add", "never", "0 0 30 2 *", "true", env=environment)
    assert (refused.returncode, "wrong day-of-month" in refused.stderr) == (1, True)

    first = {}
    for life in (1, 2):
        server.end()
        make_due(server.state)
        server = serve()
        for name in JOBS if life == 1 else ():
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
    shown = json.loads(shell(server, "cron", "show", "replace", "--json"))
    assert shown["runs"][0]["application"] == replaced["application"]
    listed = shell(server, "cron", "list")
    assert ("skip" in listed, "replace" in listed, "paused" in listed) == (False, True, True)
