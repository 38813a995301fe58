"""A document of TOML has the places of its keys and values; inside of brackets, of the whole."""

import pytest

from fairshare.documents.located import Node
from fairshare.documents.problems import Problems
from fairshare.documents.toml_tree import read_toml


def read(text: str) -> Node:
    problems = Problems()
    root = read_toml(text.encode(), "f.toml", problems)
    assert problems.all == ()
    return root


def places(node: Node, path: str = "") -> dict[str, str]:
    """The places of all keys and values, by dotted paths; that of a value ends with `=`."""
    found = {}
    inside = {**(node.entries or {}), **dict(enumerate(node.items or ()))}
    for key, value in inside.items():
        name = f"{path}.{key}".strip(".")
        if key in node.keys:
            found[name] = f"{node.keys[key].line}:{node.keys[key].column}"
        if value.is_scalar:
            found[f"{name}="] = f"{value.place.line}:{value.place.column}"
        found |= places(value, name)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b = 1", {"a": "1:1", "a.b": "1:3", "a.b=": "1:7"}),
        ("[s]\n  k = 1.5", {"s": "1:2", "s.k": "2:3", "s.k=": "2:7"}),
        ("[ s . t ]\nk = 1", {"s": "1:3", "s.t": "1:7", "s.t.k": "2:1", "s.t.k=": "2:5"}),
        ('"a.b" = "#"  # c', {"a.b": "1:1", "a.b=": "1:9"}),
        (
            "x = {y = 1}\nz = 1",
            {"x": "1:1", "x.y": "1:5", "x.y=": "1:5", "z": "2:1", "z=": "2:5"},
        ),
        (
            "x = [1, # [2\n  3]\nz = 1",
            {"x": "1:1", "x.0=": "1:5", "x.1=": "1:5", "z": "3:1", "z=": "3:5"},
        ),
        ('t = """\n[no]\nk = 1""""\nu = 2', {"t": "1:1", "t=": "1:5", "u": "4:1", "u=": "4:5"}),
        ("t = '''\n#'''\r\nu = 2", {"t": "1:1", "t=": "1:5", "u": "3:1", "u=": "3:5"}),
        ("d = 2026-01-01 10:00:00\ne = 1", {"d": "1:1", "d=": "1:5", "e": "2:1", "e=": "2:5"}),
    ],
)
def test_each_key_and_each_value_has_its_line_and_column(text, expected):
    assert places(read(text)) == expected


def test_a_key_that_is_not_there_has_the_place_of_what_is_above_it():
    root = read("[engine]\n[engine.resources]\n")
    assert root.find("engine", "resources", "gpu").line == 2
    assert root.find("engine", "nodes").line == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a]\nx = 1\n[b]\n[a]\n", "there are two [a] tables, in lines 1 and 4"),
        ("[a]\n\n [a] # more\nx = 1\n", "there are two [a] tables, in lines 1 and 3"),
        ("[a.b]\n[a.b]\n", "there are two [a.b] tables, in lines 1 and 2"),
        ("[a]\nx = 1\nx = 2\n", "not well-formed TOML"),
        ("a = 1\n[a]\n", "not well-formed TOML"),
    ],
)
def test_a_table_that_is_begun_twice_is_said_with_both_lines(text, words):
    problems = Problems()
    read_toml(text.encode(), "f.toml", problems)
    (error,) = problems.errors
    assert words in error.message


@pytest.mark.parametrize("document", [b"a = [" * 50_000, b"x = {a = " * 50_000])
def test_a_document_that_is_nested_without_measure_is_refused(document):
    problems = Problems()
    assert read_toml(document, "f.toml", problems).entries == {}
    assert [problem.rule for problem in problems.errors] == ["toml"]
