"""The life of applications as spans."""

from tests.observing import follower

from fairshare.core.model.events import (
    ApplicationAdmitted,
    ApplicationEnded,
    ApplicationMoved,
    ApplicationsForgotten,
    ApplicationState,
    ApplicationSubmitted,
    AttemptStarted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerReserved,
    Locality,
    NodeRemoved,
    PriorityChanged,
    ReservationDropped,
    ReservationMoved,
)
from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import SubmitApplication, TidyQueues
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.core.schedulers.fifo import FifoScheduler
from fairshare.runtime.projections.timelines import KEPT, Timelines

SCHEDULER = FifoScheduler(ResourceTypes())

SUBMISSION = SubmitApplication(user="ann", queue="a", name="x")


def book(*moments):
    """A book of some (instant, event...)."""
    lives = Timelines()
    follow = follower(lives, SCHEDULER)
    for number, (now_ms, *events) in enumerate(moments, 1):
        follow(Record(number, now_ms, TidyQueues(), tuple(events)))
    return lives


def submitted(runnable=True):
    return (ApplicationSubmitted(1, SUBMISSION, "root.a", 0), AttemptStarted(1, 1, runnable))


def granted(number, node="n1", reserved=False):
    return ContainerAllocated(
        container_id(1, 1, number), 1, node, (1, 1), 1, 0, Locality.OFF_SWITCH, False, reserved, 0
    )


def ended(number):
    return ContainerCompleted(container_id(1, 1, number), 0)


def spans(found):
    return [(span.what, span.since_ms, span.until_ms) for span in found]


def test_it_is_held_back_then_queued_then_runs_and_is_over():
    lives = book(
        (10, *submitted(runnable=False)),
        (20, ApplicationAdmitted(1)),
        (30, granted(1)),
        (31, granted(2)),
        (40, ended(1)),
        (50, ended(2), ApplicationEnded(1, ApplicationState.FINISHED, "")),
    )
    assert spans(lives.of(1).phases) == [("held", 10, 20), ("queued", 20, 30), ("running", 30, 50)]


def test_it_is_queued_again_when_its_last_container_ends():
    lives = book((10, *submitted()), (20, granted(1)), (30, ended(1)))
    assert spans(lives.of(1).phases) == [
        ("queued", 10, 20),
        ("running", 20, 30),
        ("queued", 30, None),
    ]


def test_a_reservation_lasts_until_it_is_fulfilled_dropped_moved_or_its_node_goes():
    reserved = [ContainerReserved(1, node, (1, 1), 1, 0) for node in ("a", "b", "c", "d")]
    lives = book(
        (10, *submitted(), *reserved),
        (20, granted(1, "a", reserved=True)),
        (21, ReservationDropped("b")),
        (22, ReservationMoved("c", "e")),
        (23, NodeRemoved("d")),
    )
    assert spans(lives.of(1).reservations) == [
        ("a", 10, 20), ("b", 10, 21), ("c", 10, 22), ("d", 10, 23), ("e", 22, None),
    ]  # fmt: skip


def test_moves_priorities_and_further_attempts_are_marks():
    lives = book(
        (10, *submitted()),
        (20, ApplicationMoved(1, "root.b", True)),
        (30, PriorityChanged(1, 7)),
        (40, AttemptStarted(1, 2, True)),
    )
    assert [(m.kind, m.at_ms, m.what) for m in lives.of(1).marks] == [
        ("moved", 20, "root.b"), ("priority", 30, "7"), ("attempt", 40, "2"),
    ]  # fmt: skip


def test_what_is_forgotten_is_gone_and_what_repeats_is_bounded():
    flapping = [(20 + n, granted(n) if n % 2 else ended(n - 1)) for n in range(1, 2 * KEPT)]
    lives = book((10, *submitted()), *flapping)
    assert len(lives.of(1).phases) == KEPT
    forgotten = ApplicationsForgotten((1,))
    follower(lives, SCHEDULER)(Record(9_999, 99, TidyQueues(), (forgotten,)))
    assert not lives.of(1).phases
