"""A process loads one scheduler, and of its family what it uses."""

import subprocess
import sys

import pytest

from fairshare.settings.parts import part
from fairshare.settings.registry import FAMILIES

LOADED = """
import sys
from pathlib import Path
{statements}
print(*(name for name in sys.modules if name.startswith("fairshare.")))
"""


def loaded_by(statements: str) -> set[str]:
    program = LOADED.format(statements=statements)
    shown = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    return set(shown.stdout.split())


def test_a_server_loads_no_scheduler_before_it_knows_which():
    loaded = loaded_by("import fairshare.server.server")
    for name in FAMILIES:
        assert f"fairshare.settings.{name}.family" in loaded
        assert f"fairshare.core.schedulers.{name}.scheduler" not in loaded
        for of_family in ("changes", "lint", "reading", "stored"):
            assert f"fairshare.settings.{name}.{of_family}" not in loaded
        assert f"fairshare.yarn.views.{name}" not in loaded


def test_a_part_is_loaded_once_and_on_demand():
    loads = []

    def load() -> str:
        loads.append("loaded")
        return "value"

    class Family:
        words = part(load)

    class Derived(Family):
        pass

    assert loads == []
    assert (Derived().words, Derived.words, Family().words) == ("value", "value", "value")
    assert loads == ["loaded"]


def test_a_part_that_cannot_be_loaded_says_so_each_time():
    def load() -> str:
        raise OSError("no such part")

    class Family:
        words = part(load)

    for _ in range(2):
        with pytest.raises(OSError, match="no such part"):
            _ = Family.words
