"""The verb that lays simulations side by side."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare

EXAMPLES = Path(__file__).parents[4] / "examples"
WORKLOAD = EXAMPLES / "workloads" / "three-teams.yaml"


def call(*arguments):
    runner = CliRunner(env={"COLUMNS": "200"})
    return runner.invoke(fairshare, [str(one) for one in arguments])


def simulate(*options):
    return call("simulate", WORKLOAD, "--conf", EXAMPLES / "three-teams", *options)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    paths = [folder / "fair.json", folder / "fifo.json"]
    for path in paths:
        path.write_text(simulate("--scheduler", path.stem, "--json").stdout)
    return paths


def test_runs_are_compared_side_by_side_with_losers_and_winners(runs):
    result = call("compare", *runs)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    rows = lines[: lines.index("")]
    assert [line.split()[0] for line in rows[-3:]] == ["Run", "fair", "fifo"]
    said = "fifo: Of 58 applications in both, the mean turnaround changes by +6 min"
    assert said in lines[len(rows) + 1]
    losers = [line for line in lines if line.split()[:1] == ["question"]]
    assert len(losers) >= 5
    assert lines[-1].split()[0] == "parameter-sweep"


def test_the_verb_report_lays_runs_side_by_side_too(runs, tmp_path):
    page = tmp_path / "page.html"
    result = call("report", *runs, "--html", page)
    assert result.exit_code == 0, result.output
    assert result.stdout == call("compare", *runs).stdout
    assert page.stat().st_size > 10_000


def test_an_option_of_the_verb_report_may_have_the_name_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prod").write_text("{}")
    result = call("report", "--queue", "prod", "--url", "http://127.0.0.1:1")
    assert "http://127.0.0.1:1" in result.stderr


def test_a_report_of_a_file_that_does_not_exist_names_it():
    result = call("report", "--by", "user", "run.json")
    assert result.exit_code == 2
    assert "there is no file run.json: RUN is one that `fairshare simulate --json`" in result.output


def test_a_run_beside_itself_changes_nothing(runs):
    found = json.loads(call("compare", runs[0], runs[0], "--json").stdout)
    (pairing,) = found["pairings"]
    assert (pairing["mean_ms"], pairing["losers"], pairing["winners"]) == (0.0, [], [])


def test_a_page_is_written(runs, tmp_path):
    page = tmp_path / "page.html"
    assert call("compare", *runs, "--html", page).exit_code == 0
    assert "<title>fairshare: fair beside fifo</title>" in page.read_text()


def test_simulate_writes_the_page_of_its_run(tmp_path):
    page = tmp_path / "page.html"
    assert simulate("--until", "2m", "--html", page).exit_code == 0
    assert "<title>fairshare: three-teams</title>" in page.read_text()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "is not a run: Object missing required field `scheduler`. Write one: fairshare"),
        ("<allocations/>", "is not a run: JSON is malformed"),
    ],
)
def test_a_file_that_is_not_a_run_is_refused(tmp_path, text, reason):
    path = tmp_path / "x.json"
    path.write_text(text)
    result = call("compare", path)
    assert result.exit_code == 1
    assert reason in result.stderr


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Two configurations with three seeds, and one with two others."""
    folder = tmp_path_factory.mktemp("seeds")
    found = {}
    for name, options in (
        ("fair", ("--scheduler", "fair", "--seeds", "3")),
        ("fifo", ("--scheduler", "fifo", "--seeds", "2")),
    ):
        found[name] = folder / f"{name}.json"
        faults = ("--faults", "tasks=0.2", "--until", "10m")
        found[name].write_text(simulate(*options, *faults, "--json").stdout)
    other = json.loads(found["fifo"].read_text())
    other["by_seed"] = {str(int(seed) + 10): one for seed, one in other["by_seed"].items()}
    found["other"] = folder / "other.json"
    found["other"].write_text(json.dumps(other))
    return found


@pytest.mark.slow
def test_runs_with_seeds_are_paired_by_seed(seeds):
    result = call("compare", seeds["fair"], seeds["fifo"])
    assert result.exit_code == 0, result.output
    assert " ± " in result.stdout
    assert (
        "fifo: changes from the first run, of 2 pairs of runs with the same seed." in result.stdout
    )
    found = json.loads(call("compare", seeds["fair"], seeds["fifo"], "--json").stdout)
    (pairing,) = found["pairings"]
    assert pairing["seeds"] == [1, 2]
    first, second = (run["by_seed"] for run in found["runs"])
    differences = [second[seed]["wait_p95"] - first[seed]["wait_p95"] for seed in ("1", "2")]
    change = pairing["changes"]["wait_p95"]
    assert change["mean"] == pytest.approx(sum(differences) / 2)
    assert change["low"] <= change["mean"] <= change["high"]


def test_runs_without_a_common_seed_are_not_paired(seeds):
    result = call("compare", seeds["fair"], seeds["other"])
    assert "other: no seed is in both, so that the runs cannot be paired." in result.stdout


def test_a_single_run_is_not_compared_with_several(seeds, runs, tmp_path):
    result = call("compare", seeds["fair"], runs[1])
    assert result.exit_code == 1
    assert "simulate both with the same --seeds, or both without" in result.stderr
    result = call("compare", seeds["fair"], seeds["fifo"], "--html", tmp_path / "x.html")
    assert result.exit_code == 2
    assert "--html shows single runs: simulate without --seeds" in result.stderr


def test_a_page_that_cannot_be_written_is_an_error(runs, tmp_path):
    result = call("compare", *runs, "--html", tmp_path / "nowhere" / "page.html")
    assert result.exit_code == 1
    assert "cannot write" in result.stderr


def test_runs_with_the_same_file_name_have_their_directories(runs, tmp_path):
    other = tmp_path / "fair.json"
    other.write_bytes(runs[0].read_bytes())
    found = json.loads(call("compare", runs[0], other, "--json").stdout)
    assert [one["name"] for one in found["runs"]] == [
        str(runs[0].with_suffix("")),
        str(other.with_suffix("")),
    ]
