"""Policies of other packages: how they are registered, and that the order depends on the cluster's
size."""

from collections.abc import Iterator

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.inputs import (
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.calculators import memory_calculator
from fairshare.core.schedulers.fair import policies
from fairshare.core.schedulers.fair.policies import Key, Policy, Sibling, register
from fairshare.core.schedulers.fair.scheduler import FairScheduler
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings


class ByClusterSize(Policy):
    """The youngest first in a cluster of one node, the oldest first in a larger one."""

    def key(self, cluster: Resource) -> tuple[Key, bool]:
        sign = -1 if cluster[0] <= 1024 else 1

        def key(sibling: Sibling) -> tuple[float, ...]:
            return (sign * sibling.rank, sibling.rank)

        return key, False


@pytest.fixture
def by_size() -> Iterator[Policy]:
    policy = ByClusterSize("by-size", "by size", memory_calculator, leaf_only=False)
    register(policy)
    yield policy
    del policies.POLICIES["by-size"]


def test_a_policy_with_a_name_in_use_is_refused(by_size: Policy) -> None:
    register(by_size)  # the same one again is harmless
    with pytest.raises(ValueError, match="another policy 'by-size'"):
        register(ByClusterSize("by-size", "x", memory_calculator, leaf_only=False))
    with pytest.raises(ValueError, match="another policy 'fair'"):
        register(ByClusterSize("fair", "x", memory_calculator, leaf_only=False))


@pytest.mark.parametrize("name", ["", "Big", "two words", " edge"])
def test_a_name_that_is_invalid_in_a_file_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        register(ByClusterSize(name, "x", memory_calculator, leaf_only=False))
    assert name not in policies.POLICIES


def test_a_fair_parent_may_have_a_child_with_another_policy(by_size: Policy) -> None:
    assert policies.POLICIES["fair"].allows_child(by_size)
    assert not policies.POLICIES["fifo"].allows_child(by_size)
    assert by_size.allows_child(policies.POLICIES["drf"])


@pytest.mark.parametrize(("nodes", "first"), [(1, 2), (2, 1)])
def test_the_order_follows_when_the_cluster_grows(by_size: Policy, nodes: int, first: int) -> None:
    queue = QueueSettings("root.a", policy="by-size")
    settings = FairSettings(allocations=AllocationSettings(queues={"root.a": queue}))
    manager = ResourceManager(FairScheduler(ResourceTypes()))
    manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), epoch_ms=1))
    manager.handle(0, NodeJoined("n0", (1024, 1)))
    ask = ContainerRequest(1, (1024, 1))
    for _ in range(2):
        manager.handle(1, SubmitApplication("ann", "a", requests=(ask,)))
    manager.handle(2, UpdateShares())
    for number in range(1, nodes):
        manager.handle(3, NodeJoined(f"n{number}", (1024, 1)))
    events = manager.handle(4, NodeBeat("n0"))
    granted = [e.application for e in events if isinstance(e, ContainerAllocated)]
    assert granted == [first]
