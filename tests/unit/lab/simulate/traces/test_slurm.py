"""Slurm's accounts: what sacct --parsable2 prints, and XDMoD's logs."""

import pytest
from tests.unit.lab.simulate.traces.tables import first_jobs, jobs_and_notes

from fairshare.documents.gpus import GPU
from fairshare.lab.simulate.traces.records import TraceGroup, TraceJob, TraceNodes
from fairshare.lab.simulate.traces.registry import is_trace, open_trace
from fairshare.lab.simulate.traces.rows import DamagedLine

COLUMNS = (
    "JobID|JobName|User|Partition|Submit|Start|End|State|NNodes|NCPUS|ReqMem|ReqTRES|AllocTRES"
    "|NodeList"
)
USUAL = {
    "JobID": "17",
    "User": "ann",
    "Partition": "ml",
    "Submit": "2024-05-01T10:00:00",
    "Start": "2024-05-01T10:00:30",
    "End": "2024-05-01T10:01:30",
    "State": "COMPLETED",
    "NNodes": "1",
    "NCPUS": "4",
    "ReqMem": "8G",
}


def accounts(tmp_path, *jobs, columns=COLUMNS, end=""):
    names = columns.split("|")
    rows = ["|".join((USUAL | job).get(name, "") for name in names) + end for job in jobs]
    (tmp_path / "accounts.txt").write_text("\n".join([columns + end, *rows]) + "\n")
    return tmp_path


def test_a_job_on_one_node_is_one_container(tmp_path):
    accounts(tmp_path, {"JobName": '"hi'})
    (job,), _ = jobs_and_notes(tmp_path)
    group = TraceGroup("tasks", 1, 60_000, {"memory-mb": 8192, "vcores": 4})
    assert job == TraceJob(2, "job17", 0, "ann", (group,), "ml", 30_000)


def test_a_job_on_several_nodes_starts_as_a_whole(tmp_path):
    accounts(
        tmp_path,
        {"NNodes": "3", "NCPUS": "16", "ReqMem": "4000Mn", "AllocTRES": "cpu=16,gres/gpu=6"},
    )
    (job,), _ = jobs_and_notes(tmp_path)
    amounts = {"memory-mb": 4000, "vcores": 6, GPU: 2}
    assert job.groups == (TraceGroup("tasks", 3, 60_000, amounts, gang=True),)


def test_columns_are_known_in_any_case_and_with_a_bar_at_the_end(tmp_path):
    accounts(tmp_path, {}, end="|")
    (expected,), _ = jobs_and_notes(tmp_path)
    names = COLUMNS.split("|")
    row = "|".join(USUAL.get(name, "") for name in names)
    (tmp_path / "accounts.txt").write_text(f"{COLUMNS.lower()}\n{row}\n")
    (job,), _ = jobs_and_notes(tmp_path)
    assert job == expected


def test_steps_are_parts_of_their_job(tmp_path):
    accounts(tmp_path, {}, {"JobID": "17.batch", "User": ""}, {"JobID": "17.0", "User": ""})
    jobs, notes = jobs_and_notes(tmp_path)
    assert [job.name for job in jobs] == ["job17"]
    assert "left out" not in notes


def test_jobs_that_did_not_run_to_an_end_are_counted(tmp_path):
    accounts(
        tmp_path,
        {"Start": "Unknown", "End": "Unknown", "State": "PENDING"},
        {"Start": "None", "State": "CANCELLED by 7"},
        {"End": "Unknown", "State": "RUNNING"},
        {"End": "2024-05-01T09:00:00"},
        {"JobID": "18"},
    )
    jobs, notes = jobs_and_notes(tmp_path)
    assert [job.name for job in jobs] == ["job18"]
    assert "because they never started: 2." in notes
    assert "because they have not ended: 1." in notes
    assert "because they ended before they started: 1." in notes


def test_a_job_without_memory_gets_some_for_each_processor(tmp_path):
    accounts(tmp_path, {"ReqMem": ""}, {"ReqMem": "", "ReqTRES": "cpu=4,mem=2000M,node=1"})
    jobs, notes = jobs_and_notes(tmp_path)
    assert [job.groups[0].amounts["memory-mb"] for job in jobs] == [4096, 2000]
    assert "Jobs without a memory request, which get 1 GB a processor: 1." in notes


def test_a_node_is_as_large_as_what_ran_on_it_at_one_time(tmp_path):
    """Two jobs of 4 processors overlap on n1; a third starts when the first ends."""
    accounts(
        tmp_path,
        {"NodeList": "n1"},
        {"NodeList": "n[1-2]", "NNodes": "2", "NCPUS": "8", "ReqMem": "1000Mn"},
        {"NodeList": "n1", "Start": "2024-05-01T10:01:30", "End": "2024-05-01T10:02:30"},
    )
    assert open_trace(tmp_path).nodes == (
        TraceNodes(1, {"memory-mb": 9192, "vcores": 8}, "n1"),
        TraceNodes(1, {"memory-mb": 1000, "vcores": 4}, "n2"),
    )


def test_accounts_without_lists_of_nodes_have_no_cluster(tmp_path):
    accounts(tmp_path, {"NodeList": "None assigned"})
    assert open_trace(tmp_path).nodes == ()


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ({"Submit": "yesterday"}, "'yesterday' is not a date and time"),
        ({"NCPUS": "99999999999"}, "ncpus is 99999999999, more than 10,000,000"),
        ({"ReqMem": "99999999P"}, "the memory is 99999999P, more than any machine has"),
        ({"JobName": "a|b"}, "has 15, and the header 14 columns"),
    ],
)
def test_a_damaged_job_is_refused_with_its_line(tmp_path, job, reason):
    accounts(tmp_path, {}, job)
    with pytest.raises(DamagedLine, match=rf"accounts\.txt:3: {reason}"):
        jobs_and_notes(tmp_path)


def test_other_tables_between_bars_are_not_accounts(tmp_path):
    (tmp_path / "table.txt").write_text("jobid|user|submit|start|end\n1|a|b|c|d\n")
    assert not is_trace(tmp_path)


@pytest.mark.slow
def test_the_shared_accounts_are_read():
    nodes, jobs = first_jobs("xdmod-phillips-2016")
    assert (len(nodes), sum(one.amounts.get(GPU, 0) for one in nodes), len(jobs)) == (46, 2, 300)
    assert {one.groups[0].amounts["memory-mb"] for one in jobs if one.queue == "black"} == {24_000}
    nodes, jobs = first_jobs("xdmod-pozidriv-2016")
    assert (len(nodes), len({one.user for one in jobs}) > 3) == (105, True)
