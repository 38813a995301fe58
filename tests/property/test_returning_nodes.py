"""Whatever a node reports when it returns: the state then agrees with it, and with itself."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    KillApplication,
    LoadConfiguration,
    MasterRegistered,
    NodeBeat,
    NodeJoined,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import ContainerRequest, TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage, QueueSettings
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.runtime.recovery import reconcile_node
from fairshare.settings.registry import family_of

SETTINGS = {
    "fair": FairSettings(),
    "capacity": CapacitySettings(
        queues={
            "root": QueueSettings(children=("default",), capacity=Percentage(100.0)),
            "root.default": QueueSettings(capacity=Percentage(100.0)),
        }
    ),
}

fates = st.sampled_from(["granted", "runs", "holds room", "ended", "released"])
reports = st.sampled_from(["runs", "ended", "missing"])


def cluster(scheduler: str, sizes: list[int]) -> ResourceManager:
    """Two nodes and applications of both kinds, with all the containers that fit."""
    manager = ResourceManager(family_of(scheduler).create(ResourceTypes()))
    inputs: list = [LoadConfiguration(msgspec.json.encode(SETTINGS[scheduler]), 1)]
    inputs += [NodeJoined(f"n{number}:1", (8192, 8), host="h") for number in (1, 2)]
    for number, size in enumerate(sizes, 1):
        if number % 2:
            inputs.append(SubmitApplication("u", tasks=(TaskGroup("t", size, (1024, 1)),)))
        else:
            asks = (ContainerRequest(size, (1024, 1)),)
            inputs += [
                SubmitApplication("u", master=(1024, 1), requests=asks),
                NodeBeat("n1:1"),
                MasterRegistered(number),
            ]
    inputs += [UpdateShares()]
    inputs += [NodeBeat(f"n{number}:1") for _ in range(12) for number in (1, 2)]
    for given_input in inputs:
        manager.handle(0, given_input)
    return manager


@settings(max_examples=examples(150), deadline=None)
@given(
    scheduler=st.sampled_from(sorted(SETTINGS)),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    data=st.data(),
    may_start=st.booleans(),
)
def test_a_node_and_the_state_agree_after_it_returned(scheduler, sizes, data, may_start):
    manager = cluster(scheduler, sizes)
    state = manager.state
    for container in list(state.nodes["n1:1"].containers):
        fate = data.draw(fates)
        if fate in ("runs", "holds room", "released"):
            manager.handle(1, ContainerStarted(container, fate != "runs"))
        if fate == "ended":
            manager.handle(1, ContainerExited(container, 1))
    if data.draw(st.booleans()):
        manager.handle(1, KillApplication(1))
    node = state.nodes["n1:1"]
    reported: dict[int, ContainerExited | None] = {}
    for container in [*node.containers, *node.ending, *state.nodes["n2:1"].containers]:
        report = data.draw(reports)
        if report != "missing":
            ended = ContainerExited(container, data.draw(st.sampled_from([0, 1, -100, -104])))
            reported[container] = ended if report == "ended" else None
    if data.draw(st.booleans()):
        reported[container_id(99, 1, 1)] = None

    on_the_other = dict(state.nodes["n2:1"].containers)
    without_room = {container for container, holds in state.running.items() if not holds}
    findings = reconcile_node(state, "n1:1", reported, may_start=may_start)
    for given_input in findings.inputs:
        manager.handle(2, given_input)
        check(state)

    runs = {container for container, ended in reported.items() if ended is None}
    assert set(findings.stops) <= runs
    stopped_for_its_application = runs - set(findings.stops) - set(node.containers)
    # Its master had ended, for example. What does not hold its room is gone at once.
    assert stopped_for_its_application <= set(node.ending) | without_room
    for container in node.containers:
        assert container in runs or (may_start and container not in state.running)
        assert container not in runs or container in state.running
    assert set(node.ending) <= runs
    # What ended because an application ended in the meantime is gone from the other node too.
    assert set(state.nodes["n2:1"].containers) <= set(on_the_other)

    again = reconcile_node(state, "n1:1", reported, may_start=may_start)
    assert again.inputs == ()
    assert set(again.stops) >= set(findings.stops)


def test_a_container_that_runs_is_known_before_an_end_that_ends_its_application():
    manager = cluster("capacity", [3])
    state = manager.state
    node = state.nodes["n1:1"]
    first, second = node.containers
    reported = {first: ContainerExited(first, -104), second: None}
    findings = reconcile_node(state, node.name, reported, may_start=True)
    assert findings.stops == ()
    for given_input in findings.inputs:
        manager.handle(2, given_input)
    assert state.applications[1].over
    assert [*node.ending] == [second]  # its node is told to end it, and says when it has
