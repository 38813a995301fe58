"""Which applications the records have spoken of, so that lists write only these anew."""

import random

import pytest
from tests.observing import follower

from fairshare.core.model.events import ApplicationsForgotten, AsksChanged, RequestRefused
from fairshare.core.model.inputs import ForgetApplications, KillApplication, UpdateShares
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.core.schedulers.fifo import FifoScheduler
from fairshare.runtime.projections.application_versions import ApplicationVersions
from fairshare.runtime.snapshot import freeze, thaw

SCHEDULER = FifoScheduler(ResourceTypes())

GONE = "There is no such application."


def test_an_application_named_by_a_record_has_changed_since_the_previous_one():
    changes = ApplicationVersions()
    follow = follower(changes, SCHEDULER)
    follow(Record(1, 0, UpdateShares(), (AsksChanged(7, ()),)))
    follow(Record(2, 0, UpdateShares(), (AsksChanged(8, ()),)))
    assert changes.since(0) == [8, 7]
    assert changes.since(1) == [8]


def test_requests_for_applications_that_never_were_leave_nothing_behind():
    changes = ApplicationVersions()
    follow = follower(changes, SCHEDULER)
    for number in range(1, 100):
        refused = RequestRefused(number, "unknown-application", GONE)
        follow(Record(number, 0, KillApplication(number), (refused,)))
    assert changes.since(0) == []


def test_what_is_refused_once_it_is_forgotten_is_not_known_again():
    changes = ApplicationVersions()
    follow = follower(changes, SCHEDULER)
    follow(Record(1, 0, UpdateShares(), (AsksChanged(7, ()),)))
    follow(Record(2, 0, ForgetApplications((7,)), (ApplicationsForgotten((7,)),)))
    refused = RequestRefused(7, "unknown-application", GONE)
    follow(Record(3, 0, KillApplication(7), (refused,)))
    assert changes.since(0) == []


@pytest.mark.parametrize("seed", range(5))
def test_any_number_of_changes_is_answered_as_by_a_list_of_all(seed):
    """Random lives; `seed` repeats one."""
    chance = random.Random(seed)
    changes = ApplicationVersions()
    follow = follower(changes, SCHEDULER)
    truth: dict[int, int] = {}
    oldest = 0
    for sequence in range(1, 3_000):
        number = chance.randint(sequence // 20, sequence // 20 + 30)
        if chance.random() < 0.05 and truth:
            gone = min(truth)
            del truth[gone]
            oldest = gone + 1
            forgotten = ApplicationsForgotten((gone,))
            follow(Record(sequence, 0, ForgetApplications((gone,)), (forgotten,)))
        elif number >= oldest:
            truth[number] = sequence
            follow(Record(sequence, 0, UpdateShares(), (AsksChanged(number, ()),)))
        since = chance.randint(0, sequence)
        later = [number for number, last in truth.items() if last > since]
        assert changes.since(since) == sorted(later, key=truth.__getitem__, reverse=True)
        if chance.random() < 0.01:
            thawed = thaw(freeze(sequence, 0, {"versions": changes}))["versions"]
            assert thawed.since(since) == changes.since(since)
