"""What the facts about the Capacity Scheduler have in common: managers, vectors, queues."""

from collections.abc import Mapping
from typing import Any

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import RequestRefused
from fairshare.core.model.inputs import LoadConfiguration
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage, QueueSettings

from .fact import vector

NAMES = ("memory-mb", "vcores", "yarn.io/gpu")


def amounts(reported: Mapping[str, Any], size: int = 2) -> Resource:
    """Amounts in the order of `NAMES`, of which there are `size`."""
    return vector(reported, NAMES[:size])


def manager_of(queues: dict[str, QueueSettings], **settings: Any) -> ResourceManager:
    """A manager with a configured Capacity Scheduler; raises ValueError if it is refused."""
    types = ResourceTypes()
    manager = ResourceManager(CapacityScheduler(types))
    reported = CapacitySettings(types=types, queues=queues, **settings)
    events = manager.handle(0, LoadConfiguration(msgspec.json.encode(reported), 1))
    refused = [event for event in events if isinstance(event, RequestRefused)]
    if refused:
        raise ValueError(refused[0].reason)
    return manager


def queue_of(manager: ResourceManager, name: str) -> CapacityQueue:
    """One queue of a manager."""
    queue = manager.state.queues[name]
    assert isinstance(queue, CapacityQueue)
    return queue


def leaf() -> CapacityQueue:
    """A leaf that stands alone."""
    return CapacityQueue("root.a", True, False, None, (0, 0))


def two_queues(own: QueueSettings) -> dict[str, QueueSettings]:
    """`root.a` with these settings, and beside it a queue that has the rest."""
    assert isinstance(own.capacity, Percentage)
    rest = Percentage(single(100 - own.capacity.percent))
    return {
        "root": QueueSettings(children=("a", "rest")),
        "root.a": own,
        "root.rest": QueueSettings(capacity=rest),
    }
