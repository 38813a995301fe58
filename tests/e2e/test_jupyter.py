"""`fairshare jupyter`, with a pretended Jupyter: its URL, its end, and that it begins again."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from .test_surroundings import server as server

PATIENCE_S = 60
PROGRAM = """#!/bin/sh
echo "$@" > "$FAIRSHARE_CONTAINER_DIRECTORY/arguments"
echo "    http://127.0.0.1:8888/lab?token=$FAIRSHARE_CONTAINER" >&2
exec sleep 300
"""


@pytest.fixture
def start(server, tmp_path):
    started = []

    def call(*arguments, path):
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "fairshare", "jupyter"),
                *("--queue", "a", "--memory", "64m", *arguments),
            ],
            env={**os.environ, "FAIRSHARE_URL": server.url, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def test_its_url_is_printed_for_each_attempt_and_ctrl_c_ends_it(server, start, tmp_path):
    program = tmp_path / "jupyter-lab"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    process = start("--idle", "20m", "--", "--port=9", path=f"{tmp_path}:{os.defpath}")
    url = process.stdout.readline()
    tunnel = process.stderr.readline().strip()
    assert tunnel.endswith(f"ssh -L 8888:localhost:8888 {socket.gethostname()}"), tunnel
    container = url.strip().partition("token=")[2]
    assert url.startswith("http://127.0.0.1:8888/lab?token=container_")
    application = server.get("/applications?limit=1").json()["applications"][0]
    assert (application["name"], application["queue"]) == ("jupyter", "root.a")
    [arguments] = server.state.glob(f"containers/*/{container}/arguments")
    assert arguments.read_text().split() == [
        "--ServerApp.shutdown_no_activity_timeout=1200",
        "--MappingKernelManager.cull_idle_timeout=1200",
        "--no-browser",
        "--port=9",
    ]
    server.post(f"/applications/{application['id']}/requeue", json={})
    again = process.stdout.readline()
    assert again.startswith("http://127.0.0.1:8888/lab?token=container_")
    assert again != url
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 130
    assert server.finished(application["id"])["state"] == "KILLED"


def test_it_may_be_idle_as_long_as_its_queue_allows(server, start, tmp_path):
    program = tmp_path / "jupyter-lab"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    process = start("--", "--port=9", path=f"{tmp_path}:{os.defpath}")
    container = process.stdout.readline().strip().partition("token=")[2]
    [arguments] = server.state.glob(f"containers/*/{container}/arguments")
    assert arguments.read_text().split() == [
        "--ServerApp.shutdown_no_activity_timeout=3600",
        "--MappingKernelManager.cull_idle_timeout=3600",
        "--no-browser",
        "--port=9",
    ]
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 130


def test_without_jupyter_nothing_is_submitted(server, start, tmp_path):
    before = server.get("/applications?limit=1").json()
    process = start(path=str(tmp_path))
    _, words = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "Jupyter is not installed in this environment: pip install jupyterlab" in words
    assert server.get("/applications?limit=1").json()["applications"] == before["applications"]
