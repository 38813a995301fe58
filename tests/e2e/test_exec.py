"""`fairshare exec`: commands in running containers, with pipes and with a terminal."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.served import until

from .screens import Screen
from .test_surroundings import server as server
from .test_surroundings import shell as shell

PATIENCE_S = 60


@pytest.fixture(scope="module")
def application(server):
    """One with two tasks that wait."""
    body = {
        "queue": "a",
        "tasks": [
            {
                "name": "wait",
                "count": 2,
                "arguments": ["sleep", "300"],
                "resources": {"memory-mb": 128, "vcores": 1},
                "environment": {"COLOUR": "red"},
            }
        ],
    }
    name = server.post("/applications", json=body).json()["id"]
    server.until(lambda: len(running(server, name)) == 2)
    return name


def running(server, name):
    return [one for one in server.containers(name) if one["state"] == "RUNNING"]


@pytest.fixture
def screen(server):
    opened = []

    def call(*arguments, **environment):
        opened.append(Screen(arguments, {"FAIRSHARE_URL": server.url, **environment}))
        return opened[-1]

    yield call
    for one in opened:
        one.close()


def processes_of(container):
    """The pids of the processes with the environment of a container."""
    wanted = f"FAIRSHARE_CONTAINER={container}".encode()
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.add(int(process.name))
    return found


def test_a_command_runs_as_the_container_does(shell, application, server):
    script = 'echo "$COLOUR $FAIRSHARE_TASK_INDEX"; pwd; cat; echo wrong >&2; exit 7'
    done = shell("exec", f"{application}/1", "--", "sh", "-c", script, stdin=subprocess.DEVNULL)
    assert done.returncode == 7
    colour, directory = done.stdout.splitlines()
    assert colour == "red 1"
    assert directory.startswith(f"{server.state}/containers/{application}/")
    assert done.stderr == "wrong\n"


def test_a_command_inherits_no_descriptor_of_its_session(shell, application):
    """Over its connection it could say that it ended otherwise."""
    script = "import os; print(*os.listdir('/proc/self/fd'))"
    words = (f"{application}/0", "--", sys.executable, "-c", script)
    done = shell("exec", *words, stdin=subprocess.DEVNULL)
    # Three streams, and the directory that is being listed.
    assert sorted(map(int, done.stdout.split())) == [0, 1, 2, 3]


def test_the_limits_of_the_container_hold_for_it(shell, application):
    groups = shell("exec", f"{application}/0", "cat", "/proc/self/cgroup").stdout
    container = shell("exec", f"{application}/0", "printenv", "FAIRSHARE_CONTAINER").stdout.strip()
    limits = shell("nodes", "--json").stdout
    if '"memory-limit":"cgroup' in limits.replace(" ", ""):
        assert container in groups
    else:
        hungry = "a = bytearray(200 << 20)\nimport time\ntime.sleep(60)"
        done = shell("exec", f"{application}/0", "--", sys.executable, "-c", hungry)
        assert done.returncode == 137
        assert "with it the container uses more than 128 MB" in done.stderr


def test_much_input_comes_back_unchanged(server, application, tmp_path):
    data = os.urandom(3_000_000)
    done = subprocess.run(
        [sys.executable, "-m", "fairshare", "exec", f"{application}/0", "cat"],
        input=data,
        capture_output=True,
        env={**os.environ, "FAIRSHARE_URL": server.url},
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == data


def test_a_terminal_has_job_control_and_the_size_of_the_window(screen, application):
    window = screen("exec", f"{application}/0", "--", "bash", "--norc", "-i")
    window.until("# " if os.geteuid() == 0 else "$ ")
    window.type("stty size; echo $TERM; tty\r")
    window.until("30 100\r\nvt100\r\n/dev/pts/")
    window.resize(40, 120)
    window.process.send_signal(signal.SIGWINCH)
    window.type("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo si''ze\r")
    window.until("\rsize\r\n")
    window.type("sh -c 'echo wo''rks; exec sleep 100'\r")
    window.until("works\r\n")
    window.type("\x1a")
    window.until("Stopped")
    window.type("jobs; kill -9 %1; exec sh -c 'exit 5'\r")
    assert window.exit_code() == 5


def test_ctrl_c_goes_to_the_command_on_a_terminal(screen, application):
    window = screen("exec", f"{application}/0", "sh", "-c", "echo ready; exec sleep 100")
    window.until("ready")
    window.type("\x03")
    assert window.exit_code() == 130


def test_what_runs_there_ends_with_the_connection(server, shell, application):
    container = shell("exec", f"{application}/0", "printenv", "FAIRSHARE_CONTAINER").stdout.strip()
    before = processes_of(container)
    script = "trap '' HUP TERM; echo started; while :; do sleep 1; done"
    process = subprocess.Popen(
        [sys.executable, "-m", "fairshare", "exec", f"{application}/0", "--", "sh", "-c", script],
        stdout=subprocess.PIPE,
        env={**os.environ, "FAIRSHARE_URL": server.url},
    )
    assert process.stdout.readline() == b"started\n"
    assert processes_of(container) - before
    process.kill()
    process.wait(PATIENCE_S)
    process.stdout.close()
    until(lambda: processes_of(container) <= before)


def test_it_ends_with_the_container(server, shell, application):
    name = shell("submit", "--queue", "a", "--memory", "64m", "sleep", "300").stdout.strip()
    server.until(lambda: running(server, name))
    process = subprocess.Popen(
        [sys.executable, "-m", "fairshare", "exec", name, "--", "sh", "-c", "echo on; sleep 300"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "FAIRSHARE_URL": server.url},
    )
    assert process.stdout.readline() == b"on\n"
    shell("kill", name)
    _, words = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 129
    assert b"the container has ended" in words


def test_mistakes_are_named(shell, application):
    def refused(*arguments, **variables):
        done = shell("exec", *arguments, **variables)
        assert done.returncode not in (0, None)
        return done.returncode, done.stderr

    assert refused(application, "true")[1].count("name one, such as") == 1
    assert "nothing runs in" in refused(f"{application}/7", "true")[1]
    assert refused(f"{application}/0", "no-such-program") == (
        127,
        "fairshare: cannot run 'no-such-program': no such command in " + os.environ["PATH"] + "\n",
    )
    assert refused(f"{application}/0", "/etc")[0] == 126
    assert (
        "only its owner and administrators"
        in refused(f"{application}/0", "true", FAIRSHARE_USER="bob")[1]
    )


def test_a_plain_request_learns_what_this_path_speaks(server, application):
    container = running(server, application)[0]["id"]
    refused = server.get(f"/containers/{container}/exec?user={os.environ.get('USER', 'root')}")
    assert refused.status_code in (403, 426)
    assert refused.json()["code"] in ("upgrade-required", "access-denied")
