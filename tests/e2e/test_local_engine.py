"""The local engine with real processes: what a container may rely on, and what it cannot escape."""

import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cloudpickle
import pytest

from fairshare.engines.local import processes
from fairshare.engines.local.engine import LocalEngine
from fairshare.engines.protocol import LaunchOrder
from fairshare.errors import EngineError
from fairshare.model.identifiers import application_name, container_id, container_name
from fairshare.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.model.work import Command

EPOCH_MS = 1_700_000_000_000
APPLICATION = application_name(EPOCH_MS, 1)
PATIENCE_S = 60.0
SOURCE = Path(__file__).parents[2] / "src"


def groups_named(name: str) -> list[Path]:
    """The control groups of this name; that others go away while it looks does not matter."""
    walk = os.walk("/sys/fs/cgroup")
    return [Path(parent, name) for parent, below, _ in walk if name in below]


class Reports:
    """What an engine reported, and waiting for more of it."""

    def __init__(self) -> None:
        self.all: list[Input] = []
        self._changed = threading.Condition()

    def __call__(self, report: Input) -> None:
        with self._changed:
            self.all.append(report)
            self._changed.notify_all()

    def of(self, kind: type[Input], container: int) -> list[Input]:
        return [r for r in self.all if isinstance(r, kind) and r.container == container]

    def started(self, container: int) -> None:
        self.until(lambda: bool(self.of(ContainerStarted, container)))

    def exited(self, container: int) -> ContainerExited:
        self.until(lambda: bool(self.of(ContainerExited, container)))
        report = self.of(ContainerExited, container)[0]
        assert isinstance(report, ContainerExited)
        return report

    def until(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE_S), self.all


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def order(
    number: int,
    *arguments: str,
    memory_mb: int = 512,
    vcores: int = 1,
    node: str = "local",
    epoch_ms: int = EPOCH_MS,
    time_limit_ms: int | None = None,
    directory: str | None = None,
    environment: dict[str, str] | None = None,
    ours: dict[str, str] | None = None,
    call: bytes = b"",
) -> LaunchOrder:
    container = container_id(1, 1, number)
    return LaunchOrder(
        container=container,
        container_name=container_name(epoch_ms, container),
        application_name=application_name(epoch_ms, 1),
        node=node,
        user="alice",
        memory_mb=memory_mb,
        vcores=vcores,
        command=Command(
            arguments=arguments, environment=environment or {}, directory=directory, callable=call
        ),
        environment=ours or {},
        time_limit_ms=time_limit_ms,
    )


def shell(number: int, line: str, **more: object) -> LaunchOrder:
    return order(number, "/bin/sh", "-c", textwrap.dedent(line), **more)  # type: ignore[arg-type]


def python(number: int, program: str, **more: object) -> LaunchOrder:
    return order(number, sys.executable, "-c", textwrap.dedent(program), **more)  # type: ignore[arg-type]


def processes_of(state: Path) -> list[int]:
    """Every process that was started below a state directory: zygote, supervisors, containers."""
    ours = processes.marked("FAIRSHARE_STATE_DIRECTORY", str(state))
    for directory in (state / "containers").glob("*/*"):
        ours += processes.marked("FAIRSHARE_CONTAINER_DIRECTORY", str(directory))
    return sorted(set(ours))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


Start = Callable[..., tuple[LocalEngine, Reports]]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def start(state: Path) -> Iterator[Start]:
    """Start engines on one state directory; afterwards no process of it may be left."""
    engines: list[LocalEngine] = []

    def begin(**settings: object) -> tuple[LocalEngine, Reports]:
        engine = LocalEngine(state, **settings)  # type: ignore[arg-type]
        reports = Reports()
        engine.start(reports)
        engines.append(engine)
        return engine, reports

    yield begin
    for engine in engines:
        engine.close(stop_containers=True)
    assert processes_of(state) == []


@pytest.fixture(params=["auto", "watch"])
def engine(request: pytest.FixtureRequest, start: Start) -> tuple[LocalEngine, Reports]:
    return start(enforcement=request.param)


# ---- what a container finds


def test_a_container_runs_in_a_directory_of_its_own_and_its_output_goes_to_its_logs(engine):
    local, reports = engine
    local.launch(
        shell(1, "pwd; echo complaint >&2; ls -l /proc/self/fd | wc -l; readlink /proc/self/fd/0")
    )
    ended = reports.exited(container_id(1, 1, 1))
    files = local.files(APPLICATION, shell(1, "").container_name)
    assert (ended.exit_code, ended.diagnostics) == (0, "")
    # "total", 0, 1, 2 and the one that `ls` has open itself: nothing of ours is open
    assert files.stdout.read_text().splitlines() == [str(files.work), "5", "/dev/null"]
    assert files.stderr.read_text() == "complaint\n"
    assert [type(report) for report in reports.all] == [ContainerStarted, ContainerExited]


def test_the_environment_is_small_and_says_what_the_container_is(engine, monkeypatch):
    local, reports = engine
    wanted = shell(
        1, "env", environment={"A": "1", "FAIRSHARE_TASK_INDEX": "9"},
        ours={"FAIRSHARE_TASK_INDEX": "3"}, memory_mb=300,
    )  # fmt: skip
    local.launch(wanted)
    reports.exited(wanted.container)
    files = local.files(APPLICATION, wanted.container_name)
    lines = dict(line.split("=", 1) for line in files.stdout.read_text().splitlines())
    assert lines.pop("PATH")
    for name in ("HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANGUAGE",
                 "LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "SSL_CERT_DIR", "SSL_CERT_FILE",
                 "_"):  # fmt: skip
        lines.pop(name, None)
    assert lines == {
        "A": "1",
        "FAIRSHARE_TASK_INDEX": "3",
        "FAIRSHARE_APPLICATION": APPLICATION,
        "FAIRSHARE_CONTAINER": wanted.container_name,
        "FAIRSHARE_CONTAINER_DIRECTORY": str(files.path),
        "FAIRSHARE_NODE": "local",
        "FAIRSHARE_MEMORY_MB": "300",
        "FAIRSHARE_VCORES": "1",
    }


def test_a_container_is_a_session_of_its_own_with_all_signals_as_usual(engine):
    local, reports = engine
    wanted = python(
        1,
        """
        import os, signal
        assert os.getsid(0) == os.getpid()
        status = dict(l.split(":", 1) for l in open("/proc/self/status"))
        # python itself ignores SIGPIPE (13) and SIGXFSZ (25), and handles SIGINT (2)
        # signals 32 and up are the C library's own: nobody but it can set them
        ordinary = (1 << 31) - 1
        print(*(hex(int(status[name], 16) & ordinary) for name in ("SigBlk", "SigIgn", "SigCgt")))
        """,
    )
    local.launch(wanted)
    assert reports.exited(wanted.container).exit_code == 0
    log = local.files(APPLICATION, wanted.container_name).stdout.read_text()
    assert log.split() == ["0x0", hex(1 << 12 | 1 << 24), hex(1 << 1)]


def test_a_container_runs_on_the_node_of_its_order(start):
    local, reports = start(nodes=3)
    for number in (1, 2, 3):
        wanted = shell(number, "echo $FAIRSHARE_NODE", node=f"local-{number}")
        local.launch(wanted)
        reports.exited(wanted.container)
        log = local.files(APPLICATION, wanted.container_name).stdout
        assert log.read_text() == f"local-{number}\n"


# ---- how it can fail


def test_a_failure_says_its_exit_code_and_the_last_lines_of_stderr(engine):
    local, reports = engine
    local.launch(shell(1, "for i in $(seq 100); do echo line $i >&2; done; exit 3"))
    ended = reports.exited(container_id(1, 1, 1))
    assert ended.exit_code == 3
    assert ended.diagnostics.splitlines()[0] == "exit code 3"
    assert ended.diagnostics.splitlines()[2:] == [f"line {i}" for i in range(81, 101)]


def test_a_container_ended_by_a_signal_says_which(engine):
    local, reports = engine
    local.launch(shell(1, "kill -SEGV $$"))
    ended = reports.exited(container_id(1, 1, 1))
    assert ended.exit_code == 139
    assert ended.diagnostics.startswith("ended by signal 11 (SIGSEGV)")


def test_what_cannot_be_run_is_reported_with_the_reason(engine, tmp_path):
    local, reports = engine
    plain = tmp_path / "plain"
    plain.write_text("text")
    orphan = tmp_path / "orphan"
    orphan.write_text("#!/no/such/interpreter\n")
    orphan.chmod(0o755)
    cases = [
        (order(1, "no-such"), 127, "cannot run 'no-such': no such command in PATH="),
        (order(2, "/no/such/file"), 127, "cannot run '/no/such/file': no such command"),
        (order(3), 127, "cannot run: the command is empty"),
        (order(4, str(plain)), 126, f"cannot run {str(plain)!r}: Permission denied"),
        (order(5, str(orphan)), 126, f"cannot run {str(orphan)!r}: the interpreter that it names"),
        (
            order(6, "true", directory="/no/such/place"), 126,
            "cannot run 'true': working directory '/no/such/place': No such file",
        ),
        (order(7, "true", "a\0b"), 126, "cannot run 'true': an argument, variable or path holds"),
        (order(8, "true", node="elsewhere"), -100, "this engine has no node 'elsewhere',"),
    ]  # fmt: skip
    for wanted, _, _ in cases:
        local.launch(wanted)
    for wanted, code, words in cases:
        ended = reports.exited(wanted.container)
        assert ended.exit_code == code
        assert ended.diagnostics.startswith(words)
        assert not reports.of(ContainerStarted, wanted.container)
    until(lambda: local.running() == frozenset())


def test_a_full_disk_fails_the_launch_and_leaves_nothing_half_done(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    program = textwrap.dedent(f"""
        import sys, pathlib
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_local_engine import *
        state = pathlib.Path({str(disk)!r}, "state")
        engine, reports = LocalEngine(state), Reports()
        engine.start(reports)
        (state / "ballast").touch()
        with contextlib.suppress(OSError), (state / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        engine.launch(shell(1, "true", environment=dict(BIG="x" * 100_000)))
        ended = reports.exited(container_id(1, 1, 1))
        print(ended.exit_code, ended.diagnostics)
        print([path.name for path in state.glob("containers/*/*")])
        (state / "ballast").unlink()
        engine.launch(shell(1, "exit 5"))
        reports.until(lambda: len(reports.of(ContainerExited, container_id(1, 1, 1))) == 2)
        print(reports.all[-1].exit_code)
        engine.close(stop_containers=True)
    """)
    program = "import contextlib\n" + program
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c",
         f'mount -t tmpfs -o size=1m tmpfs "{disk}" 2>/dev/null || exit 99; exec "$0" -c "$1"',
         sys.executable, program],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    if done.returncode == 99 or "unshare failed" in done.stderr:
        pytest.skip("a small file system cannot be mounted here")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"-101 cannot write {disk}/state/containers/")
    assert lines[0].endswith("No space left on device")
    assert lines[1:] == ["[]", "5"]


# ---- how it is ended


TREE = """
    (setsid sleep 1000 & echo $! > a)
    (sleep 1000 & echo $! > b)
    python3 -c '
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open("c.new", "w").write(str(os.getpid()))
            os.rename("c.new", "c")
            time.sleep(1000)
    ' &
    {rest}
"""


def tree(number: int, rest: str, **more: object) -> LaunchOrder:
    program = textwrap.dedent(TREE).format(rest=rest).replace("python3", sys.executable)
    return order(number, "/bin/sh", "-c", program, **more)  # type: ignore[arg-type]


def members(work: Path) -> list[int]:
    """The sleepers of a tree, once all of them are there."""
    until(lambda: all((work / name).exists() and (work / name).read_text() for name in "abc"))
    return [int((work / name).read_text()) for name in "abc"]


def test_stop_ends_the_whole_tree_also_sessions_and_daemons(engine):
    local, reports = engine
    wanted = tree(1, "wait; sleep 1000")
    local.launch(wanted)
    pids = members(local.files(APPLICATION, wanted.container_name).work)
    assert all(map(alive, pids))
    local.stop(wanted.container)
    local.stop(wanted.container)
    ended = reports.exited(wanted.container)
    assert not any(map(alive, pids))
    assert (ended.exit_code, ended.diagnostics) == (143, "stopped on request")
    local.stop(wanted.container)
    local.stop(container_id(9, 9, 9))


def test_what_a_finished_command_leaves_behind_is_ended_too(engine):
    local, reports = engine
    wanted = tree(1, "while [ ! -e c ]; do sleep 0.01; done; exit 4")
    local.launch(wanted)
    pids = members(local.files(APPLICATION, wanted.container_name).work)
    assert reports.exited(wanted.container).exit_code == 4
    assert not any(map(alive, pids))


def test_who_ignores_the_polite_signal_is_killed(engine):
    local, reports = engine
    wanted = shell(1, "trap '' TERM; touch ready; while :; do sleep 0.1; done")
    local.launch(wanted)
    until((local.files(APPLICATION, wanted.container_name).work / "ready").exists)
    local.stop(wanted.container)
    assert reports.exited(wanted.container).exit_code == 137


def test_a_stopped_container_that_says_0_has_not_succeeded(engine):
    local, reports = engine
    wanted = shell(1, "trap 'exit 0' TERM; touch ready; while :; do sleep 0.1; done")
    local.launch(wanted)
    until((local.files(APPLICATION, wanted.container_name).work / "ready").exists)
    local.stop(wanted.container)
    ended = reports.exited(wanted.container)
    assert ended.exit_code == 143
    assert ended.diagnostics.startswith("stopped on request; it answered SIGTERM with exit code 0")


def test_processes_that_fork_and_end_all_the_time_cannot_escape(engine, tmp_path):
    """Each lives for a moment only, its child goes on: there is hardly anybody to be seen."""
    local, reports = engine
    comet = tmp_path / "comet"
    # It ends by itself in the end, so that a failing test leaves nothing for ever.
    comet.write_text('#!/bin/sh\ntouch alive\n[ "$1" -gt 20000 ] || "$0" $(($1 + 1)) &\nexit 0\n')
    comet.chmod(0o755)
    wanted = shell(1, f"{comet} 1; sleep 1000")
    local.launch(wanted)
    sign = local.files(APPLICATION, wanted.container_name).work / "alive"
    until(sign.exists)
    local.stop(wanted.container)
    reports.exited(wanted.container)
    sign.unlink()
    time.sleep(0.2)  # nothing can be waited for: it is the absence of a sign that is wanted
    assert not sign.exists()


def test_a_stop_right_after_the_launch_is_not_lost(engine):
    local, reports = engine
    for number in range(1, 11):
        local.launch(shell(number, "sleep 1000"))
        local.stop(container_id(1, 1, number))
    for number in range(1, 11):
        assert reports.exited(container_id(1, 1, number)).exit_code in (137, 143)


def test_a_container_is_ended_at_its_time_limit_and_says_so(engine):
    local, reports = engine
    local.launch(shell(1, "sleep 1000", time_limit_ms=200))
    local.launch(shell(2, "exit 0", time_limit_ms=60_000))
    ended = reports.exited(container_id(1, 1, 1))
    assert ended.exit_code == 143
    assert ended.diagnostics == "killed: ran longer than its time limit of 200 ms"
    assert reports.exited(container_id(1, 1, 2)).exit_code == 0


HOG = """
    import time
    held = []
    for _ in range(400):
        held.append(bytearray(1 << 20))
        time.sleep(0.002)
    print("unharmed")
"""


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


# ---- Python callables


def test_a_callable_runs_with_its_arguments_and_its_result_is_kept(engine):
    local, reports = engine
    factor = 7

    def multiply(a: int, *, b: int) -> tuple[int, Callable[[int], int]]:
        print("at work")
        return a * b * factor, lambda x: x + factor

    wanted = order(1, call=cloudpickle.dumps((multiply, (2,), {"b": 3})))
    local.launch(wanted)
    ended = reports.exited(wanted.container)
    assert (ended.exit_code, ended.diagnostics) == (0, "")
    number, function = pickle.loads(
        local.result_path(APPLICATION, wanted.container_name).read_bytes()
    )
    assert (number, function(1)) == (42, 8)
    assert local.files(APPLICATION, wanted.container_name).stdout.read_text() == "at work\n"


def test_a_callable_that_raises_ends_with_1_and_its_traceback(engine):
    local, reports = engine

    def fail() -> None:
        raise ValueError("not today")

    wanted = order(1, call=cloudpickle.dumps((fail, (), {})))
    local.launch(wanted)
    ended = reports.exited(wanted.container)
    assert ended.exit_code == 1
    assert ended.diagnostics.endswith("ValueError: not today")
    assert not local.result_path(APPLICATION, wanted.container_name).exists()


# ---- orders that come twice


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
        kinds.setdefault(report.container, []).append(type(report))  # type: ignore[union-attr]
    assert list(kinds.values()) == [[ContainerStarted, ContainerExited]] * count
    until(lambda: local.running() == frozenset())


# ---- servers that come and go


def server(state: Path, orders: str) -> "subprocess.Popen[str]":
    """Another process with an engine on this state directory, that has launched some orders."""
    program = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_local_engine import *
        engine, reports = LocalEngine(Path({str(state)!r})), Reports()
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
    assert reports.all == [ContainerStarted(container)]
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
    assert [type(report) for report in reports.all] == [ContainerExited]
    assert reports.all[0].exit_code == 9  # type: ignore[union-attr]
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
        from test_local_engine import *
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
    (zygote,) = [
        pid
        for pid in processes.marked("FAIRSHARE_STATE_DIRECTORY", str(state))
        if Path(f"/proc/{pid}/comm").read_text() == "fs-zygote\n"
    ]
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
    (supervisor,) = [
        pid
        for pid in processes.marked("FAIRSHARE_STATE_DIRECTORY", str(state))
        if Path(f"/proc/{pid}/comm").read_text() == "fs-supervisor\n"
    ]
    os.kill(supervisor, signal.SIGKILL)
    ended = reports.exited(wanted.container)
    assert ended.exit_code == -100
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
def test_an_engine_whose_report_failed_refuses_work_and_still_ends_everything(state):
    def refuse(_: Input) -> None:
        raise RuntimeError("no room")

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


# ---- cleaning, and other users


def test_pruning_deletes_a_finished_application_and_refuses_a_running_one(engine, state):
    local, reports = engine
    local.launch(shell(1, "mkdir -p a/b; touch a/b/c; chmod 0 a/b; chmod 500 a"))
    local.launch(shell(2, "sleep 1000"))
    reports.started(container_id(1, 1, 2))
    reports.exited(container_id(1, 1, 1))
    with pytest.raises(EngineError, match="_000002 still runs"):
        local.prune(APPLICATION)
    assert (state / "containers" / APPLICATION / shell(1, "").container_name).exists()
    local.stop(container_id(1, 1, 2))
    reports.exited(container_id(1, 1, 2))
    local.prune(APPLICATION)
    assert list((state / "containers").iterdir()) == []
    local.prune(APPLICATION)
    with pytest.raises(EngineError, match="cannot name a directory"):
        local.prune("../containers")


def as_nobody(interpreter: str, program: str) -> "subprocess.CompletedProcess[str]":
    packages = [str(SOURCE), str(Path(pytest.__file__).parents[1])]
    return subprocess.run(
        [interpreter, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        user=65534,
        group=65534,
        extra_groups=[],
        cwd="/",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(packages), "HOME": "/"},
    )


def interpreter_for_nobody() -> str | None:
    for interpreter in (sys.executable, "/usr/bin/python3"):
        try:
            done = as_nobody(interpreter, "import fairshare.engines.local.engine, cloudpickle")
        except OSError:
            continue
        if done.returncode == 0:
            return interpreter
    return None


def test_an_ordinary_user_without_cgroups_has_watched_memory_and_whole_trees(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user; the other tests ran as an ordinary one")
    interpreter = interpreter_for_nobody()
    if interpreter is None:
        pytest.skip("another user cannot run any interpreter that has our dependencies")
    place = Path("/tmp") / f"fairshare-nobody-{os.getpid()}"
    place.mkdir(mode=0o700)
    os.chown(place, 65534, 65534)
    program = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_local_engine import *
        state = Path({str(place)!r}, "state")
        engine, reports = LocalEngine(state), Reports()
        engine.start(reports)
        print(engine.nodes()[0].attributes)
        wanted = tree(1, "sleep 1000")
        engine.launch(python(2, HOG, memory_mb=100))
        engine.launch(shell(3, "mkdir -p a/b; touch a/b/c; chmod 0 a/b; chmod 500 a"))
        engine.launch(wanted)
        pids = members(engine.files(APPLICATION, wanted.container_name).work)
        engine.stop(wanted.container)
        print(reports.exited(wanted.container).exit_code, any(map(alive, pids)))
        print(reports.exited(container_id(1, 1, 2)).exit_code)
        reports.exited(container_id(1, 1, 3))
        engine.prune(APPLICATION)
        engine.close(stop_containers=True)
        print(processes_of(state), list((state / "containers").iterdir()))
    """)
    try:
        done = as_nobody(interpreter, program)
    finally:
        leftover = processes_of(place / "state")
        shutil.rmtree(place)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "'memory-limit': 'watch'" in lines[0]
    assert "'cpu-limit': 'nice'" in lines[0]
    assert lines[1:] == ["143 False", "-104", "[] []"]
    assert leftover == []
