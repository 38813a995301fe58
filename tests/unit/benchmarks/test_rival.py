"""The comparison with Hadoop's own schedulers."""

import json

import pytest
from benchmarks import rival
from benchmarks.compare import row_of
from benchmarks.rival import AbsentError, Yarn, goal_of, line_of, main, rates_of
from tests.unit.benchmarks.test_compare import in_a_repository


def result_of(point, fill, churn):
    return json.dumps(
        {"point": point, "containers_per_s_fill_cpu": fill, "containers_per_s_churn_cpu": churn}
    )


@pytest.fixture
def folder(tmp_path):
    """A rival whose `run` writes the lines of a file `rates`, whatever is asked."""
    (tmp_path / "yarn").mkdir()
    (tmp_path / "yarn" / "run").write_text(
        "import pathlib, sys\n"
        "out = pathlib.Path(sys.argv[sys.argv.index('--out') + 1])\n"
        "out.write_text(pathlib.Path('yarn/rates').read_text())\n"
    )
    (tmp_path / "yarn" / "pom.xml").write_text("<project/>")
    (tmp_path / "yarn" / "rates").write_text(result_of("grid-n1000-q1-a1", 1, 1e12) + "\n")
    (tmp_path / "grid.json").write_text("{}")
    return tmp_path


@pytest.fixture
def with_java(monkeypatch):
    monkeypatch.setattr(rival.shutil, "which", lambda program: f"/usr/bin/{program}")


def test_a_row_has_the_ratio_of_each_round():
    row = row_of("fair", "grid-n1000-q10-a10", "churn", [100.0, 100.0, 50.0], [250.0, 400.0, 250.0])
    assert (row.ratio.median, row.ratio.least, row.ratio.most) == (4.0, 2.5, 5.0)
    assert goal_of(row) == 5.0
    assert line_of(row).endswith("  4.00   2.50   5.00      5  missed")
    assert (row.base_per_s, row.own_per_s) == (100.0, 250.0)


def test_a_point_without_a_goal_misses_none():
    row = row_of("fair", "grid-n1000-q10-a1", "fill", [100.0], [10.0])
    assert goal_of(row) is None
    assert "missed" not in line_of(row)


def test_rates_are_those_of_processor_time():
    assert rates_of([result_of("p", 9, 4)]) == {"p": {"fill": 9.0, "churn": 4.0}}


@pytest.mark.slow
@in_a_repository
def test_both_are_measured_and_kept(folder, with_java, monkeypatch, tmp_path, capsys):
    history = tmp_path / "history.jsonl"
    words = ["--rival", str(folder), "--policy", "fair", "--points", "grid-n1000-q1-a1"]
    few = ["--rounds", "1", "--seconds", "0.01", "--history", str(history)]
    work = ["--work", str(tmp_path / "work")]
    monkeypatch.setattr("sys.argv", ["rival", *words, *few, *work])
    assert main() == 0
    fill, churn = capsys.readouterr().out.splitlines()[1:]
    assert "missed" not in fill
    assert churn.endswith("missed")
    kept = [json.loads(line) for line in history.read_text().splitlines()]
    assert [(one["base"], one["figure"]) for one in kept] == [("YARN", "fill"), ("YARN", "churn")]
    assert all(one["own_per_s"] > 0 for one in kept)


def test_what_is_missing_is_named(folder, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(rival.shutil, "which", lambda program: None)
    with pytest.raises(AbsentError, match="no java on the PATH"):
        Yarn(folder, tmp_path / "work")
    with pytest.raises(AbsentError, match=r"no yarn/run in .*: name a folder that has it"):
        Yarn(tmp_path / "nothing", tmp_path / "work")
    monkeypatch.delenv("RIVAL", raising=False)
    monkeypatch.setattr("sys.argv", ["rival"])
    assert main() == 2
    assert capsys.readouterr().err == (
        "Name the folder of YARN's benchmark: make bench-rival RIVAL=DIR\n"
    )


def test_a_run_that_fails_says_why(folder, with_java, monkeypatch, tmp_path, capsys):
    (folder / "yarn" / "run").write_text("raise SystemExit('no memory')")
    monkeypatch.setattr(
        "sys.argv", ["rival", "--rival", str(folder), "--work", str(tmp_path / "w")]
    )
    assert main() == 2
    assert capsys.readouterr().err.endswith("run has failed: no memory\n")
