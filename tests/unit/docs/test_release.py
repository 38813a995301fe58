"""The version is the same wherever it is, and the changelog has its text."""

import re
import tomllib
from pathlib import Path

from fairshare import __version__

ROOT = Path(__file__).parents[3]


def test_the_package_and_the_changelog_have_the_version_of_the_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "[Unreleased]"
    assert headings[1].startswith(f"[{__version__}] - ")


def test_what_a_release_changes_for_users_is_a_page_and_not_a_list_of_all() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    for release in re.split(r"^## (?=\[\d)", text, flags=re.M)[1:]:
        assert len(release.splitlines()) <= 60
