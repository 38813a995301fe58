"""Keeps the tree tidy: names, docstrings, a pure core, words that do not belong here, locks.

Every rule is a function from a module or a text to the places that break it, so that each is also
tried on a sample that does. What import-linter checks (the layers) is not checked again here.
"""

import ast
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "fairshare").rglob("*.py"))
PURE_ROOMS = ("core",)

VAGUE_NAMES = re.compile(r"(common|helpers?|misc|stuff|utils?|utilities|\w+[a-z]2)")
"""Names of modules and folders that say nothing of what is inside."""

IMPURE_BUILTINS = {
    "__import__": "imports behind import-linter's back",
    "breakpoint": "stops the scheduler",
    "eval": "runs what is only data",
    "exec": "runs what is only data",
    "hash": "differs from run to run for text",
    "id": "differs from run to run",
    "input": "reads the terminal",
    "open": "reads or writes a file",
    "print": "writes to the terminal",
}
IMPURE_MODULES = {
    "asyncio": "needs a loop",
    "datetime": "may read the clock",
    "importlib": "imports behind import-linter's back",
    "logging": "belongs to the shell",
    "os": "asks the machine",
    "random": "differs from run to run",
    "secrets": "differs from run to run",
    "sys": "asks the interpreter",
    "threading": "needs threads",
    "time": "reads the clock",
    "uuid": "differs from run to run",
}

# Written in two halves, so that this file does not break its own rule.
UNWELCOME_TEXT = {
    "TO" + "DO": "finish it, or leave it out and say so",
    "FIX" + "ME": "mend it",
    "XX" + "X:": "say what is wrong, in a sentence",
    "/work" + "/": "a path of one machine",
}
UNCHECKED_TEXT = ("LICENSE", "requirements.lock", "requirements-dev.lock")

Place = str
"""Where a rule is broken and how, for people: `manager/admission.py:12: print writes ...`."""

Rule = Callable[[str, str], list[Place]]
"""A function of a file's name and text."""


def missing_docstring(name: str, text: str) -> list[Place]:
    if text.startswith('"""') or ast.get_docstring(ast.parse(text)):
        return []
    return [f"{name}: opens with no docstring"]


def vague_name(name: str, text: str) -> list[Place]:
    words = Path(name).with_suffix("").parts
    return [f"{name}: '{word}' says nothing" for word in words if VAGUE_NAMES.fullmatch(word)]


def impure_code(name: str, text: str) -> list[Place]:
    """Calls that the pure core may not make, and code that only runs in a loop.

    A call of a method is judged by the name that it starts from: `time.monotonic()`.
    """
    found: list[Place] = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=word)) if word in IMPURE_BUILTINS:
                found.append(f"{name}:{node.lineno}: {word} {IMPURE_BUILTINS[word]}")
            case ast.Attribute(value=ast.Name(id=word)) if word in IMPURE_MODULES:
                found.append(f"{name}:{node.lineno}: {word}.{node.attr} {IMPURE_MODULES[word]}")
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                found.append(f"{name}:{node.lineno}: the core knows no loop")
            case ast.Global(names=words):
                found.append(f"{name}:{node.lineno}: global {', '.join(words)} is hidden state")
            case _:
                pass
    return found


def unwelcome_text(name: str, text: str) -> list[Place]:
    return [
        f"{name}:{number}: '{word}': {advice}"
        for number, line in enumerate(text.splitlines(), 1)
        for word, advice in UNWELCOME_TEXT.items()
        if word in line
    ]


def asserted_queue(name: str, text: str) -> list[Place]:
    """Asserts that a queue has a parent, or an attempt a leaf: the types say so."""
    if "assert" not in text:
        return []
    return [
        f"{name}:{node.lineno}: 'assert' of a {word}: give it a type that always has one"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assert)
        for word in ("leaf", "parent")
        if any(
            (isinstance(one, ast.Name) and one.id == word)
            or (isinstance(one, ast.Attribute) and one.attr == word)
            for one in ast.walk(node.test)
        )
    ]


OPEN_START = re.compile(r'sys\.executable,\s*"-m"')


def open_start(name: str, text: str) -> list[Place]:
    """Programs of Python that would import what others put into the current directory."""
    return [
        f"{name}: {one[0]} imports from the current directory: give -P"
        for one in OPEN_START.finditer(text)
    ]


def hidden_annotation(name: str, text: str) -> list[Place]:
    """Annotations that a field or method of their class hides. Python 3.14 evaluates annotations
    when they are first read, and by then the class has all of its names."""
    places: list[Place] = []
    for body in (node.body for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)):
        fields = [node for node in body if isinstance(node, ast.AnnAssign)]
        methods = [node for node in body if isinstance(node, ast.FunctionDef)]
        own = {node.name for node in methods} | {ast.unparse(node.target) for node in fields}
        parts: list[ast.AST] = [field.annotation for field in fields]
        for method in methods:
            parts += [method.args, *([method.returns] if method.returns else [])]
        places += [
            f"{name}:{node.lineno}: {node.id} is a name of the class, too"
            for part in parts
            for node in ast.walk(part)
            if isinstance(node, ast.Name) and node.id in own
        ]
    return places


MODULE_RULES: tuple[Rule, ...] = (
    hidden_annotation,
    missing_docstring,
    open_start,
    vague_name,
    asserted_queue,
)


@pytest.mark.slow
@pytest.mark.parametrize("rule", MODULE_RULES, ids=lambda rule: rule.__name__)
def test_every_module_keeps_the_rule(rule: Rule) -> None:
    assert len(SOURCES) > len(PURE_ROOMS)
    assert problems_of(rule, SOURCES) == []


@pytest.mark.slow
def test_the_core_calls_nothing_impure() -> None:
    rooms = [ROOT / "src" / "fairshare" / room for room in PURE_ROOMS]
    assert all(room.is_dir() for room in rooms)
    assert problems_of(impure_code, [path for path in SOURCES if rooms_of(path, rooms)]) == []


def test_no_file_has_text_that_does_not_belong_here() -> None:
    assert problems_of(unwelcome_text, files_of_the_project()) == []


BREAKING_SAMPLES: tuple[tuple[Rule, str, str], ...] = (
    (hidden_annotation, "m.py", "class A:\n    b: b.C\n"),
    (hidden_annotation, "m.py", "class A:\n    def b(self) -> b: ...\n"),
    (missing_docstring, "m.py", "x = 1\n"),
    (vague_name, "manager/utils.py", ""),
    (vague_name, "helpers/order.py", ""),
    (vague_name, "manager2/order.py", ""),
    (asserted_queue, "m.py", "assert leaf is not None"),
    (asserted_queue, "m.py", "def f(queue):\n    assert queue.parent is not None\n"),
    (open_start, "m.py", 'words = (sys.executable, "-m", "fairshare")'),
    (impure_code, "m.py", "def f():\n    print('here')\n"),
    (impure_code, "m.py", "from_file = open('x').read()\n"),
    (impure_code, "m.py", "now_ms = time.time() * 1000\n"),
    (impure_code, "m.py", "pick = random.choice\n"),
    (impure_code, "m.py", "async def f(): ...\n"),
    (impure_code, "m.py", "def f():\n    global count\n    count = 1\n"),
    *((unwelcome_text, "notes.md", f"see {word} here") for word in UNWELCOME_TEXT),
)


@pytest.mark.parametrize(("rule", "name", "text"), BREAKING_SAMPLES)
def test_a_rule_finds_what_breaks_it(rule: Rule, name: str, text: str) -> None:
    assert len(rule(name, text)) == 1


KEEPING_SAMPLES: tuple[tuple[Rule, str, str], ...] = (
    (hidden_annotation, "m.py", "class A:\n    b: c.b = b\n"),
    (missing_docstring, "m.py", '"""Owns m."""\n'),
    (vague_name, "schedulers/fair/order.py", ""),
    (asserted_queue, "m.py", "assert ask is not None\nif leaf is None: ...\n"),
    (impure_code, "m.py", "def f(now_ms):\n    return queue.open(now_ms)\n"),
)


@pytest.mark.parametrize(("rule", "name", "text"), KEEPING_SAMPLES)
def test_a_rule_leaves_alone_what_keeps_it(rule: Rule, name: str, text: str) -> None:
    assert rule(name, text) == []


def test_no_table_of_a_page_is_split_by_an_empty_line() -> None:
    """The rows behind it would be shown as text."""
    assert parts_of_tables("| a |\n| --- |\n| b |\n\n| c |\n") == [5]
    assert parts_of_tables("text\n\n| a | b |\n| --- | :-: |\n| c | d |\n") == []
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    split = {str(page): parts_of_tables(page.read_text()) for page in pages}
    assert {page: lines for page, lines in split.items() if lines} == {}


def parts_of_tables(text: str) -> list[int]:
    """The lines of rows that begin neither a table nor follow a row."""
    lines = ["", *text.splitlines(), ""]
    return [
        number
        for number, line in enumerate(lines[:-1])
        if line.startswith("|")
        and not lines[number - 1].strip()
        and not re.fullmatch(r"\|[ :|-]+", lines[number + 1])
    ]


def test_every_dependency_is_locked_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {locked_name(line) for line in project["dependencies"]}
    wanted_too = {locked_name(line) for line in project["optional-dependencies"]["dev"]}
    locked = locked_versions("requirements.lock")
    locked_too = locked_versions("requirements-dev.lock")
    assert wanted - locked.keys() == set(), "run `make lock`"
    assert (wanted | wanted_too) - locked_too.keys() == set(), "run `make lock`"
    tools = (ROOT / "docs/requirements.in").read_text()
    wanted_for_docs = {locked_name(line) for line in re.findall(r"^\w.*", tools, re.M)}
    assert wanted_for_docs - locked_versions("requirements-docs.lock").keys() == set()
    assert locked.items() <= locked_too.items(), "users and developers run the same versions"


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs/decisions").glob("0*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


def problems_of(rule: Rule, paths: list[Path]) -> list[Place]:
    problems: list[Place] = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a picture or a recorded journal has no words
            continue
        problems += rule(str(path.relative_to(ROOT)), text)
    return problems


def rooms_of(path: Path, rooms: list[Path]) -> list[Path]:
    return [room for room in rooms if path.is_relative_to(room)]


def files_of_the_project() -> list[Path]:
    """What git tracks, or would after the next `git add`; a test without a checkout is skipped."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: nobody knows which files belong to the project")
    paths = [ROOT / name for name in sorted(set(answer.stdout.split("\0"))) if name]
    return [path for path in paths if path.is_file() and path.name not in UNCHECKED_TEXT]


def locked_name(requirement: str) -> str:
    """`PyYAML>=6.0` is `pyyaml` in a lock."""
    name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_versions(lock: str) -> dict[str, str]:
    """The version of each package in a lock file; a pin without a hash is not taken."""
    pins = re.findall(r"^([\w.-]+)==(\S+) \\\n    --hash=", (ROOT / lock).read_text(), re.M)
    return {locked_name(name): version for name, version in pins}
