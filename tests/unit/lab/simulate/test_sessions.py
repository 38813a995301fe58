"""Users in closed loops: each submits the next applications when its last ones are over."""

import pytest
from tests.unit.lab.simulate.test_simulator import arrival, simulator

from fairshare.core.model.inputs import NodeJoined
from fairshare.lab.convert.comparison import compare
from fairshare.lab.convert.fair_to_capacity.converting import convert
from fairshare.lab.convert.fair_to_capacity.draft import Options
from fairshare.lab.convert.fair_to_capacity.source import read_source
from fairshare.lab.simulate.comparison import pairing
from fairshare.lab.simulate.report import encode
from fairshare.lab.simulate.workload import Session, Turn, Workload

NODE = (NodeJoined("n1", (4096, 4)),)


def session(at_ms, user, count, think_ms, *groups, drawn=False, queue="default"):
    one = arrival(0, user, *groups, queue=queue)
    return Session(at_ms, (Turn(think_ms, (one,), drawn),) * count)


def instants(report, user):
    return [one.submitted_ms for one in report.applications if one.user == user]


@pytest.mark.parametrize("kind", ["fair", "fifo"])
def test_the_next_application_comes_exactly_a_think_time_after_the_end_of_the_last(kind):
    ann = session(500, "ann", 3, 10_000, ("t", 4, 1_000))
    report = simulator([], kind, sessions=(ann,)).run()
    found = report.applications
    assert [one.session for one in found] == [1, 1, 1]
    ends = [one.submitted_ms + one.turnaround_ms for one in found]
    assert instants(report, "ann") == [500, ends[0] + 10_000, ends[1] + 10_000]
    assert report.notes == ("a note",)


def test_a_user_with_longer_waits_submits_later():
    ann = session(0, "ann", 2, 1_000, ("t", 1, 1_000))
    alone = simulator([], "fifo", sessions=(ann,)).run()
    assert instants(alone, "ann") == [0, 2_000]
    crowded = simulator([arrival(0, "bob", ("t", 8, 5_000))], "fifo", sessions=(ann,)).run()
    assert instants(crowded, "ann") == [0, 12_000]  # after both of bob's waves
    assert [one.session for one in crowded.applications] == [0, 1, 1]


def test_applications_of_a_turn_come_together_and_the_next_turn_waits_for_all():
    short, long = arrival(0, "ann", ("t", 1, 1_000)), arrival(300, "ann", ("t", 1, 4_000))
    turns = (Turn(0, (short, long)), Turn(700, (short,)))
    report = simulator([], "fifo", sessions=(Session(100, turns),)).run()
    assert instants(report, "ann") == [100, 400, 4_400 + 700]


def test_the_next_one_comes_after_a_rejection_too_also_without_thinking():
    ann = session(0, "ann", 3, 0, ("t", 1, 1_000, {"resource": (9_999, 1)}))
    bob = session(0, "bob", 3, 0, ("t", 4, 1_000))
    report = simulator([], sessions=(ann, bob)).run()
    assert instants(report, "ann") == [0, 0, 0]
    assert instants(report, "bob") == [0, 1_000, 2_000]
    assert report.applications_by_state["REJECTED"] == 3


def test_what_never_comes_is_counted():
    ann = session(0, "ann", 3, 1_000, ("t", 1, 1_000, {"resource": (5_000, 1)}))
    report = simulator([], sessions=(ann,)).run()
    assert len(report.applications) == 1
    assert report.notes[-1] == (
        "2 applications of users in closed loops never came: those before them were not over."
    )


def test_drawn_think_times_follow_from_the_seed_alone():
    def thoughts(seed, kind="fair", **options):
        ann = session(0, "ann", 40, 10_000, ("t", 1, 1_000), drawn=True)
        found = simulator([], kind, sessions=(ann,), seed=seed, **options).run().applications
        ends = [one.submitted_ms + one.turnaround_ms for one in found]
        return [one.submitted_ms - end for end, one in zip(ends, found[1:], strict=False)]

    first = thoughts(1)
    assert first == thoughts(1, "fifo")
    assert first == thoughts(1, forgets=True)
    assert first != thoughts(2)
    assert 7_000 < sum(first) / len(first) < 13_000


def test_the_same_applications_are_paired_although_they_come_at_other_times():
    sessions = (session(0, "ann", 3, 1_000, ("t", 1, 1_000)),)
    before = simulator([], "fifo", sessions=sessions).run()
    after = simulator([arrival(0, "bob", ("t", 8, 5_000))], "fifo", sessions=sessions).run()
    found = pairing(before, after, "after")
    assert (found.paired, found.only_before, found.only_after) == (3, 0, 1)
    assert [(one.before_ms, one.after_ms) for one in found.losers] == [(1_000, 11_000)]


def test_a_conversion_is_compared_on_closed_loops(tmp_path):
    (tmp_path / "fair-scheduler.xml").write_text(
        '<allocations><queue name="a"/><queue name="b"/></allocations>'
    )
    source = read_source(tmp_path)
    least_ms = {"a": 1_000, "b": 7_000}
    sessions = tuple(
        session(0, user, 3, 1_000, ("t", 8, length_ms), queue=f"root.{user}")
        for user, length_ms in least_ms.items()
    )
    found = compare(source, convert(source, Options()), Workload(NODE, (), (), sessions), NODE)
    by_name = {queue.name: queue for queue in found.queues}
    for user in "ab":
        queue = by_name[f"root.{user}"]
        assert (queue.before.applications, queue.after.applications) == (3, 3)
        assert queue.elsewhere == 0
        for figures, report in ((queue.before, found.before), (queue.after, found.after)):
            times = [one.turnaround_ms for one in report.applications if one.queue == queue.name]
            assert figures.slowdown == round(sum(times) / 3 / least_ms[user], 3)


def test_the_report_is_the_same_if_the_state_forgets():
    sessions = (session(0, "ann", 30, 100, ("t", 2, 1_000), drawn=True),)
    reports = {
        encode(simulator([], sessions=sessions, forgets=forgets).run()) for forgets in (False, True)
    }
    assert len(reports) == 1
