"""A second server waits beside the first one, and goes on when that is gone."""

import os
import signal
import subprocess
import sys

import pytest
from tests.hadoop.configuration import free_ports

from fairshare.client import Client
from fairshare.client.submissions import Submission, TaskGroup

from .test_server import ALLOCATIONS, SMALL, YARN_SITE


def serve(conf, state, *options):
    (port,) = free_ports(1)
    options = ("--port", str(port), *options)
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "fairshare", "serve", "--conf", str(conf)),
            "--stop-containers",
            *("--state", str(state), "--memory-mb", "1024", "--vcores", "4", *options),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def conf(tmp_path):
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "yarn-site.xml").write_text(YARN_SITE)
    (folder / "fair-scheduler.xml").write_text(ALLOCATIONS)
    return folder


def test_the_standby_takes_over_with_everything_and_clients_find_it(conf, tmp_path, monkeypatch):
    state = tmp_path / "state"
    monkeypatch.setenv("FAIRSHARE_STATE", str(state))
    monkeypatch.delenv("FAIRSHARE_URL", raising=False)
    first = serve(conf, state)
    assert first.stdout.readline().startswith("listening on ")
    second = serve(conf, state, "--standby")
    assert second.stdout.readline().startswith(f"standing by for process {first.pid} at http://")
    marker = tmp_path / "go"
    command = f"while [ ! -e {marker} ]; do sleep 0.05; done; echo $FAIRSHARE_STATE"
    try:
        with Client() as client:
            group = TaskGroup(name="t", count=1, resources=SMALL, command=command)
            name = client.submit(Submission(queue="a", tasks=(group,)))
            before = client.url
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            assert second.stdout.readline().startswith("listening on ")
            marker.touch()
            assert str(client.wait(name).state) == "FINISHED"  # on the connection that it had
            assert client.url != before
            assert client.containers(name)[-1].exit_code == 0
    finally:
        for process in (first, second):
            process.terminate()
            process.wait(timeout=60)
            process.stdout.close()


def test_a_standby_without_another_server_begins_at_once(conf, tmp_path):
    only = serve(conf, tmp_path / "state", "--standby")
    try:
        assert only.stdout.readline().startswith("listening on ")
    finally:
        only.terminate()
        only.wait(timeout=60)
        only.stdout.close()
