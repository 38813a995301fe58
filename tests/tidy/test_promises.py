"""Keeps docs/promises.md true: no promise is missing, and every test that it names is there.

The scenarios that it names are among those that `tests/scenarios/test_own_scenarios.py` runs, so
that a proof is one that holds.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from tests.scenarios.test_own_scenarios import FILES as RUN

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "promises.md"
DIFFERENCES = ROOT / "docs" / "hadoop-differences.md"
SHARED = ROOT.parent / "shared" / "promises.yaml"

WAITING = ("waits for the pages",)
"""What a promise without a proof may wait for."""

Row = tuple[str, str, str, str]
"""Id, words, proofs and remark, as they are written."""


def rows_of(text: str) -> list[Row]:
    """The rows of promises that are due, in their order."""
    cells = re.findall(r"^\| (P-\w+-\d+) \| (.*?) \| (.*?) ?\| (.*?) ?\|$", text, re.M)
    return [(identifier, words, proofs, remark) for identifier, words, proofs, remark in cells]


def due_of(text: str) -> list[str]:
    """The ids of all lines `Due: P-FS-001 to P-FS-003.`, those in between too."""
    found = re.findall(r"^Due: (P-\w+-)(\d+) to \1(\d+)\.$", text, re.M)
    assert found, "the document says which promises are due: `Due: P-FS-001 to P-FS-216.`"
    return [
        f"{prefix}{number:03d}"
        for prefix, first, last in found
        for number in range(int(first), int(last) + 1)
    ]


def proofs_of(row: Row) -> list[str]:
    return re.findall(r"`([^`]+)`", row[2])


@cache
def functions_of(path: Path) -> frozenset[str]:
    """The names of all functions of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


def missing(proof: str, root: Path = ROOT) -> str | None:
    """Why a proof is none; None when it is there."""
    name, _, function = proof.partition("::")
    path = root / name
    if not path.is_file():
        return f"{name}: there is no such file"
    if path.suffix == ".yaml":
        return f"{proof}: a scenario has no functions" if function else None
    if not function:
        return f"{name}: name the test, {name}::test_..."
    return None if function in functions_of(path) else f"{name}: there is no {function}"


def answers() -> dict[str, str]:
    """First and last cell of each line of the differences: what differs, and the test."""
    lines = re.findall(r"^\| (.+?) \| .* \| (.+?) \|$", DIFFERENCES.read_text(), re.M)
    return dict(lines)


TEXT = DOCUMENT.read_text(encoding="utf-8")
PROMISES = rows_of(TEXT.partition("\n## Not yet\n")[0])
SCENARIOS = sorted({p for row in PROMISES for p in proofs_of(row) if p.endswith(".yaml")})


def test_every_promise_that_is_due_has_its_row_in_order() -> None:
    assert [row[0] for row in PROMISES] == due_of(TEXT)


def test_no_promise_of_the_shared_list_is_missing() -> None:
    if not SHARED.is_file():
        pytest.skip(f"the shared list of promises is not there: {SHARED}")
    wanted = [entry["id"] for entry in yaml.safe_load(SHARED.read_text(encoding="utf-8"))]
    due = due_of(TEXT)
    later = re.findall(r"^\| (P-\w+-\d+) \| not yet \|$", TEXT, re.M)
    assert sorted([*due, *later]) == sorted(wanted)


def test_every_named_test_is_there() -> None:
    problems = [why for row in PROMISES for proof in proofs_of(row) if (why := missing(proof))]
    assert problems == []


@pytest.mark.parametrize("row", PROMISES, ids=lambda row: row[0])
def test_a_promise_is_proved_or_says_what_it_waits_for(row: Row) -> None:
    _, words, _, remark = row
    assert words
    assert proofs_of(row) or remark in WAITING


def test_every_link_to_the_differences_leads_to_a_line_with_a_test() -> None:
    found = answers()
    for identifier, _, _, remark in PROMISES:
        for what in re.findall(r"\[([^]]+)\]\(hadoop-differences\.md\)", remark):
            assert what in found, f"{identifier}: hadoop-differences.md has no line '{what}'"
            (named,) = re.findall(r"^`([^`]+)`$", found[what])
            assert (ROOT / named).exists(), f"{what}: {named} is not there"


def test_every_scenario_that_is_named_is_one_that_the_suite_runs() -> None:
    assert set(SCENARIOS) - {path.relative_to(ROOT).as_posix() for path in RUN} == set()


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
def test_every_scenario_about_a_scheduler_proves_a_promise(scheduler: str) -> None:
    folder = ROOT / "tests" / "scenarios" / "own" / scheduler
    there = {path.relative_to(ROOT).as_posix() for path in folder.glob("*.yaml")}
    assert there - set(SCENARIOS) == set()


@pytest.mark.parametrize(
    ("proof", "reason"),
    [
        ("tests/no_such_file.py::test_x", "there is no such file"),
        ("tests/tidy/test_promises.py::test_x", "there is no test_x"),
        ("tests/tidy/test_promises.py", "name the test"),
        ("tests/no-such-scenario.yaml", "there is no such file"),
    ],
)
def test_a_proof_that_is_not_there_is_found(proof: str, reason: str) -> None:
    why = missing(proof)
    assert why is not None
    assert reason in why


def test_a_gap_in_the_rows_is_found() -> None:
    text = "Due: P-X-001 to P-X-003.\n| P-X-001 | a | `b` | |\n| P-X-003 | c | | d |\n"
    assert rows_of(text) == [("P-X-001", "a", "`b`", ""), ("P-X-003", "c", "", "d")]
    assert [row[0] for row in rows_of(text)] != due_of(text)
