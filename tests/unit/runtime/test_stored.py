"""Every class that the state reaches has a tag, and every field of it is declared.

A snapshot holds nothing else: a class that is new in the state, or a field, is named here before a
server meets it. Looked at is the source: the annotations of structures, and what methods assign to
`self`.
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin

import pytest

import fairshare.runtime.projections.projections  # noqa: F401 - adds the server's books
from fairshare.runtime.graph import Kind, Kinds
from fairshare.runtime.snapshot import STORED, add_family
from fairshare.settings.registry import all_families

for family in all_families().values():
    add_family(family)
KINDS = list(STORED.by_tag.values())


def bases(cls: type) -> list[type]:
    """A class and those of ours that it derives from."""
    return [one for one in cls.__mro__ if one.__module__.startswith("fairshare.")]


def assignments(cls: type) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that methods of a class set on `self`, and an expression for the type."""
    for method in ast.walk(source(cls)):
        if not isinstance(method, ast.FunctionDef) or not method.args.args:
            continue
        if method.args.args[0].arg != "self":
            continue
        arguments = {one.arg: one.annotation for one in method.args.args + method.args.kwonlyargs}
        for node in ast.walk(method):
            if isinstance(node, ast.AnnAssign):
                targets, kind = [node.target], node.annotation
            elif isinstance(node, ast.Assign):
                value = node.value
                kind = value.func if isinstance(value, ast.Call) else None
                if isinstance(value, ast.Name):
                    kind = arguments.get(value.id)
                targets = [part for one in node.targets for part in ast.walk(one)]
            elif isinstance(node, ast.AugAssign):
                targets, kind = [node.target], None
            else:
                continue
            for target in targets:
                if not isinstance(target, ast.Attribute) or not isinstance(target.ctx, ast.Store):
                    continue
                if isinstance(target.value, ast.Name) and target.value.id == "self":
                    yield target.attr, kind


@cache
def source(cls: type) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(cls)))


def classes_in(hint: Any) -> Iterator[type]:
    """The classes that a type is made of."""
    origin = get_origin(hint)
    if origin is None and isinstance(hint, type):
        yield hint
    if isinstance(origin, type):
        yield origin
    for argument in get_args(hint):
        yield from classes_in(argument)


def reached(kind: Kind) -> Iterator[tuple[str, type]]:
    """The classes of ours that the stored fields of a kind may hold, as its source says."""
    for base in bases(kind.cls):
        names = dict(vars(sys.modules[base.__module__]))
        found = [*inspect.get_annotations(base).items(), *assignments(base)]
        for field, hint in found:
            if field not in kind.fields or hint is None:
                continue
            text = ast.unparse(hint) if isinstance(hint, ast.expr) else hint
            try:
                value = eval(text, names) if isinstance(text, str) else text
            except (NameError, AttributeError, TypeError):
                continue  # a name that only type checkers see, or a method that is called
            for cls in classes_in(value):
                if cls.__module__.startswith("fairshare."):
                    yield field, cls


def is_only_a_type(cls: type) -> bool:
    """Whether objects are of a class that derives from this one, and have a tag of their own."""
    return (
        inspect.isabstract(cls)
        or getattr(cls, "_is_protocol", False)
        or any(issubclass(kind.cls, cls) and kind.cls is not cls for kind in KINDS)
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.tag)
def test_what_a_stored_object_holds_has_a_tag_too(kind):
    without = {
        f"{kind.cls.__qualname__}.{field} holds {cls.__module__}.{cls.__qualname__}"
        for field, cls in reached(kind)
        if STORED.of_class(cls) is None and not is_only_a_type(cls)
    }
    assert not without, (
        "give it a tag in runtime/snapshot.py, settings/NAME/stored.py or projections.py"
    )


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if not kind.structure and kind.names is None],
    ids=lambda kind: kind.tag,
)
def test_every_field_is_stored_or_derived(kind):
    if issubclass(kind.cls, Enum):
        return
    given = {name for base in bases(kind.cls) for name, _ in assignments(base)}
    undeclared = given - set(kind.fields) - kind.derived
    assert not undeclared, f"name it beside {kind.tag!r} in snapshot.py, as a field or as derived"


def test_a_structure_that_changes_holds_only_numbers_and_texts():
    """It is written when it is first met, with what it holds then."""
    changing = [kind for kind in KINDS if kind.structure and not frozen(kind.cls)]
    assert {kind.tag for kind in changing} == {"container-record", "run"}
    assert not [place for kind in changing for place in reached(kind)]


def frozen(cls: type) -> bool:
    return cls.__struct_config__.frozen


def test_what_is_derived_can_be_made():
    """By `derive`, or by a value that the class itself has."""
    for kind in KINDS:
        assert kind.derive or all(name in vars(kind.cls) for name in kind.derived), kind.tag


def test_a_tag_or_a_class_is_given_once():
    kinds = Kinds()
    kinds.add("one", Kind)
    with pytest.raises(ValueError, match="stored already"):
        kinds.add("one", Kinds)
    with pytest.raises(ValueError, match="stored already"):
        kinds.add("other", Kind)


def test_a_class_without_a_tag_and_an_undeclared_field_are_found():
    """The tests above see what they look for."""

    class Unknown:
        pass

    Unknown.__module__ = "fairshare.core.model.nodes"
    order = STORED.by_tag["order"]
    assert STORED.of_class(Unknown) is None
    assert not is_only_a_type(Unknown)
    assert {name for base in bases(order.cls) for name, _ in assignments(base)} >= {"heap", "key"}
    assert ("applications", STORED.by_tag["attempts-of-application"].cls) not in reached(order)
    held = {cls.__qualname__ for _, cls in reached(STORED.by_tag["attempt-history"])}
    assert held == {"ApplicationAttempts", "ContainerAllocated", "PackedAttempts"}
