"""The order of jobs of a trace."""

import os
import random

import pytest

from fairshare.lab.simulate.traces import records
from fairshare.lab.simulate.traces.records import TraceGroup, TraceJob, in_order
from fairshare.lab.simulate.traces.registry import is_trace, open_trace
from fairshare.lab.simulate.traces.rows import TraceUnreadable


def job(line):
    group = TraceGroup("map", 2, (1_000, line), {"memory-mb": 5}, after=("x",), gang=True)
    return TraceJob(line, f"job{line}", 0, "ann", (group,), None, 7)


@pytest.mark.parametrize("in_memory", [1, 7, 1_000])
def test_jobs_come_in_the_order_of_their_arrival_then_of_their_lines(monkeypatch, in_memory):
    """However many are sorted in memory, the order is the same."""
    monkeypatch.setattr(records, "IN_MEMORY", in_memory)
    given = [(100.0 + line % 13, job(line)) for line in range(60)]
    random.Random(5).shuffle(given)
    found = list(in_order(given))
    assert [(one.at_ms, one.line) for one in found] == sorted(
        (line % 13 * 1000, line) for line in range(60)
    )
    assert found[0] == job(0)


class Full:
    """A file on a full disk."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def write(self, _):
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_said_with_what_to_do(monkeypatch):
    monkeypatch.setattr(records, "IN_MEMORY", 1)
    monkeypatch.setattr(records.tempfile, "TemporaryFile", Full)
    with pytest.raises(TraceUnreadable, match="No space left on device; set TMPDIR"):
        list(in_order([(1.0, job(1))]))


def test_a_pipe_is_not_a_trace_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "jobs.swf")
    assert not is_trace(tmp_path / "jobs.swf")
    assert not is_trace(tmp_path)
    with pytest.raises(TraceUnreadable, match="is not a file or a directory"):
        open_trace(tmp_path / "jobs.swf")


def test_a_trace_without_jobs_has_none():
    assert list(in_order([])) == []
