"""Where groups come from: the operating system, a file, a command."""

import grp
import logging
import os
import pwd
import sys
import time
from pathlib import Path

import pytest

from fairshare.errors import ConfigurationError
from fairshare.server.users.groups import (
    CommandGroups,
    FileGroups,
    GroupsUnavailable,
    SystemGroups,
    own_user,
)


def test_the_primary_group_of_a_user_comes_first():
    user = pwd.getpwuid(os.getuid())
    groups = SystemGroups().groups(user.pw_name)
    assert groups[0] == grp.getgrgid(user.pw_gid).gr_name
    assert len(set(groups)) == len(groups)


def test_a_user_unknown_to_this_machine_has_no_groups():
    for user in ("nobody-of-that-name", "nul\0", "é" * 300):
        assert SystemGroups().groups(user) == ()


def test_a_directory_service_that_does_not_answer_raises_an_error(monkeypatch):
    def fail(user: str):
        raise OSError("the directory is away")

    monkeypatch.setattr("pwd.getpwnam", fail)
    with pytest.raises(GroupsUnavailable, match="the directory is away"):
        SystemGroups().groups("ann")


def test_a_user_without_a_name_is_a_number(monkeypatch):
    def fail() -> str:
        raise KeyError("no name")

    monkeypatch.setattr("getpass.getuser", fail)
    assert own_user() == str(os.getuid())


def test_a_file_names_groups_the_primary_one_first(tmp_path):
    path = tmp_path / "groups"
    path.write_text("# who is who\nann: research, staff  # the boss\n\nbob : ads\neve:\n")
    source = FileGroups(path)
    found = [source.groups(user) for user in ("ann", "bob", "eve", "zoe")]
    assert found == [("research", "staff"), ("ads",), (), ()]


def test_a_file_is_read_again_when_it_has_changed_and_a_broken_one_is_not_taken(tmp_path, caplog):
    path = tmp_path / "groups"
    path.write_text("ann: research\n")
    source = FileGroups(path)
    path.write_text("ann: research, staff\n")
    assert source.groups("ann") == ("research", "staff")
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("fairshare.users").addHandler(handler)
    path.write_text("ann research\n")
    assert [source.groups("ann") for _ in range(3)] == [("research", "staff")] * 3
    logging.getLogger("fairshare.users").removeHandler(handler)
    (line,) = lines
    assert f"{path}:1: error:" in line


def test_all_mistakes_of_a_file_are_reported_with_their_lines(tmp_path):
    path = tmp_path / "groups"
    path.write_text("ann research\n: staff\nbob: a,,b\neve: a\neve: b\n")
    with pytest.raises(ConfigurationError) as caught:
        FileGroups(path)
    assert [problem.line for problem in caught.value.problems] == [1, 2, 3, 5]


def test_a_missing_file_is_reported_at_the_start(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read"):
        FileGroups(tmp_path / "groups")


def python(code: str, timeout_s: float = 20.0) -> CommandGroups:
    return CommandGroups((sys.executable, "-c", code, "{user}"), timeout_s)


def test_a_command_prints_groups_the_primary_one_first():
    source = python("import sys; print(sys.argv[1] + 's', 'staff'); print('staff extra')")
    assert source.groups("ann") == ("anns", "staff", "extra")


def test_no_shell_reads_the_name_of_a_user():
    name = "ann; echo evil $(id)"
    assert CommandGroups(("printf", "%s\\n", "{user}")).groups(name) == tuple(name.split())


@pytest.mark.parametrize("user", ["-x", "--help", "nul\0", "line\nbreak"])
def test_a_name_that_could_be_an_option_is_not_given_to_a_command(user):
    with pytest.raises(GroupsUnavailable):
        CommandGroups(("echo", "{user}")).groups(user)


def test_a_command_that_fails_says_why():
    source = python("import sys; print('no directory', file=sys.stderr); sys.exit(3)")
    with pytest.raises(GroupsUnavailable, match="exit code 3: no directory"):
        source.groups("ann")


def test_a_command_that_cannot_be_run_is_a_failure():
    with pytest.raises(GroupsUnavailable, match="cannot be run"):
        CommandGroups(("/nonexistent/groups", "{user}")).groups("ann")


@pytest.mark.slow
def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    pid_file = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {pid_file}; wait"
    source = CommandGroups(("sh", "-c", script, "{user}"), timeout_s=1.0)
    began_s = time.monotonic()
    with pytest.raises(GroupsUnavailable, match="not done after 1 s"):
        source.groups("ann")
    assert time.monotonic() - began_s < 60
    pid = int(pid_file.read_text())
    deadline_s = time.monotonic() + 20
    while is_running(pid):
        assert time.monotonic() < deadline_s, "its child lives on"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
