"""A real server with the Capacity Scheduler and real containers, spoken to by the Python client."""

import os
import re
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.served import PATIENCE_S, Served

from fairshare.client import Client, Submission, TaskGroup
from fairshare.engines.local.state import StateDirectory

PACKAGE = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity"
MONITOR = "yarn.resourcemanager.monitor.capacity.preemption"
QUEUE = "yarn.scheduler.capacity.root"


def document(**properties: object) -> str:
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    return f"<configuration>{rows}</configuration>"


YARN_SITE = document(
    **{
        "yarn.resourcemanager.scheduler.class": f"{PACKAGE}.CapacityScheduler",
        "yarn.scheduler.minimum-allocation-mb": 16,
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        f"{MONITOR}.monitoring_interval": 200,
        f"{MONITOR}.max_wait_before_kill": 400,
        f"{MONITOR}.total_preemption_per_round": 1.0,
        f"{MONITOR}.natural_termination_factor": 1.0,
    }
)
CAPACITY = document(
    **{
        f"{QUEUE}.queues": "a,b",
        f"{QUEUE}.a.capacity": 50,
        f"{QUEUE}.b.capacity": 50,
        f"{QUEUE}.a.user-limit-factor": 3,
        f"{QUEUE}.a.minimum-user-limit-percent": 25,
        f"{QUEUE}.a.user-settings.ann.weight": 2,
        f"{QUEUE}.b.maximum-application-lifetime": 3600,
        "yarn.scheduler.capacity.maximum-am-resource-percent": 1.0,
        "yarn.scheduler.capacity.resource-calculator": (
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
        ),
    }
)
ENDLESS = "while :; do sleep 60; done"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    directory = tmp_path / "conf"
    directory.mkdir()
    (directory / "yarn-site.xml").write_text(YARN_SITE)
    (directory / "capacity-scheduler.xml").write_text(CAPACITY)
    (directory / "fairshare.toml").write_text("[engine]\nlog_limit_mb = 1\n")
    return directory


@pytest.fixture
def server(conf: Path, tmp_path: Path) -> Iterator[Served]:
    """A server with 1024 MB and 16 vcores; nothing is left of it."""
    started = Served(conf, "--memory-mb", "1024", "--vcores", "16", state=tmp_path / "state")
    yield started
    started.end()


@pytest.fixture
def client(server: Served) -> Iterator[Client]:
    """A client of a server of its own."""
    with Client(server.url) as opened:
        yield opened


def group(command: str, count: int = 1, memory_mb: int = 64, vcores: int = 1, **more) -> TaskGroup:
    resources = {"memory-mb": memory_mb, "vcores": vcores}
    return TaskGroup(name="t", count=count, resources=resources, command=command, **more)


def until(client: Client, condition):
    """What a condition gives as soon as it holds."""
    deadline_s = time.monotonic() + PATIENCE_S
    version = 0
    while not (found := condition()):
        assert time.monotonic() < deadline_s, "it never came true"
        version = client.changes(version, 2)
    return found


def used_mb(client: Client, application: str) -> int:
    return client.application(application).used["memory-mb"]


def test_a_container_that_exceeds_its_memory_is_killed_and_says_so(client):
    hog = f"""exec {sys.executable} -c "b'x' * 400_000_000; input()" """
    submission = Submission(queue="a", tasks=(group(hog, max_attempts=1),))
    application = client.wait(client.submit(submission), PATIENCE_S)
    assert application.state == "FAILED"
    assert re.search(r"killed: used \d+ MB, limit 64 MB", application.diagnostics)
    (container,) = client.containers(application.id)
    assert container.exit_code == -104


BURNER = """
    import os, pathlib, time
    os.sched_setaffinity(0, [{processor}])
    pathlib.Path({ready!r}).touch()
    go = pathlib.Path({go!r})
    while not go.exists(): time.sleep(0.01)
    begin = float(go.read_text())
    while time.monotonic() < begin: pass
    used = time.process_time()
    while time.monotonic() < begin + 3: pass
    print(time.process_time() - used, flush=True)
"""


def test_two_burners_on_one_core_get_time_by_their_vcores(client, tmp_path):
    (node,) = client.nodes()
    if not node.attributes["cpu-limit"].startswith("cgroup"):
        pytest.skip(f"no CPU cgroup here: {node.attributes}")
    go = tmp_path / "go"
    submitted = []
    for queue, vcores in (("a", 1), ("b", 3)):
        program, ready = tmp_path / f"{queue}.py", tmp_path / f"{queue}-ready"
        processor = min(os.sched_getaffinity(0))
        text = BURNER.format(processor=processor, ready=str(ready), go=str(go))
        program.write_text(textwrap.dedent(text))
        task = group(f"exec {sys.executable} -I -S {program}", vcores=vcores, max_attempts=1)
        submitted.append(client.submit(Submission(queue=queue, tasks=(task,))))
    deadline_s = time.monotonic() + PATIENCE_S
    while len(list(tmp_path.glob("*-ready"))) < 2:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)  # no event of the server tells it
    (tmp_path / "new").write_text(str(time.monotonic() + 0.1))
    (tmp_path / "new").rename(go)
    used = []
    for application in submitted:
        assert client.wait(application, PATIENCE_S).state == "FINISHED"
        (container,) = client.containers(application)
        used.append(float(client.log(container.id)))
    assert 2.0 < used[1] / used[0] < 4.5, used


def test_a_starved_queue_gets_its_share_back_by_preemption(client):
    """a has everything; b's half is taken back, and what was killed waits again."""
    greedy = client.submit(Submission(queue="a", user="ann", tasks=(group(ENDLESS, 16),)))
    until(client, lambda: used_mb(client, greedy) == 1024)
    starved = client.submit(Submission(queue="b", user="eve", tasks=(group(ENDLESS, 16),)))
    until(client, lambda: used_mb(client, starved) >= 448)  # within the dead zone of a tenth
    victim = client.application(greedy)
    assert victim.state == "RUNNING"
    assert victim.preempted >= 7
    preempted = [one for one in client.containers(greedy) if one.exit_code == -102]
    assert preempted
    assert "preempted" in preempted[0].diagnostics


def test_a_user_of_weight_two_gets_twice_as_much_as_one_of_weight_one(client):
    """Each may have one container more than his part: 4 : 8 of 12 may be 5 : 7, never 6 : 6."""
    client.submit(Submission(queue="b", user="eve", tasks=(group(ENDLESS, 4),)))
    # Long enough that slow commits leave little room unused, of which each would get as much.
    tasks = (group("sleep 1", 200),)
    names = {
        user: client.submit(Submission(queue="a", user=user, tasks=tasks))
        for user in ("bob", "ann")
    }

    def ended() -> dict[str, int]:
        return {user: client.application(name).progress.succeeded for user, name in names.items()}

    until(client, lambda: ended()["ann"] > 8)
    before = ended()
    until(client, lambda: ended()["ann"] >= before["ann"] + 40)
    had = {user: count - before[user] for user, count in ended().items()}
    assert 1.2 < had["ann"] / had["bob"] < 3.0, had


def test_an_application_is_killed_when_its_lifetime_is_over(client):
    submission = Submission(queue="b", tasks=(group(ENDLESS),), lifetime_s=1)
    application = client.wait(client.submit(submission), PATIENCE_S)
    assert application.state == "KILLED"
    assert "its lifetime (LIFETIME) of 1 s is over" in application.diagnostics


def test_what_a_container_prints_is_limited_to_its_beginning_and_its_end(client):
    count = "exec seq 1 2000000"  # nearly 15 MB
    application = client.wait(
        client.submit(Submission(queue="a", tasks=(group(count),))), PATIENCE_S
    )
    assert application.state == "FINISHED"
    (container,) = client.containers(application.id)
    assert re.search(r"stdout: [\d,]+ bytes in the middle were left out", container.diagnostics)
    log = client.log(container.id)
    assert b"\0" not in log
    assert len(log) < 1.2 * 2**20
    assert log.startswith(b"1\n2\n3\n")
    assert log.endswith(b"1999999\n2000000\n")
    assert b"bytes were left out: the server limits logs ...]" in log
    assert b"".join(client.follow_log(container.id)) == log


def test_a_killed_server_leaves_no_empty_control_groups(client, server):
    name = StateDirectory(server.state).group_name

    def groups() -> list[Path]:
        return [place for place in GROUPS if (place / name).exists()]

    if not groups():
        pytest.skip("no control groups here")
    go = server.state.parent / "go"
    begun = go.with_name("begun")
    line = f"touch {begun}-$FAIRSHARE_TASK_INDEX; while [ ! -e {go} ]; do sleep 0.05; done"
    client.submit(Submission(queue="a", tasks=(group(line, 2),)))
    # A container that does not run yet has a group without processes, which goes with the server.
    until(client, lambda: len(list(go.parent.glob("begun-*"))) == 2)
    server.kill()
    assert groups()
    go.touch()
    deadline_s = time.monotonic() + PATIENCE_S
    while groups():
        assert time.monotonic() < deadline_s, groups()
        time.sleep(0.05)  # nobody is left who could tell


GROUPS = [Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*/")]
