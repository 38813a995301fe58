"""When the scheduler tidies up."""

from fairshare.model.events import ApplicationEnded, ApplicationState, SharesUpdated
from fairshare.model.resources import ResourceTypes
from fairshare.runtime.tidying import Tidying
from fairshare.schedulers.fair.scheduler import FairScheduler
from fairshare.schedulers.protocol import TIDY_INTERVAL_MS

SCHEDULER = FairScheduler(ResourceTypes())

END = ApplicationEnded(1, ApplicationState.FINISHED, "")


def test_there_is_no_reason_to_tidy_up_before_something_has_ended():
    tidying = Tidying(SCHEDULER)
    tidying.note(5, [SharesUpdated()])
    assert tidying.due_ms is None


def test_it_is_due_an_interval_after_the_first_end():
    tidying = Tidying(SCHEDULER)
    tidying.note(5, [SharesUpdated(), END])
    tidying.note(6, [END])
    assert tidying.due_ms == 5 + TIDY_INTERVAL_MS


def test_it_is_due_again_only_after_something_was_found():
    tidying = Tidying(SCHEDULER)
    tidying.note(5, [END])
    tidying.done(100, [END])
    assert tidying.due_ms == 100 + TIDY_INTERVAL_MS
    tidying.done(200, [])
    assert tidying.due_ms is None
