"""A history that is read as a world and simulated again is the same history, record by record."""

import contextlib
import json
import tempfile
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tests.effort import examples

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.bookings import Booking, BookingRules, Span
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.inputs import (
    AdvanceBookings,
    CancelBooking,
    DrainNode,
    KillApplication,
    KillTask,
    MakeBooking,
    MoveApplication,
    NodeJoined,
    NodeLost,
    SubmitApplication,
    UndrainNode,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.rerun import Pause, Rerun
from fairshare.lab.simulate.simulator import EPOCH_MS, Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.lab.simulate.world import Origin
from fairshare.lab.verbs.histories import read_world
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.projections.compact_records import pack, thin, unpack
from fairshare.runtime.recovery import recover
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.server.long_history import Bounds, LongHistory
from fairshare.settings.registry import family_of

QUEUES = ("root.a", "root.b", "root.c")
FAIR = FairSettings(
    allocations=AllocationSettings(
        queues={
            name: QueueSettings(
                name, weight=float(number), fair_share_timeout_ms=2_000, fair_share_threshold=1.0
            )
            for number, name in enumerate(QUEUES, 1)
        },
        from_file=True,
    ),
    preemption=True,
    bookings=BookingRules(ahead_ms=1_000, preempt_after_ms=500),
)
CAPACITY = CapacitySettings(
    queues={
        "root": CapacityQueue(children=("a", "b", "c"), capacity=Percentage(100.0)),
        **{name: CapacityQueue(capacity=Percentage(100 / 3)) for name in QUEUES},
    },
    bookings=BookingRules(ahead_ms=1_000),
)
WHOLE = Bounds(14, 2**30)
"""Bounds of a long history within which each of these histories is kept whole."""
SETTINGS = {"fair": FAIR, "capacity": CAPACITY}

tasks = st.tuples(
    st.integers(1, 6),  # tasks
    st.integers(1, 4),  # GB of each
    st.lists(st.integers(1, 20_000), min_size=6, max_size=6),  # how long each runs
    st.integers(0, 2),  # how often each fails before
)
arrivals = st.lists(
    st.tuples(st.integers(0, 10_000), st.sampled_from(QUEUES), tasks), min_size=1, max_size=8
)
others = st.lists(
    st.tuples(
        st.integers(1, 15_000),
        st.one_of(
            st.builds(KillApplication, st.integers(1, 8)),
            st.builds(KillTask, st.integers(1, 8), st.just(0), st.integers(0, 4)),
            st.builds(MoveApplication, st.integers(1, 8), st.sampled_from(QUEUES)),
            st.builds(DrainNode, st.sampled_from(("n1", "n2"))),
            st.builds(UndrainNode, st.sampled_from(("n1", "n2"))),
            st.builds(
                lambda queue, vcores, from_ms, replace: MakeBooking(
                    Booking("b", queue, (0, vcores), (Span(from_ms, 17_000),)), replace
                ),
                st.sampled_from(QUEUES),
                st.integers(1, 12),
                st.sampled_from((0, 16_000)),
                st.booleans(),
            ),
            st.builds(CancelBooking, st.just("b")),
            st.builds(NodeLost, st.just("n2")),
            st.builds(NodeJoined, st.just("n2"), st.just((6144, 6))),
        ),
    ),
    max_size=5,
)

SHORT = (0, "root.a", (1, 1, [1] * 6, 0))
OUTLIVING = (1, MakeBooking(Booking("b", "root.a", (0, 4), (Span(16_000, 17_000),)), False))


def failing_late(given_arrivals):
    """The same, with tasks that run for longer than their pauses before they fail: a node is asked
    at most once in an interval while a task hopes for a nearer one, and a simulation that begins
    with a state counts intervals from there."""
    return [
        (at_ms, queue, (count, size, [max(ms, 2_250 * min(fails, 1)) for ms in runs_ms], fails))
        for at_ms, queue, (count, size, runs_ms, fails) in given_arrivals
    ]


def recorded(kind, given_arrivals, given_others):
    """The records of a simulation."""
    made = []
    for at_ms, queue, (count, gigabytes, runs_ms, failing) in sorted(given_arrivals):
        group = TaskGroup("g", count, (gigabytes * 1024, 1))
        plan = GroupPlan(tuple(runs_ms), failing)
        made.append(Arrival(at_ms, SubmitApplication("ann", queue, tasks=(group,)), (plan,)))
    nodes = (NodeJoined("n1", (6144, 6)), NodeJoined("n2", (6144, 6)))
    journal = MemoryJournal()
    manager = ResourceManager(family_of(kind).create(ResourceTypes()))
    encoded = msgspec.json.encode(SETTINGS[kind])
    simulator = Simulator(manager, encoded, Workload(nodes, tuple(made)), journal)
    for at_ms, one in given_others:
        simulator.agenda.at(at_ms, one)
    simulator.run()
    return list(journal.records())


def all_changed_something(given_others, records):
    """Whether all these inputs are in the journal.

    An input that changes nothing is not, though it may have made shares be updated earlier.
    """
    sent = Counter([NodeJoined, NodeJoined, *(type(one) for _, one in given_others)])
    return sent <= Counter(type(one.input) for one in records)


def again(records, kind, new=None):
    """The records of the same history, simulated from what others did in it."""
    types = ResourceTypes()
    world = read_history(records, kind, types, EPOCH_MS)
    found = []
    manager = ResourceManager(family_of(kind).create(types))
    Rerun(world, manager, new, observers=(found.append,)).run()
    return found


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(SETTINGS)), arrivals, others)
@example("fair", [SHORT], [OUTLIVING])
@example("capacity", [SHORT], [OUTLIVING])
def test_a_history_is_reproduced_record_by_record(kind, given_arrivals, given_others):
    records = recorded(kind, given_arrivals, given_others)
    assume(all_changed_something(given_others, records))
    found = again(records, kind)
    assert [(one.now_ms, one.input, one.events) for one in found[: len(records)]] == [
        (one.now_ms, one.input, one.events) for one in records
    ]
    # A simulation ends where bookings alone are left; the end of a history is not known to be that.
    assert {type(one.input) for one in found[len(records) :]} <= {AdvanceBookings}


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(SETTINGS)), arrivals, others, st.floats(0, 1))
def test_a_history_is_reproduced_from_any_state_of_it(kind, given_arrivals, given_others, part):
    records = recorded(kind, failing_late(given_arrivals), given_others)
    assume(all_changed_something(given_others, records))
    # Servers take snapshots between turns, not in the middle of one.
    until_ms = records[int(part * (len(records) - 1))].now_ms
    origin = state_after([one for one in records if one.now_ms <= until_ms], kind)
    rest = records[origin.position.sequence :]
    world = read_history(rest, kind, ResourceTypes(), EPOCH_MS, origin)
    found = []
    Rerun(world, origin.manager(), observers=(found.append,)).run()
    assert [grants(one) for one in found if grants(one)] == [
        grants(one) for one in rest if grants(one)
    ]


def test_a_server_that_takes_stock_decides_nothing_before_it_first_did():
    """Its first settlement is at 44 ms, so that the next thorough round of its nodes is later."""
    records = [
        one
        for one in recorded("fair", [(44, "root.a", (2, 1, [1_000] * 6, 0))], [])
        if one.now_ms >= 44 or type(one.input).__name__ != "UpdateShares"
    ]
    world = read_history(records, "fair", ResourceTypes(), EPOCH_MS)
    assert (world.begin_ms, world.decided_ms) == (0, 44)
    found = []
    manager = ResourceManager(family_of("fair").create(ResourceTypes()))
    Rerun(world, manager, pauses=[Pause(0, 44)], observers=(found.append,)).run()
    assert min(one.now_ms for one in found if type(one.input).__name__ == "UpdateShares") == 44


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(SETTINGS)), arrivals, others)
def test_compact_records_reproduce_what_full_ones_do(kind, given_arrivals, given_others):
    records = recorded(kind, given_arrivals, given_others)
    compact = [one for one in map(thin, records) if one is not None]
    back = list(unpack(pack(compact)))
    assert back == compact
    assert [grants(one) for one in again(back, kind) if grants(one)] == [
        grants(one) for one in again(records, kind) if grants(one)
    ]


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(sorted(SETTINGS)),
    arrivals,
    others,
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
    st.sampled_from((WHOLE, Bounds(0, 2**30), Bounds(14, 2**12))),
)
def test_a_trimmed_journal_with_its_long_history_reproduces_the_whole(
    kind, given_arrivals, given_others, states, ends, bounds
):
    records = recorded(kind, failing_late(given_arrivals), given_others)
    assume(all_changed_something(given_others, records))
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        trim_after(directory, kind, records, (states, ends), bounds)
        world = read_world(directory)
    begin = 0 if world.origin is None else world.origin.position.sequence
    if bounds is WHOLE:
        assert begin == 0
    manager = (
        ResourceManager(family_of(kind).create(ResourceTypes()))
        if world.origin is None
        else world.origin.manager()
    )
    found = []
    Rerun(world, manager, observers=(found.append,)).run()
    assert [grants(one) for one in found if grants(one)] == [
        grants(one) for one in records[begin:] if grants(one)
    ]


def trim_after(directory, kind, records, parts, bounds):
    """Write a journal with states at some parts of its length, and trim it up to other ones."""
    states, ends = parts
    identity = {
        "scheduler": kind,
        "resource_types": ["memory-mb", "vcores"],
        "units": ["Mi", ""],
        "epoch_ms": EPOCH_MS,
    }
    (directory / "cluster.json").write_text(json.dumps(identity))
    with contextlib.closing(SqliteJournal(directory)) as journal:
        for record in records:
            journal.append(record)
        journal.commit()
        for part in sorted({*states, 1.0}):
            until_ms = records[int(part * (len(records) - 1))].now_ms
            position = state_after([one for one in records if one.now_ms <= until_ms], kind)
            manager = position.manager()
            where = position.position
            journal.save(freeze(where.sequence, where.now_ms, {"manager": manager}))
        for part in sorted(ends):
            end = int(part * (len(records) - 1))  # a journal is never trimmed to nothing
            if end >= journal.first_record():
                with contextlib.closing(LongHistory.open_for_writing(directory)) as history:
                    history.take(journal, end, bounds)
                journal.delete_up_to(end)


def state_after(records, kind):
    """The state after these records, as a server's snapshots have it."""
    manager = ResourceManager(family_of(kind).create(ResourceTypes()))
    position = recover(records, manager.state)
    snapshot = freeze(position.sequence, position.now_ms, {"manager": manager})
    return Origin(position, lambda: thaw(snapshot)["manager"])


def grants(record):
    """The containers that were granted at an instant, and where."""
    return [
        (record.now_ms, one.container, one.node)
        for one in record.events
        if type(one) is ContainerAllocated
    ]


@pytest.mark.slow
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arrivals, others)
def test_other_settings_decide_the_same_history_to_its_end(given_arrivals, given_others):
    records = recorded("fair", given_arrivals, given_others)
    other = msgspec.structs.replace(FAIR, preemption=False)
    found = again(records, "fair", msgspec.json.encode(other))
    submitted = [type(one.input) for one in found].count(SubmitApplication)
    assert submitted == len(given_arrivals)
