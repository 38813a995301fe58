"""The inbox: which inputs are decided together, and in which order."""

import asyncio

import pytest

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import (
    ContainerExited,
    KillApplication,
    NodeLost,
    SubmitApplication,
    UndrainNode,
)
from fairshare.server import inbox as inbox_module
from fairshare.server.inbox import Inbox

SUBMISSION = SubmitApplication("ann")


def exits(application, *numbers):
    return [ContainerExited(container_id(application, 1, number), 0) for number in numbers]


@pytest.fixture
def inbox(monkeypatch):
    """Takes two reports at a time, and two calls."""
    monkeypatch.setattr(inbox_module, "MAX_BATCH", 2)
    monkeypatch.setattr(inbox_module, "MAX_CALLS", 2)
    return Inbox()


@pytest.fixture
def call(inbox):
    loop = asyncio.new_event_loop()
    yield lambda *inputs: inbox.call(inputs, [loop.create_future() for _ in inputs])
    loop.close()


def batches(inbox):
    taken = []
    while inbox:
        taken.append([pending.input for pending in inbox.take_batch()])
    return taken


def test_what_fits_into_one_batch_is_decided_in_the_order_in_which_it_came(inbox, call):
    first, second = exits(1, 1, 2)
    inbox.report([first])
    call(KillApplication(1))
    inbox.report([second])
    call(SUBMISSION)
    assert batches(inbox) == [[first, KillApplication(1), second, SUBMISSION]]


def test_reports_and_calls_are_bounded_each_by_their_own_number(inbox, call):
    inbox.report(exits(1, 1, 2, 3))
    for number in (7, 8, 9):
        call(KillApplication(number))
    assert batches(inbox) == [
        [*exits(1, 1, 2), KillApplication(7), KillApplication(8)],
        [*exits(1, 3), KillApplication(9)],
    ]


def test_a_submission_does_not_queue_behind_reports(inbox, call):
    inbox.report(exits(1, 1, 2, 3, 4))
    call(SUBMISSION)
    assert batches(inbox) == [[*exits(1, 1, 2), SUBMISSION], exits(1, 3, 4)]


def test_a_call_waits_for_the_earlier_reports_about_its_application(inbox, call):
    inbox.report([*exits(1, 1, 2), *exits(2, 1), *exits(1, 3)])
    call(KillApplication(2))
    call(KillApplication(3))
    inbox.report(exits(2, 2))
    assert batches(inbox) == [
        [*exits(1, 1, 2), KillApplication(3)],
        [*exits(2, 1), *exits(1, 3), KillApplication(2)],
        exits(2, 2),
    ]


def test_a_call_waits_for_the_earlier_reports_about_its_node(inbox, call):
    inbox.report([*exits(1, 1, 2), NodeLost("n1")])
    call(UndrainNode("n1"))
    call(UndrainNode("n2"))
    assert batches(inbox) == [
        [*exits(1, 1, 2), UndrainNode("n2")],
        [NodeLost("n1"), UndrainNode("n1")],
    ]


def test_a_call_does_not_overtake_one_about_the_same_that_has_to_wait(inbox, call):
    inbox.report([*exits(9, 1, 2), *exits(1, 1)])
    call(KillApplication(1), KillApplication(2))
    call(KillApplication(2))
    call(KillApplication(3))
    assert batches(inbox) == [
        [*exits(9, 1, 2), KillApplication(3)],
        [*exits(1, 1), KillApplication(1), KillApplication(2)],
        [KillApplication(2)],
    ]


def test_inputs_of_one_call_stay_together_whatever_the_bounds(inbox, call):
    wishes = [KillApplication(number) for number in range(1, 4)]
    call(SUBMISSION)
    call(*wishes)
    call(SUBMISSION)
    assert batches(inbox) == [[SUBMISSION, *wishes], [SUBMISSION]]
    assert inbox.calls == 0


def test_all_that_waits_is_taken_in_the_order_in_which_it_came(inbox, call):
    inbox.report(exits(1, 1, 2, 3))
    call(SUBMISSION)
    inbox.report(exits(1, 4))
    taken = [pending.input for pending in inbox.take_all()]
    assert taken == [*exits(1, 1, 2, 3), SUBMISSION, *exits(1, 4)]
    assert not inbox
    assert inbox.calls == 0
