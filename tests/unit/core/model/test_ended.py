"""Ended applications are the same to readers when they are packed."""

import pytest

from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.ended import MOST_TASKS, EndedApplication, pack
from fairshare.core.model.events import ApplicationState, MasterUnregistered
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.tasks import GroupProgress
from fairshare.core.model.work import Command, ResourceRequest, TaskGroup

GROUPS = (
    TaskGroup("first", 3, (512, 1), Command(("one", "two"), environment={"A": "1"})),
    TaskGroup("second", 100, (512, 1), Command(callable=b"\x00\xff"), after=("first",)),
)


def ended(number: int = 7, **submission: object) -> Application:
    """An application that ran, failed tasks, added some, and has ended."""
    given = SubmitApplication("ann", tasks=GROUPS, tags=("a", "b"), **submission)
    application = Application(number, given, "root.a", 3, 1_000, 2)
    board = application.tasks
    board.add(GROUPS)
    board.add((TaskGroup("third", 1, (512, 1)),))
    for task, code in enumerate((0, 1, -102)):
        board.launched(task + 1, 0, task)
        board.completed(task + 1, code)
    board.pause(0, 1, 5_000)
    board.kill(1, 5)
    attempt = application.attempt
    attempt.number, attempt.started_ms, attempt.next_container, attempt.master = 2, 1_500, 9, 4
    attempt.unregistered = MasterUnregistered(number, "FAILED", "words")
    attempt.change_blacklist(("n1",), ())
    application.state = ApplicationState.FAILED
    application.finished_ms = 9_000
    return application


def shown(application: Application) -> dict[str, object]:
    """All fields, in depth."""
    found = {name: getattr(application, name) for name in Application.__slots__ if name != "packed"}
    attempt, board = found.pop("attempt"), found.pop("tasks")
    without = ("application", "asks", "submission")
    found |= {name: getattr(attempt, name) for name in Attempt.__slots__ if name not in without}
    for number, progress in enumerate(board.groups):
        found |= {(number, name): getattr(progress, name) for name in GroupProgress.__slots__}
        found[number, "waiting"] = list(progress.waiting)
        found[number, "ready"] = board.ready(progress)
    return found | {"asks": (attempt.asks.keys, attempt.asks.pending), "hopeless": board.hopeless}


def test_all_of_its_fields_are_as_before():
    application, like = ended(), ended()
    assert pack(application)
    assert type(application) is EndedApplication
    assert shown(application) == shown(like)
    assert application.attempt.application is application
    assert application.containers == {}
    assert not application.active
    assert type(application.open()) is Application
    assert shown(application.open()) == shown(like)


def test_one_that_was_refused_has_no_tasks():
    application = Application(7, SubmitApplication("ann", tasks=GROUPS), "root.a", 0, 1_000, 2)
    application.finished_ms = 1_000
    assert pack(application)
    assert application.submission.tasks == GROUPS
    assert application.tasks.groups == []


def lives(application):
    application.finished_ms = None


def asks(application):
    application.attempt.asks.replace(ResourceRequest(1, 0, "*", 1, (512, 1)))


def holds(application):
    application.attempt.containers = {1: None}


def runs(application):
    application.tasks.launched(5, 1, 0)


def has_many_tasks(application):
    application.tasks.add((TaskGroup("many", MOST_TASKS, (512, 1)),))


@pytest.mark.parametrize("change", [lives, asks, holds, runs, has_many_tasks])
def test_one_to_which_more_can_happen_or_which_is_large_is_not_packed(change):
    application = ended()
    change(application)
    assert not pack(application)
    assert type(application) is Application


def test_each_one_has_its_own_fields():
    """Whatever stays open of those that were read before."""
    several = [ended(number, name=f"name {number}") for number in range(1, 20)]
    assert all(map(pack, several))
    for application in several + several[::-1]:
        assert application.submission.name == f"name {application.id}"
        assert application.attempt.id == application.id
        assert application.attempt.unregistered.application == application.id
        with pytest.raises(AttributeError):
            _ = application.unknown
