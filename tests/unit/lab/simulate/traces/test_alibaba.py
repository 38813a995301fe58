"""Alibaba's tables: pods of 2023, DLRM instances of 2025, nodes and jobs with GPUs of 2026."""

import pytest
from tests.unit.lab.simulate.traces.tables import first_jobs, jobs_and_notes

from fairshare.documents.gpus import GPU
from fairshare.lab.simulate.traces.records import TraceGroup, TraceJob, TraceNodes
from fairshare.lab.simulate.traces.registry import is_trace, open_trace
from fairshare.lab.simulate.traces.rows import DamagedLine

POD_COLUMNS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
)
POD_NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\nn1,96000,393216,8,G2\n"


def pods(tmp_path, *rows, nodes=POD_NODES):
    (tmp_path / "pods.csv").write_text(POD_COLUMNS + "".join(f"{row}\n" for row in rows))
    if nodes:
        (tmp_path / "nodes.csv").write_text(nodes)
    return tmp_path


def test_a_pod_is_a_job_of_one_container_in_the_queue_of_its_class(tmp_path):
    pods(tmp_path, "p0,12500,16384,2,1000,,LS,Running,100,400,150")
    (job,), _ = jobs_and_notes(tmp_path)
    amounts = {"memory-mb": 16384, "vcores": 13, GPU: 2}
    group = TraceGroup("pod", 1, 250_000, amounts)
    assert job == TraceJob(2, "p0", 0, "LS", (group,), "LS", 50_000)


def test_nodes_come_from_the_table_beside_the_pods(tmp_path):
    pods(tmp_path, "p0,1000,1024,0,0,,BE,Running,0,9,0")
    expected = (
        TraceNodes(1, {"memory-mb": 262144, "vcores": 32}, "n0"),
        TraceNodes(1, {"memory-mb": 393216, "vcores": 96, GPU: 8}, "n1"),
    )
    assert open_trace(tmp_path).nodes == expected
    assert open_trace(tmp_path / "pods.csv").nodes == expected
    (tmp_path / "nodes.csv").unlink()
    assert open_trace(tmp_path).nodes == ()


def test_a_part_of_a_gpu_is_a_whole_one_and_is_counted(tmp_path):
    pods(
        tmp_path,
        "p0,1000,1024,1,460,,BE,Running,0,9,0",
        "p1,1000,1024,1,1000,V100M16|V100M32,BE,Running,0,9,0",
        "p2,1000,1024,0,0,,BE,Running,0,9,0",
    )
    jobs, notes = jobs_and_notes(tmp_path)
    assert [job.groups[0].amounts.get(GPU) for job in jobs] == [1, 1, None]
    assert "a part of a GPU, and get a whole one: 1." in notes
    assert "a model of GPU (gpu_spec), and get any: 1." in notes


def test_pods_that_were_never_scheduled_are_left_out_and_counted(tmp_path):
    pods(
        tmp_path,
        "p0,1000,1024,0,0,,BE,Pending,0,9,",
        "p1,1000,1024,0,0,,BE,Running,5,9,5",
    )
    (job,), notes = jobs_and_notes(tmp_path)
    assert job.name == "p1"
    assert "Jobs left out because they were never scheduled: 1." in notes


def test_a_list_of_pods_without_times_is_not_a_trace(tmp_path):
    (tmp_path / "pods.csv").write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,0,0\n")
    assert not is_trace(tmp_path)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("p,many,1,0,0,,BE,Running,0,9,0", "cpu_milli is 'many', not a number"),
        ("p,1,1,0,0,,BE,Running,0,9,soon", "scheduled_time is 'soon', not a number"),
        ("p,1,1", "has 3, and the header 11 columns"),
    ],
)
def test_a_damaged_pod_is_refused_with_its_line(tmp_path, row, reason):
    pods(tmp_path, "p0,1,1,0,0,,BE,Running,0,9,0", row)
    with pytest.raises(DamagedLine, match=rf"pods\.csv:3: {reason}"):
        jobs_and_notes(tmp_path)


INSTANCES = (
    "instance_sn,role,app_name,cpu_request,gpu_request,memory_request,max_instance_per_node,"
    "creation_time,scheduled_time,deletion_time\n"
)


def instances(tmp_path, *rows):
    (tmp_path / "dlrm.csv").write_text(INSTANCES + "".join(f"{row}\n" for row in rows))
    return tmp_path


def test_an_instance_is_a_job_of_its_service(tmp_path):
    instances(tmp_path, "i0,HN,app_3,12,1,120.5,-1,475.0,480.0,500.0")
    (job,), _ = jobs_and_notes(tmp_path)
    group = TraceGroup("instance", 1, 20_000, {"memory-mb": 123392, "vcores": 12, GPU: 1})
    assert job == TraceJob(2, "i0", 0, "app_3", (group,), "app_3", 5_000)


def test_an_instance_without_times_is_there_from_the_start_to_the_end(tmp_path):
    instances(
        tmp_path,
        "i1,CN,app_1,8,0,40.0,2,100,100,700",
        "i0,CN,app_0,8,0,40.0,-1,,,",
        "i2,CN,app_2,8,0,40.0,-1,300,300,",
    )
    jobs, notes = jobs_and_notes(tmp_path)
    assert [(job.name, job.at_ms, job.groups[0].durations_ms) for job in jobs] == [
        ("i0", 0, 700_000),
        ("i1", 100_000, 600_000),
        ("i2", 300_000, 400_000),
    ]
    assert "there before the trace began, and arrive at its start: 1." in notes
    assert "run to the end after 700 s: 2." in notes
    assert "a limit for each node, which is not applied: 1." in notes


def test_a_damaged_instance_is_refused_with_its_line(tmp_path):
    instances(tmp_path, "i0,CN,app_0,8,0,-4,-1,0,0,9")
    with pytest.raises(DamagedLine, match=r"dlrm\.csv:2: memory_request is '-4', not a number"):
        jobs_and_notes(tmp_path)


GPU_NODES = "gpu_model,gpu_capacity_num,cpu_num,node_name\nA10,1,128,0\nA100,8,96,1\n"


def test_nodes_without_jobs_are_a_cluster_without_work(tmp_path):
    (tmp_path / "node_info_df.csv").write_text(GPU_NODES)
    trace = open_trace(tmp_path)
    assert trace.nodes[1] == TraceNodes(1, {"memory-mb": 96 * 4096, "vcores": 96, GPU: 8}, "node-1")
    assert list(trace.jobs) == []
    assert "There are no jobs: the table has nodes alone." in trace.notes


def test_the_workers_of_a_spot_job_start_together(tmp_path):
    (tmp_path / "node_info_df.csv").write_text(GPU_NODES)
    (tmp_path / "job_info_df.csv").write_text(
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,"
        "job_type\n437260,57,A100,15,2,16,60,41,Spot\n7,57,A100,15,2,0,90,1,HP\n"
    )
    trace = open_trace(tmp_path)
    assert len(trace.nodes) == 2
    (job,) = trace.jobs
    amounts = {"memory-mb": 15 * 4096, "vcores": 15, GPU: 2}
    group = TraceGroup("workers", 16, 41_000, amounts, gang=True)
    assert job == TraceJob(2, "437260", 0, "57", (group,), "Spot")
    assert "Jobs left out because they have no worker: 1." in trace.notes


@pytest.mark.slow
def test_the_shared_tables_are_read():
    nodes, jobs = first_jobs("alibaba-gpu-v2023")
    assert sum(one.amounts.get(GPU, 0) for one in nodes) == 6_212
    assert (len(jobs), jobs[0].name) == (300, "openb-pod-0000")
    nodes, jobs = first_jobs("alibaba-spot-gpu-nodes-v2026")
    assert (len(nodes), sum(one.amounts[GPU] for one in nodes), jobs) == (4_278, 10_412, [])
    _, jobs = first_jobs("alibaba-dlrm-v2025")
    assert (len(jobs), jobs[0].at_ms, jobs[0].user) == (300, 0, "app_0")
