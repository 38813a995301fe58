"""The runtime and partitions: which nodes are asked, and when, though nobody has to wait for a
heartbeat."""

import msgspec
import pytest
from tests.manual_engine import ManualEngine
from tests.unit.runtime.conftest import recording_engine

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import (
    AddLabels,
    KillApplication,
    LabelNodes,
    LoadConfiguration,
    NodeJoined,
    SubmitApplication,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.capacity.settings import (
    CapacitySettings,
    LabelCapacity,
    MappingAction,
    MappingRule,
    Matcher,
    MonitorSettings,
    Percentage,
    QueueSettings,
    Template,
)
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.runtime import Runtime
from fairshare.settings.registry import family_of

ALL = Percentage(100.0)
ON_X = {"x": LabelCapacity(ALL, ALL)}


def nodes_used(engine: ManualEngine) -> list[str]:
    return [order.node for order in engine.launched]


def settings(**more) -> CapacitySettings:
    queues = {
        "root": QueueSettings(children=("a",), capacity=ALL, label_capacities=ON_X),
        "root.a": QueueSettings(capacity=ALL, label_capacities=ON_X),
    }
    return CapacitySettings(**{"queues": queues, "labels_enabled": True, **more})


@pytest.fixture
def engine() -> ManualEngine:
    return recording_engine()


def started(engine: ManualEngine, wanted: CapacitySettings, *inputs) -> Runtime:
    runtime = Runtime(
        ResourceManager(family_of("capacity").create(ResourceTypes())), MemoryJournal(), engine
    )
    runtime.feed(0, [LoadConfiguration(msgspec.json.encode(wanted), 1)])
    runtime.feed(0, inputs)
    return runtime


def work(count: int, label: str | None = None, user: str = "u", queue: str = "root.a"):
    task = TaskGroup("t", count, (1024, 1), label=label)
    return SubmitApplication(user, queue, tasks=(task,))


def pass_time(runtime: Runtime, seconds: int) -> None:
    for second in range(1, seconds + 1):
        runtime.turn(second * 1_000, [])


def test_nodes_of_different_partitions_are_not_alike(engine):
    """n1 and x1 are of one size; that n1 is of no use proves nothing for x1."""
    nodes = [
        NodeJoined("n1", (4096, 4)),
        NodeJoined("x1", (4096, 4), attributes={"partition": "x"}),
    ]
    runtime = started(engine, settings(), AddLabels({"x": True}), *nodes)
    runtime.turn(1, [work(2, "x")])
    assert nodes_used(engine) == ["x1", "x1"]


def test_a_node_that_enters_a_partition_is_asked_at_once(engine):
    runtime = started(engine, settings(), AddLabels({"x": True}), NodeJoined("n1", (4096, 4)))
    runtime.turn(1, [work(1, "x")])
    assert nodes_used(engine) == []
    runtime.turn(2, [LabelNodes({"n1": "x"})])
    assert nodes_used(engine) == ["n1"]


def test_an_application_borrows_from_a_shared_partition_as_time_passes(engine):
    """x1 is shared and the only node with room: an ask for the default partition needs as many
    chances as there are nodes, two, and gets them as time goes by."""
    nodes = [
        NodeJoined("n1", (1024, 1)),
        NodeJoined("x1", (4096, 4), attributes={"partition": "x"}),
    ]
    runtime = started(engine, settings(), AddLabels({"x": False}), *nodes)
    runtime.turn(1, [work(3, "")])
    pass_time(runtime, 10)
    assert sorted(nodes_used(engine)) == ["n1", "x1", "x1"]


def test_the_older_auto_creation_has_its_rounds(engine):
    """made has all, each leaf the template's 100 %: bob's leaf has nothing while ann's is in use,
    and everything in the round after ann is done."""
    queues = {
        "root": QueueSettings(children=("made",), capacity=ALL),
        "root.made": QueueSettings(capacity=ALL, legacy_dynamic_leaves=True),
    }
    wanted = settings(
        queues=queues,
        templates={"root.made": Template(legacy_leaf=QueueSettings(capacity=ALL))},
        mappings=(MappingRule(Matcher.ALL, "*", MappingAction.PLACE, "root.made.%user"),),
        monitor=MonitorSettings(monitor_on=True, legacy_queue_management=True),
    )
    runtime = started(engine, wanted, NodeJoined("n1", (4096, 4)))
    runtime.turn(1, [work(1, user="ann", queue="default"), work(1, user="bob", queue="default")])
    queues = runtime.manager.scheduler.state.queues
    parts = [queues[f"root.made.{name}"].share.effective_minimum[0] for name in ("ann", "bob")]
    assert parts == [4096, 0]
    runtime.turn(2, [KillApplication(1)])
    pass_time(runtime, 3)
    parts = [queues[f"root.made.{name}"].share.effective_minimum[0] for name in ("ann", "bob")]
    assert parts == [0, 4096]


def test_a_node_that_leaves_its_like_for_a_partition_is_asked_by_itself(engine):
    """n1 and n2 were alike; since n2 is of x, that n1 is of no use says nothing of n2."""
    nodes = [NodeJoined("n1", (4096, 4)), NodeJoined("n2", (4096, 4))]
    runtime = started(engine, settings(), AddLabels({"x": True}), *nodes)
    runtime.turn(1, [work(1, "")])
    runtime.turn(2, [KillApplication(1)])
    engine.launched.clear()
    runtime.turn(3, [LabelNodes({"n2": "x"})])
    runtime.turn(4, [work(1, "x")])
    assert nodes_used(engine) == ["n2"]
