"""What is compared between simulations."""

import json
import re

import msgspec
import pytest

from fairshare.core.model.resources import MEMORY
from fairshare.lab.simulate.comparison import compare, interval, slowdown
from fairshare.lab.simulate.overviews import groups_overview
from fairshare.lab.simulate.page import duration, render
from fairshare.lab.simulate.report import (
    ApplicationReport,
    Containers,
    QueueReport,
    QueueSample,
    Report,
    Sample,
    Unfinished,
)


def application(name="a", user="ann", queue="root.a", wait=0, turnaround=60_000, **more):
    fields = {
        "id": "application_1_0001",
        "state": "FINISHED",
        "submitted_ms": 0,
        "containers": 1,
        "failed_containers": 0,
        "preempted_containers": 0,
        "diagnostics": "",
        **more,
    }
    times = {"waiting_ms": wait, "turnaround_ms": turnaround}
    return ApplicationReport(name=name, user=user, queue=queue, **times, **fields)


def queue(name, used, fair):
    return QueueReport(name, 1, 1, 0, None, None, {MEMORY: used}, {MEMORY: fair})


def report(*applications, queues=(), timeline=(), notes=()):
    return Report(
        scheduler="fair",
        end_ms=100,
        makespan_ms=100,
        applications_by_state={},
        containers=Containers(),
        waiting=None,
        turnaround=None,
        utilization={MEMORY: 0.5},
        queues=tuple(queues),
        users=(),
        applications=tuple(applications),
        timeline=tuple(timeline),
        notes=tuple(notes),
    )


def run_of(found):
    return compare([("one", found)]).runs[0]


def test_a_slowdown_is_bounded_for_short_runs():
    assert slowdown(application(wait=30_000, turnaround=60_000)) == 2.0
    assert slowdown(application(wait=30_000, turnaround=31_000)) == 3.1
    assert slowdown(application(wait=0, turnaround=5)) == 1.0
    assert slowdown(application(wait=None, turnaround=None)) is None


def test_sums_are_by_queue_user_and_size():
    run = run_of(
        report(
            application(wait=1, containers=1),
            application(user="bob", queue="root.b", wait=3, containers=50),
            application(user="bob", wait=None, state="REJECTED", containers=0),
        )
    )
    assert [(one.name, one.applications, one.rejected) for one in run.queues] == [
        ("root.a", 2, 1),
        ("root.b", 1, 0),
    ]
    assert [(one.name, one.wait.p99) for one in run.users] == [("ann", 1), ("bob", 3)]
    assert [(one.name, one.applications) for one in run.sizes] == [
        ("1 container", 2),
        ("11 to 100", 1),
    ]
    assert run.longest_wait_ms == 3


def test_jains_index_is_1_if_all_have_the_same_part_of_their_share():
    even = report(queues=[queue("root.a", 10, 20), queue("root.b", 40, 80)])
    uneven = report(queues=[queue("root.a", 20, 20), queue("root.b", 0, 80)])
    assert run_of(even).jain == pytest.approx(1.0)
    assert run_of(uneven).jain == pytest.approx(0.5)
    assert run_of(report()).jain is None


def test_the_share_error_is_the_part_that_the_wrong_queues_have():
    queues = {
        "root.a": QueueSample({MEMORY: 75}, {MEMORY: 50}, {}, {}, {}),
        "root.b": QueueSample({MEMORY: 25}, {MEMORY: 50}, {}, {}, {}),
    }
    sample = Sample(0, 10, {MEMORY: 100}, {MEMORY: 100}, queues)
    assert run_of(report(timeline=[sample])).share_error == pytest.approx(0.25)


def test_the_same_application_is_found_in_both_runs():
    before = report(
        application("x", turnaround=10), application("x", turnaround=20), application("gone")
    )
    after = report(
        application("x", turnaround=15), application("x", turnaround=10), application("new")
    )
    (pairing,) = compare([("old", before), ("new", after)]).pairings
    assert (pairing.paired, pairing.only_before, pairing.only_after) == (2, 1, 1)
    assert [one.change_ms for one in pairing.losers] == [5]
    assert [one.change_ms for one in pairing.winners] == [-10]
    assert pairing.mean_ms == -2.5
    assert pairing.low_ms <= pairing.mean_ms <= pairing.high_ms


def test_an_interval_is_the_same_each_time_and_narrower_with_more_changes():
    few, many = [1, 2, 3, 4] * 3, [1, 2, 3, 4] * 100
    assert interval(few) == interval(few)
    widths = [high - low for low, high in map(interval, (few, many, many * 10))]
    assert widths[0] > widths[1] > widths[2] > 0
    assert interval([]) == (0.0, 0.0)


def test_names_on_the_page_are_text_and_never_markup():
    evil = "</script><img src=x onerror=alert(1)>"
    found = report(
        application(evil, user=evil, queue=evil),
        queues=[queue(evil, 1, 1)],
        timeline=[
            Sample(0, 1, {MEMORY: 1}, {}, {evil: QueueSample({MEMORY: 1}, {MEMORY: 1}, {}, {}, {})})
        ],
        notes=[evil],
    )
    page = render(compare([(evil, found), ("b", found)]), [(evil, found), ("b", found)])
    assert "<img" not in page
    assert page.count("</script>") == 3
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert json.loads(data)["runs"][0]["name"] == evil
    assert "<!--" not in page.replace("<!doctype", "")


def test_a_page_says_what_was_rejected_and_what_is_not_over():
    reasons = ("no such queue", "no such queue", "too large")
    rejected = [application(state="REJECTED", diagnostics=one) for one in reasons]
    waiting = Unfinished("application_1_0009", "late", "root.a", sentence="No node has room.")
    found = msgspec.structs.replace(report(*rejected), unfinished=(waiting, waiting))
    page = render(compare([("one", found)]), [("one", found)])
    assert re.findall(r'<td>(\d)</td><td class="w">([^<]*)</td></tr>', page) == [
        ("2", "no such queue"),
        ("1", "too large"),
    ]
    row = (
        '<td>2</td><td class="w">late</td><td class="w">a</td><td class="w">No node has room.</td>'
    )
    assert row in page


def test_runs_that_did_not_compete_are_said_to_compare_nothing():
    found = report(application())
    assert "Nothing competed" in render(compare([("one", found)]), [("one", found)])
    late = report(application(wait=10_000))
    assert "Nothing competed" not in render(compare([("one", late)]), [("one", late)])


def test_columns_without_anything_are_left_out():
    def titles(*applications):
        run = run_of(report(*applications))
        return [one.title for one in groups_overview([run], "users", duration).headings]

    assert "Preempted" not in titles(application())
    assert "Preempted" in titles(application(preempted_containers=1))


def test_a_page_asks_for_nothing_else():
    found = report(application())
    page = render(compare([("one", found)]), [("one", found)])
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=[\"']", page)


def test_a_comparison_is_plain_data():
    found = compare([("one", report(application())), ("two", report(application()))])
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found
