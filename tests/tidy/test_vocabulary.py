"""Keeps the words of CONTRIBUTING.md: its table is the only list of them.

Checked are comments and texts (docstrings, messages) of the source code.
"""

import io
import re
import token
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "fairshare").rglob("*.py"))

ROW = re.compile(r"\| (?P<words>[^|]+) \| (?P<instead>[^|]+) \|")

HADOOP_SAYS = ("families/capacity/yarn", "families/fair/yarn", "cli/yarn/", "web/yarn/")
"""Sentences of Hadoop, which scripts compare word for word."""

EXPRESSION = re.compile(r"\{\w[^{}]*\}")
TEXTS = {tokenize.COMMENT, tokenize.STRING, getattr(token, "FSTRING_MIDDLE", tokenize.STRING)}


@cache
def rules() -> dict[str, tuple[re.Pattern[str], str]]:
    """Each phrase of the table, the pattern that finds it, and what to write instead."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Words")[2]
    found = {}
    for row in ROW.finditer(section):
        if row["words"] in ("not", "---"):
            continue
        plain = re.sub(r" \([^)]*\)", "", row["words"])
        for phrase in plain.split(", "):
            found[phrase] = (pattern_of(phrase), row["instead"])
    return found


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


def test_the_table_is_read():
    assert {"told", "anew", "Who", "is no"} <= rules().keys()


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


@pytest.mark.slow
def test_the_source_keeps_the_words_of_contributing():
    places = []
    for path in SOURCES:
        name = str(path.relative_to(ROOT / "src" / "fairshare"))
        if not any(part in name for part in HADOOP_SAYS):
            places += unwelcome_words(name, path.read_text())
    assert places == []
