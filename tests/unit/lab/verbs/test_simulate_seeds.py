"""The verb that simulates, with faults and several seeds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare

ROOT = Path(__file__).parents[4]
ARGUMENTS = [
    "simulate",
    *("--conf", str(ROOT / "examples" / "three-teams")),
    *("--workload", str(ROOT / "examples" / "workloads" / "three-teams.yaml")),
]
FAULTS = ("--faults", "mtbf=5m,repair=1m,tasks=0.05")


def simulate(*options):
    return CliRunner().invoke(fairshare, [*ARGUMENTS, *options])


@pytest.mark.slow
def test_several_seeds_give_means_and_intervals():
    found = json.loads(simulate(*FAULTS, "--seeds", "3", "--json").stdout)
    assert found["seeds"] == [1, 2, 3]
    makespan = found["whole"]["makespan_ms"]
    assert makespan["low"] < makespan["mean"] < makespan["high"]
    singles = [
        json.loads(simulate(*FAULTS, "--seed", str(seed), "--json").stdout)["makespan_ms"]
        for seed in (1, 2, 3)
    ]
    assert makespan["mean"] == pytest.approx(sum(singles) / 3)
    assert set(found["queues"]) == {"root.adhoc", "root.production", "root.research"}


def test_the_table_says_how_sure_the_numbers_are():
    reported = simulate(*FAULTS, "--seeds", "2")
    assert reported.exit_code == 0, reported.output
    assert "Runs          2, with the seeds 1 to 2; ± is half of a 95 % interval" in reported.stdout
    assert " ± " in reported.stdout


def test_the_report_of_one_seed_says_what_was_lost():
    assert "Faults of seed 1: nodes were lost " in simulate(*FAULTS, "--json").stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--seeds", "3"), "--seeds cannot be given here: no part of this run depends on a seed"),
        (("--seed", "3"), "--seed cannot be given here: no part of this run depends on a seed"),
        ((*FAULTS, "--seeds", "2", "--html", "x.html"), "--html cannot be given here"),
        ((*FAULTS, "--seeds", "2", "--seed", "7"), "--seed cannot be given here: they are of one"),
        (("--faults", "nodes"), "is not a kind of fault: write mtbf=7d,repair=2h,tasks=0.01"),
    ],
)
def test_options_without_effect_are_refused(options, words):
    reported = simulate(*options)
    assert reported.exit_code == 2
    assert words in " ".join(reported.stderr.split())


LOOP = """
applications:
  - at: 1s
    user: ann
    queue: root.adhoc
    repeat: 3
    think: {mean: 10s}
    groups: [{resources: {memory-mb: 1024, vcores: 1}, duration: 5s, count: 4}]
"""


def test_drawn_think_times_depend_on_the_seed(tmp_path):
    file = tmp_path / "loop.yaml"
    file.write_text(LOOP)
    conf = ("--conf", str(ROOT / "examples" / "three-teams"))
    runs = [
        json.loads(simulate_with(file, *conf, "--seed", str(seed), "--json").stdout)
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]
    assert [one["session"] for one in runs[0]["applications"]] == [1, 1, 1]
    assert runs[0]["applications_by_state"]["FINISHED"] == 3
    several = json.loads(simulate_with(file, *conf, "--seeds", "2", "--json").stdout)
    assert several["whole"]["makespan_ms"]["mean"] == pytest.approx(
        (runs[0]["makespan_ms"] + runs[2]["makespan_ms"]) / 2
    )


def simulate_with(*arguments):
    return CliRunner().invoke(fairshare, ["simulate", *map(str, arguments)])


@pytest.mark.slow
def test_the_same_seeds_give_the_same_bytes_whatever_the_hashes_of_python(tmp_path):
    workload = tmp_path / "with-a-loop.yaml"
    written = (ROOT / "examples" / "workloads" / "three-teams.yaml").read_text()
    workload.write_text(written.rstrip() + "\n" + LOOP.split("applications:\n")[1])
    options = ("--workload", str(workload), *FAULTS, "--seeds", "2", "--json")
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "fairshare", *ARGUMENTS, *options],
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            check=True,
        ).stdout
        for hashes in ("0", "4711")
    }
    assert len(outputs) == 1
