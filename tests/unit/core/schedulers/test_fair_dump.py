"""The textual dump of queues, as Hadoop writes it."""

import msgspec
import pytest
from tests.facts.fair_dump import dump_queues, float_text

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import (
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.resources import resource_text
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.fair.scheduler import FairScheduler
from fairshare.settings.fair.reading import read_fair
from fairshare.settings.site import Site

FILE = """
<allocations>
  <queue name="a">
    <weight>2.5</weight>
    <schedulingPolicy>fifo</schedulingPolicy>
    <minResources>memory-mb=1024, vcores=1</minResources>
    <maxResources>memory-mb=4096, vcores=4</maxResources>
    <maxRunningApps>1</maxRunningApps>
    <maxAMShare>-1</maxAMShare>
  </queue>
</allocations>
"""


def test_the_dump_shows_the_queues_as_they_are() -> None:
    settings, _ = read_fair(Site.of({"yarn.resource-types": "gpu"}), FILE)
    scheduler = FairScheduler(settings.types)
    manager = ResourceManager(scheduler)
    manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), epoch_ms=1))
    manager.handle(5, NodeJoined("n", (8192, 8, 2)))
    ask = ContainerRequest(1, (2048, 1, 1))
    for _ in range(2):
        manager.handle(6, SubmitApplication("ann", "a", requests=(ask,)))
    manager.handle(7, UpdateShares())
    manager.handle(8, NodeBeat("n"))
    rootless = "MaxShare: <memory:9223372036854775807, vCores:2147483647, gpu: 9223372036854775807>"
    assert dump_queues(scheduler.state) == (
        "{Name: root, Weight: 1.0, Policy: fair, FairShare: <memory:8192, vCores:8, gpu: 2>,"
        f" SteadyFairShare: <memory:8192, vCores:8, gpu: 2>, {rootless},"
        " MinShare: <memory:0, vCores:0>, ResourceUsage: <memory:2048, vCores:1, gpu: 1>,"
        " Demand: <memory:4096, vCores:2>, MaxAMShare: 0.5, Runnable: 1},"
        " {Name: root.a, Weight: 2.5, Policy: FIFO, FairShare: <memory:4096, vCores:0>,"
        " SteadyFairShare: <memory:4096, vCores:0>, MaxShare: <memory:4096, vCores:4,"
        " gpu: 9223372036854775807>, MinShare: <memory:1024, vCores:1>,"
        " ResourceUsage: <memory:2048, vCores:1, gpu: 1>,"
        " Demand: <memory:4096, vCores:2, gpu: 2>,"
        " Runnable: 1, NumPendingApps: 1, NonRunnable: 1, MaxAMShare: -1.0,"
        " MaxAMResource: <memory:9223372036854775807, vCores:2147483647,"
        " gpu: 9223372036854775807>, AMResourceUsage: <memory:0, vCores:0>,"
        " LastTimeAtMinShare: 0}"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (1.0, "1.0"),
        (-1.0, "-1.0"),
        (single(0.1), "0.1"),
        (single(1 / 3), "0.33333334"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (single(1.5e10), "1.5E10"),
        (single(0.001), "0.001"),
        (single(0.00025), "2.5E-4"),
    ],
)
def test_a_weight_is_written_as_java_writes_a_float(value: float, text: str) -> None:
    assert float_text(value) == text


def test_a_type_with_an_amount_of_zero_is_omitted() -> None:
    types = read_fair(Site.of({"yarn.resource-types": "gpu"}), None)[0].types
    assert resource_text((1, 2, 0), types) == "<memory:1, vCores:2>"
    assert resource_text((1, 2, 3), types) == "<memory:1, vCores:2, gpu: 3>"
