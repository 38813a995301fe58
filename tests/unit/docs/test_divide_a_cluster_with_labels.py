"""docs/how-to/divide-a-cluster-with-labels.md is run: its scenario holds, its tables are read."""

import re
from pathlib import Path

from fairshare.documents.problems import Problems
from fairshare.lab.scenarios.report import check_file
from fairshare.settings.shell import read_shell

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "divide-a-cluster-with-labels.md"


def test_the_scenario_of_the_page_holds(tmp_path):
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file = tmp_path / "labels.yaml"
    file.write_text(text)
    result = check_file(file, verify=True)
    assert [problem.message for problem in result.problems] == []
    assert result.result == "passed"


def test_the_tables_of_the_page_are_read():
    [text] = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    problems = Problems()
    labels = read_shell(text.encode(), "fairshare.toml", problems).labels
    assert problems.all == ()
    assert labels.labels == {"gpu": True, "spot": False}
    assert labels.nodes == {"local-2": "gpu"}
