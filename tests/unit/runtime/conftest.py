"""A runtime over the Fair Scheduler, with an engine that only remembers its orders."""

import zlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.manual_engine import ManualEngine
from tests.unit.core.schedulers.waiting import capacity, fair

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerLaunched
from fairshare.core.model.inputs import LoadConfiguration, NodeJoined, SubmitApplication
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.core.schedulers.pools.settings import PoolsSettings
from fairshare.engines.protocol import LaunchOrder
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.runtime import Runtime
from fairshare.settings.registry import family_of

EPOCH_MS = 1_700_000_000_000


def recording_engine() -> ManualEngine:
    """An engine that does what it is ordered by writing it down."""
    return ManualEngine(starts=False, stops=False)


class Bench:
    """Everything that a test of the runtime looks at."""

    def __init__(self, settings: FairSettings | None = None, **options) -> None:
        self.settings = settings or FairSettings()
        self.journal = MemoryJournal()
        self.engine = recording_engine()
        self.engine.witness = self._note_uncommitted
        self.uncommitted: list[int] = []
        self.manager = ResourceManager(family_of("fair").create(ResourceTypes()))
        self.state = self.manager.state
        self.runtime = Runtime(self.manager, self.journal, self.engine, **options)
        self.load = LoadConfiguration(msgspec.json.encode(self.settings), EPOCH_MS)
        self.runtime.feed(0, [self.load])

    def _note_uncommitted(self, order: LaunchOrder) -> None:
        kept = {
            event.container
            for record in self.journal.records()
            for event in record.events
            if isinstance(event, ContainerLaunched)
        }
        if order.container not in kept:
            self.uncommitted.append(order.container)

    def join(self, *names: str, memory_mb: int = 4096, vcores: int = 4, now_ms: int = 0) -> None:
        self.runtime.feed(now_ms, [NodeJoined(name, (memory_mb, vcores)) for name in names])

    def restart(self, **options) -> None:
        """A new manager and a new runtime that know nothing but the journal."""
        self.manager = ResourceManager(family_of("fair").create(ResourceTypes()))
        self.state = self.manager.state
        self.runtime = Runtime(self.manager, self.journal, self.engine, **options)
        self.runtime.recover()

    @property
    def records(self):
        return list(self.journal.records())


def tasks(count: int = 1, memory_mb: int = 1024, user: str = "ann", **group) -> SubmitApplication:
    """An application with one group of tasks."""
    group.setdefault("name", "t")
    return SubmitApplication(
        user=user, tasks=(TaskGroup(count=count, resource=(memory_mb, 1), **group),)
    )


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def make_bench() -> type[Bench]:
    return Bench


@pytest.fixture(params=("fair", "capacity", "fifo", "pools"))
def each_scheduler(request) -> tuple[Runtime, ManualEngine, Resource]:
    """A runtime over a scheduler, its engine, and the size of a container: a node has room for
    eight."""
    settings = {
        "fair": fair(),
        "capacity": capacity(maximum_master_share=1.0),
        "fifo": FifoSettings(),
        "pools": PoolsSettings(),
    }[request.param]
    types = getattr(settings, "types", ResourceTypes())
    engine = recording_engine()
    manager = ResourceManager(family_of(request.param).create(types))
    runtime = Runtime(manager, MemoryJournal(), engine)
    size = (1024, 1, 1, 0)[: len(types.names)]
    load = LoadConfiguration(msgspec.json.encode(settings), 1)
    runtime.feed(0, [load, NodeJoined("n1", tuple(8 * amount for amount in size))])
    return runtime, engine, size


@pytest.fixture
def submit() -> Callable[..., SubmitApplication]:
    return tasks


@pytest.fixture
def rewritten() -> Callable[[Snapshot, str, Callable[[dict[str, Any]], dict[str, Any]]], Snapshot]:
    """A snapshot as a version would have written it in which a kind had other fields, or no tag of
    this name: `change` gets the fields of each object by name; a field `tag` is the tag."""

    def rewrite(
        snapshot: Snapshot, tag: str, change: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> Snapshot:
        headers, rows, parts = msgspec.msgpack.decode(zlib.decompress(snapshot.body))
        (place,) = [place for place, header in enumerate(headers) if header[0] == tag]
        fields = headers[place][1]
        for row in rows:
            if row[0] == place:
                changed = change(dict(zip(fields, row[1:], strict=True)))
                headers[place] = [changed.pop("tag", tag), list(changed)]
                row[1:] = changed.values()
        body = zlib.compress(msgspec.msgpack.encode([headers, rows, parts]))
        return msgspec.structs.replace(snapshot, body=body)

    return rewrite
