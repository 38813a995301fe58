"""Who waits for room waits for the processes: what is granted begins when they are gone."""

import queue
import time

import msgspec
from tests.e2e.local_engine.conftest import EPOCH_MS, PATIENCE_S, Start, alive, until

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated, Event
from fairshare.core.model.inputs import (
    Input,
    KillApplication,
    LoadConfiguration,
    NodeJoined,
    SubmitApplication,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.runtime import Runtime
from fairshare.settings.registry import family_of

SLOW_TO_DIE = """
    trap 'while [ ! -e may-die ]; do sleep 0.02; done; exit 0' TERM
    echo $$ > pid.new; mv pid.new pid
    while :; do sleep 0.02; done
"""


def task(line: str) -> SubmitApplication:
    command = Command(arguments=("/bin/sh", "-c", line))
    return SubmitApplication("ann", tasks=(TaskGroup("t", 1, (1024, 1), command=command),))


class Server:
    """A manager over a local engine with room for one container, driven by its reports."""

    def __init__(self, start: Start) -> None:
        self.manager = ResourceManager(family_of("fair").create(ResourceTypes()))
        self.state = self.manager.state
        self.reports: queue.SimpleQueue[Input] = queue.SimpleQueue()
        self.engine, _ = start(memory_mb=1024, vcores=1, grace_ms=60_000, report=self.reports.put)
        self.runtime = Runtime(self.manager, MemoryJournal(), self.engine)
        settings = msgspec.json.encode(FairSettings(minimum_allocation=(1024, 1)))
        self.turn(LoadConfiguration(settings, EPOCH_MS), NodeJoined("local", (1024, 1)))

    def turn(self, *inputs: Input) -> list[Event]:
        steps = self.runtime.turn(time.monotonic_ns() // 1_000_000, inputs)
        check(self.state)
        return [event for _, events in steps for event in events]

    def hear(self) -> list[Event]:
        """One report of the engine."""
        return self.turn(self.reports.get(timeout=PATIENCE_S))


def test_room_is_given_on_when_the_processes_are_gone(start):
    server = Server(start)
    server.turn(task(SLOW_TO_DIE))
    server.hear()
    assert server.state.running
    (work,) = server.engine._state.path.glob("containers/*/*/work")
    until((work / "pid").exists)
    pid = int((work / "pid").read_text())

    events = server.turn(KillApplication(1), task("exit 0"))
    assert server.state.used == (0, 0)
    assert server.state.nodes["local"].available == (0, 0)
    assert not any(type(event) is ContainerAllocated for event in events)
    assert alive(pid)

    (work / "may-die").touch()
    events = server.hear()
    assert any(type(event) is ContainerAllocated for event in events)
    assert not alive(pid)
    while not server.state.applications[2].over:
        server.hear()
