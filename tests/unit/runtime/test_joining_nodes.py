"""Nodes that join an empty cluster together leave the state that they leave one by one."""

from collections.abc import Sequence

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import Input, LoadConfiguration, NodeJoined, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.capacity import capacities
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage, QueueSettings
from fairshare.engines.simulated import SimulatedEngine
from fairshare.lab.simulate.faults import Agenda
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.runtime import Runtime
from fairshare.settings.registry import family_of

SETTINGS = CapacitySettings(
    queues={
        "root": QueueSettings(children=("a", "b")),
        "root.a": QueueSettings(capacity=Percentage(30.0)),
        "root.b": QueueSettings(capacity=Percentage(70.0)),
    }
)
LOAD = LoadConfiguration(msgspec.json.encode(SETTINGS), 1)
NODES = [NodeJoined(f"node-{number}", (4096 + number, 4)) for number in range(5)]
UNRECORDABLE = NodeJoined("node-9", (2**60, 1))


def runtime_after(*turns: Sequence[Input]) -> Runtime:
    manager = ResourceManager(family_of("capacity").create(ResourceTypes()))
    engine = SimulatedEngine(Agenda(), lambda order: None)
    engine.start(lambda given: None)
    runtime = Runtime(manager, MemoryJournal(), engine)
    for inputs in turns:
        runtime.feed(0, inputs)
    return runtime


def capacities_of(runtime: Runtime) -> list[object]:
    """What is computed from the size of the cluster, of each queue."""
    state = runtime.manager.scheduler.state
    parts = ("capacity", "absolute_capacity", "absolute_maximum", "effective_minimum")
    return [
        [queue.name, queue.limit, queue.maximum_applications, queue.maximum_per_user]
        + [getattr(queue.share, part) for part in parts]
        for queue in state.queues.values()
    ]


ONE_BY_ONE = [[LOAD], *([node] for node in NODES)]


def test_nodes_of_one_turn_leave_the_capacities_of_nodes_of_many_turns():
    together, one_by_one = runtime_after([LOAD, *NODES]), runtime_after(*ONE_BY_ONE)
    assert capacities_of(together) == capacities_of(one_by_one)
    assert capacities_of(together) != capacities_of(runtime_after([LOAD]))


def test_a_refused_node_at_the_end_of_a_turn_leaves_the_capacities_of_those_before_it():
    runtime = runtime_after([LOAD, *NODES, UNRECORDABLE])
    assert capacities_of(runtime) == capacities_of(runtime_after(*ONE_BY_ONE))


def test_an_application_of_the_same_turn_finds_the_capacities_of_all_nodes():
    submission = SubmitApplication("ann", "root.a", tasks=(TaskGroup("tasks", 1, (1024, 1)),))
    together = runtime_after([LOAD, *NODES, submission])
    one_by_one = runtime_after(*ONE_BY_ONE, [submission])
    assert capacities_of(together) == capacities_of(one_by_one)
    last, as_last = list(together.journal.records())[-1], list(one_by_one.journal.records())[-1]
    assert last.events == as_last.events


def test_the_capacities_of_an_empty_cluster_are_computed_once_for_all_nodes_of_a_turn(
    monkeypatch: pytest.MonkeyPatch,
):
    computed = []
    recompute = capacities.recompute
    monkeypatch.setattr(
        capacities, "recompute", lambda *given: (computed.append(1), recompute(*given))
    )
    runtime = runtime_after([LOAD])
    before = len(computed)
    runtime.feed(0, NODES)
    assert len(computed) == before + 1
