"""A server may crash at every commit point; the next one goes on from there."""

from fairshare.core.model.invariants import check
from fairshare.engines.protocol import NodeOffer
from fairshare.engines.simulated import Outcome, SimulatedEngine
from fairshare.lab.simulate.faults import Agenda
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.recovery import Position, recover
from fairshare.runtime.runtime import Runtime

CRASHES_FOLLOWED = 6


def test_the_state_is_whole_after_a_crash_at_each_commit_point(simulation, make_manager, shown):
    """Recovery goes through the records one by one, so that its state at a point is the one at the
    point before it with the records in between."""
    journal = simulation.runtime.journal
    records = list(journal.records())
    assert len(journal.committed) > 100
    assert journal.committed[-1] == len(records)
    going = make_manager()  # what an uninterrupted server shows at each point
    recovered, position = make_manager(), Position()  # what recovery has made of the records so far
    done = 0
    for point in journal.committed:
        new = records[done:point]
        for record in new:
            assert going.handle(record.now_ms, record.input) == record.events
        done = point
        position = recover(new, recovered.state, position)
        assert position.sequence == point
        check(recovered.state)
        if point % 7 == 0:  # encoding all that is shown, and recovering all again, takes longest
            from_empty = make_manager()
            assert recover(records[:point], from_empty.state) == position
            check(from_empty.state)
            assert shown(recovered) == shown(from_empty) == shown(going)


def test_the_next_server_brings_everything_to_its_end(simulation, make_manager):
    """Its engine knows no container any more: all that ran was aborted and runs again."""
    journal = simulation.runtime.journal
    records = list(journal.records())
    points = journal.committed[:: len(journal.committed) // CRASHES_FOLLOWED]
    for point in points:
        manager = make_manager()
        kept = MemoryJournal(records[:point])
        agenda = Agenda()
        state = manager.state
        offers = tuple(
            NodeOffer(name, node.rack, {"memory-mb": 8192, "vcores": 8}, {})
            for name, node in simulation.manager.state.nodes.items()
        )
        engine = SimulatedEngine(agenda, lambda order: Outcome(500), offers=offers)
        engine.start(lambda given, agenda=agenda: agenda.after(0, given))
        runtime = Runtime(manager, kept, engine)
        now_ms = runtime.recover().now_ms
        agenda.take(now_ms)
        runtime.reconcile(now_ms)
        runtime.settle(now_ms)
        check(state)
        while not all(application.over for application in state.applications.values()):
            deadline_ms = runtime.next_deadline_ms()
            now_ms = min(t for t in (agenda.next_ms(), deadline_ms) if t is not None)
            inputs = agenda.take(now_ms)
            for given in inputs:
                engine.ended(given.container)
            runtime.turn(now_ms, inputs)
        check(state)
        sequences = [record.sequence for record in kept.records()]
        assert sequences == list(range(1, len(sequences) + 1))
        containers = [e.container for r in kept.records() for e in r.events
                      if type(e).__name__ == "ContainerAllocated"]  # fmt: skip
        assert len(containers) == len(set(containers)), "an identifier was used twice"
