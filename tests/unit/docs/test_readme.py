"""What the README shows is run: its scenario passes, files and verbs that it names exist."""

import re
from pathlib import Path

from click.testing import CliRunner

from fairshare.cli.verbs import VERBS

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()


def test_the_scenario_in_the_readme_passes(tmp_path: Path) -> None:
    from fairshare.lab.verbs.scenarios import check_command as command

    (text,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    file = tmp_path / "scenario.yaml"
    file.write_text(text)
    result = CliRunner().invoke(command, [str(file)])
    assert result.exit_code == 0, result.output
    assert "1 passed, 0 failed, 0 skipped" in result.output


def test_the_verbs_and_files_that_the_readme_names_exist() -> None:
    verbs = set(re.findall(r"^ +fairshare ([a-z-]+)", README, re.MULTILINE))
    assert verbs <= set(VERBS)
    assert len(verbs) > 5
    for name in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"(?:examples|docs)/[\w./-]+[\w]", README):
        assert (ROOT / name).exists(), name
