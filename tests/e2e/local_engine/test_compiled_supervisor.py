"""What is particular to the compiled supervisor; all other tests run with either one."""

import os
import signal
import sys
from pathlib import Path

import pytest

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import ContainerExited
from fairshare.engines.local import compiled, zygote_client
from fairshare.engines.local.launch import Launch

from .conftest import alive, order, process_named, python, shell, until

pytestmark = [
    pytest.mark.skipif(not compiled.exists(), reason="it was not built: there is no C compiler"),
    pytest.mark.parametrize("start", ["compiled"], indirect=True),
]


def supervisor_of(state: Path) -> int:
    (file,) = (state / "containers").glob("*/*/pid.json")
    return int(file.read_text().split('"supervisor": ')[1].split(",")[0])


def is_python(pid: int) -> bool:
    return "python" in Path(f"/proc/{pid}/exe").readlink().name


def test_a_container_has_a_supervisor_of_less_than_a_megabyte(start, state):
    local, reports = start()
    assert local.nodes()[0].attributes["supervisor"] == "compiled"
    local.launch(shell(1, "sleep 1000"))
    reports.started(container_id(1, 1, 1))
    pages = int(Path(f"/proc/{supervisor_of(state)}/statm").read_text().split()[1])
    assert pages * os.sysconf("SC_PAGE_SIZE") < 1024 * 1024


def test_bytes_that_are_not_text_reach_the_command_and_its_variables_unchanged(start):
    local, reports = start()
    odd = os.fsdecode(b'\xff\xfe "\\\n\t') + "\u00e9\u6f22\U0001f642"
    program = "import os, sys; sys.exit(os.environb[b'ODD'] != os.fsencode(sys.argv[1]))"
    local.launch(order(1, sys.executable, "-c", program, odd, environment={"ODD": odd}))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 0


def test_a_field_that_it_does_not_know_is_never_ignored(start, state, monkeypatch):
    plain = Launch.encode
    novelty = b', "novelty": "of a later release"}'
    monkeypatch.setattr(Launch, "encode", lambda launch: plain(launch)[:-1] + novelty)
    local, reports = start()
    local.launch(shell(1, "touch ran"))
    # It hands the order over to Python, which does not know the field either, and says so.
    assert reports.exited(container_id(1, 1, 1)).exit_code != 0
    assert "novelty" in (state / "zygote.log").read_text()
    assert not list((state / "containers").rglob("ran"))


def test_a_command_that_cannot_start_is_explained_by_python(start, state):
    local, reports = start()
    local.launch(order(1, "no-such-command"))
    report = reports.exited(container_id(1, 1, 1))
    assert report.exit_code == 127
    assert "no such command" in report.diagnostics


def test_a_supervisor_that_is_killed_takes_its_container_along(start, state):
    local, reports = start()
    local.launch(python(1, "import time; time.sleep(1000)"))
    reports.started(container_id(1, 1, 1))
    supervisor = supervisor_of(state)
    assert not is_python(supervisor)
    os.kill(supervisor, signal.SIGKILL)
    assert reports.exited(container_id(1, 1, 1)).exit_code == 137
    until(lambda: not list((state / "containers").glob("*/*/pid.json")))


# ---- the starter, which forks the supervisors


def test_a_starter_that_is_killed_is_replaced_and_nothing_is_lost(start, state):
    local, reports = start()
    local.launch(shell(1, "sleep 1000"))
    reports.started(container_id(1, 1, 1))
    for number in range(2, 22):
        local.launch(shell(number, "exit 3"))
    os.kill(process_named(state, "fs-starter"), signal.SIGKILL)
    for number in range(22, 32):
        local.launch(shell(number, "exit 3"))
    for number in range(2, 32):
        assert reports.exited(container_id(1, 1, number)).exit_code == 3
    assert not reports.of(ContainerExited, container_id(1, 1, 1))


def test_a_starter_that_is_stopped_goes_on(start, state):
    local, reports = start()
    local.launch(shell(1, "exit 3"))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 3
    os.kill(process_named(state, "fs-starter"), signal.SIGSTOP)
    local.launch(shell(2, "exit 3"))
    assert reports.exited(container_id(1, 1, 2)).exit_code == 3


def test_a_starter_ends_with_its_zygote(start, state):
    local, reports = start()
    local.launch(shell(1, "sleep 1000"))
    reports.started(container_id(1, 1, 1))
    starter = process_named(state, "fs-starter")
    os.kill(process_named(state, "fs-zygote"), signal.SIGKILL)
    until(lambda: not alive(starter))
    assert not reports.of(ContainerExited, container_id(1, 1, 1))


def test_a_starter_that_cannot_fork_leaves_a_container_to_python_and_keeps_no_lock(
    start, monkeypatch
):
    main = "from fairshare.engines.local.zygote import main\n"
    failing = """
from fairshare.engines.local import compiled

def fail(starter, path):
    raise OSError(11, "try again")

compiled.Starter.start = fail
"""
    program = zygote_client._PROGRAM
    monkeypatch.setattr(zygote_client, "_PROGRAM", program.replace(main, failing + main))
    local, reports = start()
    local.launch(shell(1, "sleep 1000"))
    reports.started(container_id(1, 1, 1))
    local.close(stop_containers=False)
    monkeypatch.setattr(zygote_client, "_PROGRAM", program)
    monkeypatch.setattr(zygote_client, "_PATIENCE_S", 10.0)
    local, reports = start()
    local.stop(container_id(1, 1, 1))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 143


def test_a_starter_that_does_not_report_that_it_is_ready_is_refused(start, tmp_path, monkeypatch):
    other = tmp_path / "of-another-release"
    other.write_text("#!/bin/sh\nexit 0\n")
    other.chmod(0o755)
    monkeypatch.setattr(compiled, "PROGRAM", other)
    with (tmp_path / "lock").open("w") as file, pytest.raises(OSError, match="format"):
        compiled.Starter(file.fileno(), file.fileno())
    os.waitpid(-1, 0)
