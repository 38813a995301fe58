"""Keeps citations that lead somewhere: Hadoop's classes and properties, not sections of a document.

Checked are comments and docstrings of the source code; the examples in them are not.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "fairshare").rglob("*.py"))

DOCUMENT = re.compile(r"\bspec/[\w-]+|(?<![\w/])(?:fair|capacity|mapreduce|rest|rest-errata)\.md\b")
SECTION = r"\d{1,2}(?:\.\d{1,2}){1,3}[a-e]?(?: [a-e]\b)?"
AND = r"(?:,\s+|\s+to\s+|\s+and\s+|-)"
SECTIONS = re.compile(
    rf"(?<![\w\]\[=)'\"])\((?:\d{{1,2}},\s+)*{SECTION}(?:{AND}(?:{SECTION}|\d{{1,2}}|[a-e]\b))*\)"
)
"""`(9.4)`, `(11, 12.3)`, `(27.1 to 27.3)`, `(9.6 a to e)`."""

DOCTEST = re.compile(r"^\s*>>> .*?(?=^\s*$|\Z)", re.MULTILINE | re.DOTALL)


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """The comments and docstrings of a module, with the lines on which they begin."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, DOCTEST.sub("", text)
    for found in tokenize.generate_tokens(io.StringIO(source).readline):
        if found.type == tokenize.COMMENT:
            yield found.start[0], found.string


def dead_citations(source: str) -> list[str]:
    """The citations of a module that lead nowhere."""
    if not any(pattern.search(source) for pattern in (DOCUMENT, SECTIONS)):
        return []  # most: to find out where its comments are takes long
    return [
        f"line {line}: {' '.join(found[0].split())}"
        for line, text in texts_of(source)
        for pattern in (DOCUMENT, SECTIONS)
        for found in pattern.finditer(text)
    ]


@pytest.mark.slow
def test_the_source_cites_classes_and_properties_of_hadoop():
    assert SOURCES
    found = {
        str(path.relative_to(ROOT)): dead
        for path in SOURCES
        if (dead := dead_citations(path.read_text(encoding="utf-8")))
    }
    assert found == {}, "name Hadoop's class: (Hadoop: LeafQueue.getHeadroom)"


@pytest.mark.parametrize(
    "source",
    [
        '"""Owns access (spec/fair.md 15)."""',
        '"""Owns the form of an application (rest.md 1.8.6)."""',
        'def limit():\n    """The limit of a leaf (11.1)."""',
        'def serves():\n    """Whether the node serves it (9.6 a to e)."""',
        'def round():\n    """Remove queues (27.1 to\n    27.3)."""',
        "class Settings:\n    parts = 0  # of lists (16.3)",
        "# Limits (2, 5.3) of users.",
        'LIMIT = 1\n"""The limit (7.4, 7.5)."""',
    ],
)
def test_a_citation_that_leads_nowhere_is_found(source: str):
    assert len(dead_citations(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""Owns access (Hadoop: FSQueue.hasAccess). See docs/rest.md."""',
        '"""As servers do (RFC 9112, 6.1); for 1.2 (2.5 times) and `f(1.5)`."""',
        'def half():\n    """Half of it.\n\n    >>> half(2), half(3)\n    (1.0, 1.5)\n    """',
        "SHARES = (0.5, 1.5)",
    ],
)
def test_other_numbers_are_left_alone(source: str):
    assert dead_citations(source) == []
