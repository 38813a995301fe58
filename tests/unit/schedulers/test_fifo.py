"""The FIFO scheduler counts memory, as Hadoop's does."""

import msgspec
import pytest

from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.events import ContainerAllocated
from fairshare.model.inputs import LoadConfiguration, NodeBeat, NodeJoined, SubmitApplication
from fairshare.model.resources import Resource, ResourceTypes
from fairshare.model.work import ContainerRequest
from fairshare.schedulers.fifo.scheduler import FifoScheduler
from fairshare.schedulers.fifo.settings import FifoSettings


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
