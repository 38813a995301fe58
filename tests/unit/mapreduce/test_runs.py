"""Runs on disk: what is merged is all that was written, in order."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples

from fairshare.mapreduce import runs
from fairshare.mapreduce.counters import SPILLED_RECORDS, Counters
from fairshare.mapreduce.job import TaskFailed
from fairshare.mapreduce.runs import Merger, RunWriter, merged, records_of

counts = st.dictionaries(st.binary(max_size=3), st.integers(1, 3), max_size=12)
several = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=examples(60),
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that few records are many blocks."""
    monkeypatch.setattr(runs, "BLOCK_RECORDS", 3)


def write(path, groups):
    with RunWriter(path) as writer:
        writer.write(sorted(groups), groups)
        return writer.end_partition()


def total(batches):
    """All payloads by key; the keys must come in order."""
    found: dict = {}
    last = b""
    for keys, groups in batches:
        assert keys == sorted(groups)
        for key in keys:
            assert key >= last
            last = key
            found[key] = found[key] + groups[key] if key in found else groups[key]
    return found


def added(maps):
    found: dict = {}
    for groups in maps:
        for key, payload in groups.items():
            found[key] = found[key] + payload if key in found else payload
    return found


@pytest.mark.slow
@several
@given(st.lists(counts, max_size=6))
def test_merged_runs_are_the_sum_of_all_in_order(tmp_path, maps):
    segments = [write(tmp_path / str(number), groups) for number, groups in enumerate(maps)]
    assert total(merged(segments)) == added(maps)


@pytest.mark.slow
@several
@given(st.lists(counts, max_size=12), st.integers(2, 4), st.booleans())
def test_merges_on_the_way_lose_nothing_and_leave_few_runs(tmp_path, maps, factor, relieve):
    counters = Counters()
    merger = Merger(tmp_path, factor, counters)
    for number, groups in enumerate(maps):
        merger.add(write(tmp_path / str(number), groups))
        if relieve:
            merger.relieve()
    final = merger.final()
    assert len(final) <= factor
    assert total(merged(final)) == added(maps)
    full = sum(bool(groups) for groups in maps)
    assert (counters.get(SPILLED_RECORDS) > 0) == (full > factor)


def test_values_of_one_key_that_fill_many_blocks_stay_together(tmp_path):
    groups = {b"a": [(1, b"x" * 10)] * 20, b"b": [(2, b"y")]}
    segments = [write(tmp_path / "1", groups), write(tmp_path / "2", groups)]
    assert len(list(segments[0].blocks())) == 7
    assert total(merged(segments)) == {b"a": [(1, b"x" * 10)] * 40, b"b": [(2, b"y")] * 2}
    assert records_of(groups) == 22


def test_a_run_that_is_cut_off_raises_an_error(tmp_path):
    segment = write(tmp_path / "run", {b"%d" % number: 1 for number in range(20)})
    data = (tmp_path / "run").read_bytes()
    (tmp_path / "run").write_bytes(data[:-3])
    with pytest.raises(TaskFailed, match="is damaged"):
        list(merged([segment]))
