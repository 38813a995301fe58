"""What is kept for readers who follow is small, whatever tenants hand in."""

import json
import tracemalloc

import pytest

from fairshare.core.model.events import (
    ApplicationRejected,
    ApplicationSubmitted,
    RequestRefused,
    TasksAdded,
)
from fairshare.core.model.inputs import AddTasks, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.record import Record
from fairshare.core.schedulers.fifo import FifoState
from fairshare.server.event_feed import KEPT_MS, EventFeed

MEGABYTE = 1_000_000


def group():
    """A group of tasks with a megabyte of its own."""
    command = Command(("true",), environment={"V": "x" * MEGABYTE})
    return TaskGroup("t", 1, (64, 1), command)


def submission():
    return SubmitApplication("ann", tasks=(group(),))


def accepted():
    given = submission()
    return given, ApplicationSubmitted(1, given, "root.a", 0)


def refused():
    given = submission()
    return given, ApplicationRejected(1, given, "queue", "it is not there")


def added():
    tasks = (group(),)
    return AddTasks(1, tasks), TasksAdded(1, tasks)


def not_added():
    return AddTasks(1, (group(),)), RequestRefused(1, "queue", "it is not there")


@pytest.mark.parametrize("make", [accepted, refused, added, not_added])
def test_what_tenants_hand_in_is_not_kept(tmp_path, make):
    feed = EventFeed(FifoState(ResourceTypes()), tmp_path, 0)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(1, 11):
            given, event = make()
            feed.observe([Record(number, 0, given, (event,))])
            del given, event
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < MEGABYTE
    lines = [json.loads(line) for _, line in feed.recent(0)]
    assert [line["sequence"] for line in lines] == list(range(1, 11))
    assert "xxx" not in str(lines)


def test_records_leave_memory_by_their_age_and_by_their_number(tmp_path):
    feed = EventFeed(FifoState(ResourceTypes()), tmp_path, 0, kept=3)
    for number in range(1, 5):
        given, event = not_added()
        feed.observe([Record(number, number, given, (event,))])
    assert feed.recent(0) is None
    assert [number for number, _ in feed.recent(1)] == [2, 3, 4]
    given, event = accepted()
    feed.observe([Record(5, 4 + KEPT_MS, given, (event,))])
    assert feed.recent(2) is None
    assert [number for number, _ in feed.recent(3)] == [4, 5]
