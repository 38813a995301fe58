"""Memory and processors: what a container may use, and what it has used."""

import os
import re
import sys
import textwrap
import time

import pytest

from fairshare.core.model.identifiers import container_id
from fairshare.engines.local.disk_usage import DiskLimits

from .conftest import APPLICATION, HOG, order, python, shell, until


def test_a_container_over_its_memory_is_killed_and_says_so(engine):
    local, reports = engine
    local.launch(python(1, HOG, memory_mb=100))
    ended = reports.exited(container_id(1, 1, 1))
    assert ended.exit_code == -104
    match = re.match(r"killed: used (\d+) MB, limit 100 MB", ended.diagnostics)
    assert match
    assert 99 <= int(match[1]) <= 300
    assert ended.peak_memory_mb == int(match[1])


def test_a_child_over_the_memory_limit_ends_the_whole_container(engine):
    local, reports = engine
    hog = textwrap.dedent(HOG)
    wanted = order(1, "/bin/sh", "-c", f"{sys.executable} -c '{hog}'; sleep 1000", memory_mb=100)
    local.launch(wanted)
    assert reports.exited(wanted.container).exit_code == -104


def test_memory_is_not_enforced_when_the_check_is_off(start):
    local, reports = start(memory_check=False)
    assert local.nodes()[0].attributes["memory-limit"] == "off"
    local.launch(python(1, HOG, memory_mb=100))
    ended = reports.exited(container_id(1, 1, 1))
    assert ended.exit_code == 0
    assert ended.peak_memory_mb >= 400


def test_pages_that_processes_share_count_once(start):
    local, reports = start(enforcement="watch")
    program = """
        import os, time
        held = bytearray(os.urandom(1 << 20)) * 60
        children = [os.fork() for _ in range(3)] if os.getpid() else []
        time.sleep(0.5)
    """
    local.launch(python(1, program, memory_mb=160))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 0


def test_peak_memory_and_processor_time_are_reported(engine):
    local, reports = engine
    program = """
        import time
        held = bytearray(120 << 20)
        end = time.process_time() + 0.3
        while time.process_time() < end: pass
    """
    local.launch(python(1, program))
    ended = reports.exited(container_id(1, 1, 1))
    assert 120 <= ended.peak_memory_mb <= 200
    assert 300 <= ended.cpu_ms <= 3000


SPIN = """
    import os, pathlib, time
    os.sched_setaffinity(0, [{processor}])
    for _ in range({processes} - 1):
        if os.fork() == 0:
            break
    pathlib.Path(str(os.getpid())).touch()
    go = pathlib.Path({go!r})
    while not go.exists(): time.sleep(0.01)
    begin = float(go.read_text())
    while time.monotonic() < begin: pass
    used = time.process_time()
    while time.monotonic() < begin + 2: pass
    print(time.process_time() - used, flush=True)
    for _ in range({processes} - 1):
        try:
            os.wait()
        except ChildProcessError:
            break
"""


def test_a_busy_machine_is_shared_by_vcores_and_not_by_processes(start, tmp_path):
    local, reports = start()
    if not local.nodes()[0].attributes["cpu-limit"].startswith("cgroup"):
        pytest.skip(f"no CPU cgroup here: {local.nodes()[0].attributes}")
    go = tmp_path / "go"
    # All on one processor, so that there is contention; the smaller has three times the processes.
    processor = min(os.sched_getaffinity(0))
    orders = []
    for number, vcores, count in ((1, 1, 3), (2, 3, 1)):
        program = textwrap.dedent(SPIN)
        program = program.format(processor=processor, processes=count, go=str(go))
        orders.append(python(number, program, vcores=vcores))
        local.launch(orders[-1])
        work = local.files(APPLICATION, orders[-1].container_name).work
        until(lambda work=work, count=count: len(list(work.glob("*"))) == count)
    (tmp_path / "new").write_text(str(time.monotonic() + 0.1))
    (tmp_path / "new").rename(go)
    used = []
    for wanted in orders:
        assert reports.exited(wanted.container).exit_code == 0
        log = local.files(APPLICATION, wanted.container_name).stdout
        used.append(sum(map(float, log.read_text().split())))
    assert 2.0 < used[1] / used[0] < 4.5, used


def test_an_idle_machine_may_be_used_beyond_the_vcores_unless_that_is_forbidden(start):
    local, reports = start(vcores=10 * len(os.sched_getaffinity(0)), strict_cpu=True)
    if not local.nodes()[0].attributes["cpu-limit"].startswith("cgroup"):
        pytest.skip(f"no CPU cgroup here: {local.nodes()[0].attributes}")
    assert local.nodes()[0].attributes["cpu-limit"].endswith(" strict")
    spin = """
        import time
        end = time.monotonic() + 1
        while time.monotonic() < end: pass
    """
    local.launch(python(1, spin, vcores=2))  # a fifth of a processor
    assert 100 <= reports.exited(container_id(1, 1, 1)).cpu_ms <= 400


def test_without_a_cpu_cgroup_a_small_container_is_nicer(start):
    local, reports = start(enforcement="watch", vcores=8)
    assert local.nodes()[0].attributes["cpu-limit"] == "nice"
    for number, vcores in enumerate((8, 1), start=1):
        wanted = order(number, "nice", vcores=vcores)
        local.launch(wanted)
        reports.exited(wanted.container)
    logs = [
        local.files(APPLICATION, shell(number, "").container_name).stdout.read_text()
        for number in (1, 2)
    ]
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert [int(log) - own for log in logs] == [0, 9]


def test_a_container_that_fills_the_disk_is_ended_with_the_reason(start, monkeypatch):
    monkeypatch.setattr("fairshare.engines.local.disk_usage.INTERVAL_S", 0.05)
    local, reports = start(disk_limits=DiskLimits(application_mb=4))
    local.launch(shell(1, "sleep 1000"))
    local.launch(shell(2, "head -c 8000000 /dev/zero > data; sleep 1000"))
    large = container_id(1, 1, 2)
    ended = reports.exited(large)
    assert ended.exit_code == 143
    assert "4 MB are the limit; its work directory was deleted" in ended.diagnostics
    (directory,) = [one for one in local._state.all_containers() if one.exit.exists()]
    until(lambda: not directory.work.exists())
    assert local.running() == {container_id(1, 1, 1)}


def test_a_container_with_too_many_processes_is_ended_and_others_go_on(start):
    local, reports = start(process_limit=20)
    if local.nodes()[0].attributes["process-limit"] == "off":
        pytest.skip("there is no cgroup for it here")
    local.launch(shell(1, "sleep 1000"))
    forks = "for n in $(seq 100); do sleep 1000 & done; wait"
    local.launch(shell(2, f"( {forks} ); ( {forks} ); sleep 1000"))
    ended = reports.exited(container_id(1, 1, 2))
    assert ended.exit_code in (143, 137)
    assert "it wanted more than 20 processes and threads" in ended.diagnostics
    assert local.running() == {container_id(1, 1, 1)}


def test_without_a_cgroup_for_it_nothing_is_said_to_limit_processes(start):
    local, _ = start(enforcement="watch", process_limit=20)
    assert local.nodes()[0].attributes["process-limit"] == "off"
