"""What /proc tells of processes, and what is concluded from it about containers."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairshare.core.model.identifiers import container_id, container_name
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.engines.local import adoption, execution, processes
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.ending import EndingRoom, Watched
from fairshare.engines.local.launch import GroupPlan, Launch
from fairshare.engines.local.outcome import DISK_FAILED, StartFailure, verdict
from fairshare.engines.local.removal import Removal
from fairshare.engines.local.reports import Reports
from fairshare.engines.local.state import StateDirectory
from fairshare.engines.local.watcher import Watcher
from fairshare.engines.local.zygote_client import Answer


@pytest.fixture
def family() -> Iterator[tuple[int, int, int]]:
    """A process, its child, and the child of a thread of that one."""
    program = """
import subprocess, threading, sys
def grow():
    child = subprocess.Popen(["sleep", "1000"])
    print(child.pid, flush=True)
    child.wait()
threading.Thread(target=grow).start()
"""
    parent = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {program!r}])
print(child.pid, flush=True)
child.wait()
"""
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        numbers = sorted(int(process.stdout.readline()) for _ in range(2))
        yield process.pid, numbers[0], numbers[1]
        processes.send([numbers[1], numbers[0], process.pid], signal.SIGKILL)


def test_all_descendants_are_found_in_either_way(family, monkeypatch):
    parent, child, grandchild = family
    assert processes.descendants(parent) == [child, grandchild]
    monkeypatch.setattr(processes, "_HAS_CHILDREN", False)
    assert processes.descendants(parent) == [child, grandchild]


def test_a_start_time_distinguishes_two_processes_with_one_number(family):
    parent, child, _ = family
    assert processes.start_time(parent) is not None
    assert processes.start_time(child) >= processes.start_time(parent)
    assert processes.start_time(2**22 + 1) is None


def test_shared_pages_are_divided_among_their_processes(family):
    pids = [os.getpid()]
    assert 0 < processes.proportional_bytes(pids) <= processes.resident_bytes(pids)
    assert processes.resident_bytes([2**22 + 1]) == 0


@pytest.fixture
def directory(tmp_path: Path) -> ContainerDirectory:
    state = StateDirectory(tmp_path)
    state.create()
    container = container_id(1, 1, 1)
    result = state.container("application_1_0001", container_name(1, container))
    launch = Launch(container, result.path.name, ("true",), {}, "/", 1, "watch")
    result.write_launch(launch.encode(), b"")
    return result


def order_of(directory: ContainerDirectory) -> Launch:
    launch = adoption.read_launch(directory)
    assert launch is not None
    return launch


def pid_file(directory: ContainerDirectory, pid: int, **changes: object) -> None:
    """Write it as a supervisor does, in one step: an engine may read it at any moment."""
    record = {
        "supervisor": pid,
        "supervisor_start": processes.start_time(pid),
        "boot": processes.boot_id(),
        **changes,
    }
    unfinished = directory.pid.with_name("pid.json.unfinished")
    unfinished.write_text(json.dumps(record))
    unfinished.replace(directory.pid)


def test_a_container_that_was_never_started_is_recognised(directory):
    assert adoption.fate(directory) == adoption.Never()


def test_a_live_supervisor_is_recognised(directory, monkeypatch):
    monkeypatch.chdir(directory.path)
    pid_file(directory, os.getpid())
    fate = adoption.fate(directory)
    assert isinstance(fate, adoption.Alive)
    os.close(fate.pidfd)


def test_another_process_with_the_supervisors_number_is_not_mistaken_for_it(directory, monkeypatch):
    pid_file(directory, os.getpid())  # which works elsewhere: a container may have written that
    assert isinstance(adoption.fate(directory), adoption.Orphaned)
    monkeypatch.chdir(directory.path)
    pid_file(directory, os.getpid(), supervisor_start=1)
    fate = adoption.fate(directory)
    assert isinstance(fate, adoption.Orphaned)
    assert "without an exit status" in fate.reason


@pytest.mark.parametrize("content", ["{}", "[1]", '{"half": ', '{"boot": 1, "supervisor": "x"}'])
def test_a_spoiled_pid_file_means_that_the_container_is_lost(directory, content, caplog):
    directory.pid.write_text(content)
    fate = adoption.fate(directory)
    assert fate == adoption.Orphaned("pid.json was changed, and cannot be understood")
    assert str(directory.pid) in caplog.text


@pytest.mark.parametrize("content", ["{}", "[1]", '{"container": 1, "exit_code": "well"}', "\0"])
def test_a_spoiled_exit_file_means_that_the_container_is_lost(directory, content, caplog):
    directory.exit.write_text(content)
    fate = adoption.fate(directory)
    assert fate == adoption.Orphaned("exit.json was changed, and cannot be understood")
    assert str(directory.exit) in caplog.text


def test_a_spoiled_order_counts_as_none(directory, caplog):
    directory.launch.write_text('{"container": 1}')
    assert adoption.read_launch(directory) is None
    assert str(directory.launch) in caplog.text


def test_groups_that_are_not_the_containers_own_are_never_touched(directory):
    name = directory.path.name
    paths = ("/sys/fs/cgroup", f"/sys/{name}", f"/c/fairshare-1/{name}", "/c/fairshare-1/other")
    groups = tuple(GroupPlan(path) for path in paths)
    directory.launch.write_bytes(order_of(directory)._replace(groups=groups).encode())
    assert order_of(directory).groups == (GroupPlan(f"/c/fairshare-1/{name}"),)


def test_a_restart_of_the_machine_is_recognised(directory):
    pid_file(directory, os.getpid(), boot="another")
    assert adoption.fate(directory) == adoption.Orphaned("the machine was restarted while it ran")


def test_what_ended_is_recognised_by_its_file(directory):
    container = container_id(1, 1, 1)
    pid_file(directory, os.getpid())
    directory.exit.write_bytes(verdict(container, 127, "exit code 127", cannot_start=True))
    exited = ContainerExited(container, 127, "exit code 127", cannot_start=True)
    assert adoption.fate(directory) == adoption.Finished(exited)


def test_exit_files_of_earlier_releases_are_read(directory):
    """Their supervisors wrote the memory and the time of what had ended, too."""
    written = {"container": 7, "exit_code": -104, "diagnostics": "killed", "peak_memory_mb": 312}
    written |= {"cpu_ms": 40, "ended_at_ms": 99, "cannot_start": 0}
    directory.exit.write_text(json.dumps(written))
    assert adoption.read_exit(directory) == ContainerExited(7, -104, "killed", 312, 40)


def test_what_has_lost_its_supervisor_is_ended_by_its_mark(directory):
    marked = {**os.environ, "FAIRSHARE_CONTAINER_DIRECTORY": str(directory.path)}
    with subprocess.Popen(["sleep", "1000"], env=marked) as process:
        outcome = adoption.conclude(directory, 7, order_of(directory), "of a test")
        assert process.wait(10) == -signal.SIGKILL
    assert (outcome.exit_code, outcome.diagnostics) == (-100, "aborted: of a test")
    assert adoption.fate(directory) == adoption.Finished(outcome)


class SilentNursery:
    """Answers that a supervisor was forked, but its pidfd could not be had."""

    def __init__(self) -> None:
        self.channel, self._other = socket.socketpair()
        self.blocked = False
        self.is_silent = lambda: False
        self.unanswered: dict[str, None] = {}
        self._answers: list[Answer] = []

    def answer(self, path: str) -> None:
        self._answers.append(Answer("forked", path))
        self._other.send(b"x")

    def order(self, path: str) -> None:
        raise AssertionError("nothing is to be ordered")

    def flush(self) -> None:
        pass

    def receive(self) -> tuple[list[Answer], bool]:
        self.channel.recv(1)
        answers, self._answers = self._answers, []
        return answers, True

    def close(self) -> None:
        self.channel.close()
        self._other.close()


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Callable[..., Watcher]]:
    """Makes watchers of a state directory, and ends them with their threads."""
    made: list[tuple[Watcher, threading.Thread, SilentNursery]] = []

    def make(report: Callable[[Input], None], *directories: ContainerDirectory) -> Watcher:
        zygote_client = SilentNursery()
        state, reports, rooms = StateDirectory(tmp_path), Reports(report), EndingRoom(())
        rest = (frozenset(), rooms, Removal(state))
        result = Watcher(state, None, zygote_client, reports, *rest)  # type: ignore[arg-type]
        for one in directories:
            result._liveness.watch(Watched(container_id(1, 1, 1), one, order_of(one)))
            zygote_client.answer(str(one.path))
        thread = threading.Thread(target=result.run)
        made.append((result, thread, zygote_client))
        thread.start()
        return result

    yield make
    for result, thread, zygote_client in made:
        result.post(result.end)
        thread.join()
        result.release()
        zygote_client.close()


@pytest.mark.slow
def test_a_supervisor_whose_pidfd_could_not_be_had_is_found_by_its_files(directory, watcher):
    reported: list[Input] = []
    changed = threading.Condition()

    def report(message: Input) -> None:
        with changed:
            reported.append(message)
            changed.notify_all()

    container = container_id(1, 1, 1)
    with subprocess.Popen(["sleep", "1000"], cwd=directory.path) as supervisor:
        liveness = watcher(report, directory)._liveness
        pid_file(directory, supervisor.pid)
        try:
            deadline = time.monotonic() + 20
            while liveness.without_pidfd or liveness.watched[str(directory.path)].pidfd is None:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            directory.exit.write_bytes(verdict(container, 4, "exit code 4", cannot_start=False))
        finally:
            supervisor.kill()
    with changed:
        assert changed.wait_for(lambda: len(reported) == 2, 20)
    started = ContainerStarted(container, holds_room=True)
    assert reported == [started, ContainerExited(container, 4, "exit code 4")]


@pytest.mark.slow
def test_an_exit_that_cannot_be_read_now_is_read_later(directory, watcher, monkeypatch):
    """What the files say must not be taken for nothing because too many files are open."""
    reported: list[Input] = []
    ended = threading.Event()
    refused = threading.Event()
    read = adoption.read_exit

    def full(of: ContainerDirectory, launch: Launch | None = None) -> ContainerExited | None:
        if not refused.is_set():
            refused.set()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return read(of, launch)

    def report(message: Input) -> None:
        reported.append(message)
        if isinstance(message, ContainerExited):
            ended.set()

    monkeypatch.setattr(adoption, "read_exit", full)
    container = container_id(1, 1, 1)
    directory.exit.write_bytes(verdict(container, 4, "exit code 4", cannot_start=False))
    with subprocess.Popen(["true"]) as supervisor:
        pid_file(directory, supervisor.pid)
        watched = watcher(report, directory)
        assert ended.wait(20)
    assert refused.is_set()
    assert reported[-1] == ContainerExited(container, 4, "exit code 4")
    assert watched.failure is None


@pytest.mark.parametrize(
    ("call", "number"),
    [
        *(("chdir", number) for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)),
        *(("chdir", number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EAGAIN)),
        ("fchown", errno.EDQUOT),
    ],
)
def test_what_a_user_can_bring_about_does_not_keep_the_node_from_others(
    tmp_path, monkeypatch, call, number
):
    """A directory may be of a file system that its user has mounted, and says what it wants to."""

    def refused(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, refused)
    directory = ContainerDirectory(tmp_path)
    account = "ann" if call == "fchown" else ""
    launch = Launch(1, "one", ("true",), {}, str(tmp_path), 0, "watch", account=account)
    with pytest.raises(StartFailure) as raised:
        execution.start(launch, directory)
    assert (raised.value.exit_code, raised.value.of_node) == (DISK_FAILED, False)
    assert os.strerror(number) in str(raised.value)


WITHOUT_TERMINALS = """
import errno, os, socket, sys
from pathlib import Path
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.supervisor import Supervisor

def openpty():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

os.openpty = openpty
launch = Launch(1, "one", ("true",), {}, sys.argv[1], 0, "watch", terminal=True)
channel, _ = socket.socketpair()
supervisor = Supervisor(ContainerDirectory(Path(sys.argv[1])), launch)
print(supervisor.run(channel, os.open(os.devnull, os.O_RDONLY)).decode())
"""


def test_a_node_without_terminals_runs_what_needs_none(tmp_path):
    command = [sys.executable, "-c", WITHOUT_TERMINALS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ended = json.loads(done.stdout)
    assert "cannot open a terminal: out of pty devices" in ended["diagnostics"]
    assert (ended["exit_code"], ended["node_failed"]) == (DISK_FAILED, 0)
