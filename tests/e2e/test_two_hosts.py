"""Two servers with state directories of their own, as on two hosts, and their state in one
PostgreSQL: whichever ends, freezes or loses the database, the other one goes on with everything.
"""

import contextlib
import signal
import subprocess
import time

import httpx
import pytest
from tests.forked import PATIENCE_S, Forked
from tests.hadoop.configuration import free_ports
from tests.postgres import postgres as postgres
from tests.postgres import started as started_postgres
from tests.served import SMALL_MACHINE, until

from fairshare.client import Client, Submission, TaskGroup

from .test_server import SMALL
from .test_server import conf as conf

TAKEOVER_S = 2


class Host:
    """A server and its state directory."""

    def __init__(self, conf, state, url):
        (conf / "fairshare.toml").write_text(f'[state]\nurl = "{url}"\ntakeover_s = {TAKEOVER_S}\n')
        self.conf, self.state = conf, state
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self, *options):
        """Begin; a process before has ended."""
        if self.process is not None:
            self.process.communicate(timeout=PATIENCE_S)
        words = ("--state", str(self.state), "--no-hadoop", "--port", str(self.port))
        self.process = Forked(
            *("serve", "--conf", str(self.conf), *words, *SMALL_MACHINE, *options),
            stderr=subprocess.STDOUT,
        )
        return self

    def lines(self):
        """What it prints, without warnings."""
        return (line for line in self.process.stdout if "warning: " not in line)

    def said(self, start):
        line = next(self.lines())
        assert line.startswith(start), line
        return line

    def readiness(self):
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/readyz", trust_env=False, timeout=5).json()
        return {"status": "silent", "checks": {}}

    def until_ready(self):
        until(lambda: self.readiness()["status"] == "ready")

    def client(self):
        return Client(self.url)

    def end(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            with contextlib.suppress(httpx.HTTPError):
                body = {"stop_containers": True}
                asked = httpx.post(f"{self.url}/api/v1/shutdown", json=body, trust_env=False)
                if asked.is_success:  # SIGTERM would leave the containers to the next server
                    self.process.wait(PATIENCE_S)
            self.process.terminate()
        if not self.process.stdout.closed:
            self.process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def hosts(conf, tmp_path, postgres):
    url = postgres.url()
    made = [Host(conf, tmp_path / name / "state", url) for name in ("one", "two")]
    for host in made:
        host.state.parent.mkdir()
    yield made
    for host in made:
        host.end()


def submit(client, command, name=""):
    group = TaskGroup(name="t", count=1, resources=SMALL, command=command)
    return client.submit(Submission(queue="a", name=name, tasks=(group,)))


def processes(mark):
    """The processes whose command line has a mark."""
    found = subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True).stdout
    return [int(number) for number in found.split()]


def test_a_server_on_another_host_takes_over_with_everything(hosts, tmp_path):
    one, two = hosts
    one.start().said("listening on ")
    two.start("--standby").said(f"standing by for process {one.process.pid} on ")
    with one.client() as client:
        ended = submit(client, "true")
        client.wait(ended)
        runs = submit(client, f"sleep 300 # {tmp_path}/runs")
        until(lambda: processes(f"{tmp_path}/runs"))
        left = processes(f"{tmp_path}/runs")
    # The address of the server that leads comes with its next beat.
    asked = f"{two.url}/api/v1/cluster"
    until(lambda: "location" in httpx.get(asked, trust_env=False).headers)
    answer = httpx.get(asked, trust_env=False)
    assert (answer.status_code, answer.headers["location"]) == (307, f"{one.url}/api/v1/cluster")
    one.process.kill()
    one.process.wait()
    began_s = time.monotonic()
    two.said("listening on ")
    assert time.monotonic() - began_s < TAKEOVER_S + 10
    assert "from what this standby had read behind" in (two.state / "server.log").read_text()
    with two.client() as client:
        known = {row.id: str(row.state) for row in client.applications()}
        assert known.keys() == {ended, runs}
        # The local engine's containers end with their host: the task runs again on this one.
        until(lambda: set(processes(f"{tmp_path}/runs")) - set(left))
        again = submit(client, "true")
        assert str(client.wait(again).state) == "FINISHED"
        assert again not in known
    # What the former server has left is stopped when one begins there again.
    one.start("--standby")
    assert "stopped 1 container that an earlier server has left here" in next(one.lines())
    one.said(f"standing by for process {two.process.pid} on ")
    assert not set(processes(f"{tmp_path}/runs")) & set(left)


@pytest.mark.slow
def test_a_server_that_was_frozen_for_30_s_records_nothing_when_it_goes_on(hosts, tmp_path):
    one, two = hosts
    one.start().said("listening on ")
    two.start("--standby").said("standing by for ")
    with one.client() as client:
        submit(client, f"sleep 300 # {tmp_path}/frozen")
        until(lambda: processes(f"{tmp_path}/frozen"))
        of_one = processes(f"{tmp_path}/frozen")
    one.process.send_signal(signal.SIGSTOP)
    two.said("listening on ")
    with two.client() as client:
        names = [submit(client, "true") for _ in range(3)]
        assert {str(client.wait(name).state) for name in names} == {"FINISHED"}
        time.sleep(30)
        one.process.send_signal(signal.SIGCONT)
        until(lambda: one.process.poll() is not None)
        assert one.process.returncode == 1
        text = one.process.stdout.read()
        assert "this server led in epoch 1, and process" in text
        assert "leads in epoch 2: nothing more can be recorded here" in text
        assert not set(processes(f"{tmp_path}/frozen")) & set(of_one)
        assert len(processes(f"{tmp_path}/frozen")) == len(of_one)
        assert len(client.applications()) == 4


def test_a_server_shut_down_in_order_is_followed_at_once_and_can_come_back(hosts):
    one, two = hosts
    one.start().said("listening on ")
    two.start("--standby").said("standing by for ")
    with one.client() as client:
        name = submit(client, "true")
        client.wait(name)
    one.end()
    two.said("listening on ")
    one.start("--standby").said(f"standing by for process {two.process.pid} on ")
    two.end()
    one.said("listening on ")
    with one.client() as client:
        assert [row.id for row in client.applications()] == [name]


def test_a_second_server_that_is_not_a_standby_names_the_one_that_leads(hosts):
    one, two = hosts
    one.start().said("listening on ")
    two.start()
    text = two.process.communicate(timeout=PATIENCE_S)[0]
    assert two.process.returncode == 1
    assert f"is in use by process {one.process.pid} on" in text
    assert "start this one with --standby" in text
    assert one.readiness()["checks"]["database"] == "ok"


def test_the_server_that_leads_goes_on_when_the_database_is_back(conf, tmp_path):
    with started_postgres() as postgres:
        host = Host(conf, tmp_path / "state", postgres.url())
        try:
            host.start().said("listening on ")
            go = tmp_path / "go"
            with host.client() as client:
                runs = submit(client, f"touch {go}-on; while [ ! -e {go} ]; do sleep 0.1; done")
                until((tmp_path / "go-on").exists)
                postgres.stop()
                until(
                    lambda: (
                        host.readiness()["checks"].get("database")
                        == "does not answer: nothing is decided"
                    )
                )
                answer = httpx.post(
                    f"{host.url}/api/v1/applications",
                    json={"queue": "a", "tasks": [{"name": "t", "count": 1, "command": "true"}]},
                    headers={"X-Fairshare-User": "u"},
                    trust_env=False,
                )
                assert (answer.status_code, answer.json()["code"]) == (503, "no-database")
                assert "the database postgresql://" in answer.text
                go.touch()  # it ends while nothing can be recorded
                time.sleep(1)
                postgres.start()
                host.until_ready()
                assert str(client.wait(runs).state) == "FINISHED"
                assert str(client.wait(submit(client, "true")).state) == "FINISHED"
            assert host.process.poll() is None
        finally:
            host.end()


def test_a_token_is_good_for_the_server_that_takes_over(hosts, conf, tmp_path):
    one, two = hosts
    with (conf / "fairshare.toml").open("a") as file:
        file.write("\n[authentication]\ntokens = true\n")
    one.start().said("listening on ")
    two.start("--standby").said("standing by for ")

    def admin(state):
        process = Forked(
            *("admin", "token", "create", "ada", "--state", str(state)), stderr=subprocess.PIPE
        )
        output, errors = process.communicate(timeout=PATIENCE_S)
        return process.returncode, output.strip(), errors

    code, token, _ = admin(one.state)
    assert code == 0
    code, _, errors = admin(two.state)
    assert code == 1
    assert "change tokens on the host of the server that leads" in errors
    one.process.kill()
    one.process.wait()
    two.said("listening on ")
    with Client(two.url, token=token) as client:
        assert not client.applications()
