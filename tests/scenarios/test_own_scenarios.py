"""The scenarios that come with the project hold; each one is an example of the format too."""

from pathlib import Path

import pytest

from fairshare.lab.scenarios.report import check_file, problem_line

OWN = Path(__file__).parent / "own"
FILES = sorted(OWN.rglob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_scenario_holds(path):
    result = check_file(path, verify=True)
    assert [problem_line(path.name, problem) for problem in result.problems] == []
    assert result.result == "passed"
    assert result.checks > 0


def test_there_are_scenarios():
    assert len(FILES) >= 9
