"""Benchmarks that start a server run to their end, with few samples."""

import json

import pytest
from benchmarks import calls, commands, tasks


def rows_of(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def options(monkeypatch):
    """Sets the options of a benchmark."""
    return lambda *words: monkeypatch.setattr("sys.argv", ["benchmark", *words, "--json"])


def test_commands_are_measured(options, capsys):
    options("--samples", "1", "--tasks", "2")
    assert commands.main() == 0
    rows = {row["command"]: row for row in rows_of(capsys)}
    assert list(rows) == list(commands.commands(2))
    assert all(row["processor_ms"][0] > 0 < row["wall_ms"][0] for row in rows.values())
    assert rows["fairshare apps"]["goal_processor_ms"] == 90


def test_tasks_are_measured(options, capsys):
    options("--samples", "1", "--tasks", "4")
    assert tasks.main() == 0
    rows = {row["way"]: row for row in rows_of(capsys)}
    assert {"fairshare submit --count", "xargs -P 2"} <= set(rows)
    assert all(row["tasks_per_s"][0] > 0 for row in rows.values())
    # Four times `true` may take less than one tick of the clock of processor time.
    assert all(row["processor_ms"][0] >= 0 for row in rows.values())


def test_calls_are_measured(options, capsys):
    options("--samples", "1", "--calls", "20", "--isolated-calls", "2")
    assert calls.main() == 0
    rows = rows_of(capsys)
    assert {row["how"] for row in rows} == set(calls.WORKS)
    assert {row["calls"] for row in rows if "isolated" in row["executor"]} == {2}
