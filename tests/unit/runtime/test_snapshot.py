"""A snapshot is the whole state: whoever goes on from it decides as if nothing had happened."""

import zlib

import msgspec
import pytest

from fairshare.errors import JournalError
from fairshare.journal.protocol import Snapshot
from fairshare.live.biographies import Biography
from fairshare.model.inputs import KillApplication, NodeBeat, UpdateShares
from fairshare.model.nodes import Node
from fairshare.model.operations import Drain
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


def test_a_field_that_nothing_is_known_of_makes_a_snapshot_unreadable():
    older = msgspec.structs.replace(freeze(1, 1, {"node": _Older()}), layout="older")
    with pytest.raises(JournalError, match=r"model\.nodes\.Node has no rack"):
        thaw(older)


def written_by(tag: str, *fields: str, **parts) -> Snapshot:
    """A snapshot of a release in which a class had other fields, or another path."""
    told = msgspec.json.decode(snapshot.layout())
    told[tag] = fields
    return msgspec.structs.replace(freeze(1, 1, parts), layout=msgspec.json.encode(told).decode())


def test_a_class_whose_fields_are_others_is_read_with_patience_though_it_is_of_the_server(
    monkeypatch,
):
    """Books of the server are in a snapshot too."""
    biography = Biography((0, 0))
    one = written_by("fairshare.live.biographies.Biography", "attempts", life=biography)
    monkeypatch.setattr(snapshot, "_PatientReader", None)
    with pytest.raises(JournalError, match="not callable"):
        thaw(one)
    monkeypatch.undo()
    assert thaw(one)["life"].progress == 0.0


def test_a_structure_is_read_by_the_names_of_its_fields(monkeypatch):
    monkeypatch.setattr(snapshot, "ADDED", {"fairshare.model.operations.Drain": {"since_ms": 7}})
    drain = "fairshare.model.operations.Drain"
    one = written_by(drain, "deadline_ms", "gone", "total", drain=Drain(3, 4, (1, 2)))
    assert thaw(one)["drain"] == Drain((1, 2), 7, 3)


def test_a_class_that_has_moved_is_found_where_it_is_now(monkeypatch):
    drain = Drain((1, 2), 7)
    one = freeze(1, 1, {"drain": drain})
    body = zlib.decompress(one.body).replace(b"Drain", b"Leave")
    one = msgspec.structs.replace(one, body=zlib.compress(body))
    with pytest.raises(JournalError, match="Leave"):
        thaw(one)
    here = "fairshare.model.operations."
    monkeypatch.setattr(snapshot, "MOVED", {f"{here}Leave": f"{here}Drain"})
    assert thaw(one)["drain"] == drain
