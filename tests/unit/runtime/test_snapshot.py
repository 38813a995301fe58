"""A snapshot is the whole state: whoever goes on from it decides as if nothing had happened."""

import msgspec
import pytest

from fairshare.errors import JournalError
from fairshare.model.inputs import KillApplication, NodeBeat, UpdateShares
from fairshare.model.nodes import Node
from fairshare.runtime import snapshot
from fairshare.runtime.snapshot import freeze, thaw


def copied(manager):
    return thaw(freeze(7, 70, {"manager": manager}))["manager"]


@pytest.fixture
def busy(bench, submit):
    bench.join("n1", "n2")
    bench.runtime.turn(1_000, [submit(5, user="ann"), submit(9, user="bob")])
    return bench


def test_the_copy_decides_as_the_original_does_from_then_on(busy):
    copy = copied(busy.manager)
    inputs = (KillApplication(1), UpdateShares(), NodeBeat("n1"), NodeBeat("n2"))
    decided = [busy.manager.handle(2_000, given) for given in inputs]
    assert all(decided[:2])
    assert [copy.handle(2_000, given) for given in inputs] == decided
    copy.state.check()


def test_the_copy_is_another_one(busy):
    copy = copied(busy.manager)
    copy.handle(2_000, KillApplication(1))
    assert not busy.state.applications[1].over


def test_equal_states_give_equal_layouts_and_a_number(busy):
    one = freeze(7, 70, {"manager": busy.manager})
    assert (one.sequence, one.now_ms) == (7, 70)
    assert one.layout == snapshot.layout()


def test_a_damaged_one_is_refused_with_its_number(busy):
    one = freeze(7, 70, {"manager": busy.manager})
    with pytest.raises(JournalError, match="behind record 7 cannot be read"):
        thaw(msgspec.structs.replace(one, body=one.body[:-9]))


@pytest.mark.parametrize("layout", ["same", "other"])
def test_nothing_but_the_cores_own_classes_is_ever_made(layout, tmp_path):
    class Hostile:
        def __reduce__(self):
            return open, (str(tmp_path / "made"), "w")

    one = freeze(1, 1, {"x": Hostile()})
    if layout == "other":
        one = msgspec.structs.replace(one, layout="older")
    with pytest.raises(JournalError, match="does not belong into a snapshot"):
        thaw(one)
    assert not (tmp_path / "made").exists()


def test_one_of_an_older_layout_is_read_too(busy):
    older = msgspec.structs.replace(freeze(7, 70, {"manager": busy.manager}), layout="older")
    copy = thaw(older)["manager"]
    copy.state.check()
    assert copy.handle(2_000, KillApplication(1)) == busy.manager.handle(2_000, KillApplication(1))


class _Older:
    """Writes itself as a node of an older release: without one field, and with one that is gone."""

    def __reduce__(self):
        fields = dict.fromkeys(name for name in Node.__slots__ if name != "rack")
        return Node.__new__, (Node,), (None, {**fields, "name": "n1", "gone": 1})


def test_fields_that_came_get_what_is_said_of_them_and_those_that_went_are_left_out(monkeypatch):
    monkeypatch.setattr(snapshot, "ADDED", {"fairshare.model.nodes.Node": {"rack": "/new"}})
    older = msgspec.structs.replace(freeze(1, 1, {"node": _Older()}), layout="older")
    copy = thaw(older)["node"]
    assert (copy.name, copy.rack) == ("n1", "/new")
    assert not hasattr(copy, "gone")
