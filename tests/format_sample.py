"""Makes the state directories of `tests/data/format-1`, which every later release must read.

    .venv/bin/python -m tests.format_sample

They were made by the last version before the format was frozen, and are not made again:
`tests/unit/server/test_format.py` reads them. A change that they do not survive is another format.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.manual_engine import ManualEngine
from tests.observing import follower

from fairshare.api.work import EndSignal
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import (
    AddTasks,
    ChangeBlacklist,
    ChangeLifetime,
    Condition,
    DecommissionNode,
    DrainNode,
    FinishApplication,
    ForgetApplications,
    HoldApplication,
    Input,
    KillApplication,
    KillTask,
    LaunchContainer,
    LoadConfiguration,
    MasterRegistered,
    MoveApplication,
    NodeJoined,
    NodeLost,
    NodeResized,
    ReleaseApplication,
    ReleaseContainers,
    RequestContainers,
    RequeueApplication,
    ReserveApplication,
    SetPriority,
    SetSafeMode,
    StartConditions,
    SubmissionDetails,
    SubmitApplication,
    UndrainNode,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.state import ClusterState
from fairshare.core.model.work import Command, ContainerRequest, Payload, TaskArray, TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage, QueueSettings
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.core.schedulers.pools.settings import PoolsSettings
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.projections.container_history import ContainerHistory
from fairshare.runtime.projections.projections import MANAGER, Projections
from fairshare.runtime.runtime import Runtime
from fairshare.runtime.snapshot import freeze
from fairshare.server.state_directory import StateDirectory
from fairshare.settings.registry import FAMILIES, family_of

FORMAT_1 = Path(__file__).parent / "data" / "format-1"

EPOCH_MS = 1_700_000_000_000

SLOTS = ResourceTypes(("memory-mb", "vcores", "map-slots", "reduce-slots"), ("Mi", "", "", ""))

SETTINGS: dict[str, Any] = {
    "fair": FairSettings(preemption=True),
    "fifo": FifoSettings(),
    "capacity": CapacitySettings(
        queues={
            "root": QueueSettings(children=("a", "b"), capacity=Percentage(100.0)),
            "root.a": QueueSettings(capacity=Percentage(50.0), maximum_master_share=1.0),
            "root.b": QueueSettings(capacity=Percentage(50.0), maximum_master_share=1.0),
        }
    ),
    "pools": PoolsSettings(types=SLOTS),
}


class Sample:
    """A cluster under one scheduler, whose journal is in a directory."""

    def __init__(self, directory: Path, scheduler: str) -> None:
        settings = SETTINGS[scheduler]
        self.scheduler = scheduler
        self.directory = directory
        StateDirectory(directory).claim(scheduler, settings.types, EPOCH_MS)
        self.now_ms = EPOCH_MS
        self.journal = SqliteJournal(directory)
        self.engine = ManualEngine()
        self.manager = ResourceManager(family_of(scheduler).create(settings.types))
        self.state = self.manager.state
        self.projections = Projections(settings.types)
        self.runtime = Runtime(
            self.manager,
            self.journal,
            self.engine,
            observers=[follower(self.projections, self.manager.scheduler)],
        )
        reports: list[Input] = []
        self.engine.report = reports.append
        self.reports = reports
        self.feed(LoadConfiguration(msgspec.json.encode(settings), EPOCH_MS))

    def feed(self, *inputs: Input) -> None:
        """Turn with some inputs, then with what the engine reports of them."""
        self.now_ms += 1_000
        self.runtime.turn(self.now_ms, inputs)
        while self.reports:
            reported, self.reports[:] = tuple(self.reports), ()
            self.now_ms += 10
            self.runtime.turn(self.now_ms, reported)

    def save(self) -> int:
        """Store a snapshot behind the last record; its number."""
        position = self.runtime.position
        parts = {MANAGER: self.manager, **self.projections.parts()}
        self.journal.save(freeze(position.sequence, position.now_ms, parts))
        return position.sequence


def make(directory: Path, scheduler: str) -> None:
    """A state directory in the middle of its work: records, a snapshot, and records behind it."""
    directory.mkdir(parents=True)
    sample = Sample(directory, scheduler)
    for inputs in work(sample):
        sample.feed(*inputs)
    snapshot = sample.save()
    for inputs in more_work(sample):
        sample.feed(*inputs)
    facts = {
        "sequence": sample.runtime.position.sequence,
        "snapshot": snapshot,
        **facts_of(sample.state, sample.projections.history),
    }
    (directory / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
    sample.journal.close()
    (directory / "lock").unlink(missing_ok=True)
    (directory / "journal.reserve").unlink(missing_ok=True)


def work(sample: Sample) -> Iterator[tuple[Input, ...]]:
    """Nodes and applications of every kind."""
    pools = sample.scheduler == "pools"
    size, offer = ((0, 0, 1, 0), (8, 8, 3, 3)) if pools else ((1024, 1), (6144, 6))
    queues = ("", "") if sample.scheduler == "fifo" else ("root.a", "root.b")
    run = Command(
        ("sh", "-c", "true"),
        environment={"COLOUR": "blue"},
        limits={"nofile": 64},
        output="log.%j",
        grace_ms=2_000,
        end_signal=EndSignal(name="USR1", before_ms=1_000),
    )
    yield tuple(NodeJoined(f"n{n}", offer, rack=f"/r{n % 2}") for n in range(5))
    for number in range(6):
        yield (
            SubmitApplication(
                ("ann", "bob", "cat")[number % 3],
                queues[number % 2],
                f"job {number}",
                ("users", "staff"),
                tasks=(
                    TaskGroup("first", 2 + number, size, run, hosts=(f"n{number % 4}",)),
                    TaskGroup("then", 2, size, run, after=("first",), max_attempts=2),
                ),
                tags=("nightly",),
                lifetime_s=3_600,
            ),
        )
    yield (
        SubmitApplication("ann", queues[0], "gang", tasks=(TaskGroup("g", 3, size, gang=True),)),
        SubmitApplication(
            "bob",
            queues[1],
            "array",
            tasks=(TaskGroup("a", 3, size, run, at_once=1, array=TaskArray(((0, 3, 3),))),),
        ),
        SubmitApplication(
            "bob",
            queues[1],
            "call",
            tasks=(TaskGroup("c", 1, size, Command(payload=Payload("ab" * 32, 7))),),
            start=StartConditions((Condition(1),)),
        ),
        SubmitApplication(
            "cat",
            queues[0],
            "later",
            tasks=(TaskGroup("l", 1, size, run),),
            start=StartConditions(begin_ms=sample.now_ms + 900_000),
        ),
        ReserveApplication(),
    )
    yield (
        SubmitApplication(
            "cat",
            queues[0],
            "driver",
            master=size,
            driver=run,
            details=SubmissionDetails(max_attempts=2, keep_containers=True),
        ),
        SubmitApplication("dan", queues[1], "own master", master=size),
    )
    driver = max(sample.state.applications) - 1
    yield (
        MasterRegistered(driver, "n1", 4_000, "http://n1/"),
        MasterRegistered(driver + 1),
        RequestContainers(driver, (ContainerRequest(3, size, hosts=("n1",), racks=("/r1",)),)),
        RequestContainers(driver + 1, (ContainerRequest(40, size),)),
        ChangeBlacklist(driver, ("n4",)),
        AddTasks(driver, (TaskGroup("added", 1, size, run),)),
    )
    for container in sorted(sample.engine.live)[:6]:
        sample.engine.end(container, container % 3, "ended")
    yield ()
    held = [
        container
        for container in sorted(sample.state.applications[driver].attempt.containers)
        if container not in sample.engine.orders
    ]
    for place, container in enumerate(held[:2]):
        yield (
            LaunchContainer(driver, container, run)
            if place == 0
            else ReleaseContainers(driver, (container,)),
        )
    yield (
        KillApplication(3, "enough", "ann"),
        KillTask(6, 0, 6, user="cat"),
        HoldApplication(4),
        SetPriority(5, 3),
        MoveApplication(2, queues[0]),
        ChangeLifetime(6, sample.now_ms + 3_600_000),
        DrainNode("n3"),
        NodeResized("n2", offer[:1] + tuple(one - 1 for one in offer[1:])),
    )


def more_work(sample: Sample) -> Iterator[tuple[Input, ...]]:
    """What follows the snapshot."""
    yield (
        ReleaseApplication(4),
        RequeueApplication(5),
        UndrainNode("n3"),
        ForgetApplications((3,)),
    )
    for container in sorted(sample.engine.live)[:5]:
        sample.engine.end(container)
    yield ()
    yield (NodeLost("n4"), DecommissionNode("n3", sample.now_ms + 600_000))
    yield (SetSafeMode(True),)
    yield (SetSafeMode(False), FinishApplication(max(sample.state.applications)))
    for _ in range(3):
        for container in sorted(sample.engine.live)[:4]:
            sample.engine.end(container)
        yield ()


def facts_of(state: ClusterState, history: ContainerHistory | None = None) -> dict[str, object]:
    """What `facts.json` has; the history only of a snapshot, since the state does not have it."""
    facts: dict[str, object] = {
        "applications": {
            str(application.id): [
                application.user,
                application.queue,
                application.submission.name,
                str(application.state),
                application.began_ms,
                application.priority,
                len(application.attempt.containers),
                list(application.attempt.used),
                [[group.spec.name, group.succeeded] for group in application.tasks.groups],
            ]
            for application in state.applications.values()
        },
        "used": list(state.used),
        "nodes": {node.name: list(node.available) for node in state.nodes.values()},
        "draining": sorted(state.drains),
        "queues": sorted(state.queues),
    }
    if history is not None:
        facts["history"] = {
            str(number): len(history.application(number).containers)
            for number in state.applications
        }
    return facts


if __name__ == "__main__":
    shutil.rmtree(FORMAT_1, ignore_errors=True)
    for name in sorted(FAMILIES):
        make(FORMAT_1 / name, name)
        print(f"made {FORMAT_1 / name}")
