"""The comparison with an earlier commit."""

import json
import shutil
import subprocess
from contextlib import nullcontext

import pytest
from benchmarks import compare
from benchmarks.compare import files_of, main, record, row_of
from benchmarks.grid import grid

in_a_repository = pytest.mark.skipif(
    shutil.which("git") is None
    or subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=compare.ROOT, capture_output=True
    ).returncode
    != 0,
    reason="this is not a git repository",
)


def test_a_measurement_is_slower_if_all_its_samples_are():
    slower = row_of("fair", "p", "fill", [100.0, 100.0], [80.0, 99.0])
    assert slower.slower
    assert slower.ratio.median == pytest.approx(0.895)
    assert slower.line.endswith("0.90 0.80 0.99  slower")
    for own in ([80.0, 101.0], [80.0, 99.8]):
        assert not row_of("fair", "p", "fill", [100.0, 100.0], own).slower


@in_a_repository
def test_a_history_gets_a_line_for_each_row(tmp_path):
    rows = [row_of("fair", "p", figure, [1.0], [2.0]) for figure in ("fill", "churn")]
    for _ in range(2):
        record(tmp_path / "new" / "history.jsonl", "abc", rows)
    lines = (tmp_path / "new" / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["figure"] for line in lines] == ["fill", "churn"] * 2
    assert json.loads(lines[0])["ratio"]["median"] == 2.0


@in_a_repository
def test_the_files_of_a_commit_are_there_for_a_while():
    with files_of("HEAD") as folder:
        assert (folder / "src" / "fairshare" / "__init__.py").is_file()
    assert not folder.exists()


@in_a_repository
def test_an_unknown_commit_is_named(monkeypatch, capsys, tmp_path):
    history = tmp_path / "history.jsonl"
    words = ["compare", "--base", "nonsense", "--history", str(history)]
    monkeypatch.setattr("sys.argv", words)
    assert main() == 2
    assert "'nonsense' is not a commit of this repository" in capsys.readouterr().err
    assert not history.exists()


@in_a_repository
def test_instructions_are_counted_alike_each_time_and_not_kept(capsys, monkeypatch):
    words = ["compare", "--base", "HEAD", "--policy", "fair", "--points", "q1-a1", "--instructions"]
    kept: list[object] = []
    monkeypatch.setattr(compare, "record", lambda *row: kept.append(row))
    monkeypatch.setattr(compare, "files_of", lambda commit: nullcontext(compare.ROOT))
    monkeypatch.setattr(compare, "grid", lambda nodes: grid(nodes)[:1])
    monkeypatch.setattr("sys.argv", words)
    assert main() == 0
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[2] for row in rows] == list(compare.FIGURES)
    assert all(row.endswith("1.00 1.00 1.00") for row in rows)
    assert not kept


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["--samples", "0"], "--samples is at least 1"),
        (["--seconds", "nan"], "--seconds more than 0"),
        (["--seconds", "0"], "--seconds more than 0"),
        (["--instructions", "--samples", "3"], "leave out --samples"),
        (["--instructions", "--seconds", "1"], "leave out --samples"),
        (["--instructions", "--history", "kept.jsonl"], "leave out --samples"),
        (["--points", "a1000000"], "points are ['grid-n1000-q1-a1'"),
        (["--policy", "lottery"], "policies are fair, drf"),
    ],
)
def test_options_that_mean_nothing_are_refused(monkeypatch, capsys, words, refusal):
    monkeypatch.setattr("sys.argv", ["compare", "--base", "HEAD", *words])
    with pytest.raises(SystemExit):
        main()
    assert refusal in " ".join(capsys.readouterr().err.split())


def measured_as(monkeypatch, rates):
    """Lets samples of the base and of this checkout have rates, and runs one comparison."""
    monkeypatch.setattr(
        compare,
        "sample",
        lambda source, *rest: dict.fromkeys(compare.FIGURES, rates[source.parent == compare.ROOT]),
    )


@pytest.mark.slow
@in_a_repository
def test_a_limit_sets_the_exit_code(monkeypatch, capsys, tmp_path):
    measured_as(monkeypatch, (100.0, 93.0))
    words = ["compare", "--base", "HEAD", "--policy", "fair", "--points", "q10-a10", "--history"]
    words += [str(tmp_path / "history.jsonl"), "--fail-slower"]
    for limit, code in (("10", 0), ("5", 1)):
        monkeypatch.setattr("sys.argv", [*words, limit])
        assert main() == code
    assert "slower" in capsys.readouterr().out
