"""Commands run as in the shell that submits them: directory, variables, umask, limits."""

import contextlib
import json
import os
import pwd
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.forked import fairshare

from .test_server import ALLOCATIONS, YARN_SITE, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surroundings")
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
    """Calls `fairshare` as a shell in `tmp_path` does; the directory and variables can be given."""

    def call(*arguments, cwd=tmp_path, before=None, stdin=None, **variables):
        environment = {**os.environ, "FAIRSHARE_URL": server.url, **variables}
        if before is None:
            return fairshare(*arguments, cwd=cwd, env=environment, stdin=stdin)
        return subprocess.run(
            [sys.executable, "-m", "fairshare", *map(str, arguments)],
            cwd=cwd,
            env=environment,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            preexec_fn=before,
        )

    return call


@pytest.fixture
def printed(shell, server):
    """What a submitted command printed; it must succeed."""

    def call(*arguments, **more):
        size = () if "--job" in arguments else ("--memory", "64m")
        done = shell("submit", "--wait", "--queue", "a", *size, *arguments, **more)
        assert done.returncode == 0, done.stderr
        [container] = server.containers(done.stdout.strip())
        return server.log(container["id"])

    return call


def test_a_program_of_the_current_directory_runs_there(printed, tmp_path):
    program = tmp_path / "simulate"
    program.write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)
    assert printed("--", "./simulate") == f"{tmp_path}\n"


def test_the_directory_can_be_named_and_can_be_a_new_one(printed, tmp_path, server):
    (tmp_path / "new").mkdir()
    assert printed("--chdir", "./new", "pwd") == f"{tmp_path}/new\n"
    assert printed("--directory", "new", "pwd").startswith(f"{server.state}/containers/")


def test_a_job_file_runs_where_it_says(printed, tmp_path, server):
    job = tmp_path / "job.yaml"
    job.write_text("tasks: [{command: pwd; umask, umask: '007', memory: 64m}]\nqueue: a\n")
    lines = printed("--job", job).splitlines()
    assert lines[0].startswith(f"{server.state}/containers/")
    assert lines[1] == "0007"


def test_a_directory_that_the_container_cannot_enter_is_replaced_and_it_says_so(shell, server):
    directory = server.state / "gone"
    task = {"command": "pwd", "directory": str(directory), "directory_optional": True}
    name = server.run(**task)
    assert server.finished(name)["state"] == "FINISHED"
    [container] = server.containers(name)
    assert server.log(container["id"]).startswith(f"{server.state}/containers/")
    assert server.log(container["id"], "stderr") == (
        f"fairshare: cannot enter {directory}: No such file or directory;"
        " running in a new directory\n"
    )


def test_variables_come_along_as_chosen(printed):
    show = ("--", "sh", "-c", 'echo "$PATH,$MODE,$SECRET,$VIRTUAL_ENV"')
    mine = {"PATH": "/my/bin:/usr/bin:/bin", "MODE": "fast", "SECRET": "x", "VIRTUAL_ENV": "/v"}
    path = mine["PATH"]
    assert printed(*show, **mine) == f"{path},,,/v\n"
    assert printed("--env", "MODE", *show, **mine) == f"{path},fast,,/v\n"
    assert printed("--export", "all", "--env", "MODE=slow", *show, **mine) == f"{path},slow,x,/v\n"
    assert printed("--export", "SECRET", *show, **mine).endswith(",,x,\n")
    assert not printed("--export", "none", *show, **mine).startswith("/my/bin")


def test_run_takes_along_the_whole_environment_which_is_not_recorded(shell, server):
    words = ("run", "--queue", "a", "--memory", "64m", "--name", "secretive")
    line = 'echo "$SECRET,$MODE,$HOME"; cat "$FAIRSHARE_CONTAINER_DIRECTORY"/../../../payloads/*'
    mine = {"SECRET": "pass-23-word", "MODE": "fast"}
    done = shell(*words, "--env", "MODE=slow", "--", "sh", "-c", line, **mine)
    assert done.stdout.startswith("pass-23-word,slow,"), done.stderr
    assert '"SECRET":"pass-23-word"' in done.stdout  # in a file while it runs
    records = b"".join(path.read_bytes() for path in server.state.glob("journal.sqlite3*"))
    assert b"secretive" in records
    assert b"pass-23-word" not in records
    assert not list(server.state.glob("payloads/*"))
    listed = shell("apps", "--all", "--json").stdout
    assert "pass-23-word" not in listed
    numbers = {one["name"]: one["id"] for one in json.loads(listed)["applications"]}
    again = shell("resubmit", numbers["secretive"])
    assert "the whole environment of a shell, which is not kept" in again.stderr
    for left_out in (("--export", "default"), ("--export", "none"), ("--user", other_account())):
        done = shell(*words, *left_out, "--", "sh", "-c", 'echo "$SECRET"', **mine)
        assert done.stdout == "\n"


def other_account():
    return next(one.pw_name for one in pwd.getpwall() if one.pw_uid not in (0, os.geteuid()))


def test_umask_and_soft_limits_come_along(printed):
    def before():
        os.umask(0o027)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (77, 99))

    line = "umask; ulimit -S -n; ulimit -S -c"
    assert printed("--", "sh", "-c", line, before=before).split() == ["0027", "77", "0"]


def test_a_limit_above_the_hard_one_is_the_hard_one(server):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    name = server.run("ulimit -S -n", limits={"nofile": 2**50})
    server.finished(name)
    [container] = server.containers(name)
    assert server.log(container["id"]) == f"{hard}\n"


def test_a_variable_that_is_not_set_is_a_mistake(shell):
    done = shell("submit", "--export", "NO_SUCH", "true")
    assert done.returncode == 1
    assert "NO_SUCH is not set here" in done.stderr


def test_a_server_on_another_machine_gets_what_options_name_only(server, monkeypatch, tmp_path):
    from click.testing import CliRunner

    from fairshare.cli.verbs import fairshare
    from fairshare.client import caller

    monkeypatch.setattr(caller, "this_machine", lambda: "another")
    monkeypatch.setenv("FAIRSHARE_URL", server.url)
    monkeypatch.chdir(tmp_path)
    line = ("submit", "--wait", "--queue", "a", "--memory", "64m", "--export", "MODE", "--")
    monkeypatch.setenv("MODE", "fast")
    done = CliRunner().invoke(fairshare, [*line, "sh", "-c", "pwd; echo $MODE"])
    [container] = server.containers(done.stdout.split()[0])
    directory, mode = server.log(container["id"]).split()
    assert (Path(directory).name, mode) == ("work", "fast")


CALLS = """
import sys
import fairshare
import helper

def call():
    import flavour
    return flavour.NAME, helper.NAME

with fairshare.Executor("root.a", resources={"memory-mb": 64, "vcores": 1}) as pool:
    print(*pool.submit(call).result(60))
with fairshare.Client() as client:
    small = {"memory-mb": 64, "vcores": 1}
    print(*client.map(lambda _: call(), [0], queue="root.a", resources=small)[0])
"""


@pytest.fixture(scope="module")
def environments(tmp_path_factory):
    """A virtualenv for each of two users, with a package of their own."""
    made = {}
    for user in ("ann", "bob"):
        directory = tmp_path_factory.mktemp(user) / "venv"
        line = [sys.executable, "-m", "venv", "--without-pip", str(directory)]
        subprocess.run(line, check=True, timeout=60)
        [packages] = directory.glob("lib/python*/site-packages")
        (packages / "flavour.py").write_text(f"NAME = '{user}-package'\n")
        ours = [path for path in sys.path if path.endswith(("site-packages", "/src"))]
        (packages / "ours.pth").write_text("\n".join(ours))
        script = directory.parent / "script.py"
        script.write_text(CALLS)
        (directory.parent / "helper.py").write_text(f"NAME = '{user}-helper'\n")
        made[user] = directory
    return made


def test_two_users_have_their_own_python_with_their_own_packages(environments, server):
    for user, directory in environments.items():
        done = subprocess.run(
            [directory / "bin" / "python", directory.parent / "script.py"],
            env={**os.environ, "FAIRSHARE_URL": server.url, "FAIRSHARE_USER": user},
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert done.stdout.split() == [f"{user}-package", f"{user}-helper"] * 2, done.stderr


def test_commands_run_in_the_virtualenv_that_is_named_or_active(environments, printed):
    show = ("python", "-c", "import flavour, sys; print(flavour.NAME, sys.prefix)")
    for user, directory in environments.items():
        expected = f"{user}-package {directory}\n"
        assert printed("--venv", directory, "--", *show) == expected
        assert printed("--python", directory / "bin" / "python3", "--", *show) == expected
        active = {"PATH": f"{directory}/bin:/usr/bin:/bin", "VIRTUAL_ENV": str(directory)}
        assert printed("--", *show, **active) == expected


def test_an_interpreter_that_does_not_exist_is_refused_and_nothing_is_submitted(server):
    before = server.get("/applications").json()
    task = {"resources": {"memory-mb": 64, "vcores": 1}, "callable": "AAAA"}
    for python, status, reason in (
        ("/no/such/python", 409, "there is no Python interpreter /no/such/python on this machine"),
        ("/etc/passwd", 409, "cannot run /etc/passwd: it is not an executable file"),
        ("python3", 400, "'python3' is not an absolute path"),
    ):
        body = {"queue": "a", "tasks": [{**task, "python": python}]}
        answer = server.post("/applications", json=body)
        assert answer.status_code == status
        assert reason in answer.json()["message"]
    assert server.get("/applications").json() == before


def test_environments_that_do_not_exist_are_refused(shell):
    for option in ("--venv", "--conda", "--python"):
        done = shell("submit", option, "./none", "python")
        assert (done.returncode, "not a program that can be run" in done.stderr) == (1, True)
    done = shell("submit", "--venv", "a", "--conda", "b", "python")
    assert (done.returncode, "give one of them" in done.stderr) == (2, True)


def test_a_command_that_cannot_start_is_tried_once_and_the_reason_is_in_its_log(shell, server):
    done = shell("submit", "--wait", "--queue", "a", "--directory", "new", "--", "./simulate")
    assert done.returncode == 127
    name = done.stdout.strip()
    [container] = server.containers(name)
    directory = f"{server.state}/containers/{name}/{container['id']}/work"
    reason = (
        f"cannot run './simulate': no such command: there is no {directory}/simulate"
        " (a new directory of the container, --directory names another one)"
    )
    assert server.application(name)["diagnostics"] == (
        f"task 0 of group task cannot start (exit code 127), and was not tried again: {reason}"
    )
    assert server.log(container["id"], "stderr") == f"fairshare: {reason}\n"
    assert shell("logs", "--stderr", name).stdout == f"fairshare: {reason}\n"


def test_a_program_that_is_not_in_path_may_be_meant_in_the_current_directory(shell, tmp_path):
    (tmp_path / "train.sh").write_text("")
    done = shell("submit", "--wait", "--queue", "a", "train.sh")
    assert "no such command in PATH=" in done.stderr
    assert "write ./train.sh for that of the working directory" in done.stderr


def test_a_shell_that_finds_no_command_is_an_ordinary_failure(server):
    name = server.run("no-such-command", max_attempts=2)
    assert server.finished(name)["diagnostics"].startswith("task 0 of group tasks failed 2 times")
    assert len(server.containers(name)) == 2


def test_output_goes_where_the_user_says_and_logs_shows_it(shell, server, tmp_path):
    (tmp_path / "job-7.txt").write_text("first\n")
    names = ("--output", "%n-%u-%j-%t.out", "--error", "same.txt", "--name", "a/b")
    line = 'read line; echo "$line $FAIRSHARE_TASK_INDEX"; echo complaint >&2'
    (tmp_path / "same.txt").write_text("earlier\n")
    (tmp_path / "in.txt").write_text("hello\n")
    done = shell(
        *("submit", "--wait", "--queue", "a", "--count", 2, "--user", "ann", *names),
        *("--input", "in.txt", "--", "sh", "-c", line),
        before=lambda: os.umask(0o027),
    )
    assert done.returncode == 0, done.stderr
    name = done.stdout.strip()
    number = int(name.rpartition("_")[2])
    for task in (0, 1):
        file = tmp_path / f"a_b-ann-{number}-{task}.out"
        assert file.read_text() == f"hello {task}\n"
        assert file.stat().st_mode & 0o777 == 0o640
        assert shell("logs", name, "--task", f"task/{task}").stdout == f"hello {task}\n"
    assert (tmp_path / "same.txt").read_text() == "earlier\ncomplaint\ncomplaint\n"
    logs = {server.log(one["id"], "stderr") for one in server.containers(name)}
    assert logs <= {"complaint\n", "complaint\ncomplaint\n"}


def test_a_file_that_cannot_be_written_fails_the_task_once_with_the_reason(shell, tmp_path):
    for option, words in (
        ("--output", "cannot write its output to"),
        ("--error", "cannot write its error to"),
        ("--input", "cannot read its input"),
    ):
        done = shell("submit", "--wait", "--queue", "a", option, "no/such", "true")
        assert f"{words} {tmp_path}/no/such: No such file or directory" in done.stderr
        assert "was not tried again" in done.stderr
    done = shell("submit", "--output", "%q", "true")
    assert (done.returncode, "percent sign that means nothing" in done.stderr) == (2, True)


def test_the_end_of_stderr_is_in_the_diagnostics_wherever_it_is(shell):
    done = shell(
        *("submit", "--wait", "--queue", "a", "--max-attempts", 1, "--error", "e.txt"),
        *("--", "sh", "-c", "echo because >&2; exit 3"),
    )
    assert "because" in done.stderr


def test_logs_does_not_follow_a_link_that_took_the_place_of_the_output(shell, server, tmp_path):
    done = shell("submit", "--wait", "--queue", "a", "--output", "o.txt", "echo", "mine")
    [container] = server.containers(done.stdout.strip())
    assert server.log(container["id"]) == "mine\n"
    other = tmp_path / "other"
    other.write_text("secret\n")
    (tmp_path / "o.txt").unlink()
    (tmp_path / "o.txt").symlink_to(other)
    assert server.log(container["id"]) == ""
    (tmp_path / "o.txt").unlink()
    other.rename(tmp_path / "o.txt")
    assert server.log(container["id"]) == ""


def test_output_can_be_thrown_away(shell, server):
    done = shell("submit", "--wait", "--queue", "a", "--output", "/dev/null", "echo", "x")
    [container] = server.containers(done.stdout.strip())
    assert (done.returncode, server.log(container["id"])) == (0, "")
