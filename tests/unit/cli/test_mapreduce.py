"""The verb `mapreduce`: its options, what it asks and what it tells."""

import click
import pytest

from fairshare.mapreduce import MapReduce
from fairshare.mapreduce import verb as mapreduce

APPLICATION = "application_1700000000000_0007"


@pytest.fixture(autouse=True)
def accepting(cluster):
    cluster.answers["POST /applications"] = {"id": APPLICATION, "state": "PENDING"}


@pytest.fixture
def places(tmp_path):
    (tmp_path / "in").write_text("a\nb\n")
    return ("--input", str(tmp_path / "in"), "--output", str(tmp_path / "out"))


def test_every_option_reaches_the_job(run, places, monkeypatch):
    made = []
    monkeypatch.setattr(MapReduce, "submit", lambda job, client: made.append(job) or APPLICATION)
    options = (
        "--mapper m --reducer r --combiner c --reduces 3 --maps 4 --split-size 2m --recursive"
        " --key-fields 3 --partition-fields 2 --field-separator . --pool p --user bob --name n"
        " --priority LOW --tag t --memory 1.5g --reduce-memory 96m --sort-memory 7m --vcores 2"
        " --max-attempts 5 --time-limit 90s --slow-start 0.25 --speculative --speculation-delay 3s"
        " --host h --env A=b --directory data --no-wait"
    )
    result = run("mapreduce", *places, *options.split())
    assert (result.exit_code, result.stdout) == (0, f"{APPLICATION}\n")
    (job,) = made
    assert vars(job) == {
        **vars(MapReduce(inputs=(places[1],), output=places[3])),
        "mapper": "m",
        "reducer": "r",
        "combiner": "c",
        "reduces": 3,
        "maps": 4,
        "split_bytes": 2 << 20,
        "recursive": True,
        "key_fields": 3,
        "partition_fields": 2,
        "field_separator": ".",
        "pool": "p",
        "user": "bob",
        "name": "n",
        "priority": "LOW",
        "tags": ("t",),
        "memory_mb": 1536,
        "reduce_memory_mb": 96,
        "sort_memory_mb": 7,
        "vcores": 2,
        "max_attempts": 5,
        "time_limit_ms": 90_000,
        "slow_start": 0.25,
        "speculative": True,
        "speculation_delay_ms": 3_000,
        "hosts": ("h",),
        "environment": {"A": "b"},
        "directory": job.directory,
    }
    assert str(job.directory) == "data"


def test_all_problems_are_printed_and_the_exit_code_is_1(run, places, cluster):
    result = run("mapreduce", *places, "--input", "gone", "--priority", "urgent")
    assert result.exit_code == 1
    assert "input path 'gone' does not exist" in result.stderr
    assert "'urgent' is not a priority: write VERY_HIGH, HIGH" in result.stderr
    assert list(cluster.posted()) == []


def test_a_dry_run_prints_the_splits_and_sends_no_request(run, places, cluster, tmp_path):
    result = run("mapreduce", *places, "--dry-run", "--maps", "2")
    assert result.exit_code == 0
    file = tmp_path / "in"
    assert result.stdout == f"{file} 0+2\n{file} 2+2\n2 maps of 4 bytes, 1 reduce\n"
    assert list(cluster.posted()) == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("answer", "killed"),
    [(True, True), (False, False), (KeyboardInterrupt, True), (click.Abort, True)],
)
def test_an_interruption_on_a_terminal_asks_first(monkeypatch, answer, killed):
    def confirm(*_, **__):
        if isinstance(answer, bool):
            return answer
        raise answer

    monkeypatch.setattr(mapreduce.click, "confirm", confirm)
    assert mapreduce.may_kill(APPLICATION, asks=True) == killed
    assert mapreduce.may_kill(APPLICATION, asks=False)
