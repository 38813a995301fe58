"""Traces of HPC clusters and of Hadoop."""

import gzip
import lzma

import pytest

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.lab.simulate.traces.records import TraceGroup, TraceNodes
from fairshare.lab.simulate.traces.registry import is_trace, open_trace
from fairshare.lab.simulate.traces.rows import Skipped, TraceUnreadable, skipped

SWF = """\
; MaxNodes: 4
; MaxProcs: 32
; Queue: 2 night
  7  100 5 60 12 -1 -1 12 -1 -1 1 3 1 -1 2 -1 -1 -1
  6   40 0 30  8 -1 -1  8 -1 512 1 4 1 -1 -1 -1 -1 -1
  8  120 0 -1  8 -1 -1  8 -1 -1 1 4 1 -1 2 -1 -1 -1
  9  130 0  0  8 -1 -1  8 -1 -1 5 4 1 -1 2 -1 -1 -1
"""
SLS = """{"job.start.ms": 5000, "job.queue.name": "q", "job.id": "one", "job.user": "ann",
 "job.tasks": [
  {"container.start.ms": 10, "container.end.ms": 30, "container.type": "map"},
  {"duration.ms": 7, "count": 2, "container.type": "reduce", "container.memory": 2048}]}
{"job.start.ms": 4000, "job.tasks": [{"duration.ms": 9}]}
"""
RUMEN = """{"jobID": "job_1", "user": "eve", "submitTime": 5000, "queue": "q", "jobMapMB": 512,
 "mapTasks": [
  {"attempts": [{"result": "FAILED", "startTime": 100, "finishTime": 900},
                {"result": "SUCCESS", "startTime": 1000, "finishTime": 1400}]},
  {"attempts": []}],
 "reduceTasks": [{"attempts": [{"result": "SUCCESS", "startTime": 10, "finishTime": 40}]}]}
"""


def read(path):
    trace = open_trace(path)
    return trace, list(trace.jobs)


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_processors_of_a_log_become_tasks_of_a_node_each(file):
    trace, (first, second) = read(file("log.swf", SWF))
    assert trace.nodes == (TraceNodes(4, {MEMORY: 8192, VCORES: 8}),)
    assert (first.name, first.at_ms, first.user, first.queue) == ("job6", 0, "user4", None)
    assert first.groups == (TraceGroup("tasks", 1, 30_000, {MEMORY: 4, VCORES: 8}),)
    assert (second.name, second.at_ms, second.queue) == ("job7", 60_000, "night")
    assert [(one.name, one.count, one.amounts[VCORES]) for one in second.groups] == [
        ("tasks", 1, 8),
        ("rest", 1, 4),
    ]
    assert "Jobs left out because they have no run time: 1." in trace.notes
    assert "Jobs left out because they were cancelled before they began: 1." in trace.notes


def test_classes_of_nodes_are_in_a_file_beside_the_log(file):
    file("log.swf.machines", "0 big 2 16 1 1048576\n1 small 3 4 1 524288\n")
    trace = open_trace(file("log.swf", SWF))
    assert trace.nodes == (
        TraceNodes(2, {MEMORY: 1024, VCORES: 16}, "big"),
        TraceNodes(3, {MEMORY: 512, VCORES: 4}, "small"),
    )


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_files_may_be_compressed(tmp_path, suffix, compress):
    path = tmp_path / f"log.swf{suffix}"
    path.write_bytes(compress(SWF.encode()))
    assert len(read(path)[1]) == 2
    path.write_bytes(compress(SWF.encode())[:-20])
    with pytest.raises(TraceUnreadable, match="the file is damaged"):
        read(path)


def test_a_directory_is_recognized_by_what_is_in_it(file, tmp_path):
    file("README.md", "words")
    file("a.swf", SWF)
    assert is_trace(tmp_path)
    assert open_trace(tmp_path).title == "Standard Workload Format: a.swf"


def test_sls_jobs_have_a_group_for_each_type_of_container(file):
    trace, (second, first) = read(file("jobs.json", SLS))
    assert [one.name for one in (second, first)] == ["job2", "one"]
    assert (first.at_ms, first.user, first.queue) == (1000, "ann", "q")
    assert first.groups == (
        TraceGroup("map", 1, (20,), {MEMORY: 1024, VCORES: 1}),
        TraceGroup("reduce", 2, (7, 7), {MEMORY: 2048, VCORES: 1}, ("map",)),
    )
    assert trace.nodes == ()


def test_sls_nodes_beside_the_jobs_have_their_sizes_and_racks(file):
    file(
        "nodes.json", '{"rack": "r", "nodes": [{"node": "n1", "memory-mb": 2048}, {"node": "n2"}]}'
    )
    trace = open_trace(file("jobs.json", SLS))
    assert trace.nodes == (
        TraceNodes(1, {MEMORY: 2048, VCORES: 10}, "n1", "/r"),
        TraceNodes(1, {MEMORY: 10_240, VCORES: 10}, "n2", "/r"),
    )


def test_rumen_tasks_run_as_long_as_the_attempt_that_succeeded(file):
    _, (job,) = read(file("jh.json", RUMEN))
    assert (job.name, job.user, job.queue, job.at_ms) == ("job_1", "eve", "q", 0)
    assert job.groups == (
        TraceGroup("map", 2, (400, 400), {MEMORY: 512, VCORES: 1}),
        TraceGroup("reduce", 1, (30,), {MEMORY: 1024, VCORES: 1}, ("map",)),
    )


def test_swim_sizes_tasks_by_their_data(file):
    mebibyte = 2**20
    line = f"job0\t10\t10\t{300 * mebibyte}\t{1500 * mebibyte}\t0\njob1\t12\t2\t5\t0\t0\n"
    trace, (first, second) = read(file("fb.tsv", line))
    assert [(one.name, one.count, one.durations_ms) for one in first.groups] == [
        ("map", 3, 7_000),
        ("reduce", 2, 39_500),
    ]
    assert first.groups[1].after == ("map",)
    assert [one.count for one in second.groups] == [1]
    assert (first.at_ms, trace.nodes) == (10_000, ())


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.swf", "; x\n1 2 3\n", "a.swf:2: has 3 columns, and the format has 18"),
        ("a.tsv", "j\t1\t1\t1\t1\t1\nj\t1\tx\t1\t1\t1\n", "a.tsv:2: must be job, submission"),
        ("a.json", '{"job.tasks": []}\n{"job.tasks": 5}\n', "a.json:2: is not a job of SLS'"),
        (
            "a.json",
            '{"mapTasks": [], "submitTime": 1, "jobID": 1}\n{"x"\n',
            "a.json:2: is not JSON",
        ),
        ("a.json", '{"mapTasks": []}\n', "a.json:1: is not a job of Rumen's: 'submitTime'"),
        ("a.json", '{"workloads": []}', "describes how SLS draws jobs at random"),
        ("a.csv", "a,b\n1,2\n", "no known trace is in .*a.csv. Formats: Standard Workload"),
    ],
)
def test_a_damaged_trace_is_named_with_its_line(file, name, text, reason):
    with pytest.raises(TraceUnreadable, match=reason.replace("[", r"\[")):
        read(file(name, text))


def test_a_trace_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TraceUnreadable, match=r"there is no trace .*/nothing"):
        open_trace(tmp_path / "nothing")


@pytest.fixture
def skipping():
    token = skipped.set(Skipped())
    yield
    skipped.reset(token)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("log.swf", f"{SWF} 1 2 3\n garbage\n", "log.swf:8: has 3 columns, and the format has 18"),
        ("jobs.tsv", "job1\t5\t5\t1\t2\t3\njob2\t7\nx\n", "jobs.tsv:2: must be job"),
        ("sls.json", f'{SLS}{{"job.tasks": 3}}\n{{"job.tasks": 4}}\n', "is not a job of SLS'"),
    ],
)
def test_damaged_lines_are_left_out_and_counted_if_that_is_chosen(
    file, skipping, name, text, reason
):
    trace, jobs = read(file(name, text))
    assert jobs
    assert "2 damaged lines left out, the first one: " in trace.notes[-1]
    assert reason in trace.notes[-1]


def test_a_trace_without_damaged_lines_has_no_note_of_them(file, skipping):
    trace, _ = read(file("log.swf", SWF))
    assert not any("damaged" in note for note in trace.notes)
