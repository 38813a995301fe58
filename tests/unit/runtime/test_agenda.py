"""When the scheduler tidies up."""

from fairshare.core.model.events import ApplicationEnded, ApplicationState, SharesUpdated
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.fair.scheduler import FairScheduler
from fairshare.core.schedulers.protocol import TIDY_INTERVAL_MS
from fairshare.runtime.agenda import Agenda

SCHEDULER = FairScheduler(ResourceTypes())

END = ApplicationEnded(1, ApplicationState.FINISHED, "")


def test_there_is_no_reason_to_tidy_up_before_something_has_ended():
    agenda = Agenda(SCHEDULER)
    agenda.note(5, [SharesUpdated()])
    assert agenda.tidy_ms is None


def test_it_is_due_an_interval_after_the_first_end():
    agenda = Agenda(SCHEDULER)
    agenda.note(5, [SharesUpdated(), END])
    agenda.note(6, [END])
    assert agenda.tidy_ms == 5 + TIDY_INTERVAL_MS


def test_it_is_due_again_only_after_something_was_found():
    agenda = Agenda(SCHEDULER)
    agenda.note(5, [END])
    agenda.tidied(100, [END])
    assert agenda.tidy_ms == 100 + TIDY_INTERVAL_MS
    agenda.tidied(200, [])
    assert agenda.tidy_ms is None
