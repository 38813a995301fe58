"""Philly's log as it was published: a JSON array of jobs with their attempts."""

import json

import pytest
from tests.unit.lab.simulate.traces.tables import jobs_and_notes

from fairshare.documents.gpus import GPU
from fairshare.lab.simulate.traces import rows
from fairshare.lab.simulate.traces.records import TraceGroup, TraceJob, TraceNodes
from fairshare.lab.simulate.traces.registry import open_trace
from fairshare.lab.simulate.traces.rows import DamagedLine, elements_of


def attempt(start, end, *machines):
    places = [
        {"ip": f"m{at}", "gpus": [f"gpu{one}" for one in range(count)]}
        for at, count in enumerate(machines)
    ]
    times = [time and f"2017-10-07 01:{time}" for time in (start, end)]
    return {"start_time": times[0], "end_time": times[1], "detail": places}


def job(*attempts, **fields):
    usual = {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": "application_1_7",
        "attempts": attempts,
        "submitted_time": "2017-10-07 01:00:00",
        "user": "ce2f4c",
    }
    return usual | fields


def log(tmp_path, *jobs, indent=None):
    (tmp_path / "cluster_job_log").write_text(json.dumps(jobs, indent=indent))
    return tmp_path


def gpus(count):
    return {"memory-mb": 1024 * count, "vcores": count, GPU: count}


@pytest.mark.parametrize("indent", [None, 4])
def test_a_job_runs_as_long_as_its_attempts_together(tmp_path, indent):
    log(tmp_path, job(attempt("01:00", "02:00", 2), attempt("05:00", "05:30", 2)), indent=indent)
    (found,), _ = jobs_and_notes(tmp_path)
    groups = (TraceGroup("workers2", 1, 90_000, gpus(2)),)
    line = 1 if indent is None else 2
    assert found == TraceJob(line, "application_1_7", 0, "ce2f4c", groups, "ee9e8c", 60_000)


def test_the_gpus_of_each_machine_are_a_task(tmp_path):
    log(tmp_path, job(attempt("01:00", "02:00", 8, 8, 2)))
    (found,), _ = jobs_and_notes(tmp_path)
    assert found.groups == (
        TraceGroup("workers2", 1, 60_000, gpus(2)),
        TraceGroup("workers8", 2, 60_000, gpus(8), gang=True),
    )


def test_jobs_that_did_not_run_to_an_end_are_counted(tmp_path):
    log(
        tmp_path,
        job(),
        job(attempt(None, None, 1)),
        job(attempt("01:00", None, 1)),
        job(attempt("01:00", "02:00")),
        job(attempt("01:00", "02:00", 1), jobid="good"),
    )
    (found,), notes = jobs_and_notes(tmp_path)
    assert found.name == "good"
    assert "because they never started: 2." in notes
    assert "because they have not ended: 1." in notes
    assert "because they have no GPU: 1." in notes


def test_the_list_of_machines_is_the_cluster(tmp_path):
    log(tmp_path, job(attempt("01:00", "02:00", 1)))
    (tmp_path / "cluster_machine_list").write_text(
        "machineId,number of GPUs,single GPU mem\nm31,8, 24GB\nm32,8, 24GB\nm33,2, 12GB\n"
    )
    assert open_trace(tmp_path).nodes == (
        TraceNodes(1, gpus(2), "machines-of-2"),
        TraceNodes(2, gpus(8), "machines-of-8"),
    )


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        ({"jobid": "x"}, "is not a job of Philly's: KeyError"),
        (17, "is not a job of Philly's: TypeError"),
        (job(attempt("01:00", "soon", 1)), "'2017-10-07 01:soon' is not a date and time"),
    ],
)
def test_a_damaged_job_is_refused_with_its_line(tmp_path, damaged, reason):
    good = json.dumps(job(attempt("01:00", "02:00", 1)))
    (tmp_path / "log").write_text(f"[\n{good},\n{json.dumps(damaged)}\n]")
    with pytest.raises(DamagedLine, match=f"log:3: {reason}"):
        jobs_and_notes(tmp_path)


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_an_array_is_read_in_pieces_of_any_size(tmp_path, monkeypatch, size):
    monkeypatch.setattr(rows, "LONGEST_PIECE", size)
    (tmp_path / "a").write_text('[12,\n {"b": "],["},\n\n [3, 4], "5" ]\n')
    expected = [(1, 12), (2, {"b": "],["}), (4, [3, 4]), (4, "5")]
    assert list(elements_of(tmp_path / "a")) == expected
    (tmp_path / "a").write_text(" [ ] ")
    assert list(elements_of(tmp_path / "a")) == []


def test_text_that_is_not_utf_8_is_refused_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "LONGEST_PIECE", 4)
    (tmp_path / "a").write_bytes(b"[1,\n2,\n" + b" " * 9_000 + b"\n\xff]")
    with pytest.raises(DamagedLine, match=r":\d+: is not UTF-8 text"):
        list(elements_of(tmp_path / "a"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", ":1: the array does not end"),
        ("{}", r":1: is not a JSON array: \[ is missing"),
        ("[1,\n2", ":2: is not JSON: the array does not end"),
        ("[1,\n2\n3]", ":3: is not a JSON array: , or ] is missing"),
        ("[1,\ntwo]", ":2: is not JSON: Expecting value"),
        ("[1]\n[2]", ":2: something follows the end of the array"),
    ],
)
def test_what_is_not_an_array_is_refused_with_its_line(tmp_path, text, reason):
    (tmp_path / "a").write_text(text)
    with pytest.raises(DamagedLine, match=reason):
        list(elements_of(tmp_path / "a"))
