"""The reports of `simulate` and `convert` on a terminal of 80 columns, and of 40."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare

EXAMPLES = Path(__file__).parents[4] / "examples"
CONFIGURATION = str(EXAMPLES / "three-teams")
WORKLOAD = str(EXAMPLES / "workloads" / "three-teams.yaml")

REPORTS = {
    "simulate": ["simulate", "--conf", CONFIGURATION, "--workload", WORKLOAD, "--until", "10m"],
    "convert": ["convert", CONFIGURATION, "--compare", "--until", "10m"],
}


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("report", REPORTS)
def test_a_report_fits_and_no_number_is_cut(report: str, width: int) -> None:
    done = CliRunner().invoke(fairshare, REPORTS[report], env={"COLUMNS": str(width)})
    assert done.exit_code in (0, 1), done.output
    assert max(map(len, done.stdout.splitlines())) <= width
    assert not re.search(r"[0-9.%]…", done.stdout)
    if width == 80:
        assert "No room for" not in done.stdout


def test_what_becomes_of_an_element_is_wrapped_below_itself() -> None:
    done = CliRunner().invoke(fairshare, ["convert", CONFIGURATION], env={"COLUMNS": "80"})
    lines = done.stdout.splitlines()
    (number,) = [n for n, line in enumerate(lines) if "queueMaxAMShareDefault" in line]
    assert lines[number].startswith("  changed ")
    assert all(line.startswith(" " * 10) for line in lines[number + 1 : number + 3])


def test_what_comes_of_it_is_one_line_in_a_pipe() -> None:
    words = [*REPORTS["convert"]]
    done = CliRunner().invoke(fairshare, words, env={"COLUMNS": None})
    reported = [line for line in done.stdout.splitlines() if line.startswith("root.research ")]
    assert len(reported) == 1
    assert reported[0].endswith(".")
