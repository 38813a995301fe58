"""`make facts`: what is counted, what is named, and that each kind of fact can fail."""

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.facts.kinds import KINDS
from tests.facts.runner import Located, evaluate, read_facts

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "facts" / "fair"

RIGHT = "{total: 40, items: [{min: 20}, {}, {}], shares: [20, 10, 10]}"
WRONG = "{name: halves, total: 40, items: [{}, {}], shares: [20, 21]}"


def write(path: Path, kind: str, *facts: str) -> None:
    lines = "".join(f"  - {fact}\n" for fact in facts)
    path.write_text(f"kind: {kind}\nfacts:\n{lines}")


def run(*arguments: str | Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.facts", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_facts_that_hold_are_counted(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    write(tmp_path / "below" / "a.yaml", "compute_shares", RIGHT, RIGHT)
    assert run(tmp_path) == (0, ["2 passed, 0 failed, 0 skipped"])


def test_a_fact_that_does_not_hold_is_named_with_what_was_found(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "compute_shares", RIGHT, WRONG)
    code, lines = run(tmp_path)
    assert code == 1
    assert lines[0].endswith("a.yaml: compute_shares 2: halves: expected [20, 21], found [20, 20]")
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"


def test_an_unknown_kind_fails_by_name(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "compute_shares", RIGHT)
    write(tmp_path / "b.yaml", "phase_of_the_moon", "{name: x}", "{name: y}")
    code, lines = run(tmp_path)
    assert code == 1
    assert "phase_of_the_moon" in lines[0]
    assert "2 facts" in lines[0]
    assert lines[-1] == "1 passed, 2 failed, 0 skipped"


def test_kinds_that_are_not_asked_for_are_skipped(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "compute_shares", RIGHT)
    write(tmp_path / "b.yaml", "phase_of_the_moon", "{name: x}", "{name: y}")
    assert run(tmp_path, "--kinds", "compute_shares") == (0, ["1 passed, 0 failed, 2 skipped"])


def test_a_kind_of_two_schedulers_is_distinguished_by_its_fields(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "locality_level", "{last: node, waited_ms: 0, level: node}")
    code, lines = run(tmp_path)
    assert (code, lines[-1]) == (1, "0 passed, 1 failed, 0 skipped")


def test_a_broken_file_fails_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: [")
    (tmp_path / "notes.yaml").write_text("hello: world")
    write(tmp_path / "b.yaml", "compute_shares", RIGHT, "{total: 1}")
    code, lines = run(tmp_path)
    assert (code, lines[-1]) == (1, "1 passed, 2 failed, 1 skipped")


@pytest.mark.parametrize("name", ["none", "."])
def test_a_folder_without_facts_is_a_wrong_command_line(tmp_path: Path, name: str) -> None:
    assert run(tmp_path / name)[0] == 2


def another(value: Any) -> Any:
    """A value that differs from this one, of the same form."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case "a":
            return "b"
        case "infinite" | "unlimited":
            return 5000
        case str():
            return value + "?"
        case list():
            return [another(value[0]), *value[1:]] if value else ["?"]
        case dict():
            return {key: another(amount) for key, amount in value.items()}
    raise AssertionError(f"another {value!r}")


ANSWERS = {
    "lifetime": "granted",
    "vcores": "vcores",
    "allocation_file": "error",
    "compare": "first",
    "compute_shares": "shares",
    "container_limit": "accepted",
    "headroom": "headroom",
    "locality_level": "script",
    "lowest_common_ancestor": "ancestor",
    "normalise": "result",
    "parse_resource": "resources",
    "policy_pair": "allowed",
    "start": "starts",
    "state_dump": "leaf_fields",
    "visited_requests": "visits",
    "boost": "boosted",
    "deficit": "after",
    "fair_shares": "shares",
    "guarantee_split": "min",
    "heartbeat_interval": "interval_ms",
    "node_cap": "cap",
    "order": "order",
    "pool_name": "pool",
    "pools_file": "min_maps",
    "preemption_need": "need",
    "priority_factor": "factor",
    "reload_gate": "looks",
    "size_weight": "weight",
    "slow_start": "ok",
    "tasks_per_heartbeat": "n",
    "allocation_rules": "tasks",
    "delay_locality": "locality",
    "delay_offers": "chance",
    "delay_skips": "bound",
    "simulations": "name",
    "workloads": "jobs",
}
"""The field of each kind in which the answer stands; where none is named it is `expect`."""


@pytest.mark.skipif(not SHARED.is_dir(), reason="the facts in ../shared/facts are not here")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_fact_with_another_answer_fails(kind: str) -> None:
    answer = ANSWERS.get(kind, "expect")
    paths = sorted(SHARED.parent.rglob(f"{kind}.yaml"))
    located = next(x for path in paths for x in read_facts(path) if answer in x.fact)
    fact = copy.deepcopy(dict(located.fact))
    if kind == "locality_level":
        fact[answer][-1]["level"] += "?"
    elif kind == "allocation_file":
        fact["xml"] = "<allocations/>"
    elif kind == "max-resource-approximation":
        fact[answer] = {version: amount + 100 for version, amount in fact[answer].items()}
    elif kind == "visited_requests":
        fact[answer][-1][1] = not fact[answer][-1][1]
    elif kind == "reload_gate":
        fact[answer][-1]["looked"] = not fact[answer][-1]["looked"]
    else:
        fact[answer] = another(fact[answer])
    outcome = evaluate(Located(located.file, kind, 1, fact))
    assert outcome.result == "failed"
    assert "Error" not in outcome.message


FILE = """
<allocations>
  <queueMaxAppsDefault>7</queueMaxAppsDefault>
  <defaultFairSharePreemptionTimeout>9</defaultFairSharePreemptionTimeout>
  <user name="ann"><maxRunningApps>3</maxRunningApps></user>
  <queue name="a" type="parent">
    <maxResources>memory-mb=4096, vcores=2</maxResources>
    <minResources>memory-mb=1024</minResources>
    <fairSharePreemptionThreshold>0.2</fairSharePreemptionThreshold>
    <schedulingPolicy>DRF</schedulingPolicy>
  </queue>
  <queue name="b"><maxAMShare>0.2</maxAMShare><maxRunningApps>1</maxRunningApps></queue>
</allocations>
"""
VALUES: dict[str, Any] = {
    "leaf_queues": ["root.b"],
    "parent_queues": ["root.a"],
    "reservable": [],
    "max_resources": {"root.a": {"memory-mb": 4096, "vcores": 2, "gpu": "unlimited"}},
    "min_resources": {
        "root.a": {"memory-mb": 1024, "vcores": 0},
        "root.b": {"memory-mb": 0, "vcores": 0},
    },
    "max_child": {"root.a": None},
    "max_container": {"root.b": None},
    "max_apps": {"root.a": 7, "root.b": 1, "root": 7, "root.unknown": 7},
    "user_max_apps": {"ann": 3, "bob": 2147483647},
    "max_am_share": {"root.b": 0.2, "root.a": 0.5},
    "min_share_timeout": {"root": "infinite", "root.a": None},
    "fair_share_timeout": {"root": 9000, "root.b": None},
    "fair_share_threshold": {"root": 0.5, "root.a": 0.2, "root.b": None},
    "policy": {"root.a": "drf", "root.b": "fair"},
}
"""Every key that a fact about an allocation file may have."""


def of_file(values: dict[str, Any]) -> Located:
    fact = {"xml": FILE, "resource_types": ["gpu"], "values": values}
    return Located(Path("f"), "allocation_file", 1, fact)


@pytest.mark.parametrize("key", VALUES)
def test_a_value_of_an_allocation_file_is_compared(key: str) -> None:
    assert evaluate(of_file({key: VALUES[key]})).message == ""
    wrong = VALUES[key]
    if isinstance(wrong, dict):
        name = next(iter(wrong))
        wrong = {name: {"memory-mb": 1} if wrong[name] is None else another(wrong[name])}
    else:
        wrong = another(wrong)
    outcome = evaluate(of_file({key: wrong}))
    assert outcome.result == "failed"
    assert outcome.message.startswith(key)
    assert "expected" in outcome.message


def test_an_unknown_key_of_a_fact_about_an_allocation_file_fails() -> None:
    assert "unknown key" in evaluate(of_file({"colour": {"root": "red"}})).message
