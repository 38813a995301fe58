"""A snapshot is the whole state: whoever goes on from it decides as if nothing had happened."""

import pickle
import zlib
from collections import deque
from pathlib import Path

import msgspec
import pytest

import fairshare.runtime.projections.projections  # noqa: F401 - adds the server's books
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.applications import Application
from fairshare.core.model.inputs import (
    DrainNode,
    KillApplication,
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.nodes import Drain, Node
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage, QueueSettings
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.core.schedulers.pools.settings import PoolsSettings
from fairshare.errors import JournalError
from fairshare.runtime import snapshot
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.projections.timelines import Span, Timeline
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.settings.registry import FAMILIES, family_of
from fairshare.yarn.views.context import Run

SLOTS = ResourceTypes(("memory-mb", "vcores", "map-slots", "reduce-slots"), ("Mi", "", "", ""))


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
    check(copy.state)


def rich(scheduler: str) -> ResourceManager:
    """A cluster with queues, nodes of two racks, a drained one, and applications of three users in
    every phase of their lives."""
    leaves = {name: QueueSettings(capacity=Percentage(50.0)) for name in ("root.a", "root.b")}
    settings = {
        "fair": FairSettings(preemption=True),
        "fifo": FifoSettings(),
        "capacity": CapacitySettings(
            queues={
                "root": QueueSettings(children=("a", "b"), capacity=Percentage(100.0)),
                **leaves,
            }
        ),
        "pools": PoolsSettings(types=SLOTS),
    }[scheduler]
    manager = ResourceManager(family_of(scheduler).create(settings.types))
    pools = scheduler == "pools"
    size, offer = ((0, 0, 1, 0), (8, 8, 3, 3)) if pools else ((1024, 1), (4096, 4))
    manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), 1))
    for number in range(4):
        manager.handle(1, NodeJoined(f"n{number}", offer, rack=f"/r{number % 2}"))
    for number in range(9):
        tasks = (
            TaskGroup("first", 2 + number, size, Command(("true",)), hosts=(f"n{number % 4}",)),
            TaskGroup("then", 2, size, Command(("true",)), after=("first",)),
        )
        queue = "" if scheduler == "fifo" else f"root.{'ab'[number % 2]}"
        user = ("ann", "bob", "cat")[number % 3]
        manager.handle(2, SubmitApplication(user, queue, tasks=tasks))
        turn(manager, 3 + number)
    manager.handle(20, KillApplication(3))
    manager.handle(21, DrainNode("n3"))
    return manager


def turn(manager: ResourceManager, now_ms: int) -> list[object]:
    """An update, and a heartbeat of every node; what was decided."""
    beats = [NodeBeat(name) for name in manager.state.nodes]
    return [manager.handle(now_ms, given) for given in (UpdateShares(), *beats)]


@pytest.mark.parametrize("scheduler", sorted(FAMILIES))
def test_a_rich_state_of_each_scheduler_goes_on_equally(scheduler):
    manager = rich(scheduler)
    copy = copied(manager)
    for number in (5, 1):
        for one in (manager, copy):
            one.handle(100, KillApplication(number))
        assert turn(copy, 5_000 + number) == turn(manager, 5_000 + number)
    assert any(one.containers for one in copy.state.applications.values())
    check(copy.state)
    assert freeze(1, 1, {"manager": copy}).body == freeze(1, 1, {"manager": manager}).body


def test_the_copy_is_another_one(busy):
    copy = copied(busy.manager)
    copy.handle(2_000, KillApplication(1))
    assert not busy.state.applications[1].over


def test_what_is_shared_comes_back_as_one():
    span = Span("queued", 5)
    life, other = Timeline(), Timeline()
    life.phases = [span]
    other.phases = [span, span]
    read = thaw(freeze(1, 1, {"one": life, "other": other}))
    assert read["one"].phases[0] is read["other"].phases[0] is read["other"].phases[1]


def test_a_deque_keeps_its_length():
    read = thaw(freeze(1, 1, {"latest": deque([1, 2], maxlen=2)}))
    assert (read["latest"], read["latest"].maxlen) == (deque([1, 2]), 2)


def test_numbers_of_any_length_are_kept():
    found = [0, -1, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**40, True, 0.5]
    (read,) = thaw(freeze(1, 1, {"numbers": found})).values()
    assert read == found
    assert read[-2] is True


def test_it_has_its_number_and_names_no_class(busy):
    one = freeze(7, 70, {"manager": busy.manager})
    assert (one.sequence, one.now_ms) == (7, 70)
    assert one.form == snapshot.FORM
    assert b"fairshare" not in zlib.decompress(one.body)


def test_a_damaged_one_is_refused_with_its_number(busy):
    one = freeze(7, 70, {"manager": busy.manager})
    body = zlib.decompress(one.body)
    for damaged in (
        one.body[:-9],
        one.body[: len(one.body) // 2],
        b"",
        zlib.compress(body[: len(body) // 2]),
        zlib.compress(b"\xdd\xff\xff\xff\xff"),
        zlib.compress(b"\x91" * 100_000),
        zlib.compress(msgspec.msgpack.encode([[], [[]], []])),
        zlib.compress(msgspec.msgpack.encode([[["node", []]], [[0]], [["manager", [0]]]])),
        zlib.compress(msgspec.msgpack.encode([[["os.system", []]], [[0, "true"]], []])),
        zlib.compress(msgspec.msgpack.encode([[], [], [["manager", [-4, 0, "true"]]]])),
    ):
        with pytest.raises(JournalError, match="behind record 7 cannot be read"):
            thaw(msgspec.structs.replace(one, body=damaged))


def test_one_that_unpacks_to_more_than_any_state_is_refused(monkeypatch):
    monkeypatch.setattr(snapshot, "MOST_BYTES", 1_000_000)
    with pytest.raises(JournalError, match="larger than any state"):
        thaw(Snapshot(1, 1, snapshot.FORM, zlib.compress(bytes(2_000_000))))


def test_what_has_no_tag_is_not_written():
    with pytest.raises(JournalError, match=r"pathlib[.\w]+ does not belong into a snapshot"):
        freeze(1, 1, {"x": Path()})


def test_an_undeclared_field_raises_an_error(busy):
    busy.state.invented = 1
    with pytest.raises(JournalError, match=r"FairState has fields .*: invented"):
        freeze(1, 1, {"manager": busy.manager})


@pytest.mark.parametrize("form", [snapshot.FORM - 1, snapshot.FORM + 1])
def test_another_format_is_refused(busy, form):
    one = freeze(7, 70, {"manager": busy.manager})
    with pytest.raises(JournalError, match=f"record 7 has format {form}.*the version that wrote"):
        thaw(msgspec.structs.replace(one, form=form))


def test_a_pickle_makes_nothing_and_calls_nothing(tmp_path):
    class Hostile:
        def __reduce__(self):
            return open, (str(tmp_path / "made"), "w")

    body = zlib.compress(pickle.dumps({"x": Hostile()}))
    with pytest.raises(JournalError, match="cannot be read"):
        thaw(Snapshot(1, 1, snapshot.FORM, body))
    assert not (tmp_path / "made").exists()


def test_a_field_that_nothing_is_known_of_makes_a_snapshot_unreadable(rewritten):
    node = freeze(1, 1, {"node": Node("n1", (1, 1), "/r", 2)})
    older = rewritten(node, "node", lambda fields: {n: v for n, v in fields.items() if n != "rack"})
    with pytest.raises(JournalError, match="node has no rack"):
        thaw(older)
    later = rewritten(node, "node", lambda fields: {**fields, "of_the_next_release": 1})
    with pytest.raises(JournalError, match="node has of_the_next_release"):
        thaw(later)


def test_an_object_and_a_structure_are_read_by_the_names_of_their_fields(rewritten):
    def reversed_fields(fields):
        return dict(reversed(fields.items()))

    span = Span("queued", 5)
    one = freeze(1, 1, {"span": span, "drain": Drain((1, 2), 9, 3)})
    for tag in ("span", "drain"):
        one = rewritten(one, tag, reversed_fields)
    found = thaw(one)
    assert (found["span"].what, found["span"].since_ms) == ("queued", 5)
    assert found["drain"] == Drain((1, 2), 9, 3)


def test_a_structure_that_has_got_a_default_needs_no_table(rewritten):
    drain = freeze(1, 1, {"drain": Drain((1, 2), 9, 3)})
    one = rewritten(drain, "drain", lambda f: {n: v for n, v in f.items() if n != "deadline_ms"})
    assert thaw(one)["drain"] == Drain((1, 2), 9)


def test_a_field_that_a_class_got_later_is_filled_in(rewritten, busy):
    later = Application.LATER_FIELDS

    def before(fields):
        return {name: value for name, value in fields.items() if name not in later}

    state = thaw(rewritten(freeze(1, 1, {"manager": busy.manager}), "application", before))[
        "manager"
    ].state
    assert state.applications
    for application in state.applications.values():
        assert {name: getattr(application, name) for name in later} == later
        assert application.started_ms == application.began_ms


def test_an_unknown_tag_makes_a_snapshot_unreadable(rewritten):
    one = freeze(1, 1, {"run": Run((1, 2), 3)})
    one = rewritten(one, "run", lambda fields: {**fields, "tag": "count-of-resources"})
    with pytest.raises(JournalError, match="count-of-resources is nothing"):
        thaw(one)
