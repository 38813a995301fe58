"""Other rooms ask a scheduler's family: they compare no scheduler's name.

That they import no scheduler either is for import-linter.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairshare.settings.registry import FAMILIES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fairshare"
NAMES = {name for family in FAMILIES.values() for name in (family.name, family.public_name)}

EXCEPTIONS = {
    "settings": "defines what the rooms ask",
    "core": "has policies of the same names",
    "lab/convert": "converts from one to another",
    "yarn/views": "shows each as YARN does",
}
"""The rooms that may name a scheduler, and why."""

FILES = [
    path
    for path in sorted(SOURCE.rglob("*.py"))
    if not any(path.is_relative_to(SOURCE / room) for room in EXCEPTIONS)
]


def named(node: ast.AST) -> bool:
    """Whether an expression is a scheduler's name, or a collection with one."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(named(element) for element in node.elts)
    if isinstance(node, ast.Dict):
        return sum(named(key) for key in node.keys if key is not None) > 1
    if isinstance(node, ast.Call):  # frozenset({"fair"})
        return any(named(argument) for argument in node.args)
    return isinstance(node, ast.Constant) and node.value in NAMES


def compared_names(text: str) -> Iterator[int]:
    """The lines that compare a value with a scheduler's name, or choose by one."""
    if not any(name in text for name in NAMES):
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Compare(left=left, comparators=others) if any(map(named, (left, *others))):
                yield node.lineno
            case ast.MatchValue(value=value) if named(value):
                yield value.lineno
            case ast.Dict() if named(node):
                yield node.lineno
            case _:
                pass


@pytest.mark.parametrize(
    "text",
    [
        'if scheduler.name == "fair": ...',
        'if "capacity" != kind: ...',
        'if kind in ("fair", "fifo"): ...',
        'if kind in frozenset({"pools"}): ...',
        'TITLES = {"fair": 1, "capacity": 2}',
        'match kind:\n    case "mapreduce": ...',
    ],
)
def test_a_comparison_with_a_schedulers_name_is_found(text):
    assert list(compared_names(text))


@pytest.mark.parametrize("text", ['row["capacity"] = 1', 'f("fair")', 'if policy == "drf": ...'])
def test_other_uses_of_such_words_are_not_found(text):
    assert not list(compared_names(text))


@pytest.mark.slow
def test_no_room_but_the_exceptions_compares_a_schedulers_name():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in FILES
        for line in compared_names(path.read_text())
    ]
    assert found == [], "ask the scheduler's family (settings/family.py)"


@pytest.mark.parametrize("room", sorted(EXCEPTIONS))
def test_every_exception_is_a_room(room):
    assert (SOURCE / room).is_dir()
