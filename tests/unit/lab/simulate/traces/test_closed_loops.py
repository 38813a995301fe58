"""Users of traces who wait for their jobs."""

from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.work import TaskGroup
from fairshare.lab.simulate.traces.fitting import closed_loops
from fairshare.lab.simulate.traces.records import TraceJob
from fairshare.lab.simulate.workload import Arrival, GroupPlan


def job(at_ms, user, run_ms, waited_ms=0):
    submission = SubmitApplication(user, "q", tasks=(TaskGroup("t", 1, (1, 1)),))
    arrival = Arrival(at_ms, submission, (GroupPlan(run_ms),))
    return TraceJob(1, "j", at_ms, user, (), waited_ms=waited_ms), arrival


def shape(session):
    turns = [(turn.think_ms, [one.at_ms for one in turn.members]) for turn in session.turns]
    return session.at_ms, turns


def test_a_job_after_the_end_of_the_last_one_begins_a_turn_after_the_time_in_between():
    jobs = [job(5, "a", 100), job(6, "b", 10), job(125, "a", 50), job(400, "a", 1)]
    sessions, note = closed_loops(jobs)
    assert [shape(one) for one in sessions] == [
        (5, [(0, [0]), (20, [0]), (225, [0])]),
        (6, [(0, [0])]),
    ]
    assert note == (
        "Closed loops: 2 users with 4 turns. What users submitted together is a turn, and each turn"
        " follows after the think time of the trace."
    )


def test_jobs_that_a_user_did_not_wait_for_come_together():
    jobs = [job(0, "a", 10_000), job(4_000, "a", 10_000), job(15_000, "a", 1)]
    (session,), _ = closed_loops(jobs)
    assert shape(session) == (0, [(0, [0, 4_000]), (1_000, [0])])


def test_the_wait_in_the_trace_is_not_thinking():
    (session,), _ = closed_loops([job(0, "a", 100, 900), job(1_500, "a", 1)])
    assert shape(session) == (0, [(0, [0]), (500, [0])])


def test_waits_that_a_trace_does_not_have_are_counted():
    (session,), note = closed_loops([job(0, "a", 100, None), job(150, "a", 1)])
    assert shape(session) == (0, [(0, [0]), (50, [0])])
    assert note.endswith("Jobs whose waits the trace does not have, taken as none: 1.")
