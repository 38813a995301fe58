import pytest

from fairshare.documents.problems import Problems
from fairshare.documents.yaml_tree import MAX_DEPTH, read_yaml, scalar_of


def plain(text):
    problems = Problems()
    node = read_yaml(text, "s.yaml", problems)
    return (None if node is None else node.plain), [str(problem) for problem in problems.all]


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "y", "n", "1:30", "2001-01-01", "<<"])
def test_words_that_other_yaml_readers_change_stay_texts(word):
    assert scalar_of(word) == word


@pytest.mark.parametrize(
    ("word", "value"),
    [("true", True), ("FALSE", False), ("010", 10), ("0o17", 15), ("0x1F", 31), ("-2", -2)],
)
def test_plain_words_are_read_by_the_core_schema(word, value):
    assert scalar_of(word) == value
    assert type(scalar_of(word)) is type(value)


@pytest.mark.parametrize("word", ["", "~", "null", "Null"])
def test_nothing_is_nothing(word):
    assert scalar_of(word) is None


def test_a_quoted_word_is_a_text():
    assert plain("{a: '1', b: \"true\", c: 1.5}") == ({"a": "1", "b": "true", "c": 1.5}, [])


def test_aliases_represent_the_nodes_they_name():
    assert plain("a: &x {m: 1}\nb: *x") == ({"a": {"m": 1}, "b": {"m": 1}}, [])


def test_every_value_knows_its_line_and_column():
    node = read_yaml("a:\n  - b: 1\n", "s.yaml", Problems())
    inner = node.entries["a"].items[0]
    assert (inner.keys["b"].line, inner.keys["b"].column) == (2, 5)
    assert (inner.entries["b"].place.line, inner.entries["b"].place.column) == (2, 8)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: [1,\nb: 2", "s.yaml:3:1:", "not well-formed"),
        ("a: 1\nb: 2\na: 3", "s.yaml:3:1:", "'a' is given twice: first in line 1"),
        ("a: !python/object:os.system x", "s.yaml:1:4:", "tag"),
        ("? [1]\n: 2", "s.yaml:1:3:", "a key must be a plain word"),
        ("", "s.yaml:1:1:", "empty"),
        ("[" * (MAX_DEPTH + 5) + "]" * (MAX_DEPTH + 5), "s.yaml:", "nested deeper"),
        ("a: &a [*a]", "s.yaml:", "nested deeper"),
    ],
)
def test_a_mistake_is_reported_with_its_place(text, place, words):
    _, problems = plain(text)
    assert problems[0].startswith(place)
    assert words in problems[0]


@pytest.mark.slow
def test_aliases_cannot_multiply_without_end():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    value, problems = plain("\n".join(lines))
    assert value is None
    assert "aliases included" in problems[0]
