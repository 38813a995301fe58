"""docs/how-to/leave-the-fair-scheduler.md is run: each command works and prints what is quoted."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "leave-the-fair-scheduler.md").read_text()


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (allocations,) = re.findall(r"```xml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "fair-scheduler.xml").write_text(allocations)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_of_the_page_works_and_prints_what_the_page_quotes(directory: Path) -> None:
    parts = re.split(r"^    fairshare (.*)$", PAGE, flags=re.MULTILINE)
    commands = list(zip(parts[1::2], parts[2::2], strict=True))
    assert len(commands) == 4
    quoted = 0
    for command, text in commands:
        # Whole lines, as into a pipe, however wide the terminal of whoever tests is.
        result = CliRunner().invoke(fairshare, shlex.split(command), env={"COLUMNS": None})
        assert result.exit_code == 0, result.output
        for block in re.findall(r"```\n(.*?)```", text, re.DOTALL):
            for line in block.splitlines():
                assert line in result.output.splitlines(), (command, line)
                quoted += 1
    assert quoted == 4
    assert sorted(path.name for path in (directory / "capacity").iterdir()) == [
        "capacity-scheduler.xml",
        "yarn-site.xml",
    ]
