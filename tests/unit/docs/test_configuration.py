"""The page of fairshare.toml names every key with its default; its example can be read."""

import re
from pathlib import Path

import msgspec
import pytest

from fairshare.documents.problems import Problems
from fairshare.settings import shell
from fairshare.settings.pools.names import PoolSwitches
from fairshare.settings.registry import section_types
from fairshare.settings.shell import ShellSettings

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()
TABLES = {
    field.name: type(field.default)
    for field in msgspec.structs.fields(ShellSettings)
    if field.name not in ("labels", "sections")
} | {"pools": PoolSwitches}


def section_of(name: str) -> str:
    return PAGE.partition(f"\n## [{name}]\n")[2].partition("\n## ")[0]


def rows_of(name: str) -> dict[str, str]:
    """The default that the page says of each key."""
    return dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", section_of(name), re.MULTILINE))


def reported(default: object) -> str:
    """A default as the page writes it."""
    if default in (None, {}, (), ""):
        return "none"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`"


@pytest.mark.parametrize("name", TABLES)
def test_every_key_is_on_the_page_with_its_default(name):
    fields = {field.name: field for field in msgspec.structs.fields(TABLES[name])}
    rows = rows_of(name)
    assert sorted(rows) == sorted(fields)  # the page's order is that of its readers
    for key, field in fields.items():
        default = field.default
        if default is msgspec.NODEFAULT:
            default = field.default_factory()
        assert rows[key].partition(":")[0] == reported(default), key


def test_the_page_has_the_sections_that_are_read():
    named = set(re.findall(r"^## \[(\w+)\]$", PAGE, re.MULTILINE))
    problems = Problems()
    shell.read_shell(b"[nothing]\n", "t.toml", problems, sections=section_types())
    (problem,) = problems.all
    assert named == set(re.findall(r"\[(\w+)\]", problem.message))
    assert {"pools"} == section_types().keys()


def test_the_example_of_the_page_has_no_problem():
    example = "\n".join(re.findall(r"^    (.*)$", PAGE.partition("\n## ")[0], re.MULTILINE))
    assert "log_limit_mb" in example
    problems = Problems()
    settings = shell.read_shell(example.encode(), "t.toml", problems)
    assert problems.all == ()
    assert settings.engine.log_limit_mb == 64
