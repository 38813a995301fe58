"""Configurations that people have published are read, or refused with a place; none crashes."""

from pathlib import Path

import msgspec
import pytest

from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.documents.problems import Problem, Problems
from fairshare.errors import ConfigurationError
from fairshare.settings.fair.reading import read_fair
from fairshare.settings.site import Site
from fairshare.settings.site_files import read_site

CONFIGURATIONS = Path(__file__).parents[2].parent / "shared" / "data" / "configs"

FILES = sorted(CONFIGURATIONS.glob("*/*.xml"))

if not FILES:
    pytest.skip(f"there are no files in {CONFIGURATIONS}", allow_module_level=True)


def rows_of(path: Path) -> list[str]:
    """The lines about a file in the index of the collection."""
    rows = (CONFIGURATIONS / "index.tsv").read_text().splitlines()
    return [row for row in rows if f"/{path.parent.name}/{path.name}\t" in row]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_published_file_is_read_or_refused_with_a_place(path: Path) -> None:
    document = path.read_bytes()
    refused = False
    try:
        settings, problems = read_fair(Site.of({}), document, path.name)
    except ConfigurationError as error:
        refused = True
        found = [problem for problem in error.problems if isinstance(problem, Problem)]
    else:
        found = list(problems)
        assert msgspec.json.decode(msgspec.json.encode(settings), type=FairSettings) == settings
    assert refused == any(problem.severity == "error" for problem in found)
    assert all(p.file == path.name and p.line and p.column and p.message for p in found)
    rows = rows_of(path)
    assert len(rows) == 1
    malformed = any(problem.rule == "xml" for problem in found)
    assert malformed == ("MALFORMED XML" in rows[0])


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.parent.name != "fair"],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_a_published_file_of_properties_is_read_or_refused_with_a_place(path: Path) -> None:
    problems = Problems()
    site = read_site([(path.name, path.read_bytes())], problems)
    for found in site:
        site.text(found.name, problems)
        assert found.place.line
    assert list(site) or problems.all
    assert all(problem.line for problem in problems.all)
