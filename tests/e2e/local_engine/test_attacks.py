"""Containers that turn against what watches them, and files of another life of the cluster."""

import errno
import os
import select
import signal

import pytest

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import ContainerExited, ContainerStarted
from fairshare.engines.local import ending, machine, processes, zygote_client
from fairshare.engines.local.state import StateDirectory
from fairshare.engines.protocol import LaunchOrder

from .conftest import (
    PATIENCE_S,
    SUPERVISORS,
    alive,
    groups_named,
    order,
    process_named,
    processes_of,
    shell,
    until,
)
from .test_restarts import kill, server


def names_of(wanted: LaunchOrder) -> tuple[str, str]:
    return wanted.application_name, wanted.container_name


# ---- the supervisor


def test_a_supervisor_that_its_container_stops_goes_on(engine):
    local, reports = engine
    local.launch(shell(1, "kill -STOP $PPID; exit 3"))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 3


def test_a_container_that_keeps_its_supervisor_stopped_is_ended_and_has_failed(engine):
    local, reports = engine
    wanted = shell(1, "echo $$ > pid; while :; do kill -STOP $PPID; done")
    local.launch(wanted)
    assert reports.exited(wanted.container).exit_code == 137
    pid = int(
        (local.files(wanted.application_name, wanted.container_name).work / "pid").read_text()
    )
    until(lambda: not alive(pid))


@pytest.mark.parametrize("limit_ms", [None, 500], ids=["stop", "time-limit"])
def test_a_stopped_supervisor_keeps_no_container_alive(start, state, monkeypatch, limit_ms):
    """Nobody lets it go on here: its zygote is gone, with the server that had it forked."""
    monkeypatch.setattr(ending, "PATIENCE_S", 0.2)
    line = "echo $$ > pid; env -i setsid sleep 1000 & echo $! > leftover; wait"
    kill(server(state, f"[shell(1, {line!r}, time_limit_ms={limit_ms})]"))
    os.kill(process_named(state, "fs-reaper"), signal.SIGKILL)
    os.kill(process_named(state, "fs-supervisor"), signal.SIGSTOP)
    local, reports = start(enforcement="watch")
    if limit_ms is None:
        local.stop(container_id(1, 1, 1))
        assert local.running() == {container_id(1, 1, 1)}
    ended = reports.exited(container_id(1, 1, 1))
    assert ended.exit_code in (137, 143)
    work = local.files(shell(1, "").application_name, shell(1, "").container_name).work
    assert not any(alive(int((work / name).read_text())) for name in ("pid", "leftover"))
    local.close(stop_containers=True)


WAIT = "until [ -e go ]; do sleep .01; done; exit 3"


def test_a_supervisor_that_was_stopped_goes_on_when_a_new_server_takes_it_over(
    start, state, monkeypatch
):
    monkeypatch.setattr(ending, "LOOK_S", 0.1)
    kill(server(state, f"[shell(1, {WAIT!r})]"))
    os.kill(process_named(state, "fs-reaper"), signal.SIGKILL)
    os.kill(process_named(state, "fs-supervisor"), signal.SIGSTOP)
    local, reports = start()
    (local.files(*names_of(shell(1, ""))).work / "go").touch()
    assert reports.exited(container_id(1, 1, 1)).exit_code == 3


def test_a_supervisor_that_is_stopped_when_its_zygote_was_replaced_goes_on(
    start, state, monkeypatch
):
    monkeypatch.setattr(ending, "LOOK_S", 0.1)
    local, reports = start()
    local.launch(shell(1, WAIT))
    reports.started(container_id(1, 1, 1))
    zygote = process_named(state, "fs-zygote")
    os.kill(zygote, signal.SIGKILL)
    until(lambda: not alive(zygote))
    os.kill(process_named(state, "fs-supervisor"), signal.SIGSTOP)
    (local.files(*names_of(shell(1, ""))).work / "go").touch()
    assert reports.exited(container_id(1, 1, 1)).exit_code == 3


def test_a_container_that_stops_its_supervisor_again_and_again_without_a_zygote_is_ended(
    start, state, monkeypatch
):
    monkeypatch.setattr(ending, "LOOK_S", 0.05)
    monkeypatch.setattr(ending, "MOST_STOPS", 3)
    line = "echo $$ > pid; until [ -e go ]; do sleep .01; done; while :; do kill -STOP $PPID; done"
    kill(server(state, f"[shell(1, {line!r})]"))
    os.kill(process_named(state, "fs-reaper"), signal.SIGKILL)
    local, reports = start()
    work = local.files(*names_of(shell(1, ""))).work
    (work / "go").touch()
    ended = reports.exited(container_id(1, 1, 1))
    assert (ended.exit_code, "stopped too often" in ended.diagnostics) == (137, True)
    until(lambda: not alive(int((work / "pid").read_text())))


@pytest.mark.parametrize("enforcement", ["auto", "watch"])
def test_what_a_container_leaves_when_it_kills_its_supervisor_is_ended(start, enforcement):
    local, reports = start(enforcement=enforcement)
    wanted = shell(1, "env -i setsid sleep 1000 & echo $! > leftover; kill -9 $PPID")
    local.launch(wanted)
    assert reports.exited(wanted.container).exit_code == 137
    work = local.files(wanted.application_name, wanted.container_name).work
    until(lambda: not alive(int((work / "leftover").read_text())))


def test_a_container_that_kills_its_supervisor_after_the_servers_death_leaves_nothing(state, start):
    line = "env -i setsid sleep 1000 & echo $! > left; until [ -e go ]; do sleep .01; done;"
    kill(server(state, f"[shell(1, {line + ' kill -9 $PPID'!r})]"))
    (work,) = (state / "containers").glob("*/*/work")
    left = work / "left"
    until(lambda: left.exists() and left.read_text().endswith("\n"))
    (work / "go").touch()
    until(lambda: not alive(int(left.read_text())))
    _, reports = start()
    assert reports.exited(container_id(1, 1, 1)).exit_code == -100  # nobody saw who killed it


def test_the_end_of_a_container_survives_that_no_file_can_be_opened(engine, state, monkeypatch):
    local, reports = engine
    local.launch(shell(1, "sleep 1000"))
    reports.started(container_id(1, 1, 1))
    with monkeypatch.context() as full:

        def refuse() -> None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        supervisor = process_named(state, "fs-supervisor")
        full.setattr(processes, "all_pids", refuse)
        os.kill(supervisor, signal.SIGKILL)
        assert "Too many open files" in reports.exited(container_id(1, 1, 1)).diagnostics
    local.launch(shell(2, "exit 3"))
    assert reports.exited(container_id(1, 1, 2)).exit_code == 3


# ---- the zygote


def test_a_zygote_that_is_stopped_is_replaced_and_nothing_is_lost(
    start, state, monkeypatch, caplog
):
    monkeypatch.setattr(zygote_client, "SILENCE_S", 0.3)
    monkeypatch.setattr(zygote_client, "SLOW_S", 0.0)
    local, reports = start()
    assert local.trouble() == ""
    os.kill(process_named(state, "fs-zygote"), signal.SIGSTOP)
    for number in range(1, 6):
        local.launch(shell(number, "exit 3"))
    until(lambda: local.trouble() == "the process that starts containers does not answer")
    for number in range(1, 6):
        assert reports.exited(container_id(1, 1, number)).exit_code == 3
    assert "does not answer, and is replaced" in caplog.text


def test_a_server_that_dies_before_it_read_all_answers_leaves_its_zygote_to_do_its_work(state):
    """The kernel tells the other end of a channel that was closed with something unread in it."""
    directory = StateDirectory(state)
    directory.create()
    one = zygote_client.ZygoteClient(directory, os.environ, machine.raise_file_limit())
    one.start(one.await_silence())
    process, paths = one._process, [str(state / name) for name in ("first", "second")]
    assert process is not None
    one.order(paths[0])
    until(lambda: select.select([one.channel], [], [], 0)[0])
    os.kill(process.pid, signal.SIGSTOP)
    one.order(paths[1])
    one.channel.close()  # as the death of a server does it
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(PATIENCE_S) == 0
    log = directory.zygote_log.read_text()
    assert all(path in log for path in paths)  # there is no such container, as supervisors say


# ---- files


@pytest.mark.parametrize("start", SUPERVISORS[:1], indirect=True)  # it is the server that reads
@pytest.mark.parametrize("name", ["pid.json", "exit.json", "launch.json"])
@pytest.mark.parametrize("how", ["echo '{}' >", "rm -f {0}; mkfifo", "rm -f {0}; mkdir"])
def test_a_spoiled_file_of_a_container_never_stops_the_start(start, state, name, how):
    path = f"../{name}"
    spoil = f"{how.format(path)} {path}"
    line = f"until [ -f ../pid.json ]; do sleep .01; done; {spoil}; touch ready; sleep 1000"
    kill(server(state, f"[shell(1, {line!r})]"))
    (work,) = (state / "containers").glob("*/*/work")
    until((work / "ready").exists)
    wanted = shell(1, "")
    local, _ = start(lambda *_: 0)
    until(lambda: local.running() in (frozenset(), {wanted.container}))
    local.close(stop_containers=True)
    until(lambda: processes_of(state) == [])


# ---- another life


def test_a_container_of_another_life_with_the_same_name_is_never_taken_for_the_new_one(engine):
    local, reports = engine
    old = shell(1, "echo secret; sleep 1000", launched_ms=1)
    local.launch(old)
    files = local.files(old.application_name, old.container_name)
    until(lambda: files.stdout.exists() and files.stdout.read_text())
    local.launch(shell(1, "echo mine", launched_ms=2))
    assert reports.exited(old.container).exit_code == 0
    assert files.stdout.read_text() == "mine\n"


def test_how_a_container_of_another_life_ended_is_not_reported_for_the_new_one(engine):
    local, reports = engine
    local.launch(shell(1, "exit 5", launched_ms=1))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 5
    local.launch(shell(1, "exit 6", launched_ms=2))
    reports.until(lambda: len(reports.of(ContainerExited, container_id(1, 1, 1))) == 2)
    assert reports.of(ContainerExited, container_id(1, 1, 1))[1].exit_code == 6


def test_what_the_state_does_not_know_is_ended_and_put_aside_at_the_start(start, state, caplog):
    line = "echo $$; exec sleep 1000"
    kill(server(state, f"[shell(1, {line!r}, launched_ms=1), shell(2, {line!r}, launched_ms=2)]"))
    first, second = (shell(number, "").container_name for number in (1, 2))
    (log,) = (state / "containers").glob(f"*/{second}/stdout.log")
    until(log.read_text)
    pid = int(log.read_text())
    local, reports = start(lambda _, name: {first: 1, second: 9}.get(name))
    assert reports.all == [ContainerStarted(container_id(1, 1, 1), holds_room=True)]
    assert local.running() == {container_id(1, 1, 1)}
    until(lambda: not alive(pid))
    (aside,) = (state / "abandoned").glob(f"*/*/{second}")
    assert (aside / "stdout.log").read_text() == f"{pid}\n"
    assert str(aside) in caplog.text
    assert not log.exists()


# ---- room


def test_a_container_begins_when_the_room_given_to_it_is_free(start, tmp_path):
    local, reports = start(memory_mb=1024, vcores=4, grace_ms=60_000)
    line = f"trap : TERM; touch {tmp_path}/deaf; until [ -e {tmp_path}/go ]; do sleep .01; done"
    slow = shell(1, line, memory_mb=1024)
    local.launch(slow)
    until((tmp_path / "deaf").exists)  # before its trap, the signal would end the shell
    local.stop(slow.container)
    local.launch(order(2, "/bin/true", memory_mb=1024))
    local.launch(order(3, "/bin/true", memory_mb=1024))
    local.stop(container_id(1, 1, 3))
    assert reports.exited(container_id(1, 1, 3)).exit_code == 143
    assert not reports.of(ContainerStarted, container_id(1, 1, 2))
    (tmp_path / "go").touch()
    assert reports.exited(container_id(1, 1, 2)).exit_code == 0
    ends = [report.container for report in reports.all if isinstance(report, ContainerExited)]
    assert ends == [container_id(1, 1, number) for number in (3, 1, 2)]


# ---- what is left on the machine


def test_the_death_of_an_idle_server_leaves_no_group(state, start):
    kill(server(state, "[]"))
    local, _ = start()
    name = local._state.group_name
    local.close(stop_containers=False)
    until(lambda: not groups_named(name))
    kill(server(state, "[]"))
    until(lambda: processes_of(state) == [])
    assert groups_named(name) == []
