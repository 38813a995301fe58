"""Launch and exit files, the state directory, and what is told of a failure."""

import errno
import os
import signal
import sys
from pathlib import Path

import pytest

from fairshare.core.model.events import ExitCode
from fairshare.engines.local import directories
from fairshare.engines.local.directories import read_json, write_atomically
from fairshare.engines.local.launch import GroupPlan, Launch
from fairshare.engines.local.outcome import (
    ABORTED,
    MEMORY_EXCEEDED,
    TAIL_BYTES,
    Ending,
    ending_of,
    exit_code_of,
    tail,
    with_tail,
)
from fairshare.engines.local.state import StateDirectory


def test_an_order_comes_back_as_it_was_written(tmp_path):
    launch = Launch(
        container=7,
        container_name="container_1_0001_01_000007",
        arguments=("run", "ü", "\udcff"),
        environment={"A": "b\n"},
        directory="/somewhere",
        memory_mb=100,
        memory_limit="cgroup-v1",
        groups=(GroupPlan("/g", (("memory.max", "1", True), ("x", "y", False))), GroupPlan("/h")),
        kill_group="/h",
        time_limit_ms=5,
    )
    path = tmp_path / "launch.json"
    path.write_bytes(launch.encode())
    value = read_json(path)
    assert value is not None
    assert Launch.decode(value) == launch


def test_an_ending_comes_back_as_it_was_written(tmp_path):
    ending = Ending(7, 9, "time", 0, True, 312 << 20, 40, 99, (0, 5))
    write_atomically(tmp_path / "exit.json", ending.encode())
    value = read_json(tmp_path / "exit.json")
    assert value is not None
    assert Ending.decode(value) == ending


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "exit.json"
    write_atomically(path, b'{"old": 1}')

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(directories.os, "write", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["exit.json"]
    assert path.read_bytes() == b'{"old": 1}'


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"half": ', b"\xff\xfe"])
def test_a_file_that_cannot_be_understood_is_not_taken_for_none(tmp_path, content):
    (tmp_path / "pid.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"."):
        read_json(tmp_path / "pid.json")
    assert read_json(tmp_path / "absent.json") is None


def test_what_a_container_puts_in_the_place_of_a_file_is_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pid.json")
    (tmp_path / "exit.json").mkdir()
    (tmp_path / "launch.json").symlink_to(tmp_path / "elsewhere")
    for name in ("pid.json", "exit.json", "launch.json"):
        with pytest.raises(ValueError, match="a plain file"):
            read_json(tmp_path / name)


def test_a_file_that_cannot_be_opened_now_is_not_taken_for_none(tmp_path, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(directories.os, "open", full)
    with pytest.raises(OSError, match="Too many open files"):
        read_json(tmp_path / "exit.json")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "a\0"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name):
    state = StateDirectory(tmp_path)
    with pytest.raises(ValueError, match="cannot name a directory"):
        state.application(name)
    with pytest.raises(ValueError, match="cannot name a directory"):
        state.container("application_1_0001", name)


def test_each_state_directory_has_groups_of_its_own(tmp_path):
    first, second = StateDirectory(tmp_path / "a"), StateDirectory(tmp_path / "b")
    assert first.group_name != second.group_name
    assert first.group_name == StateDirectory(tmp_path / "a").group_name
    assert first.group_name.startswith("fairshare-")


def test_a_stray_file_among_the_applications_is_passed_over(tmp_path):
    state = StateDirectory(tmp_path)
    state.create()
    (state.containers / "note").write_text("x")
    state.container("application_1_0001", "container_a").write_launch(b"{}", b"call")
    assert [found.path.name for found in state.all_containers()] == ["container_a"]
    assert state.names("application_1_0001") == ["container_a"]
    assert state.names("application_1_0002") == []


def test_a_wait_status_becomes_an_exit_code_and_words():
    assert (exit_code_of(0), ending_of(0)) == (0, "")
    assert (exit_code_of(3 << 8), ending_of(3 << 8)) == (3, "exit code 3")
    assert exit_code_of(signal.SIGKILL) == 137
    assert ending_of(signal.SIGKILL) == "ended by signal 9 (SIGKILL)"
    assert ending_of(40) == "ended by signal 40"


def test_the_codes_of_supervisors_are_the_managers():
    """Supervisors do not import the model, so its codes stand twice."""
    assert ExitCode.ABORTED == ABORTED
    assert ExitCode.KILLED_EXCEEDING_MEMORY == MEMORY_EXCEEDED


def test_the_tail_of_a_log_is_bounded_in_lines_and_in_bytes(tmp_path):
    log = tmp_path / "stderr.log"
    log.write_text("".join(f"line {number}\n" for number in range(1000)))
    assert tail(log).splitlines() == [f"line {number}" for number in range(980, 1000)]
    log.write_text("x" * 100_000)
    assert tail(log) == "x" * TAIL_BYTES
    log.write_bytes(b"first\n" + b"\xff" * TAIL_BYTES + b"\nlast\n")
    assert tail(log) == "last"
    assert with_tail("exit code 1", log) == "exit code 1\nlast lines of stderr:\nlast"
    log.write_text("\n\n")
    assert with_tail("exit code 1", log) == "exit code 1"
    assert tail(tmp_path / "absent") == ""


def test_a_supervisor_imports_little():
    """Each supervisor is a copy of the zygote: what that imports costs memory for each of them."""
    import subprocess

    source = Path(directories.__file__).parents[3]
    program = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]);"
        "import fairshare.engines.local.zygote;"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(source)],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = done.stdout.split()
    ours = {name for name in imported if name.startswith("fairshare")}
    room = "fairshare.engines.local"
    light = ("compiled", "directories", "enforcement", "execution", "groups", "launch",
             "outcome", "processes", "supervisor", "zygote")  # fmt: skip
    assert ours == {
        "fairshare", "fairshare.errors", "fairshare.wording", "fairshare.engines", room,
        "fairshare.engines.log_files", "fairshare.engines.rights",
        *(f"{room}.{name}" for name in light),
    }  # fmt: skip
    heavy = {"asyncio", "dataclasses", "hashlib", "inspect", "logging", "msgspec", "shutil",
             "subprocess", "tempfile", "traceback"}  # fmt: skip
    assert not heavy & set(imported)


def test_a_file_with_reserved_room_is_written_into_that_room(tmp_path, monkeypatch):
    """How a container ended can be said on a disk that has become full meanwhile."""
    path = tmp_path / "exit.json"
    directories.reserve(path, 32 * 1024)
    reserved = (tmp_path / "exit.json.new").stat()
    assert reserved.st_size == 32 * 1024
    assert reserved.st_blocks * 512 >= 32 * 1024
    emptied = []
    monkeypatch.setattr(directories.os, "ftruncate", lambda *given: emptied.append(given[1]))
    write_atomically(path, b'{"exit_code": 0}')
    found = path.stat()
    assert (found.st_ino, found.st_blocks) == (reserved.st_ino, reserved.st_blocks)
    assert emptied == [16]  # only behind what was written, and only then
    assert [entry.name for entry in tmp_path.iterdir()] == ["exit.json"]


def test_of_a_settled_container_the_call_is_deleted_and_what_its_supervisor_wrote_is_the_mark(
    tmp_path,
):
    directory = directories.ContainerDirectory(tmp_path / "container")
    directory.write_launch(b"{}", b"call")
    assert not directory.is_settled()
    directory.pid.write_text("{}")
    directory.exit.write_text("{}")
    for _ in range(2):
        directory.settle()
        assert directory.is_settled()
        left = {path.name for path in directory.path.iterdir()}
        assert left == {"exit.json", "launch.json", "settled", "work"}


def test_a_settled_container_whose_end_could_not_be_written_still_says_that_it_began(tmp_path):
    directory = directories.ContainerDirectory(tmp_path / "container")
    directory.write_launch(b"{}")
    directory.pid.write_text("{}")
    directory.settle()
    assert directory.is_settled()
    assert directory.pid.exists()


def test_a_deleted_container_is_settled_without_an_error(tmp_path):
    directory = directories.ContainerDirectory(tmp_path / "container")
    directory.settle()
    assert not directory.is_settled()


def test_the_files_of_a_container_are_closed_to_others_whatever_the_umask_is(tmp_path):
    directory = directories.ContainerDirectory(tmp_path / "application" / "container")
    before = os.umask(0)
    try:
        directory.write_launch(b"{}", b"call", secrets={"FAIRSHARE_TOKEN": "t"})
    finally:
        os.umask(before)
    made = [directory.path.parent, *directory.path.parent.rglob("*")]
    assert len(made) == 6
    assert [path for path in made if path.stat().st_mode & 0o077] == []
