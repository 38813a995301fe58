"""The pages on security name a test for each threat, and these tests are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
NAMES = ("security.md", "security-connections.md", "security-clusters.md")
PAGES = [(ROOT / "docs" / name).read_text() for name in NAMES]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def threats():
    """The rows of the tables: what threatens, what holds it off, what shows it."""
    found = []
    for page in PAGES:
        table = page.partition("## Threats")[2].partition("\n## ")[0]
        rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
        found += [tuple(cell.strip() for cell in row) for row in rows[2:]]
    return found


def test_each_threat_has_a_test_that_is_there():
    found = threats()
    assert len(found) >= 24
    for threat, _, shown in found:
        named = TEST.findall(shown)
        assert named, threat
        for file, name in named:
            assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.M), name


def test_each_page_fits_on_a_page():
    assert all(len(page.splitlines()) <= 120 for page in PAGES)


def test_every_threat_has_something_that_holds_it_off():
    assert all(held for _, held, _ in threats())
