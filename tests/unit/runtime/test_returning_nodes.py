"""What is found when a node returns, and that nothing is allocated on one that has not."""

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, KillApplication
from fairshare.engines.protocol import NodeOffer
from fairshare.runtime.recovery import reconcile_node


def exit_of(container, code=0):
    return ContainerExited(container, code, "as reported")


def started(bench, submit, count=1):
    """So many containers that run on n1, and hold their room."""
    bench.join("n1")
    bench.runtime.turn(0, [submit(count)])
    containers = [order.container for order in bench.engine.launched]
    bench.runtime.feed(1, [ContainerStarted(one, True) for one in containers])
    return containers


def test_a_node_that_reports_what_the_state_knows_changes_nothing(bench, submit):
    (container,) = started(bench, submit)
    findings = reconcile_node(bench.state, "n1", {container: None}, may_start=False)
    assert (findings.inputs, findings.stops) == ((), ())


def test_what_ended_on_the_node_ends_as_the_node_reports(bench, submit):
    (container,) = started(bench, submit)
    ended = exit_of(container, 7)
    assert reconcile_node(bench.state, "n1", {container: ended}, may_start=True).inputs == (ended,)


def test_what_ran_and_is_not_reported_was_aborted(bench, submit):
    (container,) = started(bench, submit)
    (ended,) = reconcile_node(bench.state, "n1", {}, may_start=True).inputs
    assert (ended.container, ended.exit_code) == (container, -100)


def test_what_runs_unknown_to_the_state_has_started(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(1)])
    container = bench.engine.launched[0].container
    findings = reconcile_node(bench.state, "n1", {container: None}, may_start=False)
    assert findings.inputs == (ContainerStarted(container, True),)


def test_what_never_started_may_start_only_under_the_server_that_granted_it(bench, submit):
    bench.join("n1")
    bench.runtime.turn(0, [submit(1)])
    assert reconcile_node(bench.state, "n1", {}, may_start=True).inputs == ()
    (ended,) = reconcile_node(bench.state, "n1", {}, may_start=False).inputs
    assert ended.exit_code == -100


def test_what_should_have_ended_is_stopped_and_holds_its_room_until_it_has(bench, submit):
    (container,) = started(bench, submit)
    bench.runtime.feed(2, [KillApplication(1)])
    findings = reconcile_node(bench.state, "n1", {container: None}, may_start=True)
    assert (findings.inputs, findings.stops) == ((), (container,))
    for reported in ({}, {container: exit_of(container)}):
        (ended,) = reconcile_node(bench.state, "n1", reported, may_start=True).inputs
        assert ended.container == container
    bench.runtime.feed(3, [ended])
    assert bench.state.nodes["n1"].available == (4096, 4)


def test_containers_that_were_not_granted_on_the_node_are_stopped(bench, submit):
    (container,) = started(bench, submit)
    unknown = container_id(9, 1, 1)
    assert reconcile_node(
        bench.state, "n1", {container: None, unknown: None}, may_start=True
    ).stops == (unknown,)
    bench.join("n2")
    elsewhere = reconcile_node(bench.state, "n2", {container: None}, may_start=True)
    assert (elsewhere.inputs, elsewhere.stops) == ((), (container,))
    absent = reconcile_node(bench.state, "n3", {container: None}, may_start=True)
    assert (absent.inputs, absent.stops) == ((), (container,))


def test_nothing_is_allocated_on_a_silent_node_until_it_is_heard_again(bench, submit):
    bench.join("n1")
    bench.restart()
    bench.runtime.set_silent("n1")
    bench.runtime.turn(1, [submit(2)])
    assert bench.engine.launched == []
    assert bench.state.nodes["n1"].containers == {}
    bench.join("n2", memory_mb=1024, now_ms=2)
    bench.runtime.turn(2, [])
    assert [order.node for order in bench.engine.launched] == ["n2"]
    bench.runtime.set_silent("n1", False)
    assert bench.runtime.next_deadline_ms() is not None
    bench.runtime.turn(3, [])
    assert [order.node for order in bench.engine.launched] == ["n2", "n1"]


def test_room_that_becomes_free_on_a_silent_node_is_not_given_away(bench, submit):
    (container,) = started(bench, submit)
    bench.runtime.set_silent("n1")
    bench.runtime.turn(1, [submit(1), exit_of(container)])
    assert len(bench.engine.launched) == 1
    bench.runtime.set_silent("n1", False)
    bench.runtime.turn(2, [])
    assert len(bench.engine.launched) == 2


def test_a_silent_node_that_leaves_and_joins_again_stays_silent(bench, submit):
    bench.join("n1")
    bench.runtime.set_silent("n1")
    bench.engine.offers = (NodeOffer("n2", "/r", {"memory-mb": 1024, "vcores": 1}, {}),)
    bench.runtime.reconcile(1)  # n1 is lost
    bench.join("n1", now_ms=2)
    bench.runtime.turn(3, [submit(3)])
    assert [order.node for order in bench.engine.launched] == ["n2"]
