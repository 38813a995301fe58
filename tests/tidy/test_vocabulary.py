"""Keeps the words of CONTRIBUTING.md: its table is the only list of them.

Checked are comments and texts (docstrings, messages) of the source code, the names that it defines,
and the names of tests.
"""

import ast
import io
import re
import token
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "fairshare").rglob("*.py"))

ROW = re.compile(r"\| (?P<words>[^|]+) \| (?P<instead>[^|]+) \|")

TESTS = sorted((ROOT / "tests").rglob("test_*.py"))

KEPT_NAMES = {
    "nobody_may_run": "the key of a rule of `lint`, which scripts compare",
    "nobody_may_submit": "the key of a rule of `lint`, which scripts compare",
}
"""Names that stay because files or scripts outside of the source code have them."""

HADOOP_SAYS = ("yarn/views/capacity", "yarn/views/fair", "yarn/cli/", "yarn/rest/")
"""Sentences of Hadoop, which scripts compare word for word."""

EXPRESSION = re.compile(r"\{\w[^{}]*\}")
TEXTS = {tokenize.COMMENT, tokenize.STRING, getattr(token, "FSTRING_MIDDLE", tokenize.STRING)}


IN_NAMES = "(in names)"


@cache
def rows() -> list[tuple[list[str], str, str]]:
    """The rows of the table: phrases, the remark behind them, what to write instead."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Words")[2]
    found = []
    for row in ROW.finditer(section):
        if row["words"] in ("not", "---"):
            continue
        phrases, bracket, remark = row["words"].partition(" (")
        found.append((phrases.split(", "), bracket.strip() + remark, row["instead"]))
    return found


@cache
def rules() -> dict[str, tuple[re.Pattern[str], str]]:
    """Each phrase for texts, the pattern that finds it, and what to write instead."""
    return {
        phrase: (pattern_of(phrase), instead)
        for phrases, remark, instead in rows()
        if remark != IN_NAMES
        for phrase in phrases
    }


@cache
def parts_of_names() -> dict[str, str]:
    """Each word that no name may contain, and what to write instead.

    These are the rows for names, and the words of the other rows that need no context.
    """
    return {
        phrase: instead
        for phrases, remark, instead in rows()
        if remark in ("", IN_NAMES) or phrases == ["stands"]
        for phrase in phrases
        if re.fullmatch("[a-z]+", phrase)
    }


def pattern_of(phrase: str) -> re.Pattern[str]:
    if phrase == "Who":
        return re.compile(r"(?:^|(?<=[.:;] )|(?<=\"))Who\b", re.MULTILINE)
    if phrase in ("is no", "are no"):
        return re.compile(
            rf"(?<!there )(?<!There )\b{phrase}(?! longer\b| more\b)\b", re.IGNORECASE
        )
    return re.compile(rf"\b{phrase}\b(?!-)", re.IGNORECASE)  # `nobody-may-submit` is a key


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    for found in tokenize.generate_tokens(io.StringIO(source).readline):
        if found.type in TEXTS:
            # Until Python 3.12 a formatted string is one token, with its expressions.
            yield found.start[0], EXPRESSION.sub(lambda one: " " * len(one[0]), found.string)


def unwelcome_words(name: str, source: str) -> list[str]:
    if not any(pattern.search(source) for pattern, _ in rules().values()):
        return []  # most: to take a module apart takes long
    return [
        f"{name}:{line + text[: match.start()].count(chr(10))}: {match[0]!r}: write {instead}"
        for line, text in texts_of(source)
        for pattern, instead in rules().values()
        for match in pattern.finditer(text)
    ]


def names_of(source: str) -> Iterator[tuple[int, str]]:
    """The names that a module defines: classes, functions, parameters, variables, attributes."""
    if not hint_of_names().search(source):
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case _:
                pass


TEST = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)


def names_of_tests(source: str) -> Iterator[tuple[int, str]]:
    for found in TEST.finditer(source):
        yield source[: found.start(1)].count("\n") + 1, found[1]


@cache
def hint_of_names() -> re.Pattern[str]:
    """Finds what may be such a name: to take a module apart takes long."""
    low = "|".join(parts_of_names())
    title = "|".join(part.capitalize() for part in parts_of_names())
    return re.compile(
        rf"_(?:{low}|{low.upper()})(?![a-z])|(?<![A-Za-z])(?:{low}|{low.upper()})_"
        rf"|[a-z](?:{title})(?![a-z])|\b(?:{title})[A-Z]"
        rf"|\b(?:{low}|{title})\b *(?:=|:|,|\)|\(| in\b)|(?:is|are)_no_"
    )


def unwelcome_names(name: str, defined: Iterable[tuple[int, str]]) -> list[str]:
    return [
        f"{name}:{line}: {one!r} has {part!r}: write {instead}"
        for line, one in defined
        if one not in KEPT_NAMES
        for part, instead in unwelcome_parts(one)
    ]


def unwelcome_parts(name: str) -> Iterator[tuple[str, str]]:
    for part in parts_of(name):
        if part in parts_of_names():
            yield part, parts_of_names()[part]
    for phrase in ("is no", "are no"):
        pattern, instead = rules()[phrase]
        if pattern.search(name.replace("_", " ")):
            yield phrase, instead


def parts_of(name: str) -> list[str]:
    """The words of a name, in lower case: of `MOST_TOLD`, `is_told`, `HeadroomTold` the last is
    `told`."""
    return [word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def test_the_table_is_read():
    assert {"told", "anew", "Who", "is no"} <= rules().keys()
    assert "wishes" not in rules()
    assert {"told", "stands", "wishes"} <= parts_of_names().keys()
    assert "figures" not in parts_of_names()


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ('"""What the client is told."""', "told"),
        ("# Somebody else has it.", "Somebody"),
        ('f"{name} stands here twice"', "stands"),
        ('"""Who asks gets a container."""', "Who"),
        ('"x is no queue"', "is no"),
    ],
)
def test_an_unwelcome_word_is_found(source, word):
    (place,) = unwelcome_words("m.py", source)
    assert place.startswith(f"m.py:1: '{word}'")


@pytest.mark.parametrize(
    "source", ['"there is no queue x"', "told = 1", '"the reader who asks"', '"it is no longer so"']
)
def test_other_words_are_left_alone(source):
    assert unwelcome_words("m.py", source) == []


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("MOST_TOLD = 3", "told"),
        ("class HeadroomTold: pass", "told"),
        ("def ask(wish): pass", "wish"),
        ("def __init__(self): self._nobody = 0", "nobody"),
        ("for who in users: pass", "who"),
        ("async def test_a_client_is_told_why(): pass", "told"),
        ("def test_a_port_is_no_part_of_a_name(): pass", "is no"),
    ],
)
def test_an_unwelcome_name_is_found(source, word):
    (place,) = unwelcome_names("m.py", names_of(source))
    assert place.startswith("m.py:1: ")
    assert f"has {word!r}" in place


@pytest.mark.parametrize(
    "source",
    ["whole = understanding = tellers = 1", "file.tell()", "nobody_may_run = 1"],
)
def test_other_names_are_left_alone(source):
    assert unwelcome_names("m.py", names_of(source)) == []


@pytest.mark.slow
def test_the_source_keeps_the_words_of_contributing():
    places = []
    for path in SOURCES:
        name = str(path.relative_to(ROOT / "src" / "fairshare"))
        if not any(part in name for part in HADOOP_SAYS):
            places += unwelcome_words(name, path.read_text())
    assert places == []


@pytest.mark.slow
def test_names_in_the_source_keep_the_words_of_contributing():
    places = []
    for path in SOURCES:
        name = str(path.relative_to(ROOT / "src" / "fairshare"))
        places += unwelcome_names(name, names_of(path.read_text()))
    assert places == []


@pytest.mark.slow
def test_names_of_tests_keep_the_words_of_contributing():
    places = []
    for path in TESTS:
        places += unwelcome_names(str(path.relative_to(ROOT)), names_of_tests(path.read_text()))
    assert places == []
