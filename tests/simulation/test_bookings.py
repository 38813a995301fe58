"""Bookings under each scheduler: what is promised is free when it is due, and nothing else is kept
from others."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.simulation.clusters import FAIR, SLOTS, Lab

from fairshare.core.manager.bookings import in_the_way, spans_of
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.bookings import MOST_SPANS, Booking, Span
from fairshare.core.model.events import BookingsAdvanced, RequestRefused
from fairshare.core.model.inputs import CancelBooking, DrainNode, MakeBooking, NodeLost
from fairshare.core.model.invariants import check
from fairshare.core.schedulers.reasons import reasons
from fairshare.errors import InputError
from fairshare.lab.simulate.readers import read_workload
from fairshare.lab.simulate.readers.options import ReaderOptions
from fairshare.lab.simulate.simulator import Simulator
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.recovery import Position, recover
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
WEEK_MS = 7 * 24 * HOUR_MS
SCHEDULERS = ("fair", "capacity", "pools", "fifo")
PREEMPTS = "[bookings]\npreempt_after_s = 60\n"


@pytest.fixture
def lab(tmp_path: Path) -> Callable[[str, str], Lab]:
    return lambda scheduler, toml="": Lab(tmp_path, scheduler, toml)


def holder_of(scheduler: str) -> tuple[str, str]:
    """Where bob works: in a queue of his own, or as a user of the one that all share."""
    return ("b", "") if scheduler in ("fair", "capacity") else ("default", "bob")


def booking(scheduler, from_ms, until_ms, vcores=8, *, name="course", weeks=1, holder=None):
    queue, user = holder or holder_of(scheduler)
    slots = (vcores, 0) if scheduler == "pools" else ()
    spans = tuple(
        Span(from_ms + week * WEEK_MS if from_ms else 0, until_ms + week * WEEK_MS)
        for week in range(weeks)
    )
    return Booking(name, queue, (1024 * vcores, vcores, *slots), spans, user)


def book(lab: Lab, *about, replace=False, **named):
    """The message of a refusal; empty: the booking was made."""
    given = MakeBooking(booking(lab.scheduler, *about, **named), replace)
    return refusal(lab.simulator.handle(given))


def refusal(events):
    return next((event.reason for event in events if isinstance(event, RequestRefused)), "")


def with_bob(lab: Lab) -> Lab:
    """The clock is not at 0, which means now."""
    lab.submit("b", "bob", 1, task_s=1)
    lab.advance(10)
    return lab


def waits(lab: Lab, number: int) -> list[str]:
    scheduler = lab.manager.scheduler
    application = lab.state.applications[number]
    found = reasons(application, scheduler.limits_of(number), lab.state, lab.now_ms)
    return [reason.cause.value for reason in found]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_what_is_booked_is_kept_from_others_for_its_holder(lab, scheduler):
    lab = with_bob(lab(scheduler))
    now_ms = lab.now_ms
    assert book(lab, 0, now_ms + HOUR_MS) == ""
    lab.submit("a", "ann", 400, task_s=20 * 60)
    lab.advance(30)
    assert lab.used_by("ann") == SLOTS - 8
    lab.submit("b", "bob", 20, task_s=20 * 60)
    lab.advance(30)
    assert lab.used_by("bob") == 8
    lab.advance(3_600)
    lab.assert_nothing_idle()
    assert lab.used_by("ann") + lab.used_by("bob") == SLOTS
    assert (lab.state.kept, lab.state.bookings) == ((), {})


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_before_a_booking_only_tasks_that_end_by_its_start_get_its_room(lab, scheduler):
    lab = with_bob(lab(scheduler))
    start_ms = lab.now_ms + 3 * HOUR_MS
    assert book(lab, start_ms, start_ms + HOUR_MS) == ""
    lab.submit("a", "ann", 40, task_s=90 * 60)
    lab.advance(60)
    assert lab.used_by("ann") == SLOTS  # it is not kept for hours
    lab.advance(2.5 * 3_600)
    assert lab.used_by("ann") == 8
    lab.submit("a", "ann", 100, task_s=8 * 60 * 60)
    lab.advance(60)
    assert lab.used_by("ann") == SLOTS - 8
    lab.submit("a", "cat", 4, task_s=300, limit_s=600)
    lab.advance(60)
    assert sum(attempt.used[1] for attempt in lab.state.attempts.values()) == SLOTS - 4
    lab.advance(30 * 60)
    lab.submit("b", "bob", 20, task_s=60)
    lab.advance(30)
    assert lab.used_by("bob") == 8


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_what_runs_beyond_the_start_runs_to_its_end_or_is_preempted_as_configured(lab, scheduler):
    for toml, expected in (("", 0), (PREEMPTS, 8)):
        cluster = with_bob(lab(scheduler, toml))
        cluster.submit("a", "ann", SLOTS, task_s=5 * 3_600)
        cluster.advance(60)
        assert cluster.used_by("ann") == SLOTS
        start_ms = cluster.now_ms + HOUR_MS
        assert book(cluster, start_ms, start_ms + HOUR_MS) == ""
        number = cluster.submit("b", "bob", 20, task_s=60)
        cluster.advance(3_600 + 59)
        assert (cluster.used_by("bob"), cluster.used_by("ann")) == (0, SLOTS)
        cluster.advance(11)
        assert (cluster.used_by("bob"), cluster.used_by("ann")) == (expected, SLOTS - expected)
        cluster.advance(600)
        assert cluster.state.applications[number].over is bool(expected)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_booking_that_gets_another_holder_preempts_for_that_one(lab, scheduler):
    lab = with_bob(lab(scheduler, PREEMPTS))
    lab.submit("a", "ann", SLOTS, task_s=5 * 3_600)
    start_ms = lab.now_ms
    queue, user = holder_of(scheduler)
    others = ("a", "") if not user else (queue, "ann")
    assert book(lab, 0, start_ms + HOUR_MS, holder=others) == ""
    lab.submit("b", "bob", 20, task_s=3_600)
    lab.advance(120)
    assert lab.used_by("bob") == 0
    assert book(lab, start_ms, start_ms + HOUR_MS, replace=True) == ""
    lab.advance(10)
    assert (lab.used_by("ann"), lab.used_by("bob")) == (SLOTS - 8, 8)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_booking_preempts_for_what_a_lost_node_had_of_it(lab, scheduler):
    lab = with_bob(lab(scheduler, PREEMPTS))
    lab.submit("a", "ann", SLOTS, task_s=5 * 3_600)
    lab.submit("b", "bob", SLOTS, task_s=5 * 3_600)
    assert book(lab, 0, lab.now_ms + HOUR_MS) == ""
    lab.advance(70)
    assert (lab.used_by("ann"), lab.used_by("bob")) == (SLOTS - 8, 8)
    lab.simulator.handle(NodeLost("n2", "LOST", ""))
    lab.advance(70)
    assert (lab.used_by("ann"), lab.used_by("bob")) == (SLOTS // 2 - 8, 8)


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
def test_a_booking_that_begins_later_has_its_own_time_until_it_preempts(lab, scheduler):
    lab = with_bob(lab(scheduler, PREEMPTS))
    lab.submit("a", "ann", SLOTS, task_s=5 * 3_600)
    start_ms = lab.now_ms + MINUTE_MS
    assert book(lab, start_ms, start_ms + HOUR_MS) == ""
    later = {"name": "later", "holder": ("p", "")}
    assert book(lab, start_ms + MINUTE_MS // 2, start_ms + HOUR_MS, **later) == ""
    lab.advance(125)
    assert lab.used_by("ann") == SLOTS - 8
    lab.advance(30)
    assert lab.used_by("ann") == SLOTS - 16


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_task_with_a_limit_makes_room_at_the_start(lab, scheduler):
    lab = with_bob(lab(scheduler))
    start_ms = lab.now_ms + 30 * MINUTE_MS
    assert book(lab, start_ms, start_ms + HOUR_MS) == ""
    lab.submit("a", "ann", 100, task_s=20 * 60, limit_s=29 * 60)
    lab.advance(60)
    assert lab.used_by("ann") == SLOTS
    lab.submit("b", "bob", 8, task_s=3_600)
    lab.advance(30 * 60)
    assert lab.used_by("bob") == 8


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_course_is_kept_each_week_of_a_term_and_never_between(lab, scheduler):
    lab = with_bob(lab(scheduler))
    start_ms = lab.now_ms + HOUR_MS
    assert book(lab, start_ms, start_ms + HOUR_MS, weeks=3) == ""
    for week in range(3):
        lab.advance((start_ms + week * WEEK_MS - lab.now_ms) / 1_000 + 60)
        ann = lab.submit("a", "ann", 40, task_s=30 * 60)
        lab.advance(60)
        assert (lab.used_by("ann"), waits(lab, ann)) == (SLOTS - 8, ["booked"])
        lab.submit("b", "bob", 8, task_s=30 * 60)
        lab.advance(60)
        assert (lab.used_by("ann"), lab.used_by("bob")) == (SLOTS - 8, 8)
        lab.advance(2 * 3_600)
        lab.submit("a", "ann", SLOTS, task_s=60)
        lab.advance(30)
        assert lab.used_by("ann") == SLOTS
        lab.advance(3_600)
    assert lab.state.bookings == {}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_restart_in_the_middle_of_a_booking_changes_nothing(lab, scheduler):
    lab = with_bob(lab(scheduler, PREEMPTS))
    start_ms = lab.now_ms + HOUR_MS
    assert book(lab, start_ms, start_ms + HOUR_MS, weeks=2) == ""
    lab.submit("a", "ann", 100, task_s=10 * 3_600)
    for seconds in (0, 3_600, 30, 40, 600, 3_600):
        lab.advance(seconds)
        again = ResourceManager(family_of(scheduler).create(lab.state.types))
        recover(list(lab.journal.records()), again.state, Position())
        thawed = thaw(freeze(7, 70, {"manager": again}))["manager"]
        for other in (again.state, thawed.state):
            check(other)
            assert other.bookings == lab.state.bookings
            assert other.kept == lab.state.kept
            assert other.bookings_ms == lab.state.bookings_ms
    changes = [
        event
        for record in lab.journal.records()
        for event in record.events
        if isinstance(event, BookingsAdvanced)
    ]
    assert len(changes) == 4  # made, and near; begun; preempted; over


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_clock_that_jumps_over_a_booking_leaves_nothing_of_it(lab, scheduler):
    lab = with_bob(lab(scheduler, PREEMPTS))
    start_ms = lab.now_ms + 5 * HOUR_MS
    assert book(lab, start_ms, start_ms + HOUR_MS) == ""
    lab.submit("a", "ann", SLOTS, task_s=20 * 3_600)
    lab.advance(30)
    assert lab.manager.handle(start_ms + 2 * HOUR_MS, MakeBooking(booking(scheduler, 1, 2)))
    lab.advance(8 * 3_600)
    assert (lab.used_by("ann"), lab.state.kept, lab.state.bookings) == (SLOTS, (), {})


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_booking_is_changed_and_cancelled_while_it_is_on(lab, scheduler):
    lab = with_bob(lab(scheduler))
    end_ms = lab.now_ms + HOUR_MS
    assert book(lab, 0, end_ms, 16) == ""
    lab.submit("a", "ann", 100, task_s=8 * 3_600)
    lab.advance(30)
    assert lab.used_by("ann") == SLOTS - 16
    assert book(lab, 0, end_ms, 8, replace=True) == ""
    lab.advance(30)
    assert lab.used_by("ann") == SLOTS - 8
    assert refusal(lab.simulator.handle(CancelBooking("course"))) == ""
    lab.advance(30)
    assert lab.used_by("ann") == SLOTS
    assert "no booking 'course'" in refusal(lab.simulator.handle(CancelBooking("course")))
    assert "no booking 'course'" in book(lab, 0, end_ms, replace=True)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_what_tasks_use_that_do_not_end_by_the_start_is_not_sure_to_be_free(lab, scheduler):
    lab = with_bob(lab(scheduler))
    start_ms = lab.now_ms + 2 * HOUR_MS
    assert book(lab, start_ms, start_ms + HOUR_MS, 20) == ""
    lab.submit("a", "ann", 8, task_s=7_200, limit_s=1_800)
    lab.submit("a", "ann", 8, task_s=7_200, limit_s=10_800)
    lab.submit("a", "ann", 4, task_s=7_200)
    lab.advance(10)
    state, (course,) = lab.state, lab.state.bookings.values()
    missing = in_the_way(state, [course], spans_of([course]))
    assert missing["course"][1] == 0  # 20 of the other 20
    lab.submit("b", "bob", 3, task_s=7_200)
    lab.submit("a", "cat", 5, task_s=7_200)
    lab.advance(10)
    missing = in_the_way(state, [course], spans_of([course]))
    assert missing["course"][1] == 5


def far(number: int) -> Iterator[Span]:
    return (Span(HOUR_MS * (9 + one), HOUR_MS * (9 + one) + 1) for one in range(number))


@pytest.mark.parametrize(
    ("about", "words"),
    [
        (((Span(HOUR_MS, 2 * HOUR_MS),), 4), "cannot begin in the past"),
        (((Span(5 * HOUR_MS, 5 * HOUR_MS),), 4), "must end after it begins"),
        (((Span(6 * HOUR_MS, 5 * HOUR_MS),), 4), "must end after it begins"),
        (((), 4), "needs a time"),
        ((tuple(far(MOST_SPANS + 1)), 4), f"has {MOST_SPANS} times at most"),
        (((Span(5 * HOUR_MS, 500 * 24 * HOUR_MS),), 4), "within 400 days"),
        (((Span(5 * HOUR_MS, 7 * HOUR_MS), Span(6 * HOUR_MS, 8 * HOUR_MS)), 4), "overlap"),
        (((Span(5 * HOUR_MS, 6 * HOUR_MS),), SLOTS + 1), "the cluster has 32"),
        (((Span(5 * HOUR_MS, 6 * HOUR_MS),), 0), "needs an amount"),
        (((Span(5 * HOUR_MS, 6 * HOUR_MS),), -1), "none below 0"),
        (((Span(5 * HOUR_MS, 6 * HOUR_MS),), 4, "nowhere"), "there is no queue root.nowhere"),
        (((Span(5 * HOUR_MS, 6 * HOUR_MS),), 4, "root"), "no queue beside root"),
        (((Span(5 * HOUR_MS, 6 * HOUR_MS),), 4, "p", "ann"), "queues are root.p.x, root.p.y"),
    ],
)
@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
def test_a_booking_that_cannot_be_kept_is_refused_with_the_reason(lab, scheduler, about, words):
    lab = lab(scheduler)
    lab.advance(4 * 3_600)
    spans, vcores, queue, user = (*about, *("b", "")[len(about) - 2 :])
    wanted = Booking("course", queue, (1024 * vcores, vcores), spans, user)
    assert words in refusal(lab.simulator.handle(MakeBooking(wanted)))
    assert lab.state.bookings == {}


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
def test_bookings_of_one_time_are_no_more_than_the_cluster(lab, scheduler):
    lab = lab(scheduler)
    assert book(lab, 5 * HOUR_MS, 6 * HOUR_MS, 20, name="one") == ""
    assert book(lab, 6 * HOUR_MS, 7 * HOUR_MS, 20, name="after") == ""
    message = book(lab, 5 * HOUR_MS + 1, 8 * HOUR_MS, 13, name="other")
    assert "of 32,768, 20,480 are booked at that time by after, one" in message
    assert book(lab, 5 * HOUR_MS + 1, 8 * HOUR_MS, 12, name="other") == ""
    assert "already" in book(lab, 9 * HOUR_MS, 10 * HOUR_MS, 1, name="one")
    assert "of 32,768, 12,288" in book(lab, 5 * HOUR_MS, 6 * HOUR_MS, 21, name="one", replace=True)
    assert book(lab, 5 * HOUR_MS, 6 * HOUR_MS, 20, name="one", replace=True) == ""


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
def test_nodes_that_drain_are_not_booked(lab, scheduler):
    lab = lab(scheduler)
    lab.simulator.handle(DrainNode("n1"))
    message = book(lab, 5 * HOUR_MS, 6 * HOUR_MS, 20)
    assert "with 1 node drained the cluster has 16,384" in message
    assert book(lab, 5 * HOUR_MS, 6 * HOUR_MS, 16) == ""


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_booking_of_a_cluster_that_lost_a_node_keeps_what_is_left(lab, scheduler):
    lab = with_bob(lab(scheduler))
    assert book(lab, 0, lab.now_ms + HOUR_MS, 20) == ""
    lab.simulator.handle(NodeLost("n1", "LOST", ""))
    lab.submit("a", "ann", 100, task_s=60)
    lab.submit("b", "bob", 100, task_s=60)
    lab.advance(30)
    assert (lab.used_by("ann"), lab.used_by("bob")) == (0, 16)


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
def test_a_booking_below_another_adds_to_it_and_its_use_counts_once(lab, scheduler):
    lab = lab(scheduler)
    end_ms = lab.now_ms + HOUR_MS
    assert book(lab, 0, end_ms, 8, name="lab", holder=("p", "")) == ""
    assert book(lab, 0, end_ms, 4, name="group", holder=("p.x", "")) == ""
    lab.submit("a", "ann", 100, task_s=7_200)
    lab.advance(10)
    assert lab.used_by("ann") == SLOTS - 12
    lab.submit("root.p.y", "bob", 100, task_s=7_200)
    lab.advance(10)
    assert lab.used_by("bob") == 8  # 4 are for p.x alone
    lab.submit("root.p.x", "cat", 100, task_s=7_200)
    lab.advance(10)
    assert lab.used_by("cat") == 4


def test_a_booking_that_follows_another_does_not_take_what_that_one_promises(lab):
    lab = lab("fair")
    begin_ms = lab.now_ms
    end_ms = begin_ms + HOUR_MS
    assert book(lab, 0, end_ms, SLOTS, name="first", holder=("a", "")) == ""
    assert book(lab, end_ms, end_ms + HOUR_MS, SLOTS, name="second") == ""
    lab.submit("b", "bob", 100, task_s=600)
    lab.advance(600)
    assert lab.used_by("bob") == 0
    lab.submit("a", "ann", SLOTS, task_s=60 * 60)
    lab.advance(600)
    assert lab.used_by("ann") == SLOTS


def test_only_administrators_of_the_cluster_book(tmp_path):
    allowed = (
        "<configuration><property><name>yarn.acl.enable</name><value>true</value></property>"
        "<property><name>yarn.admin.acl</name><value>root,boss</value></property></configuration>"
    )
    (tmp_path / "yarn-site.xml").write_text(allowed)
    lab = Lab(tmp_path, "fair", "")
    wanted = booking("fair", 5 * HOUR_MS, 6 * HOUR_MS)
    for given in (MakeBooking(wanted, user="ann"), CancelBooking("course", "ann")):
        assert "only administrators of the cluster" in refusal(lab.simulator.handle(given))
    assert refusal(lab.simulator.handle(MakeBooking(wanted, user="boss"))) == ""
    assert lab.state.bookings["course"].made_by == "boss"


def test_many_bookings_are_refused_beyond_a_bound(lab, monkeypatch):
    lab = lab("fair")
    monkeypatch.setattr("fairshare.core.manager.bookings.MOST_BOOKINGS", 3)
    for number in range(3):
        assert book(lab, 5 * HOUR_MS, 6 * HOUR_MS, 1, name=f"b{number}") == ""
    assert "3 bookings already" in book(lab, 5 * HOUR_MS, 6 * HOUR_MS, 1, name="b3")


WORKLOAD = """
nodes: [{name: n, count: 2, resources: {memory-mb: 16g, vcores: 16}}]
bookings: [{name: course, queue: root.b, resources: {vcores: 8}, from: 1h, until: 2h}]
applications:
  - {at: 0, user: ann, queue: root.a,
     groups: [{count: 320, resources: {memory-mb: 1g, vcores: 1}, duration: 10m}]}
  - {at: 1h, user: bob, queue: root.b,
     groups: [{count: 8, resources: {memory-mb: 1g, vcores: 1}, duration: 30m}]}
"""


def simulated(path: Path, workload: str, toml: str = "") -> Simulator:
    (path / "fair-scheduler.xml").write_text(FAIR)
    (path / "fairshare.toml").write_text(toml)
    (path / "workload.yaml").write_text(workload)
    configuration = read_directory(path, "fair")
    read = read_workload(path / "workload.yaml", ReaderOptions())
    simulator = Simulator(
        ResourceManager(family_of("fair").create(configuration.types)),
        msgspec.json.encode(configuration.settings),
        read,
        MemoryJournal(),
    )
    simulator.run()
    return simulator


def test_a_workload_has_bookings_which_a_simulation_keeps(tmp_path):
    waits_ms = []
    for workload in (WORKLOAD, WORKLOAD.replace("bookings", "other", 1)):
        if "other" in workload:
            workload = "\n".join(one for one in workload.splitlines() if "other" not in one)
        state = simulated(tmp_path, workload).manager.scheduler.state
        _, bob = state.applications.values()
        waits_ms.append(bob.first_launch_ms - HOUR_MS)
        assert all(one.over for one in state.applications.values())
    assert waits_ms[0] == 0 <= waits_ms[1]


def test_a_workload_with_a_booking_that_cannot_be_kept_is_refused(tmp_path):
    with pytest.raises(InputError, match="the booking 'course' is refused: 33 of vcores are more"):
        simulated(tmp_path, WORKLOAD.replace("vcores: 8}", "vcores: 33}"))


def test_a_simulation_ends_when_nothing_but_bookings_is_left(tmp_path):
    simulator = simulated(tmp_path, WORKLOAD.replace("until: 2h", "until: 30d"))
    assert simulator.clock.now_ms() < 5 * HOUR_MS
