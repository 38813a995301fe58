"""A real server in a process of its own, with real containers, spoken to over its socket."""

import contextlib
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import httpx
import pytest
from tests.forked import fairshare
from tests.served import PATIENCE_S, SMALL_MACHINE, Served

from fairshare.core.model.identifiers import parse_container
from fairshare.engines.local.adoption import read_exit
from fairshare.engines.local.directories import ContainerDirectory

YARN_SITE = """<configuration>
  <property>
    <name>yarn.resourcemanager.scheduler.class</name>
    <value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
  </property>
  <property><name>yarn.scheduler.minimum-allocation-mb</name><value>64</value></property>
  <property><name>yarn.resource-types.memory-mb.increment-allocation</name><value>64</value></property>
</configuration>
"""
ALLOCATIONS = '<allocations><queue name="a"/><queue name="b"/></allocations>'
SMALL = {"memory-mb": 64, "vcores": 1}

DRIVER = """
import json, os, sys, time, urllib.error, urllib.request

url, token = os.environ["FAIRSHARE_URL"], os.environ["FAIRSHARE_TOKEN"]
application = os.environ["FAIRSHARE_APPLICATION_ID"]

def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{url}/api/v1/{path}", data, {"Authorization": "Bearer " + token}
    )
    return json.load(urllib.request.urlopen(request, timeout=20))

def mine():
    listed = call(f"applications/{application}/containers")["containers"]
    return [one for one in listed if not one["master"]]

def until(condition):
    while not condition():
        version = call("changes?timeout=0")["version"]
        if not condition():
            call(f"changes?since={version}&timeout=5")

call(f"applications/{application}/register", {})
small = {"memory-mb": 64, "vcores": 1}
call(f"applications/{application}/requests", {"requests": [{"count": 2, "resources": small}]})
until(lambda: len(mine()) == 2)
for one in mine():
    call(f"containers/{one['id']}/launch", {"command": "echo from $FAIRSHARE_CONTAINER_ID"})
until(lambda: all(one["state"] == "COMPLETE" for one in mine()))
codes = sorted(one["exit_code"] for one in mine())
call(f"applications/{application}/finish", {"succeeded": True, "diagnostics": f"codes {codes}"})
"""


class Server(Served):
    """A server, and what tests ask it."""

    def __init__(self, conf: Path, state: Path, *options: str, interpreter: bool = False) -> None:
        super().__init__(conf, *SMALL_MACHINE, *options, state=state, interpreter=interpreter)
        self.http = httpx.Client(base_url=self.url + "/api/v1", timeout=60, trust_env=False)
        self.get = self.http.get
        self.post = self.http.post

    def submit(self, **body: object) -> str:
        answer = self.post("/applications", json=body)
        assert answer.status_code == 201, answer.text
        name: str = answer.json()["id"]
        return name

    def run(self, command: str, **more: object) -> str:
        """Submit one group of small tasks."""
        return self.submit(queue="a", tasks=[{"command": command, "resources": SMALL, **more}])

    def application(self, name: str) -> dict:
        return self.get(f"/applications/{name}").json()

    def containers(self, name: str) -> list[dict]:
        return self.get(f"/applications/{name}/containers").json()["containers"]

    def log(self, container: str, stream: str = "stdout") -> str:
        return self.get(f"/containers/{container}/logs/{stream}").text

    def until(self, condition):
        """What a condition gives as soon as it holds."""
        deadline_s = time.monotonic() + PATIENCE_S
        version = 0
        while not (found := condition()):
            assert time.monotonic() < deadline_s, "it never came true"
            parameters = {"since": version, "timeout": 2}
            version = self.get("/changes", params=parameters).json()["version"]
        return found

    def finished(self, name: str) -> dict:
        """An application, once it is over."""

        def over() -> dict | None:
            found = self.application(name)
            return found if found["finished_ms"] is not None else None

        return self.until(over)

    def running(self, name: str) -> dict:
        """The first container of an application that runs."""
        return self.until(
            lambda: next((c for c in self.containers(name) if c["state"] == "RUNNING"), None)
        )

    def wait(self) -> tuple[int, str]:
        self.http.close()
        return super().wait()


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    directory = tmp_path / "conf"
    directory.mkdir()
    (directory / "yarn-site.xml").write_text(YARN_SITE)
    (directory / "fair-scheduler.xml").write_text(ALLOCATIONS)
    return directory


@pytest.fixture
def serve(conf: Path, tmp_path: Path) -> Iterator:
    """Starts servers; ends those that a test left, with all their containers."""
    servers: list[Server] = []

    def start(*options: str, port: str = "0", name: str = "state", **how: bool) -> Server:
        server = Server(conf, tmp_path / name, "--port", port, *options, **how)
        servers.append(server)
        return server

    yield start
    for server in servers:
        if server.process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                server.post("/shutdown", json={"stop_containers": True})
            try:
                server.wait()
            except subprocess.TimeoutExpired:
                server.process.kill()
                server.wait()


def refused(conf: Path, state: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A server that is expected not to start."""
    return fairshare("serve", "--conf", conf, "--stop-containers", "--state", state, *options)


def test_tasks_run_and_what_they_printed_can_be_read(serve):
    server = serve("--nodes", "2")
    name = server.run("echo out $FAIRSHARE_TASK_INDEX; echo err >&2", count=3)
    assert server.finished(name)["state"] == "FINISHED"
    containers = server.containers(name)
    assert {c["node"] for c in containers} == {"local-1", "local-2"}
    assert sorted(server.log(c["id"]) for c in containers) == ["out 0\n", "out 1\n", "out 2\n"]
    assert server.log(containers[0]["id"], "stderr") == "err\n"
    assert server.get("/cluster").json()["used"] == {"memory-mb": 0, "vcores": 0}
    assert server.state.joinpath("url").read_text().strip() == server.url


def test_what_a_python_callable_returns_can_be_fetched(serve):
    import base64

    server = serve()
    call = cloudpickle.dumps((lambda x, y: {"sum": x + y}, (40,), {"y": 2}))
    name = server.submit(
        queue="a",
        tasks=[{"callable": base64.b64encode(call).decode(), "resources": {"memory-mb": 256}}],
    )
    assert server.finished(name)["state"] == "FINISHED"
    (container,) = server.containers(name)
    result = server.get(f"/containers/{container['id']}/result")
    assert pickle.loads(result.content) == {"sum": 42}


def test_a_task_that_fails_is_tried_again_until_it_succeeds_or_has_failed_too_often(serve):
    server = serve()
    name = server.run('test "$FAIRSHARE_TASK_ATTEMPT" = 3 || { echo no >&2; exit 9; }')
    assert server.finished(name)["state"] == "FINISHED"
    (task,) = server.get(f"/applications/{name}/tasks").json()["tasks"]
    assert (task["state"], task["attempts"]) == ("SUCCEEDED", 3)
    assert [c["exit_code"] for c in server.containers(name)] == [9, 9, 0]
    assert "no" in server.containers(name)[0]["diagnostics"]

    name = server.run("exit 7", max_attempts=2)
    failed = server.finished(name)
    assert failed["state"] == "FAILED"
    assert "exit code 7" in failed["diagnostics"]


def test_killing_an_application_ends_its_processes(serve):
    server = serve()
    name = server.run("echo $$; exec sleep 600")
    container = server.running(name)
    pid = int(server.until(lambda: server.log(container["id"])))
    assert server.post(f"/applications/{name}/kill").json()["state"] == "KILLED"
    wait_until_gone(pid)


def test_a_stopped_container_is_a_failure_and_its_task_runs_again(serve):
    server = serve()
    name = server.run('test "$FAIRSHARE_TASK_ATTEMPT" = 2 || exec sleep 600')
    container = server.running(name)
    assert server.post(f"/containers/{container['id']}/stop").status_code == 202
    assert server.finished(name)["state"] == "FINISHED"
    assert [c["exit_code"] for c in server.containers(name)] == [143, 0]


def test_a_driver_asks_for_containers_with_its_token_and_others_cannot(serve, tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    server = serve()
    name = server.submit(
        queue="a",
        driver={"arguments": [sys.executable, str(script)]},
        master={"resources": {"memory-mb": 128, "vcores": 1}},
    )
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        answer = server.post(f"/applications/{name}/finish", json={}, headers=headers)
        assert answer.status_code in (401, 403)
    done = server.finished(name)
    assert (done["state"], done["diagnostics"]) == ("FINISHED", "codes [0, 0]")
    assert [c["master"] for c in server.containers(name)] == [True, False, False]
    workers = [c["id"] for c in server.containers(name) if not c["master"]]
    assert [server.log(worker) for worker in workers] == [f"from {w}\n" for w in workers]


LOST_DRIVER = """
import pathlib, sys
from fairshare.client import ContainerRequest, Driver

def workers(driver):
    return [one for one in driver.containers() if not one.master]

def until(driver, condition):
    while not condition():
        driver.connection.get("/changes?timeout=1")

with Driver() as driver:
    driver.register()
    if not workers(driver):
        driver.request(ContainerRequest(count=1, resources={"memory-mb": 64, "vcores": 1}))
        until(driver, lambda: workers(driver))
        (worker,) = workers(driver)
        driver.launch(worker.id, "/bin/sh", "-c", f"read line < {sys.argv[1]}/go; echo $line")
        until(driver, lambda: workers(driver)[0].state == "RUNNING")
        sys.exit(3)
    (worker,) = workers(driver)
    pathlib.Path(sys.argv[1], "go").write_text("on\\n")
    until(driver, lambda: workers(driver)[0].over)
    driver.finish(diagnostics=f"{worker.state}, then code {workers(driver)[0].exit_code}")
"""


def test_a_container_that_is_kept_runs_on_when_its_driver_is_lost(serve, tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(LOST_DRIVER)
    os.mkfifo(tmp_path / "go")
    server = serve()
    name = server.submit(
        queue="a",
        driver={"arguments": [sys.executable, str(script), str(tmp_path)]},
        master={"resources": {"memory-mb": 128, "vcores": 1}, "keep_containers": True},
    )
    done = server.finished(name)
    assert (done["state"], done["diagnostics"]) == ("FINISHED", "RUNNING, then code 0")
    assert sum(one["master"] for one in server.containers(name)) == 2
    (worker,) = (one["id"] for one in server.containers(name) if not one["master"])
    assert server.log(worker) == "on\n"


def test_the_refusal_of_a_second_server_on_the_same_state_names_the_first(serve, conf):
    server = serve()
    second = refused(conf, server.state, "--port", "0")
    assert second.returncode == 1
    assert f"in use by process {server.process.pid} at {server.url}" in second.stderr
    assert "Traceback" not in second.stderr


def test_the_error_of_a_port_in_use_has_a_remedy(conf, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        refusal = refused(conf, tmp_path / "state", "--port", str(port))
    assert refusal.returncode == 1
    assert f"port {port}" in refusal.stderr
    assert "--port" in refusal.stderr
    assert "Traceback" not in refusal.stderr


def test_an_address_of_the_network_is_refused(conf, tmp_path):
    refusal = refused(conf, tmp_path / "state", "--host", "0.0.0.0")
    assert refusal.returncode == 2
    assert "users need no proof of who they are" in refusal.stderr
    assert not (tmp_path / "state").exists()


def test_all_problems_of_a_configuration_are_reported_with_their_lines(conf, tmp_path):
    (conf / "fair-scheduler.xml").write_text(
        '<allocations>\n<queue name="a">\n<weight>-1</weight>\n</queue>\n'
        '<queue name="b">\n<maxRunningApps>many</maxRunningApps>\n</queue>\n</allocations>\n'
    )
    refusal = refused(conf, tmp_path / "state")
    assert refusal.returncode == 2
    assert "fair-scheduler.xml:3" in refusal.stderr
    assert "fair-scheduler.xml:6" in refusal.stderr
    assert "Traceback" not in refusal.stderr


def test_the_state_of_another_scheduler_is_refused(serve, conf):
    server = serve()
    assert server.end()[0] == 0
    refusal = refused(conf, server.state, "--port", "0", "--scheduler", "fifo")
    assert refusal.returncode == 2
    assert "belongs to the fair scheduler" in refusal.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_and_what_runs(serve, number):
    server = serve()
    name = server.run("echo $$; exec sleep 600")
    container = server.running(name)
    pid = int(server.until(lambda: server.log(container["id"])))
    code, errors = server.end(number)
    warned = [line for line in errors.splitlines() if "CPU is not divided by vcores" not in line]
    assert (code, warned) == (0, [])
    wait_until_gone(pid)
    assert not server.state.joinpath("url").exists()

    again = serve()
    again.until(lambda: len(again.containers(name)) == 2)
    assert again.containers(name)[0]["exit_code"] == -100
    assert again.application(name)["progress"]["failed"] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_restart_keeps_what_runs(serve, tmp_path, number):
    server = serve("--keep-containers")  # as without an option
    go = tmp_path / "go"
    name = server.run(f"echo started; until [ -e {go} ]; do sleep 0.05; done; echo done")
    server.until(lambda: server.log(server.running(name)["id"]))
    server.process.send_signal(number)
    reported, _ = server.process.communicate(timeout=PATIENCE_S)
    server.http.close()
    assert reported.startswith("1 application with 1 container keeps running.\n")
    go.touch()
    again = serve()
    assert again.url == server.url
    assert again.finished(name)["state"] == "FINISHED"
    (container,) = again.containers(name)
    assert again.log(container["id"]) == "started\ndone\n"


def test_a_container_survives_a_killed_server_and_the_next_one_settles_it(serve, tmp_path):
    go = tmp_path / "go"
    server = serve()
    name = server.run(f"echo $$; while test ! -e {go}; do sleep 0.05; done; exit 5", max_attempts=1)
    container = server.running(name)
    pid = int(server.until(lambda: server.log(container["id"])))
    server.end(signal.SIGKILL)
    os.kill(pid, 0)  # it lives on

    files = ContainerDirectory(server.state / "containers" / name / container["id"])
    assert not files.exit.exists()
    go.touch()
    wait_until_gone(pid)
    deadline_s = time.monotonic() + PATIENCE_S
    while (outcome := read_exit(files)) is None:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    assert outcome.exit_code == 5

    again = serve()
    failed = again.finished(name)
    assert failed["state"] == "FAILED"
    (settled,) = again.containers(name)
    assert (settled["id"], settled["exit_code"]) == (container["id"], 5)
    following = again.run("true")
    assert again.finished(following)["state"] == "FINISHED"
    assert following != name
    numbers = [parse_container(c["id"]) for c in again.containers(following)]
    assert numbers != [parse_container(container["id"])]


def test_what_still_runs_after_a_killed_server_is_taken_over(serve):
    server = serve()
    name = server.run("echo $$; exec sleep 600")
    container = server.running(name)
    pid = int(server.until(lambda: server.log(container["id"])))
    server.end(signal.SIGKILL)

    again = serve()
    assert again.running(name)["id"] == container["id"]
    assert again.get("/cluster").json()["used"] == SMALL
    assert again.post(f"/applications/{name}/kill").status_code == 200
    wait_until_gone(pid)


def wait_until_gone(pid: int) -> None:
    """Wait until a process is no more; a zombie is none."""
    deadline_s = time.monotonic() + PATIENCE_S
    stat = Path(f"/proc/{pid}/stat")
    while stat.exists():
        with contextlib.suppress(OSError, IndexError):
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return
        assert time.monotonic() < deadline_s, f"{pid} lives on"
        time.sleep(0.01)


def test_a_server_in_the_background_listens_when_the_command_is_over(conf, tmp_path, monkeypatch):
    state = tmp_path / "state"
    (tmp_path / "queue.py").write_text("raise SystemExit('imported from where somebody stands')")
    monkeypatch.chdir(tmp_path)
    installed = str(Path(sys.executable).with_name("fairshare"))
    started = subprocess.run(
        [
            *(installed, "serve", "--conf", conf, "--state", state),
            *("--background", "--port", "0", "--vcores", "4"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert started.returncode == 0, started.stderr
    url = started.stdout.split()[2]
    # Its state directory is one where `fairshare shutdown` alone would not look.
    assert f"`fairshare shutdown --url {url}` ends it" in started.stdout
    answer = httpx.get(f"{url}/api/v1/nodes", trust_env=False)
    assert answer.json()["nodes"][0]["total"]["vcores"] == 4
    httpx.post(f"{url}/api/v1/shutdown", json={"stop_containers": True}, trust_env=False)
    number = int(re.search(r"process (\d+)", started.stdout)[1])
    deadline_s = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{number}").exists():  # no child of ours: nothing tells of its end
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def test_a_server_that_cannot_start_in_the_background_says_why(conf, tmp_path):
    (conf / "fair-scheduler.xml").write_text("<allocations><queue/></allocations>")
    done = refused(conf, tmp_path / "state", "--background")
    assert done.returncode == 2
    assert "fair-scheduler.xml:1" in done.stderr
    assert "listening" not in done.stdout
