"""What will happen, in order."""

from fairshare.core.model.inputs import NodeBeat
from fairshare.lab.simulate.faults import Agenda


def names(inputs):
    return [given.node for given in inputs]


def test_entries_come_by_instant_then_in_the_order_of_entering():
    agenda = Agenda()
    for at_ms, name in ((5, "b"), (3, "a"), (5, "c"), (9, "d")):
        agenda.at(at_ms, NodeBeat(name))
    assert (len(agenda), agenda.next_ms()) == (4, 3)
    assert names(agenda.take(5)) == ["a", "b", "c"]
    assert agenda.next_ms() == 9
    assert names(agenda.take(8)) == []


def test_delays_count_from_where_the_agenda_is():
    agenda = Agenda()
    agenda.take(100)
    agenda.after(5, NodeBeat("a"))
    agenda.at(3, NodeBeat("late"))  # cannot be in the past
    assert agenda.next_ms() == 100
    assert names(agenda.take(105)) == ["late", "a"]
    assert agenda.next_ms() is None


def test_a_cancelled_entry_does_not_come():
    agenda = Agenda()
    first = agenda.at(1, NodeBeat("a"))
    agenda.at(1, NodeBeat("b"))
    third = agenda.at(2, NodeBeat("c"))
    agenda.cancel(first)
    assert len(agenda) == 2
    assert names(agenda.take(1)) == ["b"]
    agenda.cancel(third)
    assert agenda.next_ms() is None
    assert len(agenda) == 0
