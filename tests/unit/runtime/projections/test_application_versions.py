"""Which applications the records have spoken of, so that lists write only these anew."""

from fairshare.core.model.events import ApplicationsForgotten, AsksChanged, RequestRefused
from fairshare.core.model.inputs import ForgetApplications, KillApplication, UpdateShares
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.core.schedulers.fifo import FifoScheduler
from fairshare.runtime.projections.application_versions import ApplicationVersions

SCHEDULER = FifoScheduler(ResourceTypes())

GONE = "There is no such application."


def test_an_application_named_by_a_record_has_changed_since_the_previous_one():
    changes = ApplicationVersions()
    changes.observe(Record(1, 0, UpdateShares(), (AsksChanged(7, ()),)), SCHEDULER)
    changes.observe(Record(2, 0, UpdateShares(), (AsksChanged(8, ()),)), SCHEDULER)
    assert changes.since(0) == [8, 7]
    assert changes.since(1) == [8]


def test_requests_for_applications_that_never_were_leave_nothing_behind():
    changes = ApplicationVersions()
    for number in range(1, 100):
        refused = RequestRefused(number, "unknown-application", GONE)
        changes.observe(Record(number, 0, KillApplication(number), (refused,)), SCHEDULER)
    assert changes.since(0) == []


def test_what_is_refused_once_it_is_forgotten_is_not_known_again():
    changes = ApplicationVersions()
    changes.observe(Record(1, 0, UpdateShares(), (AsksChanged(7, ()),)), SCHEDULER)
    changes.observe(
        Record(2, 0, ForgetApplications((7,)), (ApplicationsForgotten((7,)),)), SCHEDULER
    )
    refused = RequestRefused(7, "unknown-application", GONE)
    changes.observe(Record(3, 0, KillApplication(7), (refused,)), SCHEDULER)
    assert changes.since(0) == []
