"""Orders that come twice, and servers that come and go."""

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.engines.local.engine import LocalEngine
from fairshare.engines.local.zygote_client import Answer, ZygoteClient
from fairshare.errors import EngineError

from .conftest import (
    APPLICATION,
    SOURCE,
    Reports,
    alive,
    groups_named,
    members,
    order,
    process_named,
    processes_of,
    shell,
    tree,
    until,
)

# ---- orders that come twice


@pytest.mark.parametrize("half", ["", '{"container": 1099'], ids=["empty", "half"])
def test_half_an_order_is_complained_of_once_and_can_be_ordered_again(start, caplog, half):
    """A server was killed, or the machine lost its power, while it was written."""
    local, _ = start()
    files = local.files(APPLICATION, shell(1, "").container_name)
    files.work.mkdir(parents=True)
    files.launch.write_text(half)
    local.close(stop_containers=True)
    for _ in range(2):
        local, reports = start()
        local.close(stop_containers=True)
    assert caplog.text.count("launch.json cannot be understood") == 1
    local, reports = start()
    local.launch(shell(1, "true"))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 0


def test_an_order_that_comes_twice_is_done_once(engine, tmp_path):
    local, reports = engine
    wanted = shell(
        1, f"echo began >> {tmp_path}/log; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"
    )
    for _ in range(3):
        local.launch(wanted)
    reports.started(wanted.container)
    local.launch(wanted)
    (tmp_path / "go").touch()
    reports.exited(wanted.container)
    assert (tmp_path / "log").read_text() == "began\n"
    assert len(reports.of(ContainerStarted, wanted.container)) == 1


def test_an_order_for_what_has_ended_is_answered_with_how_it_ended(engine, tmp_path):
    local, reports = engine
    wanted = shell(1, f"echo began >> {tmp_path}/log; exit 6")
    local.launch(wanted)
    reports.exited(wanted.container)
    local.launch(wanted)
    reports.until(lambda: len(reports.of(ContainerExited, wanted.container)) == 2)
    first, second = reports.of(ContainerExited, wanted.container)
    assert first == second
    assert (tmp_path / "log").read_text() == "began\n"


def test_a_container_of_another_epoch_with_the_same_number_is_not_mistaken(engine, tmp_path):
    local, reports = engine
    old = shell(1, "sleep 1000", epoch_ms=1)
    local.launch(old)
    reports.started(old.container)
    new = shell(1, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; exit 8", epoch_ms=2)
    local.launch(new)
    old_files = local.files(old.application_name, old.container_name)
    until(old_files.exit.exists)
    assert local.running() == {new.container}
    (tmp_path / "go").touch()
    assert reports.exited(new.container).exit_code == 8


def test_many_short_containers_are_all_started_and_reported_once(engine):
    local, reports = engine
    count = 200
    for number in range(1, count + 1):
        local.launch(order(number, "/bin/true"))
    reports.until(lambda: sum(isinstance(r, ContainerExited) for r in reports.all) == count)
    kinds: dict[int, list[type[Input]]] = {}
    for report in reports.all:
        assert isinstance(report, ContainerStarted | ContainerExited)
        kinds.setdefault(report.container, []).append(type(report))
    assert list(kinds.values()) == [[ContainerStarted, ContainerExited]] * count
    until(lambda: local.running() == frozenset())


# ---- servers that come and go


def server(state: Path, orders: str, settings: str = "") -> "subprocess.Popen[str]":
    """Another process with an engine on this state directory, that has launched some orders."""
    program = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from conftest import *
        engine, reports = LocalEngine(Path({str(state)!r}), {settings}), Reports()
        engine.start(reports)
        orders = {orders}
        for wanted in orders:
            engine.launch(wanted)
        for wanted in orders:
            reports.started(wanted.container)
        print("up", flush=True)
        time.sleep(1000)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def test_a_container_outlives_the_death_of_its_server_and_is_taken_over(start, state, tmp_path):
    go = tmp_path / "go"
    line = f"while [ ! -e {go} ]; do sleep 0.01; done; echo done; exit 7"
    kill(server(state, f"[shell(1, {line!r})]"))
    local, reports = start()
    container = container_id(1, 1, 1)
    assert local.running() == {container}
    assert reports.all == [ContainerStarted(container, holds_room=True)]
    local.launch(shell(1, line))
    go.touch()
    ended = reports.exited(container)
    assert ended.exit_code == 7
    files = local.files(APPLICATION, shell(1, "").container_name)
    assert files.stdout.read_text() == "done\n"
    until(lambda: local.running() == frozenset())


def test_what_ended_without_a_server_is_reported_by_the_next_one_once(start, state, tmp_path):
    go = tmp_path / "go"
    line = f"while [ ! -e {go} ]; do sleep 0.01; done; exit 9"
    first = server(state, f"[shell(1, {line!r})]")
    kill(first)
    go.touch()
    directory = state / "containers" / APPLICATION / shell(1, "").container_name
    until((directory / "exit.json").exists)
    until(lambda: processes_of(state) == [])  # the zygote has gone with its server, too
    local, reports = start()
    (report,) = reports.all
    assert isinstance(report, ContainerExited)
    assert report.exit_code == 9
    assert local.running() == frozenset()
    local.close(stop_containers=False)
    _, later = start()
    assert later.all == []


def test_a_container_taken_over_can_be_stopped_and_is_still_limited(start, state):
    hog = "while [ ! -e go ]; do sleep 0.01; done; x=a; while :; do x=$x$x; done"
    kill(server(state, f"[shell(1, 'sleep 1000'), shell(2, {hog!r}, memory_mb=50)]"))
    local, reports = start()
    assert len(local.running()) == 2
    local.stop(container_id(1, 1, 1))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 143
    (local.files(APPLICATION, shell(2, "").container_name).work / "go").touch()
    assert reports.exited(container_id(1, 1, 2)).exit_code == -104


def test_orders_under_way_when_the_server_dies_are_neither_lost_nor_done_twice(start, state):
    program = textwrap.dedent(f"""
        import sys, os, signal
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from conftest import *
        engine, reports = LocalEngine(Path({str(state)!r})), Reports()
        engine.start(reports)
        for number in range(1, 81):
            engine.launch(shell(number, "echo began; exit 3"))
        reports.started(container_id(1, 1, 5))
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert done.returncode == -signal.SIGKILL
    local, reports = start()
    for number in range(1, 81):
        local.launch(shell(number, "echo began; exit 3"))
    for number in range(1, 81):
        assert reports.exited(container_id(1, 1, number)).exit_code == 3
        log = local.files(APPLICATION, shell(number, "").container_name).stdout
        assert log.read_text() == "began\n"


def test_two_servers_cannot_use_one_state_directory(start, state):
    start()
    second = LocalEngine(state)
    with pytest.raises(EngineError, match=f"in use by process {os.getpid()}"):
        second.start(Reports())


def test_a_directory_whose_server_has_ended_is_taken_as_soon_as_the_cleanup_is_done(start, state):
    local, _ = start()
    local.close(stop_containers=True)
    with (state / "engine.lock").open("r+") as lock:  # as the helper of a killed server has it
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        lock.write(str(ended.pid))
        lock.truncate()
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        cleanup = threading.Timer(0.5, fcntl.flock, (lock, fcntl.LOCK_UN))
        began_s = time.monotonic()
        cleanup.start()
        start()
        assert time.monotonic() - began_s >= 0.5
        cleanup.join()


def test_closing_without_stopping_leaves_containers_for_the_next_engine(start, tmp_path):
    local, reports = start()
    wanted = shell(1, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; exit 5")
    local.launch(wanted)
    reports.started(wanted.container)
    local.close(stop_containers=False)
    with pytest.raises(EngineError, match="not started"):
        local.launch(wanted)
    local, reports = start()
    assert local.running() == {wanted.container}
    (tmp_path / "go").touch()
    assert reports.exited(wanted.container).exit_code == 5


def test_closing_with_stopping_leaves_no_process_and_no_group(start, state):
    local, reports = start()
    orders = [tree(1, "sleep 1000"), shell(2, "trap '' TERM; sleep 1000"), shell(3, "sleep 1000")]
    for wanted in orders:
        local.launch(wanted)
        reports.started(wanted.container)
    members(local.files(APPLICATION, orders[0].container_name).work)
    name = local._state.group_name
    groups = groups_named(name)
    local.close(stop_containers=True)
    assert processes_of(state) == []
    assert len([r for r in reports.all if isinstance(r, ContainerExited)]) == 3
    assert not [path for path in groups if path.exists()]


def test_a_dead_zygote_is_replaced_and_nothing_is_lost(engine, state):
    local, reports = engine
    local.launch(shell(1, "sleep 1000"))
    reports.started(container_id(1, 1, 1))
    zygote = process_named(state, "fs-zygote")
    for number in range(2, 42):
        local.launch(shell(number, "exit 3"))
    os.kill(zygote, signal.SIGKILL)
    for number in range(42, 52):
        local.launch(shell(number, "exit 3"))
    for number in range(2, 52):
        assert reports.exited(container_id(1, 1, number)).exit_code == 3
    assert not reports.of(ContainerExited, container_id(1, 1, 1))
    local.stop(container_id(1, 1, 1))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 143


def test_a_container_whose_supervisor_was_killed_is_cleaned_away_and_reported(engine, state):
    local, reports = engine
    wanted = tree(1, "sleep 1000")
    local.launch(wanted)
    pids = members(local.files(APPLICATION, wanted.container_name).work)
    os.kill(process_named(state, "fs-supervisor"), signal.SIGKILL)
    ended = reports.exited(wanted.container)
    assert ended.exit_code == 137
    assert "its supervisor ended without an exit status" in ended.diagnostics
    assert not any(map(alive, pids))


def test_a_terminal_interrupt_reaches_neither_the_zygote_nor_containers(state, start):
    first = server(state, "[shell(1, 'sleep 1000')]")
    inside = processes_of(state)
    assert len(inside) >= 3
    assert os.getpgid(first.pid) not in {os.getpgid(pid) for pid in inside}
    kill(first)
    local, reports = start()
    local.stop(container_id(1, 1, 1))
    reports.exited(container_id(1, 1, 1))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("answered", ["one by one", "all at once"])
def test_an_engine_whose_report_failed_refuses_work_and_still_ends_everything(
    state, monkeypatch, answered
):
    receive, calls = ZygoteClient.receive, iter(range(1_000_000))

    def receive_all(client: ZygoteClient) -> tuple[list[Answer], bool]:
        if next(calls) == 0:  # meanwhile all three are ordered
            time.sleep(0.3)
            return [], True
        answers, alive = receive(client)
        while alive and (client.unanswered or not any(one.kind == "started" for one in answers)):
            more, alive = receive(client)
            answers += more
        return sorted(answers, key=lambda one: one.kind != "started"), alive

    def refuse(_: Input) -> None:
        raise RuntimeError("no room")

    if answered == "all at once":
        monkeypatch.setattr(ZygoteClient, "receive", receive_all)
    local = LocalEngine(state)
    local.start(refuse)
    for number in (1, 2, 3):
        local.launch(shell(number, "sleep 1000"))

    def refused() -> bool:
        try:
            local.stop(container_id(1, 1, 9))
        except EngineError as error:
            return "no room" in str(error)
        return False

    until(refused)
    local.close(stop_containers=True)
    assert processes_of(state) == []


def test_an_engine_that_cannot_start_says_why_and_leaves_the_directory_free(
    state, start, monkeypatch
):
    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", "/bin/false")
        with pytest.raises(EngineError, match="did not come up"):
            LocalEngine(state).start(Reports())
        broken.setattr(sys, "executable", "/no/python")
        with pytest.raises(EngineError, match=r"cannot be started.*No such file"):
            LocalEngine(state).start(Reports())
    local, reports = start()
    local.launch(shell(1, "exit 3"))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 3
    (state.parent / "file").write_text("")
    with pytest.raises(EngineError, match="cannot use the state directory"):
        LocalEngine(state.parent / "file").start(Reports())
