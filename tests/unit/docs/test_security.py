"""The page on security names a test for each threat, and these tests are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "security.md").read_text()
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def threats():
    """The rows of the table: what threatens, what holds it off, what shows it."""
    table = PAGE.partition("## Threats\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in row) for row in rows[2:]]


def test_each_threat_has_a_test_that_is_there():
    found = threats()
    assert len(found) >= 12
    for threat, _, shown in found:
        named = TEST.findall(shown)
        assert named, threat
        for file, name in named:
            assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.M), name


def test_the_page_fits_on_a_page():
    assert len(PAGE.splitlines()) <= 120


def test_every_threat_has_something_that_holds_it_off():
    assert all(held for _, held, _ in threats())
