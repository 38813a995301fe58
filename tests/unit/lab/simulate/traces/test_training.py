"""Traces of clusters for training: Philly, and Helios' log and demand."""

import pytest
from tests.unit.lab.simulate.traces.tables import first_jobs, jobs_and_notes

from fairshare.documents.gpus import GPU
from fairshare.lab.simulate.traces.records import TraceGroup, TraceJob, TraceNodes
from fairshare.lab.simulate.traces.registry import open_trace
from fairshare.lab.simulate.traces.rows import DamagedLine


def philly(tmp_path, *rows):
    header = "timestamp,duration,num_gpus,gpu_time,cluster\n"
    (tmp_path / "philly.csv").write_text(header + "".join(f"{row}\n" for row in rows))
    return tmp_path


def gpus(count):
    return {"memory-mb": 1024 * count, "vcores": count, GPU: count}


def test_a_job_of_philly_belongs_to_its_virtual_cluster(tmp_path):
    philly(tmp_path, "2017-10-09 07:01:55,66.0,1,66.0,11cb48")
    (job,), notes = jobs_and_notes(tmp_path)
    group = TraceGroup("workers", 1, 66_000, gpus(1))
    assert job == TraceJob(2, "job1", 0, "11cb48", (group,), "11cb48")
    assert "The trace has no users" in notes


def test_jobs_of_philly_arrive_in_the_order_of_their_times(tmp_path):
    philly(
        tmp_path,
        "2017-10-09 00:00:10,1,1,1,b",
        "2017-10-08 23:59:50,1,1,1,a",
        "2017-10-09 00:00:10,1,1,1,c",
    )
    jobs, _ = jobs_and_notes(tmp_path)
    assert [(job.user, job.at_ms, job.line) for job in jobs] == [
        ("a", 0, 3),
        ("b", 20_000, 2),
        ("c", 20_000, 4),
    ]


@pytest.mark.parametrize(
    ("asked", "tasks", "each"), [(8, 1, 8), (12, 2, 6), (32, 4, 8), (13, 13, 1)]
)
def test_a_job_larger_than_a_node_starts_as_a_whole_on_several(tmp_path, asked, tasks, each):
    philly(tmp_path, f"2017-10-09 07:01:55,66.0,{asked},0,vc")
    (job,), _ = jobs_and_notes(tmp_path)
    assert job.groups == (TraceGroup("workers", tasks, 66_000, gpus(each), gang=tasks > 1),)


def test_a_job_without_a_gpu_is_left_out(tmp_path):
    philly(tmp_path, "2017-10-09 07:01:55,66.0,0,0,vc", "2017-10-09 07:01:55,66.0,1,0,vc")
    jobs, notes = jobs_and_notes(tmp_path)
    assert len(jobs) == 1
    assert "Jobs left out because they ask for no GPU: 1." in notes


def test_the_sizes_of_virtual_clusters_are_the_cluster(tmp_path):
    philly(tmp_path, "2017-10-09 07:01:55,66.0,1,0,a")
    assert open_trace(tmp_path).nodes == ()
    (tmp_path / "sizes.csv").write_text("vc,node num\na,3\nb,2\n")
    assert open_trace(tmp_path).nodes == (TraceNodes(5, gpus(8)),)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("9 October,66,1,66,vc", "'9 October' is not a date and time"),
        ("2017-10-09 07:01:55,-1,1,66,vc", "duration is '-1', not a number"),
        ("2017-10-09 07:01:55,1,1000000,66,vc", "1,000,000 is not a number of GPUs from 1"),
    ],
)
def test_a_damaged_job_of_philly_is_refused_with_its_line(tmp_path, row, reason):
    philly(tmp_path, row)
    with pytest.raises(DamagedLine, match=rf"philly\.csv:2: {reason}"):
        jobs_and_notes(tmp_path)


def test_a_damaged_size_is_refused_with_its_line(tmp_path):
    philly(tmp_path)
    (tmp_path / "sizes.csv").write_text("vc,node num\na,3\nb,few\n")
    with pytest.raises(DamagedLine, match=r"sizes\.csv:3: node num is 'few'"):
        open_trace(tmp_path)


LOG = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
)


def log(tmp_path, *rows):
    (tmp_path / "cluster_log.csv").write_text(LOG + "".join(f"{row}\n" for row in rows))
    return tmp_path


def test_a_job_of_helios_has_a_task_for_each_node(tmp_path):
    log(
        tmp_path,
        "7,u1,vcA,16,30,2,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:01:00,"
        "2020-04-01 01:01:00,3600,60",
    )
    (job,), _ = jobs_and_notes(tmp_path)
    amounts = {"memory-mb": 15 * 1024, "vcores": 15, GPU: 8}
    group = TraceGroup("workers", 2, 3_600_000, amounts, gang=True)
    assert job == TraceJob(2, "job7", 0, "u1", (group,), "vcA", 60_000)


def test_jobs_of_helios_that_never_ran_are_left_out(tmp_path):
    log(
        tmp_path,
        "7,u1,vcA,0,4,1,CANCELLED,2020-04-01 00:00:00,None,None,0,0",
        "8,u1,vcA,0,4,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 00:00:01,1,0",
    )
    (job,), notes = jobs_and_notes(tmp_path)
    assert (job.name, job.groups[0].amounts) == ("job8", {"memory-mb": 4096, "vcores": 4})
    assert "Jobs left out because they never started: 1." in notes


def demand(tmp_path, *samples, vc="a", quota=8):
    """One row for each (running, pending), a minute apart."""
    path = tmp_path / "demand.csv"
    header = "time,vc,vc_gpus,running_gpus,pending_gpus,running_jobs,pending_jobs\n"
    before = path.read_text() if path.is_file() else header
    rows = (
        f"2020-05-01 00:{minute:02},{vc},{quota},{running},{pending},0,0\n"
        for minute, (running, pending) in enumerate(samples)
    )
    path.write_text(before + "".join(rows))
    return tmp_path


def lives(tmp_path):
    """When GPUs arrived and how long they ran, in minutes; the last sample lasts one, too."""
    jobs, _ = jobs_and_notes(tmp_path)
    return [
        (job.at_ms // 60_000, [ms / 60_000 for ms in job.groups[0].durations_ms]) for job in jobs
    ]


def test_gpus_that_arrive_together_are_one_job_whose_tasks_end_when_fewer_run(tmp_path):
    demand(tmp_path, (3, 0), (1, 0), (3, 0), (0, 0))
    assert lives(tmp_path) == [(0, [1, 1, 3]), (2, [1, 1])]


def test_gpus_that_wait_arrive_before_they_start(tmp_path):
    demand(tmp_path, (2, 0), (2, 2), (2, 2), (4, 0), (0, 0))
    assert lives(tmp_path) == [(0, [4, 4]), (1, [1, 1])]


def test_a_gpu_that_no_longer_waits_has_started_as_another_ended(tmp_path):
    demand(tmp_path, (2, 1), (2, 0), (0, 0))
    assert lives(tmp_path) == [(0, [1, 2, 1])]


def test_a_gpu_may_end_while_another_arrives_and_waits(tmp_path):
    demand(tmp_path, (2, 0), (1, 1), (2, 0), (0, 0))
    assert lives(tmp_path) == [(0, [1, 3]), (1, [1])]


def test_what_the_end_of_the_demand_cuts_is_counted(tmp_path):
    demand(tmp_path, (0, 4), (0, 1), (2, 3))
    assert lives(tmp_path) == [(0, [1]), (2, [1])]
    _, notes = jobs_and_notes(tmp_path)
    assert "in use when the trace ends, whose run times end with it: 2." in notes
    assert "waited for until the trace ends, left out: 3." in notes
    assert "waited for and seen in no sample, left out: 3." in notes


def test_one_sample_is_too_short_for_a_job(tmp_path):
    demand(tmp_path, (2, 1))
    assert lives(tmp_path) == []


def test_the_cluster_has_the_largest_sum_of_quotas(tmp_path):
    demand(tmp_path, (1, 0), (1, 0), vc="a", quota=16)
    demand(tmp_path, (1, 0), vc="b", quota=9)
    assert open_trace(tmp_path).nodes == (TraceNodes(4, gpus(8)),)
    jobs, _ = jobs_and_notes(tmp_path)
    assert [(job.user, job.queue) for job in jobs] == [("a", "a"), ("b", "b")]


def test_a_damaged_sample_is_refused_with_its_line(tmp_path):
    demand(tmp_path, (1, 0), ("x", 0))
    with pytest.raises(DamagedLine, match=r"demand\.csv:3: running_gpus is 'x'"):
        open_trace(tmp_path)


@pytest.mark.slow
def test_the_shared_traces_are_read():
    nodes, jobs = first_jobs("philly-vc-2017-09_10")
    assert (nodes[0].count, len(jobs)) == (352, 300)
    nodes, jobs = first_jobs("helios-earth-vc-2020")
    assert (nodes[0].count, len(jobs)) == (107, 300)
