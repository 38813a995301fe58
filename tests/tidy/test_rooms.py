"""What ARCHITECTURE.md and the README of each room say of files and rooms is true."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fairshare"
PAGES = sorted(page for page in SOURCE.glob("*/README.md"))
MADE = {".git", ".venv", "build"}
"""Not of the project; other tests make and delete files there meanwhile."""

NAMED = re.compile(r"`([\w/.-]+\.(?:py|md|desc))`")


def missing(page: Path, room: Path) -> list[str]:
    """The files that a page names and that are neither in its room nor in the project."""
    present = [
        str(path.relative_to(base))
        for base in (ROOT, SOURCE)
        for first in base.iterdir()
        if first.name not in MADE
        for path in (first, *first.rglob("*"))
        if path.suffix in (".py", ".md", ".desc")
    ] + [str(path.relative_to(room)) for path in room.rglob("*.py")]
    return [
        name
        for name in NAMED.findall(page.read_text().replace("NAME", "fair"))
        if not any(path == name or path.endswith("/" + name) for path in present)
    ]


def test_the_pages_of_rooms_are_found():
    assert len(PAGES) >= 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_every_file_that_a_room_names_is_there(page: Path):
    assert missing(page, page.parent) == []


def test_every_file_that_the_architecture_names_is_there():
    assert missing(ROOT / "ARCHITECTURE.md", SOURCE) == []


def test_the_architecture_names_every_room():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert [room for room in sorted(rooms) if not re.search(rf"\b{room}\b", text)] == []


def test_the_architecture_is_read_in_ten_minutes():
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 200
