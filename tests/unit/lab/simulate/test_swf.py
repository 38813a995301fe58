"""Logs in the Standard Workload Format."""

import gzip
from pathlib import Path

import pytest

from fairshare.core.model.inputs import NodeJoined
from fairshare.core.model.work import TaskGroup
from fairshare.errors import ConfigurationError
from fairshare.lab.simulate.readers import read_workload
from fairshare.lab.simulate.readers.options import ReaderOptions
from fairshare.lab.simulate.readers.swf import Header, parse_job
from fairshare.lab.simulate.workload import GroupPlan

TRACES = Path(__file__).parents[5] / "shared" / "data" / "traces"

HEADER = """\
; Version: 2.2
; MaxNodes: 3
; MaxProcs: 10
; Queue:  1  batch
;     Queue: 2 - Besteffort jobs
; Partition:  1  p/debug,x
"""


def job(number=1, submit=0, run=60, **columns):
    """A line, from its interesting columns."""
    given = {1: number, 2: submit, 4: run, 8: 1, 11: 1, 12: 7}
    given |= {int(name.removeprefix("c")): value for name, value in columns.items()}
    return " ".join(str(given.get(column, -1)) for column in range(1, 19)) + "\n"


def read(tmp_path, text, name="log.swf", **options):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_workload(tmp_path / name, ReaderOptions(**options))


def test_a_job_becomes_an_application_with_a_task_for_each_processor(tmp_path):
    text = HEADER + job(4, 100, 60, c8=3, c13=2) + job(5, 130, 1.5)
    first, second = read(tmp_path, text).arrivals
    assert (first.at_ms, second.at_ms) == (0, 30_000)
    assert first.submission.user == "user7"
    assert first.submission.name == "job4"
    assert first.submission.groups == ("group2",)
    assert first.submission.queue == "default"
    assert first.submission.tasks == (TaskGroup("tasks", 3, (1024, 1)),)
    assert first.plans == (GroupPlan(60_000),)
    assert second.plans == (GroupPlan(1_500),)


def test_processors_can_be_put_together_into_larger_tasks(tmp_path):
    (arrival,) = read(tmp_path, job(c8=20, c10=2048), processors_per_task=8).arrivals
    assert arrival.submission.tasks == (
        TaskGroup("tasks", 2, (16, 8)),
        TaskGroup("rest", 1, (8, 4)),
    )
    assert len(arrival.plans) == 2


def test_what_was_not_asked_for_is_taken_from_what_was_used(tmp_path):
    text = job(c8=-1, c5=2, c7=3000)
    (arrival,) = read(tmp_path, text, memory_per_processor_mb=9).arrivals
    assert arrival.submission.tasks == (TaskGroup("tasks", 2, (3, 1)),)


@pytest.mark.parametrize(
    ("source", "queues"),
    [
        ("default", ["default", "default"]),
        ("user", ["user7", "user7"]),
        ("group", ["group5", "default"]),
        ("queue", ["batch", "queue2"]),
        ("partition", ["p_debug_x", "partition9"]),
    ],
)
def test_the_queue_is_taken_from_the_column_that_is_named(tmp_path, source, queues):
    text = HEADER + job(1, c13=5, c15=1, c16=1) + job(2, c15=2, c16=9)
    arrivals = read(tmp_path, text, queue_from=source).arrivals
    assert [one.submission.queue for one in arrivals] == queues


def test_what_cannot_be_simulated_is_left_out_and_counted(tmp_path):
    text = job(1, c8=0) + job(2, run=-1) + job(3, run=0, c11=5) + job(4, run=0) + job(5, c8=-1)
    workload = read(tmp_path, text)
    assert [one.submission.name for one in workload.arrivals] == ["job4"]
    assert workload.notes == (
        "Jobs left out because they have no processors: 2.",
        "Jobs left out because they have no run time: 1.",
        "Jobs left out because they were cancelled before they began: 1.",
    )


def test_nodes_are_those_of_the_header(tmp_path):
    workload = read(tmp_path, HEADER + job(), memory_per_processor_mb=100)
    assert workload.nodes == tuple(NodeJoined(f"node-{n}", (400, 4)) for n in (1, 2, 3))
    assert "speaks of 3 nodes; each has 100 MB for each processor" in workload.notes[0]


def test_a_table_of_machines_beside_the_log_is_better_than_its_header(tmp_path):
    table = "0\tbig\t1\t80\t1\t1048576\n\n1\tsmall\t2\t12\t1\t2048\n"
    (tmp_path / "log.swf.machines").write_text(table)
    nodes = (NodeJoined("big-1", (1024, 80)), NodeJoined("small-1", (2, 12)))
    assert read(tmp_path, HEADER + job()).nodes[:2] == nodes
    assert len(read(tmp_path, gzip.compress(job().encode()), "log.swf.gz").nodes) == 3
    (tmp_path / "log.swf.machines").write_text("0 big 1\n")
    with pytest.raises(ConfigurationError, match=r"log.swf.machines:1: error: must be id, name"):
        read(tmp_path, job())


def test_alea_s_dialect_says_which_nodes_were_asked_for():
    line = job(c8=24, c10=2 * 1024**3).strip() + " {1,2} q_2h 2:ppn=12:brno#excl"
    found = parse_job(line)
    assert (found.queue_name, found.nodes, found.per_node) == ("q_2h", 2, 12)
    assert found.memory_kb == 174_763  # 2 GiB for a node of 12 processors


@pytest.mark.parametrize("spec", ["1:ppn=1.5", "5:ppn=1+2:ppn=2", "n17.cz:ppn=12", "2:ppn=5"])
def test_a_node_specification_that_says_something_else_is_not_followed(tmp_path, spec):
    line = job(c8=12, c10=12 * 1024**2).strip() + f" {{1}} q {spec}\n"
    (arrival,) = read(tmp_path, line, queue_from="queue").arrivals
    assert arrival.submission.queue == "q"
    assert arrival.submission.tasks == (TaskGroup("tasks", 12, (1, 1)),)


def test_every_bad_line_is_reported(tmp_path):
    text = (
        HEADER + "1 2 3\n" + job() + job(run="soon") + job().strip() + " more\n" + job(c12="1e99")
    )
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text)
    assert [str(one).split("log.swf:")[1] for one in caught.value.problems] == [
        "7: error: has 3 columns, and the format has 18 [workload]",
        "9: error: column 4 is 'soon', not a number [workload]",
        "10: error: has 19 columns: the format has 18, and Alea's dialect three more [workload]",
        "11: error: column 12 is '1e99', not a number [workload]",
    ]


def test_a_file_of_another_kind_does_not_drown_the_reader(tmp_path):
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, "x\n" * 1_500)
    assert len(caught.value.problems) < 1_500
    assert "more problems are not listed" in str(caught.value)


def test_a_log_without_jobs_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="has no job"):
        read(tmp_path, HEADER)


def test_a_header_is_only_followed_where_it_says_something():
    header = Header()
    for line in ("; MaxNodes: many", "; Partition: 13 -1", "; Queues: Queue nb 1 is", ";"):
        header.read(line)
    assert header == Header()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "nodes", "jobs", "left_out"),
    [
        ("hpc2n-2002/hpc2n.swf", 120, 3_145, 25),
        ("metacentrum-wagap-2013/wagap-2013.swf", 68, 17_898, 2),
        ("oar-gofree-2011/gofree_sample.swf", 29, 1_319, 129),
    ],
)
def test_real_logs_are_read_to_the_last_line(name, nodes, jobs, left_out):
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"there is no {path}")
    workload = read_workload(path, ReaderOptions(queue_from="queue"))
    assert (len(workload.nodes), len(workload.arrivals)) == (nodes, jobs)
    assert workload.notes[-1].endswith(f": {left_out}.")
    assert all(one.at_ms >= 0 for one in workload.arrivals)
