"""`fairshare shell` and `attach`: terminals in containers, their ends, and who may use them."""

import contextlib
import os
import signal

import pytest
from tests.forked import fairshare

from .screens import Screen
from .test_server import ALLOCATIONS, YARN_SITE, Server

PATIENCE_S = 60
IDLE_S, DETACHED_S = 3, 2


def served(folder, limits=""):
    conf = folder / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(YARN_SITE)
    (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
    (conf / "fairshare.toml").write_text(f"[engine]\n{limits}")
    server = Server(conf, folder / "state", "--port", "0")
    yield server
    with contextlib.suppress(Exception):
        server.post("/shutdown", json={"stop_containers": True})
    server.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose shells have all the time that a busy machine needs."""
    yield from served(tmp_path_factory.mktemp("shells"))


@pytest.fixture(scope="module")
def timed_out(tmp_path_factory):
    """A server that ends shells soon."""
    limits = (
        f"interactive_detached_s = {DETACHED_S}\n"
        f"interactive_idle_by_queue_s = {{ root = {IDLE_S} }}\n"
    )
    yield from served(tmp_path_factory.mktemp("timed_out"), limits)


@pytest.fixture
def screen(server, tmp_path):
    opened = []

    def call(*arguments, **environment):
        environment = {"FAIRSHARE_URL": server.url, "SHELL": "/bin/sh", **environment}
        opened.append(Screen(arguments, environment, tmp_path))
        return opened[-1]

    yield call
    for one in opened:
        one.close()


@pytest.fixture
def shell(screen):
    """Opens a shell; returns its screen once it answers."""

    def call(*options, **environment):
        window = screen("shell", "--queue", "a", "--memory", "64m", *options, **environment)
        window.type("echo re''ady\r")
        window.until("ready\r\n")
        return window

    return call


def newest(server):
    return server.get("/applications?limit=1").json()["applications"][0]


def test_a_shell_has_the_window_the_directory_and_a_share_and_ends_at_exit(shell, server, tmp_path):
    window = shell("--", "bash", "--norc")
    application = newest(server)
    assert application["queue"] == "root.a"
    window.type("pwd; echo $FAIRSHARE_MEMORY_MB; stty size\r")
    window.until(f"{tmp_path}\r\n64\r\n30 100\r\n")
    window.resize(25, 70)
    window.process.send_signal(signal.SIGWINCH)
    window.type("until [ \"$(stty size)\" = '25 70' ]; do sleep 0.05; done; echo si''ze\r")
    window.until("size\r\n")
    window.type("sh -c 'echo wo''rks; exec sleep 100'\r")
    window.until("works\r\n")
    window.type("\x1a")
    window.until("Stopped")
    window.type("kill -9 %1; wait %1; sh -c 'echo wo''rks; exec sleep 100'\r")
    window.until("works\r\n")
    window.type("\x03")
    window.type("exit 6\r")
    assert window.exit_code() == 6
    ended = server.finished(application["id"])
    assert ended["state"] == "FAILED"
    assert server.containers(application["id"])[0]["exit_code"] == 6


def test_a_killed_shell_is_warned(shell, server):
    window = shell()
    application = newest(server)["id"]
    server.post(f"/applications/{application}/kill", json={})
    window.until("fairshare: this is asked to end, as it was killed or preempted; ")
    assert window.exit_code() == 129


def test_a_lost_terminal_can_be_attached_again_and_shows_what_was_there(shell, screen, server):
    window = shell()
    application = newest(server)["id"]
    window.type("KEPT=kept; echo pic''ture\r")
    window.until("picture\r\n")
    window.process.kill()
    again = screen("attach", application)
    again.until("picture\r\n")
    again.type("echo still $KEPT\r")
    again.until("still kept\r\n")
    third = screen("attach", application)
    again.until("another terminal is attached now")
    assert again.exit_code() == 1
    third.until("still kept\r\n")
    third.type("exit\r")
    assert third.exit_code() == 0
    assert server.finished(application)["state"] == "FINISHED"


def test_a_lost_terminal_ends_after_a_while(shell, timed_out):
    window = shell(FAIRSHARE_URL=timed_out.url)
    application = newest(timed_out)["id"]
    window.process.kill()
    assert timed_out.finished(application)["state"] == "FAILED"
    words = timed_out.containers(application)[0]["diagnostics"]
    assert f"no terminal was attached for {DETACHED_S} s" in words


def test_an_idle_shell_is_warned_and_ends(shell, timed_out):
    window = shell(FAIRSHARE_URL=timed_out.url)
    application = newest(timed_out)["id"]
    window.until("fairshare: idle: this ends in ")
    window.until("this was idle for too long")
    assert window.exit_code() == 129
    timed_out.finished(application)
    words = timed_out.containers(application)[0]["diagnostics"]
    assert f"nothing was typed, printed or computed for {IDLE_S} s" in words


def test_a_shell_that_computes_is_not_idle(shell, timed_out):
    window = shell(FAIRSHARE_URL=timed_out.url)
    window.type(f"timeout {IDLE_S + 1.5} sh -c 'while :; do :; done'; echo do''ne\r")
    window.until("done\r\n")
    window.type("exit\r")
    assert window.exit_code() == 0


def test_another_user_cannot_attach(shell, screen, server):
    window = shell()
    application = newest(server)["id"]
    other = screen("attach", application, FAIRSHARE_USER="bob")
    other.until("only its owner and administrators of the cluster may enter its containers")
    assert other.exit_code() == 1
    window.type("exit\r")
    assert window.exit_code() == 0


def test_attach_follows_the_output_of_any_other_application(server):
    body = {"queue": "a", "tasks": [{"name": "work", "command": "echo out; sleep 0.3; exit 3"}]}
    body["tasks"][0] |= {"resources": {"memory-mb": 64, "vcores": 1}, "max_attempts": 1}
    name = server.post("/applications", json=body).json()["id"]
    done = fairshare("attach", name, env={**os.environ, "FAIRSHARE_URL": server.url})
    assert (done.returncode, done.stdout) == (3, "out\n")


def test_without_a_terminal_there_is_no_shell(server):
    environment = {**os.environ, "FAIRSHARE_URL": server.url}
    done = fairshare("shell", "--queue", "a", env=environment)
    assert done.returncode == 1
    assert "use fairshare run" in done.stderr


def test_what_a_terminal_excludes_is_refused(server):
    body = {"queue": "a", "tasks": [{"arguments": ["sh"], "terminal": True, "output": "/tmp/x"}]}
    refused = server.post("/applications", json=body)
    assert refused.status_code == 400
    assert "tasks[0].terminal: it cannot be combined with output" in refused.json()["message"]
