"""A user who opens as many sessions as there can be, and commands of notices that leave processes
behind: both are bounded, and use up only what the user's own containers have."""

import contextlib
import os
import sys
import time
from pathlib import Path

import pytest
from tests.e2e.test_server import ALLOCATIONS, YARN_SITE, Server
from tests.served import until

from fairshare.client.discovery import Server as Address
from fairshare.client.errors import Refused
from fairshare.client.sessions import last_word, open_session

PATIENCE_S = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    conf = tmp_path_factory.mktemp("sessions") / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(YARN_SITE)
    (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
    (conf / "fairshare.toml").write_text(
        "[limits]\nsessions_per_container = 3\nsessions_per_user = 5\n"
    )
    server = Server(conf, conf.parent / "state", "--port", "0")
    yield server
    with contextlib.suppress(Exception):
        server.post("/shutdown", json={"stop_containers": True})
    server.wait()


@pytest.fixture
def containers(server):
    """The identifiers of two running containers, one of each of two applications."""
    tasks = [{"arguments": ["sleep", "300"], "resources": {"memory-mb": 256, "vcores": 1}}]
    names = [server.submit(queue="a", tasks=tasks) for _ in range(2)]

    def running():
        return [
            one["id"]
            for name in names
            for one in server.containers(name)
            if one["state"] == "RUNNING"
        ]

    server.until(lambda: len(running()) == 2)
    yield running()
    for name in names:
        server.post(f"/applications/{name}/kill", json={})


def opened(server, container, arguments=("sleep", "300")):
    session = open_session(Address(server.url, None), container, "exec")
    session.say(arguments=list(arguments))
    return session


def holders():
    """The control groups of each process that holds a session, by its pid."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "comm").read_text() == "fs-session\n":
                found[process.name] = (process / "cgroup").read_text()
    return found


def test_sessions_of_a_container_and_of_a_user_are_bounded(server, containers):
    first, second = containers
    with contextlib.ExitStack() as sessions:
        for _ in range(3):
            sessions.enter_context(opened(server, first))
        with pytest.raises(Refused, match="this container has 3 sessions") as refused:
            opened(server, first)
        assert refused.value.code == "too-many-sessions"
        for _ in range(2):
            sessions.enter_context(opened(server, second))
        with pytest.raises(Refused, match="you have 5 sessions"):
            opened(server, second)

    def opens_again():
        with contextlib.suppress(Refused):
            opened(server, first).close()
            return True
        return False

    until(opens_again)


def test_what_holds_a_session_is_in_the_groups_of_its_container(server, containers):
    if (
        not server.get("/nodes")
        .json()["nodes"][0]["attributes"]["memory-limit"]
        .startswith("cgroup")
    ):
        pytest.skip("this machine lets no server make control groups")
    container = containers[0]
    with opened(server, container):
        until(lambda: any(container in groups for groups in holders().values()))


def test_a_command_of_a_notice_leaves_no_process_and_no_group(server, tmp_path):
    pid, groups = tmp_path / "pid", tmp_path / "groups"
    script = f"cat /proc/self/cgroup > {groups}; setsid sh -c 'echo $$ > {pid}; exec sleep 300' &"
    line = f"cmd:{script} while [ ! -s {pid} ]; do sleep 0.01; done"
    task = {"arguments": ["true"], "resources": {"memory-mb": 64, "vcores": 1}}
    name = server.submit(queue="a", tasks=[task], notify=[line])

    def sent():
        notices = server.application(name)["notices"]
        return notices and notices[0]["state"] == "sent"

    until(sent)
    process = Path(f"/proc/{int(pid.read_text())}")
    until(lambda: not process.exists())
    if server.get("/nodes").json()["nodes"][0]["attributes"]["memory-limit"].startswith("cgroup"):
        assert "/aside-" in groups.read_text()
        left = [folder for folder, names, _ in os.walk("/sys/fs/cgroup") if "aside-" in folder]
        until(lambda: not any(map(os.path.exists, left)))


def test_commands_of_notices_that_leave_processes_hold_no_file_and_no_thread(server, tmp_path):
    def held():
        own = Path(f"/proc/{server.process.pid}")
        return len(list((own / "fd").iterdir())), len(list((own / "task").iterdir()))

    task = {"arguments": ["true"], "resources": {"memory-mb": 64, "vcores": 1}}
    lines = [f"cmd:setsid sleep 300 & : {number}" for number in range(4)]

    def run():
        name = server.submit(queue="a", tasks=[task], notify=lines)
        until(lambda: len(server.application(name)["notices"]) == 4)
        until(lambda: {one["state"] for one in server.application(name)["notices"]} == {"sent"})

    run()
    before = held()
    for _ in range(3):
        run()
    until(lambda: all(now <= then + 3 for now, then in zip(held(), before, strict=True)))


LIAR = """
import os, socket
for descriptor in range(3, 64):
    try:
        session = socket.socket(fileno=os.dup(descriptor))
        session.send(b"\\x81\\x0b" + b'{"exit": 0}')
        print("sent on", descriptor)
    except OSError:
        pass
os._exit(7)
"""


def test_a_command_cannot_say_over_its_session_how_it_ended(server, containers):
    session = opened(server, containers[0], (sys.executable, "-c", LIAR))
    shown, code = b"", None
    end = time.monotonic() + PATIENCE_S
    while code is None and not session.lost:
        assert time.monotonic() < end
        session.wait({}, 1.0)
        for message in session.receive():
            shown += message.data or b""
            code = (last_word(message) or {}).get("exit", code)
    session.close()
    assert code == 7
    assert b"sent" not in shown
