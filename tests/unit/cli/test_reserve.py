"""The verb `reserve`: what it asks the server for, and what it prints."""

import time
from datetime import UTC, datetime
from itertools import pairwise

import pytest

HOUR_MS = 3_600_000
COURSE = {
    "name": "course",
    "queue": "root.teaching",
    "holder": "",
    "resources": {"vcores": 8},
    "spans": [
        {"from_ms": 1_796_115_600_000, "until_ms": 1_796_122_800_000},
        {"from_ms": 1_796_720_400_000, "until_ms": 1_796_727_600_000},
    ],
    "state": "near",
    "used": {"vcores": 0},
    "missing": {"vcores": 3},
    "made_by": "ann",
}
LIST = {"at_ms": 0, "total": {}, "ahead_s": 3_600, "preempt_after_s": None, "bookings": [COURSE]}
BOOK = ("--for", "teaching", "--cpus", "8", "--until", "+2h")


@pytest.fixture
def booked(cluster):
    cluster.answers["/bookings"] = COURSE

    def body():
        [(path, body)] = cluster.posted()
        assert path == "/bookings"
        return body

    return body


@pytest.fixture
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_a_booking_begins_now_unless_it_says_when(run, booked):
    result = run("reserve", "deadline", *BOOK, "--gpus", "4", "--memory", "2g")
    assert result.exit_code == 0, result.stderr
    body = booked()
    [span] = body["spans"]
    assert span["from_ms"] == 0
    assert abs(span["until_ms"] / 1_000 - time.time() - 7_200) < 60
    assert body["resources"] == {"memory-mb": 2048, "vcores": 8, "yarn.io/gpu": 4}
    assert (body["name"], body["queue"], body["user"]) == ("deadline", "teaching", "ann")


def test_the_answer_says_how_often_and_what_is_not_sure_to_be_free(run, booked):
    result = run("reserve", "course", *BOOK)
    assert "course: booked, 8c for root.teaching from" in result.stdout
    assert "and 1 more time" in result.stdout
    assert result.stderr.startswith("Not sure to be free at the start: 3c")


def test_a_course_begins_at_the_same_time_of_the_clock_in_summer_and_in_winter(run, booked, berlin):
    times = ("--from", "2027-03-16T10:00", "--until", "12:00", "--weekly-until", "2027-04-06")
    assert run("reserve", "course", *BOOK[:4], *times).exit_code == 0
    spans = booked()["spans"]
    begins = [datetime.fromtimestamp(span["from_ms"] / 1_000, UTC).astimezone() for span in spans]
    assert [f"{begin:%d.%m. %H:%M}" for begin in begins] == [
        "16.03. 10:00",
        "23.03. 10:00",
        "30.03. 10:00",
        "06.04. 10:00",
    ]
    gaps = [b["from_ms"] - a["from_ms"] for a, b in pairwise(spans)]
    assert gaps == [168 * HOUR_MS, 167 * HOUR_MS, 168 * HOUR_MS]
    assert {span["until_ms"] - span["from_ms"] for span in spans} == {2 * HOUR_MS}


def test_without_a_name_a_booking_has_that_of_its_queue_and_day(run, booked):
    assert run("reserve", *BOOK, "--from", "2026-12-01T10:00").exit_code == 0
    assert booked()["name"] == "teaching-2026-12-01"


def test_what_is_not_given_stays_in_a_change(run, cluster):
    cluster.answers["/bookings"] = LIST | COURSE
    assert run("reserve", "course", "--change", "--gpus", "1").exit_code == 0
    [(_, body)] = cluster.posted()
    assert body["replace"] is True
    assert body["resources"] == {"vcores": 8, "yarn.io/gpu": 1}
    assert (body["spans"], body["queue"]) == (COURSE["spans"], "root.teaching")


def test_a_change_to_0_takes_a_resource_type_away(run, cluster):
    cluster.answers["/bookings"] = LIST | COURSE
    assert run("reserve", "course", "--change", "--cpus", "0", "--gpus", "1").exit_code == 0
    [(_, body)] = cluster.posted()
    assert body["resources"] == {"yarn.io/gpu": 1}


def test_a_booking_is_cancelled_by_its_name(run, cluster):
    cluster.answers["/bookings/course/cancel"] = COURSE
    assert run("reserve", "course", "--cancel").stdout.startswith("course: cancelled, 8c for")
    assert cluster.posted() == [("/bookings/course/cancel", {"user": "ann"})]


def test_without_arguments_all_bookings_are_listed(run, cluster):
    cluster.answers["/bookings"] = LIST
    shown = run("reserve", "--format", "name,queue,resources,state,times,not-sure").stdout
    assert shown.splitlines()[-1].split() == ["course", "teaching", "8c", "near", "2", "3c"]
    cluster.answers["/bookings"] = LIST | {"bookings": []}
    assert run("reserve").stdout == "Nothing is booked.\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--gpus", "4"), "needs --for"),
        (("--for", "a", "--gpus", "4"), "needs --until"),
        (("--for", "a", "--until", "+1h"), "needs --gpus"),
        ((*BOOK, "--until", "soon"), "not an instant"),
        ((*BOOK, "--weekly-until", "2026-12-01", "--daily-until", "2026-12-01"), "not both"),
        ((*BOOK, "--from", "2026-12-05T10:00", "--weekly-until", "2026-12-01"), "after its last"),
        (("--gpus", "none", *BOOK), "not a whole number"),
        (("--cancel",), "the name of a booking"),
        (("course", "--cancel", "--gpus", "1"), "nothing else"),
        (("course", "--change"), "what to change"),
    ],
)
def test_an_incomplete_command_line_says_what_is_missing(run, cluster, words, message):
    result = run("reserve", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert cluster.posted() == []


def test_a_change_of_times_needs_their_end_and_a_booking_that_is_there(run, cluster):
    cluster.answers["/bookings"] = LIST
    assert "give --until" in run("reserve", "course", "--change", "--from", "22:00").stderr
    assert "no booking 'other'" in run("reserve", "other", "--change", "--gpus", "1").stderr


def test_a_change_of_one_time_does_not_drop_the_others(run, cluster):
    cluster.answers["/bookings"] = LIST
    result = run("reserve", "course", "--change", "--until", "13:00")
    assert result.exit_code == 2
    assert "course has 2 times" in result.stderr
    assert cluster.posted() == []
    again = ("--from", "2026-12-01T10:00", "--until", "13:00", "--weekly-until", "2026-12-08")
    cluster.answers["/bookings"] = LIST | COURSE
    assert run("reserve", "course", "--change", *again).exit_code == 0
    assert [len(body["spans"]) for _, body in cluster.posted()] == [2]


@pytest.mark.parametrize(("each", "times"), [("weekly", 1), ("daily", 2)])
def test_a_course_until_the_end_of_the_calendar_has_the_times_that_exist(run, booked, each, times):
    last = ("--from", "9999-12-29T10:00", "--until", "12:00", f"--{each}-until", "9999-12-30")
    assert run("reserve", "course", *BOOK[:4], *last).exit_code == 0
    assert len(booked()["spans"]) == times
