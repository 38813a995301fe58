"""Keeps what is said to people in shape: no bare number of the system, no "1 containers".

Every rule is a function from a module to the places that break it, and is tried on samples.
"""

import ast
import builtins
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
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, OSError)
}

NOUNS = (
    "applications|attempts|changes|containers|errors|events|files|groups|jobs|lines|maps|nodes"
    "|problems|processes|processors|queries|queues|records|reduces|scenarios|splits|steps|tasks"
    "|times|tokens|traps|users|vcores|versions|warnings|words"
)
COUNTED_NOUN = re.compile(rf" (?:[a-z]+ )?(?:{NOUNS})\b")
"""What stands behind a number: `containers`, or `live containers`."""

FORMATTED = re.compile(r"""\b(?:f|fr|rf)["']""", re.IGNORECASE)
"""How a text with values in it begins: a module without one need not be parsed."""

NUMBERS = re.compile(rf"(?:.*_)?(?:{NOUNS}|count|held|number|preempted|total|wanted|wrong)")
"""How numbers are called."""

HADOOP_SAYS = (
    "core/schedulers/capacity/admission.py",
    "schedulers/capacity/wording.py",
    "yarn/views/fair.py",
    "yarn/views/capacity.py",
    "yarn/rest/diagnostics.py",
    "yarn/cli/",
)
"""Sentences that scripts know by heart, word for word."""

OF_A_PLAN = ("demo/",)
"""What is counted there is fixed, or large."""


def handlers_of(tree: ast.AST) -> Iterator[ast.ExceptHandler]:
    """The handlers of a module that name an error of the system."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.name and node.type:
            caught = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
            if caught & SYSTEM_ERRORS:
                yield node


def bare_system_error(name: str, text: str) -> list[Place]:
    """`str(error)` and `{error}` of an OSError read `[Errno 13] Permission denied: 'a.xml'`."""
    found: list[Place] = []
    if "except" not in text:
        return found
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
    if any(f"fairshare/{exempt}" in name for exempt in (*HADOOP_SAYS, *OF_A_PLAN)):
        return []
    if not FORMATTED.search(text):
        return []
    tree = ast.parse(text)
    # Where both are written out, `... if count == 1 else ...`, it is well.
    chosen = {
        id(node) for one in ast.walk(tree) if isinstance(one, ast.IfExp) for node in ast.walk(one)
    }
    return [
        f"{name}:{value.lineno}: write wording.counted(...) for '{{...}}{behind.value}'"
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr) and id(node) not in chosen
        for value, behind in zip(node.values, node.values[1:], strict=False)
        if isinstance(value, ast.FormattedValue)
        and isinstance(behind, ast.Constant)
        and COUNTED_NOUN.match(str(behind.value))
        and is_number(value)
    ]


def is_number(value: ast.FormattedValue) -> bool:
    """Whether a value looks like a count: by how it is made, called or written."""
    match value.value:
        case ast.Call(func=ast.Name(id="len" | "sum")):
            return True
        case ast.Name(id=word) | ast.Attribute(attr=word) if NUMBERS.fullmatch(word):
            return True
    return value.format_spec is not None and ast.unparse(value.format_spec) == "f','"


@pytest.mark.slow
@pytest.mark.parametrize("rule", [bare_system_error, uncounted_plural])
def test_all_that_is_said_keeps_the_rule(rule: Rule) -> None:
    assert SOURCES
    problems = []
    for path in SOURCES:
        problems += rule(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    assert problems == []


BREAKING_SAMPLES: tuple[tuple[Rule, str], ...] = (
    (bare_system_error, "try: f()\nexcept OSError as e: print(f'no copy: {e}')"),
    (bare_system_error, "try: f()\nexcept (ValueError, PermissionError) as e: g(str(e))"),
    (uncounted_plural, "f'{len(found)} applications'"),
    (uncounted_plural, "f'{count} live containers'"),
    (uncounted_plural, "f'took {done:,} records'"),
    (uncounted_plural, "f'{cluster.containers} containers'"),
)
KEEPING_SAMPLES: tuple[tuple[Rule, str], ...] = (
    (bare_system_error, "try: f()\nexcept OSError as e: print(f'no copy: {cause(e)}')"),
    (bare_system_error, "try: f()\nexcept ValueError as e: print(f'no copy: {e}')"),
    (uncounted_plural, "counted(len(found), 'application')"),
    (uncounted_plural, "'1 node' if count == 1 else f'{count} nodes'"),
    (uncounted_plural, "f'{MOST} files'"),
    (uncounted_plural, "f'the node {name} takes containers'"),
    (uncounted_plural, "f'{seconds:.1f} times as long'"),
)


@pytest.mark.parametrize(("rule", "text"), BREAKING_SAMPLES)
def test_a_rule_finds_what_breaks_it(rule: Rule, text: str) -> None:
    assert len(rule("m.py", text)) == 1


@pytest.mark.parametrize(("rule", "text"), KEEPING_SAMPLES)
def test_a_rule_leaves_alone_what_keeps_it(rule: Rule, text: str) -> None:
    assert rule("m.py", text) == []
