"""docs/capacity-scheduler.md names files that are there, and no file of the room is missing."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "capacity-scheduler.md").read_text()
ROOM = ROOT / "src" / "fairshare" / "core" / "schedulers" / "capacity"
NAMES = re.findall(r"`([\w/.-]+\.py)`", PAGE)


def place_of(name: str) -> Path:
    if name.startswith(("src/", "tests/")):
        return ROOT / name
    if name.startswith("settings/"):
        return ROOT / "src" / "fairshare" / name
    return ROOM / name


def test_every_file_that_the_page_names_is_there():
    assert len(NAMES) > 40
    assert [name for name in NAMES if not place_of(name).is_file()] == []


def test_every_file_with_rules_is_named():
    """Parts of other rules, which stand in files of their own, need no row."""
    parts = {"attempts", "scheduler", "__init__"}
    named = {place_of(name) for name in NAMES}
    missing = [path.name for path in sorted(ROOM.rglob("*.py")) if path not in named]
    assert [name for name in missing if name.removesuffix(".py") not in parts] == []
