"""The FIFO scheduler counts memory, as Hadoop's does."""

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationRejected, ContainerAllocated, RequestRefused
from fairshare.core.model.inputs import (
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    NodeLost,
    NodeResized,
    SubmitApplication,
)
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.fifo import FifoScheduler, FifoSettings


@pytest.mark.parametrize(
    ("names", "asked", "granted"),
    [
        (("memory-mb", "vcores"), (2048, 2), (2048, 1)),
        (("memory-mb", "vcores"), (1, 0), (1024, 1)),
        (("memory-mb", "vcores", "yarn.io/gpu"), (1024, 4, 2), (1024, 1, 2)),
    ],
)
def test_a_container_has_one_vcore_and_the_other_types_it_asked_for(
    names: tuple[str, ...], asked: Resource, granted: Resource
) -> None:
    types = ResourceTypes(names)
    manager = ResourceManager(FifoScheduler(types))
    settings = FifoSettings(
        types=types,
        minimum_allocation=(1024, 1, 0)[: len(names)],
        maximum_allocation=(8192, 4, 4)[: len(names)],
        increment_allocation=(1024, 1, 0)[: len(names)],
    )
    manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), epoch_ms=1))
    manager.handle(0, NodeJoined("n1", (8192, 8, 8)[: len(names)]))
    manager.handle(1, SubmitApplication("ann", "q", requests=(ContainerRequest(1, asked),)))
    (grant,) = [e for e in manager.handle(2, NodeBeat("n1")) if isinstance(e, ContainerAllocated)]
    assert grant.resource == granted


def test_containers_may_be_as_large_as_the_largest_node_that_there_is_now() -> None:
    manager = ResourceManager(FifoScheduler(ResourceTypes()))
    settings = FifoSettings(maximum_allocation=(8192, 8))
    manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), epoch_ms=1))

    def accepted(memory_mb: int) -> bool:
        submission = SubmitApplication("ann", "q", master=(memory_mb, 1))
        events = manager.handle(60_000, submission)
        return not any(isinstance(e, ApplicationRejected | RequestRefused) for e in events)

    manager.handle(1, NodeJoined("n1", (2048, 8)))
    manager.handle(1, NodeJoined("n2", (4096, 8)))
    assert (accepted(4096), accepted(5120)) == (True, False)
    manager.handle(2, NodeResized("n1", (6144, 8)))
    assert accepted(5120)
    manager.handle(3, NodeLost("n1"))
    assert (accepted(4096), accepted(5120)) == (True, False)


def test_a_submission_does_not_look_at_all_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = ResourceManager(FifoScheduler(ResourceTypes()))
    manager.handle(0, LoadConfiguration(msgspec.json.encode(FifoSettings()), epoch_ms=1))
    for number in range(50):
        manager.handle(0, NodeJoined(f"n{number}", (8192, 8)))
    request = (ContainerRequest(1, (1024, 1)),)
    manager.handle(60_000, SubmitApplication("ann", "q", requests=request))
    looked: list[str] = []
    offered = manager.state.offered
    monkeypatch.setattr(
        manager.state, "offered", lambda node: looked.append(node.name) or offered(node)
    )
    manager.handle(60_001, SubmitApplication("ann", "q", requests=request))
    assert looked == []
