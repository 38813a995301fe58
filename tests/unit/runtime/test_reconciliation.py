"""What is found after a restart."""

import pytest

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    KillApplication,
    NodeJoined,
    NodeLost,
    NodeResized,
    SubmitApplication,
)
from fairshare.engines.protocol import NodeOffer
from fairshare.runtime.recovery import reconcile


def offer(name, memory_mb=4096, vcores=4, rack="/default-rack", attributes=None):
    resources = {"memory-mb": memory_mb, "vcores": vcores}
    return NodeOffer(name, rack, resources, attributes or {})


def test_there_is_nothing_to_do_when_both_agree(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(1)])
    container = bench.engine.launched[0].container
    bench.runtime.feed(1, [ContainerStarted(container)])
    findings = reconcile(bench.state, [offer("n1")], frozenset([container]))
    assert (findings.inputs, findings.stops) == ((), ())


def test_a_container_that_does_not_run_any_more_was_aborted(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(2)])
    first, second = (order.container for order in bench.engine.launched)
    findings = reconcile(bench.state, [offer("n1")], frozenset([second]))
    started, lost = findings.inputs
    assert isinstance(lost, ContainerExited)
    assert (lost.container, lost.exit_code) == (first, -100)
    assert "no exit status" in lost.diagnostics
    assert started == ContainerStarted(second)


def test_a_container_that_runs_nothing_of_ours_is_left_alone(bench):
    bench.join("n1")
    bench.runtime.turn(0, [SubmitApplication(user="ann", master=(1024, 1))])
    assert container_id(1, 1, 1) in bench.state.applications[1].containers
    assert reconcile(bench.state, [offer("n1")], frozenset()).inputs == ()


@pytest.fixture
def killed(bench, submit):
    """A container that holds its room though it is over."""
    bench.join("n1")
    bench.runtime.turn(0, [submit(1)])
    container = bench.engine.launched[0].container
    bench.runtime.feed(1, [ContainerStarted(container, True), KillApplication(1)])
    assert bench.state.nodes["n1"].available == (3072, 3)
    return container


def test_an_unreported_end_frees_the_room(bench, killed):
    bench.restart()
    bench.engine.live.clear()
    bench.engine.offers = (offer("n1"),)
    bench.runtime.reconcile(2)
    assert bench.state.nodes["n1"].available == (4096, 4)
    assert bench.engine.stopped == [killed]


def test_what_should_have_ended_and_runs_is_stopped_and_holds_its_room(bench, killed):
    bench.restart()
    bench.engine.offers = (offer("n1"),)
    assert bench.engine.running() == {killed}
    bench.runtime.reconcile(2)
    assert bench.state.nodes["n1"].available == (3072, 3)
    assert bench.engine.stopped == [killed, killed]


def test_an_unknown_container_is_stopped(bench):
    bench.join("n1")
    findings = reconcile(bench.state, [offer("n1")], frozenset([77, 12]))
    assert findings.stops == (12, 77)


def test_nodes_join_leave_and_change(bench):
    bench.join("gone", "smaller", "same")
    offers = [offer("smaller", 1024, 1), offer("same"), offer("new", rack="/r1")]
    assert reconcile(bench.state, offers, frozenset()).inputs == (
        NodeLost("gone"),
        NodeResized("smaller", (1024, 1)),
        NodeJoined("new", (4096, 4), "/r1"),
    )


def test_an_empty_node_in_another_rack_is_another_node(bench):
    bench.join("n1")
    assert reconcile(bench.state, [offer("n1", rack="/r9")], frozenset()).inputs == (
        NodeLost("n1"),
        NodeJoined("n1", (4096, 4), "/r9"),
    )


def test_a_busy_node_in_another_rack_stays_what_it_was(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(1)])
    container = bench.engine.launched[0].container
    bench.runtime.feed(1, [ContainerStarted(container)])
    findings = reconcile(bench.state, [offer("n1", rack="/r9")], frozenset([container]))
    assert findings.inputs == ()


def test_types_that_the_cluster_does_not_count_are_not_offered(bench):
    gpus = NodeOffer("n1", "/default-rack", {"memory-mb": 5, "yarn.io/gpu": 2}, {})
    assert reconcile(bench.state, [gpus], frozenset()).inputs == (NodeJoined("n1", (5, 0)),)


def test_the_runtime_feeds_what_is_found_and_stops_what_is_too_much(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(1)])
    container = bench.engine.launched[0].container
    bench.engine.offers = (offer("n1"), offer("n2"))
    bench.engine.live = {5}
    steps = bench.runtime.reconcile(3)
    assert [type(given) for given, _ in steps] == [ContainerExited, NodeJoined]
    assert bench.engine.stopped == [5]
    bench.runtime.settle(3)
    assert bench.engine.launched[-1].container == container + 1
