"""An evening's work with arrays: many lines, some fail, only those run again."""

import contextlib
import os

import pytest
from tests.forked import fairshare

from .test_server import ALLOCATIONS, YARN_SITE, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    conf = folder / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(YARN_SITE)
    (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
    server = Server(conf, folder / "state", "--port", "0")
    yield server
    with contextlib.suppress(Exception):
        server.post("/shutdown", json={"stop_containers": True})
    server.wait()


@pytest.fixture
def shell(server, tmp_path):
    """Calls `fairshare` as a shell in `tmp_path` does."""

    def call(*arguments, stdin=""):
        environment = {**os.environ, "FAIRSHARE_URL": server.url}
        return fairshare(*arguments, cwd=tmp_path, env=environment, input=stdin, timeout=120)

    return call


def test_an_array_of_200_lines_with_three_failures_is_resubmitted(shell, tmp_path):
    (tmp_path / "good").mkdir()
    lines = [f"line {number}" for number in range(1, 201)]
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n")
    for number in (17, 40, 181):
        (tmp_path / f"bad line {number}").touch()
    work = 'test ! -e "bad $1" && echo "$FAIRSHARE_TASK_COUNT" > "good/$FAIRSHARE_TASK_INDEX $1"'
    options = ("--queue", "a", "--memory", "64m", "--max-attempts", "1")
    array = ("--array", "lines.txt%20", "--wait")
    done = shell("submit", *options, *array, "--", "sh", "-c", work, "work", "{}")
    assert done.returncode == 1
    assert "3 of 200 tasks of group task failed: 17,40,181." in done.stderr
    application = done.stdout.strip()
    assert len(list((tmp_path / "good").iterdir())) == 197

    for bad in tmp_path.glob("bad *"):
        bad.unlink()
    again = shell("resubmit", application, "--failed", "--wait")
    assert again.returncode == 0, again.stderr
    good = {path.name: path.read_text() for path in (tmp_path / "good").iterdir()}
    assert set(good) == {f"{number} line {number}" for number in range(1, 201)}
    assert set(good.values()) == {"200\n"}
    nothing = shell("resubmit", again.stdout.strip(), "--failed")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert "all of its tasks succeeded" in nothing.stderr


def test_lines_of_stdin_are_words_of_the_shell(shell, tmp_path, server):
    options = ("--queue", "a", "--memory", "64m", "--wait", "--array", "-")
    done = shell("submit", *options, "--", "sh", "-c", "echo {} {}", stdin="$(id)\n\na  'b\n")
    assert done.returncode == 0, done.stderr
    printed = {server.log(one["id"]) for one in server.containers(done.stdout.strip())}
    assert printed == {"$(id) $(id)\n", "a  'b a  'b\n"}


def test_a_wrong_array_submits_nothing(shell, server):
    before = server.get("/applications").json()
    for array, words in (
        ("nothing.txt%2", "cannot read nothing.txt: No such file or directory"),
        ("9-1", "'9-1' has no numbers"),
    ):
        done = shell("submit", "--array", array, "--", "echo", "{}")
        assert done.returncode == 2
        assert words in done.stderr
    assert server.get("/applications").json() == before


def test_an_application_that_runs_is_changed_without_being_submitted_again(shell, server, tmp_path):
    options = ("--queue", "a", "--memory", "64m", "--array", "1-4%1", "--hold")
    line = "until test -e go; do sleep 0.05; done"
    application = shell("submit", *options, "--", "sh", "-c", line).stdout.strip()
    later = shell("submit", "--after", application, "--queue", "a", "--", "true").stdout.strip()
    assert shell("move", application, "root.b").returncode == 0, "before its start, too"
    assert shell("release", application).returncode == 0
    server.until(lambda: running(server, application) == 1)

    changed = shell("update", application, "--at-once", "3", "--name", "sweep", "--tag", "x")
    assert (changed.returncode, changed.stdout) == (0, f"updated {application}\n")
    server.until(lambda: running(server, application) == 3)
    shown = shell("update", application, "--memory", "32m", "--json")
    assert '"name": "sweep"' in shown.stdout
    for arguments, words in (
        (("--after", "none"), "has started: what it was to wait for cannot be changed any more"),
        (("--vcores", "1", "--group", "reduce"), "no group of tasks reduce: it has task"),
        (("--priority", "3"), "has no priorities of applications"),
        (("--resource", "fpga=1"), "there is no resource type fpga; there are memory-mb"),
        ((), "nothing to change: name what it shall be"),
        (("--group", "task", "--name", "y"), "--group has a meaning with a size"),
    ):
        done = shell("update", application, *arguments)
        assert (done.returncode != 0, words in done.stderr) == (True, True), done.stderr
    assert server.get(f"/applications/{application}").json()["name"] == "sweep"

    assert shell("update", later, "--after", "none", "--begin", "+1d").returncode == 0
    waits = server.get(f"/applications/{later}").json()
    assert (waits["after"], waits["begin_ms"] > 0) == ([], True)
    assert shell("update", application, "--time-limit", "1s").returncode == 0
    ended = server.finished(application)
    assert (ended["state"], ended["cause"]) == ("FAILED", "TIMEOUT")
    over = shell("update", application, "--name", "z")
    assert (over.returncode, "is already FAILED" in over.stderr) == (1, True)
    shell("kill", later)


def running(server, application):
    return server.get(f"/applications/{application}").json()["progress"]["running"]
