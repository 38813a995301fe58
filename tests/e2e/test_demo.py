"""The demonstration as a stranger runs it: real processes, to its end and to an early one."""

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PATIENCE_S = 150.0

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demonstration keeps everything."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def start(place: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []
    environment = os.environ | {"TMPDIR": str(place), "PYTHONUNBUFFERED": "1"}

    def begin(*options: str, program: str = "-m fairshare") -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, *program.split(" ", 1), "demo", "--quick", *options],
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
    assert list(place.iterdir()) == []


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


def rows_of(output: str) -> dict[str, list[str]]:
    """The values of each team in the table at the end."""
    table = output.partition("first container after")[2].splitlines()[1:4]
    return {name: values for name, *values in map(str.split, table)}


def test_teams_get_parts_of_the_machine_and_all_results_are_right(
    start: Start, place: Path
) -> None:
    output = run_to_the_end(start, place)
    assert "runs again in another container" in output
    rows = rows_of(output)
    assert list(rows) == ["research", "production", "adhoc"]
    assert [values[1] for values in rows.values()] == ["33%", "50%", "17%"]
    got = [int(values[2].rstrip("%")) for values in rows.values()]
    assert all(part > 0 for part in got)
    assert sum(got) <= 102


def test_users_with_weights_divide_a_queue_of_the_capacity_scheduler_and_the_record_is_kept(
    start: Start, place: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    output = run_to_the_end(start, place, "--scheduler", "capacity", "--keep", str(kept), checks=7)
    assert re.search(r"bob, with weight 1, had \d+% of research's part, .* 33%", output)
    assert re.search(r"ann, with weight 2, had \d+% of research's part, .* 67%", output)
    assert {"journal.sqlite3", "cluster.json"} <= {path.name for path in kept.iterdir()}


def test_jobs_of_mapreduce_share_slots_in_pools_and_all_results_are_right(
    start: Start, place: Path
) -> None:
    output = run_to_the_end(start, place, "--scheduler", "mapreduce", checks=7)
    assert "production had its minimum of 4 map slots" in output
    assert "adhoc: 4 of 4 small jobs answered rightly" in output


def test_fifo_owes_nothing_to_any_team_and_a_wrong_result_is_a_failure(
    start: Start, place: Path
) -> None:
    program = (
        "-c import sys; from fairshare.demo.work import Tasks; from fairshare.cli import main;"
        "count = Tasks.count;"
        "Tasks.count = staticmethod(lambda data: count(data) + count(b'the'));"
        "main()"
    )
    process = start("--scheduler", "fifo", program=program)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert [values[1] for values in rows_of(output).values()] == ["-", "-", "-"]
    assert "a direct count differs for 1" in output
    assert "✗ adhoc: 3 of 4 short queries answered rightly" in output
    assert_nothing_is_left(place)


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
