"""The pages of docs/situations are run: each command works and prints what is quoted below it.

What starts a server, a cluster or needs other machines is in blocks of `sh`, and left out.
"""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "situations"
PAGES = sorted((ROOT / "docs" / "situations").glob("*.md"))


def test_each_situation_has_files_and_a_page() -> None:
    assert [page.stem for page in PAGES] == sorted(folder.name for folder in EXAMPLES.iterdir())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_situation_print_what_its_page_quotes(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    parts = re.split(r"^    fairshare (.*)$", page.read_text(), flags=re.MULTILINE)
    commands = list(zip(parts[1::2], parts[2::2], strict=True))
    assert {command.split()[0] for command, _ in commands} >= {"check", "simulate"}
    for command, text in commands:
        result = CliRunner().invoke(fairshare, shlex.split(command), env={"COLUMNS": None})
        assert result.exit_code == 0, (command, result.output)
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            for line in () if language else block.splitlines():
                assert line in result.output.splitlines(), (command, line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_lint_has_nothing_to_say_of_a_situation(page: Path) -> None:
    for conf in (EXAMPLES / page.stem).iterdir():
        if conf.is_dir():
            result = CliRunner().invoke(fairshare, ["lint", str(conf)])
            assert result.output == "0 errors, 0 warnings, 0 traps\n"
