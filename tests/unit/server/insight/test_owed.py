"""What the gap between entitled and allocated consists of."""

import pytest

from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.reasons import Cause, Reason
from fairshare.server.insight.shares import KINDS, Waiting, kind_of, owed_parts
from fairshare.server.insight.why import Words

WORDS = Words(ResourceTypes(), 0)


def ask(cause: Cause, containers: int = 1, size: int = 1024) -> Reason:
    return Reason(
        cause=cause, containers=containers, wanted=(size, 1), used=(1, 1), limit=(1, 1),
        available=(512, 1), queue="root.a", node="n1", user="ann", count=2,
    )  # fmt: skip


def waiting(number: int, *reasons: Reason, pending: int = 0) -> Waiting:
    return Waiting(number, (pending, 1), reasons)


def parts(owed: int, *those: Waiting, free=(0, 0), promised: int = 0) -> list[tuple[str, int]]:
    found = owed_parts(owed, 0, those, free, promised, WORDS)
    assert sum(part.amount for part in found) == owed
    return [(part.kind, part.amount) for part in found]


def test_each_cause_has_a_part_and_the_largest_is_first():
    found = parts(
        8192,
        waiting(1, ask(Cause.QUEUE_MAXIMUM, 2)),
        waiting(2, ask(Cause.NEARER_NODE, 5), ask(Cause.RESERVED_HERE, 1)),
    )
    assert found == [("nearer", 5120), ("limit", 2048), ("reserved", 1024)]


def test_the_oldest_claim_is_first_and_no_claim_exceeds_the_owed_amount():
    found = parts(3000, waiting(1, ask(Cause.USER_LIMIT, 2)), waiting(2, ask(Cause.NO_ROOM, 9)))
    assert found == [("limit", 2048), ("held", 952)]


def test_room_that_is_free_in_pieces_is_distinguished_from_room_that_others_hold():
    one = waiting(1, ask(Cause.NO_ROOM, 2, 2048))
    assert parts(4096, one, free=(2048, 4)) == [("scattered", 4096)]
    assert parts(4096, one, free=(2047, 4)) == [("held", 4096)]


def test_what_is_preempted_for_it_comes_before_what_others_hold():
    found = parts(4096, waiting(1, ask(Cause.NO_ROOM, 4)), promised=1024)
    assert found == [("held", 3072), ("preempted", 1024)]


def test_a_reason_of_the_whole_application_speaks_for_all_that_it_asks_for():
    held = Reason(cause=Cause.QUEUE_APPLICATIONS, queue="root.a", count=1)
    (part,) = owed_parts(4096, 0, [waiting(7, held, pending=4096)], (0, 0), 0, WORDS)
    assert (part.kind, part.applications, part.first) == ("limit", 1, 7)
    assert part.sentence == "root.a runs 1 application, as many as it may."


def test_two_limits_on_one_application_speak_for_it_once():
    both = [Reason(cause=Cause.USER_APPLICATIONS, user="ann", count=1),
            Reason(cause=Cause.QUEUE_APPLICATIONS, queue="root.a", count=1)]  # fmt: skip
    found = parts(4096, waiting(1, *both, pending=1024), waiting(2, ask(Cause.NO_ROOM, 3)))
    assert found == [("held", 3072), ("limit", 1024)]


def test_what_no_reason_accounts_for_is_left_as_such():
    assert parts(4096, waiting(1, ask(Cause.OTHERS_FIRST))) == [("other", 3072), ("turn", 1024)]
    assert parts(0) == []


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_of_the_core_is_of_a_kind(cause):
    assert kind_of(ask(cause), (0, 0)) in KINDS
