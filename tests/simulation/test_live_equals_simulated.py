"""A server that is told what a simulation was told decides the same, and can be restarted."""

from tests.manual_engine import ManualEngine

from fairshare.core.model.events import ContainerLaunched
from fairshare.core.model.invariants import check
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.recovery import replay
from fairshare.runtime.runtime import Runtime


def test_a_server_with_another_journal_and_engine_decides_the_same(
    simulation, manager, make_manager, shown, tmp_path
):
    records = list(simulation.runtime.journal.records())
    assert len(records) > 500
    engine = ManualEngine(starts=False, stops=False)
    journal = SqliteJournal(tmp_path)
    runtime = Runtime(manager, journal, engine)
    for record in records:
        ((_, events),) = runtime.feed(record.now_ms, [record.input])
        assert events == record.events
    assert [decision(one) for one in journal.records()] == [decision(one) for one in records]
    assert shown(manager) == shown(simulation.manager)
    launched = [e.container for r in records for e in r.events if isinstance(e, ContainerLaunched)]
    assert [order.container for order in engine.launched] == launched
    journal.close()

    again = SqliteJournal(tmp_path)
    restarted = make_manager()
    position = Runtime(restarted, again, ManualEngine(starts=False, stops=False)).recover()
    again.close()
    assert position.sequence == len(records)
    assert shown(restarted) == shown(manager)
    check(restarted.state)


def decision(record):
    """A record without the pace: this server is only fed."""
    return record.sequence, record.now_ms, record.input, record.events


def test_a_replay_finds_no_difference(simulation, manager):
    assert replay(simulation.runtime.journal.records(), manager) is None


def test_everything_came_to_its_end(simulation, settings_name):
    report = simulation.run()
    states = report.applications_by_state
    assert states["FINISHED"] + states["FAILED"] + states["KILLED"] == 20
    assert bool(states["KILLED"]) == ("capacity" in settings_name)  # of root.a, after 20 s
    assert report.applications_by_state["FAILED"] == 1  # the one whose last tasks always fail
    if "preemption" in settings_name:
        assert report.containers.preempted > 0
