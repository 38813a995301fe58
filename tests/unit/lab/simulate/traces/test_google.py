"""Google's cluster data of 2011 (CSV without a header) and of 2019 (JSON lines)."""

import gzip
import json

import pytest
from tests.unit.lab.simulate.traces.tables import jobs_and_notes

from fairshare.lab.simulate.traces import google
from fairshare.lab.simulate.traces.records import TraceGroup, TraceJob, TraceNodes
from fairshare.lab.simulate.traces.registry import is_trace, open_trace
from fairshare.lab.simulate.traces.rows import DamagedLine, TraceUnreadable

SUBMIT, SCHEDULE, EVICT, FINISH = 0, 1, 2, 4


def event(at_s, kind, job=7, task=0, priority=9, cpu="0.125", memory="0.25", user="ann"):
    """One line of task_events."""
    time = round((600 + at_s) * 1e6) if at_s is not None else 0
    return f"{time},,{job},{task},,{kind},{user},3,{priority},{cpu},{memory},0.001,0"


def events(tmp_path, *files):
    (tmp_path / "task_events").mkdir(exist_ok=True)
    for number, lines in enumerate(files):
        name = f"part-{number:05}-of-00500.csv.gz"
        (tmp_path / "task_events" / name).write_bytes(gzip.compress("\n".join(lines).encode()))
    return tmp_path


def runs(tmp_path):
    jobs, _ = jobs_and_notes(tmp_path)
    return [(job.name, job.at_ms, job.groups[0].durations_ms) for job in jobs]


def test_the_events_of_tasks_become_jobs_across_files(tmp_path):
    events(
        tmp_path,
        [event(0, SUBMIT), event(0, SUBMIT, task=1), event(5, SCHEDULE)],
        [event(6, SCHEDULE, task=1), event(65, FINISH), event(16, FINISH, task=1)],
    )
    (job,), _ = jobs_and_notes(tmp_path)
    group = TraceGroup("tasks1", 2, (60_000, 10_000), {"memory-mb": 25_600, "vcores": 13})
    assert job == TraceJob(1, "job7", 0, "ann", (group,), "production")


def test_tasks_of_unequal_size_are_groups_of_one_job(tmp_path):
    small = {"task": 1, "cpu": "0.01", "memory": "0.01"}
    events(
        tmp_path,
        [event(0, SCHEDULE), event(0, SCHEDULE, **small)],
        [event(9, FINISH), event(9, FINISH, **small)],
    )
    (job,), _ = jobs_and_notes(tmp_path)
    assert [group.amounts["vcores"] for group in job.groups] == [13, 1]
    assert len({group.name for group in job.groups}) == 2


def test_an_evicted_task_runs_as_long_as_its_last_run(tmp_path):
    events(
        tmp_path,
        [event(0, SUBMIT), event(1, SCHEDULE), event(100, EVICT), event(100, SUBMIT)],
        [event(110, SCHEDULE), event(130, FINISH)],
    )
    assert runs(tmp_path) == [("job7", 0, (20_000,))]


def test_what_happened_before_the_trace_happens_at_its_start(tmp_path):
    events(tmp_path, [event(None, SCHEDULE, job=1), event(3, SCHEDULE), event(7, FINISH, job=1)])
    assert runs(tmp_path) == [("job1", 0, (7_000,)), ("job7", 3_000, (4_000,))]
    _, notes = jobs_and_notes(tmp_path)
    assert "Tasks that run when the trace ends, whose run times end with it: 1." in notes


def test_tasks_that_never_ran_are_left_out(tmp_path):
    events(tmp_path, [event(0, SUBMIT), event(0, SCHEDULE, job=8), event(1, FINISH, job=8)])
    jobs, notes = jobs_and_notes(tmp_path)
    assert [job.name for job in jobs] == ["job8"]
    assert "Tasks left out because they never ran: 1." in notes


def test_the_priority_says_the_queue(tmp_path):
    lines = []
    for priority in (0, 1, 2, 8, 9, 11):
        lines += [event(0, kind, job=priority, priority=priority) for kind in (SCHEDULE, FINISH)]
    jobs, _ = jobs_and_notes(events(tmp_path, lines))
    expected = ["free", "free", "other", "other", "production", "production"]
    assert [job.queue for job in jobs] == expected


def test_the_machines_of_the_start_are_the_cluster(tmp_path):
    events(tmp_path, [event(0, SCHEDULE), event(1, FINISH)])
    (tmp_path / "machine_events").mkdir()
    (tmp_path / "machine_events" / "part-00000-of-00001.csv").write_text(
        "0,5,0,platform,0.5,0.2493\n0,6,0,platform,0.5,0.2493\n0,7,0,platform,1,1\n"
        "0,8,0,platform,,\n900000000,5,1,platform,0.5,0.2493\n910000000,9,0,platform,1,1\n"
        "920000000,10,1,platform,1,1\n"
    )
    trace = open_trace(tmp_path)
    assert trace.nodes == (
        TraceNodes(2, {"memory-mb": 25_529, "vcores": 50}, "machines1"),
        TraceNodes(1, {"memory-mb": 102_400, "vcores": 100}, "machines2"),
    )
    assert "Machines that joined later, left out: 1." in trace.notes


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (event(0, SUBMIT) + ",1", "has 14 columns, and the format has 13"),
        (event(0, 17), "event type is 17, and there are 9"),
        (event(0, SUBMIT, cpu="much"), "CPU request is 'much', not a number from 0 to 100"),
        (event(0, SUBMIT, job="x"), "job ID is 'x', not a whole number"),
    ],
)
def test_a_damaged_event_is_refused_with_its_file_and_line(tmp_path, line, reason):
    events(tmp_path, [event(0, SUBMIT)], [event(0, SCHEDULE), line])
    with pytest.raises(DamagedLine, match=rf"part-00001-of-00500\.csv\.gz:2: {reason}"):
        jobs_and_notes(tmp_path)


def test_more_tasks_than_fit_into_memory_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(google, "MOST_TASKS", 2)
    events(tmp_path, [event(0, SUBMIT, task=number) for number in range(3)])
    with pytest.raises(TraceUnreadable, match="more than 2 tasks: give the first files"):
        jobs_and_notes(tmp_path)


def instance(at_s, kind, **fields):
    """One line of instance_events, whose whole numbers are texts."""
    row = {
        "time": str(round((600 + at_s) * 1e6)),
        "type": kind,
        "collection_id": "381",
        "collection_type": "0",
        "instance_index": "0",
        "priority": "103",
        "resource_request": {"cpus": 0.02, "memory": 0.01},
    }
    return json.dumps(row | fields)


def cell(tmp_path, *instances, collections=(), machines=()):
    for table, rows in (
        ("instance_events", instances),
        ("collection_events", collections),
        ("machine_events", machines),
    ):
        if rows:
            (tmp_path / f"{table}-000000000000.json").write_text("\n".join(rows) + "\n")
    return tmp_path


@pytest.mark.parametrize(("schedule", "finish"), [("3", "6"), (3, 6), ("SCHEDULE", "FINISH")])
def test_a_collection_of_2019_is_a_job_of_its_user(tmp_path, schedule, finish):
    cell(
        tmp_path,
        instance(0, "0"),
        instance(4, schedule),
        instance(9, finish),
        collections=[json.dumps({"collection_id": "381", "user": "ben"})],
        machines=[
            json.dumps(
                {"time": "0", "machine_id": "5", "type": "1", "capacity": {"cpus": 1, "memory": 1}}
            )
        ],
    )
    assert open_trace(tmp_path).nodes[0].count == 1
    (job,), _ = jobs_and_notes(tmp_path)
    group = TraceGroup("tasks1", 1, (5_000,), {"memory-mb": 1024, "vcores": 2})
    assert job == TraceJob(1, "job381", 0, "ben", (group,), "batch")


def test_alloc_sets_are_not_jobs(tmp_path):
    cell(
        tmp_path,
        instance(0, "3"),
        instance(0, "3", collection_id="9", collection_type="1"),
        instance(9, "6"),
    )
    jobs, _ = jobs_and_notes(tmp_path)
    assert [(job.name, job.user) for job in jobs] == [("job381", "unknown")]


def test_a_line_of_2019_that_is_not_json_is_refused_with_its_number(tmp_path):
    cell(tmp_path, instance(0, "3"), "{")
    with pytest.raises(DamagedLine, match=r"instance_events-000000000000\.json:2: is not JSON"):
        jobs_and_notes(tmp_path)


def test_other_lines_of_json_are_not_events(tmp_path):
    (tmp_path / "instance_events.json").write_text('{"time": 1}\n')
    assert not is_trace(tmp_path)
