"""`fairshare run`: the output, the exit code, standard input and signals of a command."""

import os
import pty
import re
import signal
import subprocess
import sys

import pytest

from .test_surroundings import server as server
from .test_surroundings import shell as shell

PATIENCE_S = 60
SMALL = ("--queue", "a", "--memory", "64m")


@pytest.fixture
def run(shell):
    def call(*arguments, **more):
        return shell("run", *SMALL, *arguments, **more)

    return call


@pytest.fixture
def start(server, tmp_path):
    """Starts `fairshare run` without waiting for it."""
    started = []

    def call(*arguments, **more):
        process = subprocess.Popen(
            [sys.executable, "-m", "fairshare", "run", *SMALL, *arguments],
            cwd=tmp_path,
            env={**os.environ, "FAIRSHARE_URL": server.url},
            text=True,
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                **more,
            },
        )
        started.append(process)
        return process

    yield call
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def newest(server):
    return server.get("/applications?limit=1").json()["applications"][0]


def test_output_is_shown_where_it_belongs_and_the_exit_code_is_taken(run):
    done = run("--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert run("true").returncode == 0


def test_of_several_tasks_lines_stay_whole_and_the_largest_exit_code_counts(run):
    line = "for n in 1 2 3; do printf 'line '; echo $FAIRSHARE_TASK_INDEX; done"
    done = run("--count", 3, "--", "sh", "-c", line)
    assert sorted(done.stdout.splitlines()) == sorted([f"line {n}" for n in range(3)] * 3)
    failing = ("--", "sh", "-c", "exit $((FAIRSHARE_TASK_INDEX + 3))")
    done = run("--count", 2, "--keep-going", *failing)
    assert done.returncode == 4


def test_output_comes_while_the_command_runs(start, tmp_path):
    go = tmp_path / "go"
    process = start("--", "sh", "-c", f"printf now; while ! test -e {go}; do sleep 0.05; done")
    assert process.stdout.read(3) == "now"
    assert process.poll() is None
    go.touch()
    assert process.wait(PATIENCE_S) == 0


def test_bytes_arrive_unchanged(start, tmp_path):
    data = bytes(range(256)) * 1000
    (tmp_path / "data").write_bytes(data)
    with (tmp_path / "copy").open("wb") as copy:
        assert start("cat", "data", stdout=copy).wait(PATIENCE_S) == 0
    assert (tmp_path / "copy").read_bytes() == data


def test_a_file_and_a_pipe_are_standard_input(run, start, tmp_path):
    (tmp_path / "100%.txt").write_text("from a file\n")
    with (tmp_path / "100%.txt").open() as file:
        assert run("cat", stdin=file).stdout == "from a file\n"
    with (tmp_path / "100%.txt").open() as file:
        file.buffer.raw.seek(5)
        assert run("cat", stdin=file).stdout == "a file\n"
    process = start("--count", "2", "sort", stdin=subprocess.PIPE)
    printed, _ = process.communicate("b\na\n", timeout=PATIENCE_S)
    assert sorted(printed.split()) == ["a", "a", "b", "b"]
    assert run("cat").stdout == ""


def test_standard_input_cannot_go_to_another_machine(server, monkeypatch, tmp_path):
    from fairshare.cli.standard_input import input_file
    from fairshare.client.errors import NotHere

    file = tmp_path / "file"
    file.write_text("x")
    saved = os.dup(0)
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.dup2(descriptor, 0)
        with (
            pytest.raises(NotHere, match="only to a server on this machine"),
            input_file(here=False, shared=False),
        ):
            pass
    finally:
        os.dup2(saved, 0)
        os.close(saved)
        os.close(descriptor)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_application_and_its_last_words_are_shown(start, server, number):
    line = 'trap "echo saved; exit 0" TERM; echo ready; while :; do sleep 0.02; done'
    process = start("--", "sh", "-c", line)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    printed, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number
    assert printed == "saved\n"
    assert f"{signal.Signals(number).name}: ending application_" in said
    found = newest(server)
    assert found["state"] == "KILLED"
    assert f"ended by {signal.Signals(number).name}" in found["diagnostics"]


def test_a_waiting_application_is_ended_too(start, server, run):
    assert run("true").returncode == 0
    before = newest(server)["id"]
    process = start("--memory", "1g", "--count", "3", "sleep", "600")
    server.until(lambda: newest(server)["id"] != before)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert newest(server)["state"] == "KILLED"


def test_a_reader_that_goes_away_ends_the_application(start, server):
    process = start("--", "sh", "-c", "while :; do echo x; sleep 0.02; done")
    assert process.stdout.readline() == "x\n"
    process.stdout.close()
    process.stdout = None
    process.communicate(timeout=PATIENCE_S)
    assert server.finished(newest(server)["id"])["state"] == "KILLED"


def test_what_ends_a_command_otherwise_is_said(run, server, shell):
    done = run("--time-limit", "100ms", "sleep", "60")
    assert (done.returncode != 0, "ran longer than its time limit" in done.stderr) == (True, True)
    assert newest(server)["cause"] == "TIMEOUT"
    shown = shell("status", newest(server)["id"]).stdout
    assert re.search(r"^State +TIMEOUT$", shown, re.MULTILINE), shown
    assert " timed out " in shown
    done = run("./no-such")
    assert done.returncode == 127
    assert "no such command" in done.stderr
    done = run("--max-attempts", "2", "--", "sh", "-c", "echo try; exit 3")
    assert (done.returncode, done.stdout) == (3, "try\ntry\n")


def test_on_a_terminal_there_is_no_standard_input(start):
    own, other = pty.openpty()
    try:
        process = start("cat", stdin=other)
        assert process.communicate(timeout=PATIENCE_S)[0] == ""
        assert process.returncode == 0
    finally:
        os.close(own)
        os.close(other)


def test_submit_says_that_it_does_not_read_what_is_piped(server, tmp_path):
    reader, writer = os.pipe()
    os.write(writer, b"data\n")
    done = subprocess.run(
        [sys.executable, "-m", "fairshare", "submit", *SMALL, "cat"],
        stdin=reader,
        env={**os.environ, "FAIRSHARE_URL": server.url},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    os.close(reader)
    os.close(writer)
    assert done.returncode == 0
    assert "standard input is not read here: use --input FILE, or fairshare run" in done.stderr
