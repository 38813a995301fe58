"""The table of observers: each is called for what it named, in one order."""

from fairshare.core.model.events import NodeAdded, NodeRemoved, SharesUpdated
from fairshare.core.model.inputs import NodeBeat, NodeLost, UpdateShares
from fairshare.core.record import Record
from fairshare.runtime.observers import Observers

ADDED = NodeAdded("n1", "/rack", (1, 1), {})
COMMIT = [
    Record(1, 0, NodeBeat("n1"), (ADDED, NodeRemoved("n1"))),
    Record(2, 0, NodeLost("n1"), (NodeRemoved("n1"),)),
    Record(3, 0, UpdateShares(), (SharesUpdated(),)),
]


def seen_by(subscribe) -> list[object]:
    """What observers append to a list; `subscribe` is given the table and the list."""
    observers, seen = Observers(), []
    subscribe(observers, seen)
    observers.observe(COMMIT)
    return seen


def test_an_observer_is_called_for_the_kinds_of_events_that_it_named_alone():
    def subscribe(observers, seen):
        observers.events(lambda record, event: seen.append((record.sequence, event)), NodeRemoved)

    assert seen_by(subscribe) == [(1, NodeRemoved("n1")), (2, NodeRemoved("n1"))]


def test_observers_of_one_kind_are_called_in_the_order_in_which_they_were_added():
    def subscribe(observers, seen):
        observers.events(lambda record, event: seen.append("first"), NodeAdded, NodeRemoved)
        observers.events(lambda record, event: seen.append("second"), NodeAdded)

    assert seen_by(subscribe) == ["first", "second", "first", "first"]


def test_observers_of_an_input_are_called_before_its_events_or_after_them():
    def subscribe(observers, seen):
        observers.after(lambda record: seen.append("after"), NodeBeat)
        observers.before(lambda record: seen.append("before"), NodeBeat)
        observers.events(lambda record, event: seen.append(type(event)), NodeAdded, NodeRemoved)

    assert seen_by(subscribe) == ["before", NodeAdded, NodeRemoved, "after", NodeRemoved]


def test_observers_of_commits_are_called_once_behind_all_events():
    def subscribe(observers, seen):
        observers.commits(lambda records: seen.append(len(records)))
        observers.events(lambda record, event: seen.append("lost"), NodeRemoved)

    assert seen_by(subscribe) == ["lost", "lost", 3]
