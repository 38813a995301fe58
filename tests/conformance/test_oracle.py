"""How the oracle is run, with a program in its place that does as it is told."""

import sys
from pathlib import Path

import pytest
from conformance.oracle import Oracle

from conformance import oracle as module

PROGRAM = f"""#!{sys.executable}
import json, pathlib, sys, time
for path in sorted(pathlib.Path(sys.argv[2]).glob("*.yaml")):
    if "endless" in json.loads(path.read_text()):
        time.sleep(3_600)
    (pathlib.Path(sys.argv[4]) / (path.stem + ".json")).write_text(json.dumps({{"steps": []}}))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "_need_java", lambda: None)
    for name in ("run", "generate.py"):
        (tmp_path / name).write_text(PROGRAM)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_all_scenarios_are_run_in_one_call(folder: Path) -> None:
    records = Oracle(folder).record({"a": {}, "b": {}})
    assert records == {"a": {"steps": []}, "b": {"steps": []}}


def test_a_scenario_on_which_hadoop_never_ends_is_reported_and_the_others_are_run(
    folder: Path,
) -> None:
    documents = {"a": {}, "b": {"endless": True}, "c": {}}
    records = Oracle(folder, patience_s=1.0).record(documents)
    assert "steps" in records["a"]
    assert "steps" in records["c"]
    assert "unsupported" in records["b"]
