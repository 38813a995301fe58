"""From the journal to a state, and the proof that the same would be decided again."""

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, NodeLost
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes
from fairshare.errors import JournalError
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.recovery import Position, recover, replay
from fairshare.settings.registry import family_of


def new_manager(kind="fair"):
    return ResourceManager(family_of(kind).create(ResourceTypes()))


def views(manager):
    """Everything that is shown of a state, as bytes."""
    applications = [manager.scheduler.application_view(a) for a in manager.state.applications]
    return msgspec.json.encode([manager.scheduler.queue_views(), applications])


@pytest.fixture
def history(bench, submit):
    """A bench with some history: two nodes, failures, a lost node, something still running."""
    bench.join("n1", "n2")
    bench.runtime.turn(1, [submit(5), submit(3, user="bob")])
    first, second = (order.container for order in bench.engine.launched[:2])
    bench.runtime.turn(2, [ContainerStarted(first), ContainerStarted(second)])
    bench.runtime.turn(3, [ContainerExited(first, 0), ContainerExited(second, 1)])
    bench.runtime.turn(4, [NodeLost("n2")])
    return bench


def test_an_empty_journal_leaves_everything_at_its_beginning():
    manager = new_manager()
    assert recover([], manager.state) == Position(0, 0)
    assert not manager.state.nodes


def test_a_recovered_state_shows_what_the_first_one_shows(history):
    manager = new_manager()
    position = recover(history.records, manager.state)
    assert position == history.runtime.position
    assert views(manager) == views(history.manager)
    assert manager.state.running == history.state.running
    check(manager.state)


def test_a_recovered_runtime_goes_on_with_the_next_number(history, submit):
    history.restart()
    history.runtime.turn(2, [submit(1)])
    records = history.records
    assert [record.sequence for record in records] == list(range(1, len(records) + 1))
    assert records[-1].now_ms == 4  # not before the last record
    assert max(history.state.applications) == 3


def test_recovery_records_nothing_and_gives_no_orders(history):
    before = (history.records, list(history.engine.launched), list(history.engine.stopped))
    history.restart()
    assert (history.records, history.engine.launched, history.engine.stopped) == before


def test_a_recovered_runtime_decides_what_the_first_one_decides(history, make_bench):
    other = make_bench()
    other.journal = MemoryJournal(history.records)
    other.restart()
    news = [ContainerExited(order.container, 0) for order in history.engine.launched]
    assert other.runtime.turn(9, news) == history.runtime.turn(9, news)


def test_a_recovered_runtime_tidies_up_what_was_left_empty(bench, submit):
    bench.join("n1")
    bench.runtime.turn(1, [submit(1)])
    bench.runtime.turn(2, [ContainerExited(bench.engine.launched[0].container, 0)])
    bench.restart()
    assert "root.ann" in bench.state.queues
    bench.runtime.settle(60_000)
    assert "root.ann" not in bench.state.queues


def test_a_journal_of_another_scheduler_is_refused(history):
    with pytest.raises(JournalError, match="belongs to another scheduler"):
        recover(history.records, new_manager("fifo").state)


def test_the_same_is_decided_again(history):
    assert replay(history.records, new_manager()) is None


def test_a_changed_record_is_found(history):
    records = history.records
    place = next(n for n, record in enumerate(records) if len(record.events) > 2)
    changed = msgspec.structs.replace(records[place], events=records[place].events[:-1])
    difference = replay([*records[:place], changed], new_manager())
    assert difference is not None
    assert difference.sequence == changed.sequence
    assert difference.decided == records[place].events
    assert f"record {changed.sequence} at" in str(difference)
    assert "recorded nothing, decided" in str(difference)


def test_the_first_event_that_differs_is_shown(history):
    last = history.records[-1]
    other = msgspec.structs.replace(last, events=(history.records[0].events[0], *last.events[1:]))
    difference = replay([*history.records[:-1], other], new_manager())
    assert "event 1: recorded ConfigurationLoaded" in str(difference)
