"""The demonstration as a stranger runs it: real processes, to its end and to an early one."""

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from fairshare.demonstration.applications.archive import Archive

PATIENCE_S = 150.0

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demonstration keeps everything: its folder, and the figures for the next time."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def start(place: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []
    environment = os.environ | {
        "TMPDIR": str(place),
        "XDG_CACHE_HOME": str(place / "cache"),
        "PYTHONUNBUFFERED": "1",
    }

    def begin(*options: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "fairshare", "demo", "--quick", *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)


def processes_naming(place: Path) -> dict[int, str]:
    """Everybody who names the place in his command line or environment, and his command line."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes()
            names = os.fsencode(place) in line + (entry / "environ").read_bytes()
        except OSError:
            continue
        if names:
            found[int(entry.name)] = line.replace(b"\0", b" ").decode()
    return found


def assert_nothing_is_left(place: Path) -> None:
    assert processes_naming(place) == {}
    assert [entry.name for entry in place.iterdir() if entry.name != "cache"] == []


def archive_of(place: Path) -> Archive:
    kept = (place / "cache" / "fairshare" / "demo.json").read_bytes()
    return msgspec.json.decode(kept, type=Archive)


def read_until(process: "subprocess.Popen[str]", words: str) -> str:
    """What is printed up to the line with these words."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if words in line:
            return seen
    raise AssertionError(f"it never said {words!r}, but:\n{seen}")


def run_to_the_end(start: Start, place: Path, *options: str, checks: int = 6) -> str:
    """What a demonstration prints that passes all its checks and leaves nothing."""
    process = start(*options)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, output
    assert output.count("✓") == checks
    assert_nothing_is_left(place)
    return output


def test_it_ends_well_with_both_schedulers_and_compares_them(start: Start, place: Path) -> None:
    output = run_to_the_end(start, place)
    assert "both schedulers" not in output
    assert "runs again in another container" in output
    plan = archive_of(place).plan

    output = run_to_the_end(start, place, "--scheduler", "fifo")
    assert "The same work with both schedulers" in output
    assert "owed" not in output.partition("What happened")[0]  # by whom?
    kept = archive_of(place)
    assert kept.plan == plan
    assert kept.runs.keys() == {"fair", "fifo"}
    for run in kept.runs.values():
        got = [team.got for team in run.figures.teams.values()]
        assert 0 < sum(got) <= 1.0
        assert 0 < run.figures.busy <= 1.0
        assert run.figures.queries.begun_longest_ms <= run.figures.queries.answered_longest_ms


def test_users_with_weights_divide_a_queue_of_the_capacity_scheduler(
    start: Start, place: Path
) -> None:
    output = run_to_the_end(start, place, "--scheduler", "capacity")
    users = {user.name: user for user in archive_of(place).runs["capacity"].figures.users}
    assert [users[name].expected for name in ("bob", "ann")] == pytest.approx([1 / 3, 2 / 3])
    assert "users of research" in output  # in so short a run bob has all he wants at once


def test_jobs_of_mapreduce_share_slots_in_pools_and_all_results_are_right(
    start: Start, place: Path
) -> None:
    output = run_to_the_end(start, place, "--scheduler", "mapreduce", checks=7)
    assert "production: its minimum of 4 map slots was there after" in output
    assert "adhoc: 3 of 3 small jobs gave the right number" in output


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_can_be_ended_in_the_middle_and_leaves_nothing(
    start: Start, place: Path, number: signal.Signals, code: int
) -> None:
    process = start()
    read_until(process, "production arrives")
    # As from a terminal, where Ctrl-C reaches all processes of its group.
    os.killpg(process.pid, number)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "nothing is left" in output) == (code, True)
    assert "Traceback" not in output
    assert_nothing_is_left(place)


def test_the_work_goes_on_and_is_right_when_the_server_is_killed_and_started_again(
    start: Start, place: Path
) -> None:
    output = run_to_the_end(start, place, "--crash")
    reported = re.search(r"of (\d+) containers (\d+) run on, (\d+) have ended meanwhile", output)
    assert reported is not None, output
    count, alive, ended = map(int, reported.groups())
    assert count == alive + ended >= 2


def test_a_server_that_dies_takes_its_containers_with_it(start: Start, place: Path) -> None:
    process = start()
    read_until(process, "production arrives")
    (server,) = [pid for pid, line in processes_naming(place).items() if " serve " in line]
    os.kill(server, signal.SIGKILL)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "the server has ended in the middle" in output
    assert_nothing_is_left(place)


def test_nothing_outlives_a_demonstration_that_is_killed(start: Start, place: Path) -> None:
    process = start()
    read_until(process, "production arrives")
    serving = [pid for pid, line in processes_naming(place).items() if " serve " in line]
    assert serving
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    for pid in serving:
        wait_for_end(pid)
    left = processes_naming(place)
    assert left == {}


def wait_for_end(pid: int) -> None:
    """Until a process that is not our child has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], PATIENCE_S)[0], f"{pid} does not end"
    finally:
        os.close(descriptor)
