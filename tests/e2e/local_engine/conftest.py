"""Local engines with real processes: orders for them, what they report, and the end of it all."""

import os
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairshare.api.work import EndSignal
from fairshare.core.model.identifiers import application_name, container_id, container_name
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.core.model.work import Command
from fairshare.engines.local import compiled, processes
from fairshare.engines.local.engine import LocalEngine
from fairshare.engines.local.gpus.chosen import assigned_elsewhere
from fairshare.engines.protocol import Launched, LaunchOrder

EPOCH_MS = 1_700_000_000_000
APPLICATION = application_name(EPOCH_MS, 1)
PATIENCE_S = 60.0
SOURCE = Path(__file__).parents[3] / "src"


def groups_named(name: str) -> list[Path]:
    """The control groups of this name; that others go away while it looks does not matter."""
    walk = os.walk("/sys/fs/cgroup")
    return [Path(parent, name) for parent, below, _ in walk if name in below]


TWO_GPUS = assigned_elsewhere(("0", "1"), ())
"""Pretended ones: an engine believes the names that another scheduler gave it."""


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
    launched_ms: int = 0,
    grace_ms: int | None = None,
    end_signal: EndSignal | None = None,
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
            arguments=arguments,
            environment=environment or {},
            directory=directory,
            callable=call,
            grace_ms=grace_ms,
            end_signal=end_signal,
        ),
        environment=ours or {},
        time_limit_ms=time_limit_ms,
        resources={"memory-mb": memory_mb, "vcores": vcores},
        launched_ms=launched_ms,
    )


def shell(number: int, line: str, **more: Any) -> LaunchOrder:
    return order(number, "/bin/sh", "-c", textwrap.dedent(line), **more)


def on_gpus(number: int, line: str, gpus: int = 1) -> LaunchOrder:
    wanted = shell(number, line)
    wanted.resources["yarn.io/gpu"] = gpus
    return wanted


def python(number: int, program: str, **more: Any) -> LaunchOrder:
    return order(number, sys.executable, "-c", textwrap.dedent(program), **more)


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


def tree(number: int, rest: str, **more: Any) -> LaunchOrder:
    program = textwrap.dedent(TREE).format(rest=rest).replace("python3", sys.executable)
    return order(number, "/bin/sh", "-c", program, **more)


def members(work: Path) -> list[int]:
    """The sleepers of a tree, once all of them are there."""
    until(lambda: all((work / name).exists() and (work / name).read_text() for name in "abc"))
    return [int((work / name).read_text()) for name in "abc"]


HOG = """
    import time
    held = []
    for _ in range(400):
        held.append(bytearray(1 << 20))
        time.sleep(0.002)
    print("unharmed")
"""


def processes_of(state: Path) -> list[int]:
    """Every process that was started below a state directory: zygote, supervisors, containers."""
    ours = processes.marked("FAIRSHARE_STATE_DIRECTORY", str(state))
    for directory in (state / "containers").glob("*/*"):
        ours += processes.marked("FAIRSHARE_CONTAINER_DIRECTORY", str(directory))
    return sorted(set(ours))


def process_named(state: Path, name: str) -> int:
    """The only process of a server with this name, when there is exactly one: a supervisor has the
    name of its starter for a moment."""

    def name_of(pid: int) -> str:
        try:
            return Path(f"/proc/{pid}/comm").read_text().rstrip()
        except OSError:  # it has ended meanwhile
            return ""

    found: list[int] = []

    def only_one() -> bool:
        found[:] = [pid for pid in processes_of(state) if name_of(pid) == name]
        return len(found) == 1

    until(only_one)
    return found[0]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


Start = Callable[..., tuple[LocalEngine, Reports]]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


SUPERVISORS = ["compiled", "python"] if compiled.exists() else ["python"]


@pytest.fixture(params=SUPERVISORS)
def start(request: pytest.FixtureRequest, state: Path) -> Iterator[Start]:
    """Start engines on one state directory, with either supervisor; afterwards no process of it may
    be left."""
    engines: list[LocalEngine] = []

    def begin(
        launched: Launched | None = None,
        report: Callable[[Input], None] | None = None,
        **settings: Any,
    ) -> tuple[LocalEngine, Reports]:
        engine = LocalEngine(state, compiled=request.param == "compiled", **settings)
        reports = Reports()
        engine.start(report or reports, launched=launched)
        engines.append(engine)
        return engine, reports

    yield begin
    for engine in engines:
        engine.close(stop_containers=True)
    until(lambda: processes_of(state) == [])  # a reaper waits briefly for a lock


@pytest.fixture(params=["auto", "watch"])
def engine(request: pytest.FixtureRequest, start: Start) -> tuple[LocalEngine, Reports]:
    return start(enforcement=request.param)
