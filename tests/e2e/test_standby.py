"""A second server waits beside the first one, and goes on when that is gone."""

import subprocess

import httpx
import pytest
from tests.forked import PATIENCE_S, Forked
from tests.hadoop.configuration import free_ports
from tests.served import SMALL_MACHINE

from fairshare.client import Client, Submission, TaskGroup

from .test_server import SMALL
from .test_server import conf as conf


def line_of(process):
    """Its next line that is not a warning: servers of root and without control groups have one."""
    return next(line for line in process.stdout if "warning" not in line.lower())


@pytest.fixture
def started(conf, tmp_path):
    """Starts servers on one state directory, without waiting for them."""
    processes = []

    def start(*options, port=None):
        port = port or free_ports(1)[0]
        process = Forked(
            *("serve", "--conf", str(conf), "--state", str(tmp_path / "state")),
            *("--stop-containers", "--no-hadoop", "--port", str(port), *SMALL_MACHINE, *options),
            stderr=subprocess.STDOUT,
        )
        process.port = port
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.terminate()
    for process in processes:
        process.communicate(timeout=PATIENCE_S)


def test_the_standby_takes_over_with_everything_and_clients_find_it(started, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRSHARE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("FAIRSHARE_URL", raising=False)
    first = started()
    assert line_of(first).startswith("listening on ")
    second = started("--standby")
    assert line_of(second).startswith(f"standing by for process {first.pid} at http://")
    marker = tmp_path / "go"
    command = f"while [ ! -e {marker} ]; do sleep 0.05; done; echo $FAIRSHARE_STATE"
    with Client() as client:
        group = TaskGroup(name="t", count=1, resources=SMALL, command=command)
        name = client.submit(Submission(queue="a", tasks=(group,)))
        before = client.url
        first.kill()
        first.wait()
        assert line_of(second).startswith("listening on ")
        marker.touch()
        assert str(client.wait(name).state) == "FINISHED"  # on the connection that it had
        assert client.url != before
        assert client.containers(name)[-1].exit_code == 0


def test_a_standby_says_at_its_port_what_it_is_and_leads_to_the_server_that_works(started):
    first = started()
    url = line_of(first).split()[-1]
    second = started("--standby")
    assert line_of(second).startswith("standing by for ")
    with httpx.Client(base_url=f"http://127.0.0.1:{second.port}", trust_env=False) as http:
        answer = http.get("/api/v1/cluster?x=1")
        assert (answer.status_code, answer.headers["location"]) == (
            307,
            f"{url}/api/v1/cluster?x=1",
        )
        assert answer.text.startswith("This is standby RM")
        assert http.post("/api/v1/applications", json={}).status_code == 307
        assert http.get("/healthz").status_code == 200
        ready = http.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]) == (503, {"standby": f"waits for {url}"})
    first.kill()
    first.wait()
    assert line_of(second).split()[-1] == f"http://127.0.0.1:{second.port}"


def test_a_standby_with_the_port_of_the_first_server_waits_without_one(started):
    first = started()
    assert line_of(first).startswith("listening on ")
    second = started("--standby", port=first.port)
    assert line_of(second).startswith("standing by for ")
    first.kill()
    first.wait()
    assert line_of(second).split()[-1] == f"http://127.0.0.1:{first.port}"


def test_a_standby_without_another_server_begins_at_once(started):
    assert line_of(started("--standby")).startswith("listening on ")
