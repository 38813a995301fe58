"""What became of an application is told by records alone."""

import pytest
from tests.observing import follower

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationState, RequestRefused
from fairshare.core.model.inputs import (
    ContainerExited,
    Input,
    KillApplication,
    LoadConfiguration,
    MasterRegistered,
    NodeBeat,
    NodeJoined,
    ReserveApplication,
    SubmissionDetails,
    SubmitApplication,
    UnregisterMaster,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.core.schedulers.fifo import FifoScheduler
from fairshare.runtime.projections.attempt_history import AttemptHistory


class Story:
    """A FIFO cluster of one node, and the book that is kept of it."""

    def __init__(self) -> None:
        self.manager = ResourceManager(FifoScheduler(ResourceTypes()))
        self.book = AttemptHistory(self.manager.state.types)
        self.follow = follower(self.book, self.manager.scheduler)
        self.now_ms = 1_000
        self.tell(LoadConfiguration(b"{}", 1_000))
        self.tell(NodeJoined("n1", (8192, 8)))

    def tell(self, given: Input) -> tuple:
        events = self.manager.handle(self.now_ms, given)
        self.follow(Record(1, self.now_ms, given, events))
        return events

    def application(self, number: int = 1):
        return self.manager.state.applications[number]


@pytest.fixture
def story() -> Story:
    found = Story()
    found.tell(SubmitApplication("alice", master=(1024, 1)))
    found.tell(NodeBeat("n1"))
    return found


def test_a_master_that_unregisters_ends_when_its_container_does(story):
    story.tell(MasterRegistered(1, "n1", 5000, "http://n1:4040/"))
    story.now_ms = 5_000
    story.tell(UnregisterMaster(1, "FAILED", "gave up"))
    history = story.book.of(1)
    assert not story.application().over
    assert (history.attempt.final_status, history.attempt.finished_ms) == ("FAILED", 5_000)
    assert history.attempt.tracking_url == "http://n1:4040/"
    story.now_ms = 7_000
    story.tell(ContainerExited(story.application().attempt.master, 0))
    assert story.application().state is ApplicationState.FAILED
    assert story.application().diagnostics == "gave up"
    assert history.attempt.end == "FINISHED"
    assert history.use_ms == (1024 * 6_000, 6_000)


def test_an_application_whose_master_unregistered_cannot_be_killed(story):
    story.tell(MasterRegistered(1))
    story.tell(UnregisterMaster(1))
    assert story.tell(KillApplication(1)) == ()
    assert story.tell(UnregisterMaster(1, "FAILED")) == ()
    story.tell(ContainerExited(story.application().attempt.master, 1))
    assert story.application().state is ApplicationState.FINISHED


def test_a_failed_attempt_is_followed_by_another(story):
    story.now_ms = 2_000
    story.tell(ContainerExited(story.application().attempt.master, 9, "killed"))
    first, second = story.book.of(1).attempts
    assert (first.end, first.exit_code, first.diagnostics) == ("FAILED", 9, "killed")
    assert (second.number, second.end, second.master) == (2, "", None)


def test_an_application_may_want_fewer_attempts_than_it_could_have(story):
    details = SubmissionDetails(max_attempts=1)
    story.tell(SubmitApplication("bob", master=(1024, 1), details=details))
    story.tell(NodeBeat("n1"))
    story.tell(ContainerExited(story.application(2).attempt.master, 1))
    assert story.application(2).state is ApplicationState.FAILED
    assert [attempt.end for attempt in story.book.of(2).attempts] == ["FAILED"]


def test_a_reserved_number_is_used_once_by_its_submission(story):
    story.tell(ReserveApplication())
    story.tell(SubmitApplication("bob"))
    story.tell(SubmitApplication("carol", number=2))
    assert [story.application(n).user for n in (2, 3)] == ["carol", "bob"]
    again = story.tell(SubmitApplication("eve", number=2))
    assert [type(event) for event in again] == [RequestRefused]
    assert story.application(2).user == "carol"


def test_progress_ends_with_the_application(story):
    story.tell(MasterRegistered(1))
    story.book.report_progress(1, 0.5)
    assert story.book.of(1).progress == 0.5
    story.tell(KillApplication(1))
    story.book.report_progress(1, 0.2)
    assert story.book.of(1).progress == 1.0


def test_a_book_that_begins_in_the_middle_goes_on(story):
    late = AttemptHistory(story.manager.state.types)
    follow = follower(late, story.manager.scheduler)
    for given in (MasterRegistered(1), UnregisterMaster(1), ContainerExited(1 << 40, 0)):
        record = Record(1, story.now_ms, given, story.manager.handle(story.now_ms, given))
        follow(record)
    assert late.of(1).attempts == []
