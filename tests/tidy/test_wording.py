"""Keeps what is said to people in shape: no bare number of the system, no "1 containers".

Every rule is a function from a module to the places that break it, and is tried on samples.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "fairshare").rglob("*.py"))

Place = str
Rule = Callable[[str, str], list[Place]]

SYSTEM_ERRORS = {
    name
    for name, kind in vars(__builtins__ if isinstance(__builtins__, type(ast)) else ast).items()
    if isinstance(kind, type) and issubclass(kind, OSError)
} | {
    "OSError",
    "FileNotFoundError",
    "NotADirectoryError",
    "IsADirectoryError",
    "PermissionError",
    "BlockingIOError",
}

NOUNS = (
    "applications|apps|attempts|changes|containers|errors|events|files|groups|jobs|lines|maps|nodes"
    "|others|processes|processors|problems|queries|queues|records|reduces|scenarios|splits|steps"
    "|tasks|times|tokens|traps|users|vcores|versions|warnings|words"
)
COUNTED_NOUN = re.compile(rf" (?:[a-z]+ )?(?:{NOUNS})\b")
"""What stands behind a number: `containers`, or `live containers`."""

HADOOP_SAYS = (
    "schedulers/capacity/submission.py",
    "web/yarn/diagnostics.py",
    "web/yarn/writing.py",
    "cli/yarn/",
    "insight/activities.py",
)
"""Sentences that scripts know by heart, word for word."""


def handlers_of(tree: ast.AST) -> Iterator[ast.ExceptHandler]:
    """The handlers of a module that name an error of the system."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.name and node.type:
            caught = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
            if caught & SYSTEM_ERRORS:
                yield node


def bare_system_error(name: str, text: str) -> list[Place]:
    """`str(error)` and `{error}` of an OSError read `[Errno 13] Permission denied: 'a.xml'`."""
    found = []
    for handler in handlers_of(ast.parse(text)):
        for node in ast.walk(handler):
            match node:
                case ast.FormattedValue(value=ast.Name(id=word)):
                    pass
                case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=word)]):
                    pass
                case _:
                    continue
            if word == handler.name:
                found.append(f"{name}:{node.lineno}: write wording.cause({word}), or failed_call")
    return found


def uncounted_plural(name: str, text: str) -> list[Place]:
    """`f"{number} containers"` says `1 containers` one day."""
    if any(name.startswith(f"src/fairshare/{exempt}") for exempt in HADOOP_SAYS):
        return []
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, behind in zip(node.values, node.values[1:], strict=False):
            match value, behind:
                case ast.FormattedValue(), ast.Constant(value=str(words)) if COUNTED_NOUN.match(
                    words
                ) and not is_constant(value.value):
                    found.append(f"{name}:{value.lineno}: write wording.counted: '{{...}}{words}'")
                case _:
                    pass
    return found


def is_constant(node: ast.expr) -> bool:
    """A limit of the program's own, of which everybody knows that it is not 1."""
    return isinstance(node, ast.Name) and node.id.isupper()


@pytest.mark.parametrize("rule", [bare_system_error, uncounted_plural])
def test_all_that_is_said_keeps_the_rule(rule: Rule) -> None:
    assert SOURCES
    problems = []
    for path in SOURCES:
        problems += rule(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    assert problems == []
