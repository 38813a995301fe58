"""The executable specification that lies beside the repository, one test for each file.

`not_yet.txt` lists those that the schedulers do not meet yet. They must still fail: whoever makes
one pass takes it from the list, so that the list only shrinks.
"""

from pathlib import Path

import pytest

from fairshare.lab.scenarios.report import check_file, problem_line

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "scenarios"
if not SHARED.is_dir():
    pytest.skip(f"the shared scenarios are not there: {SHARED}", allow_module_level=True)

# What reviews found to differ from Hadoop, in the same form; it lies beside the scenarios.
DIFFERENCES = SHARED.parent / "differences"
DIRECTORIES = (SHARED / "fair", SHARED / "mapreduce", SHARED / "papers", DIFFERENCES / "fair")
FILES = [path for directory in DIRECTORIES for path in sorted(directory.rglob("*.yaml"))]
NOT_YET = frozenset((HERE / "not_yet.txt").read_text(encoding="utf-8").split())


def name_of(path: Path) -> str:
    return path.relative_to(SHARED if SHARED in path.parents else SHARED.parent).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_scenario_holds_unless_it_is_listed(path):
    result = check_file(path, verify=True)
    if name_of(path) in NOT_YET:
        assert result.result == "failed", f"take {name_of(path)} from not_yet.txt"
    else:
        assert [problem_line(path.name, problem) for problem in result.problems] == []
        assert result.result == "passed"


def test_the_list_names_only_scenarios_that_there_are():
    assert NOT_YET - {name_of(path) for path in FILES} == set()
