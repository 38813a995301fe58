"""The examples in docstrings give what they say."""

import doctest
import importlib
import pkgutil
from importlib.util import find_spec
from pathlib import Path

import pytest

import fairshare

MODULES = [
    found.name
    for found in pkgutil.walk_packages(fairshare.__path__, "fairshare.")
    # These are programs, which run when they are imported.
    if not found.name.endswith("__main__") and ".demo.examples" not in found.name
]
NEEDS_RAY = {"fairshare.ray.driver"}
"""Imports Ray, which is not in the environment of every test."""


def rooms() -> list[str]:
    return sorted({name.split(".")[1] for name in MODULES})


def has_examples(name: str) -> bool:
    """Whether a module has any; doctest takes half a minute to look for them in all."""
    found = find_spec(name)
    assert found is not None
    assert found.origin is not None
    return ">>>" in Path(found.origin).read_text(encoding="utf-8")


@pytest.mark.parametrize("room", rooms())
def test_examples_in_docstrings_hold(room):
    for name in MODULES:
        if name in NEEDS_RAY and find_spec("ray") is None:
            continue
        if name.split(".")[1] == room and has_examples(name):
            result = doctest.testmod(importlib.import_module(name))
            assert result.failed == 0, f"python -m doctest says more of {name}"


def test_there_are_examples():
    tested = importlib.import_module("fairshare.documents.durations")
    assert doctest.testmod(tested).attempted > 2
