"""The executable specification of the Capacity Scheduler, one test for each file."""

from pathlib import Path

import pytest

from fairshare.lab.scenarios.report import check_file, problem_line

SHARED = Path(__file__).parents[2].parent / "shared" / "scenarios" / "capacity"
# What reviews found to differ from Hadoop, in the same form; it lies beside the scenarios.
DIFFERENCES = SHARED.parents[1] / "differences" / "capacity"
if not SHARED.is_dir():
    pytest.skip(f"the shared scenarios are not there: {SHARED}", allow_module_level=True)

FILES = [*sorted(SHARED.rglob("*.yaml")), *sorted(DIFFERENCES.rglob("*.yaml"))]


@pytest.mark.parametrize(
    "path", FILES, ids=lambda path: path.relative_to(SHARED.parents[1]).as_posix()
)
def test_the_scenario_holds(path):
    result = check_file(path, verify=True)
    assert [problem_line(path.name, problem) for problem in result.problems] == []
    assert result.result == "passed"
