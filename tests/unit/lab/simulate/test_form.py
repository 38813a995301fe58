"""The form of workloads in words, and their JSON Schema, are what the reader takes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.unit.lab.wrong_documents import changed, put

from fairshare.documents.problems import Problems
from fairshare.documents.yaml_tree import read_yaml
from fairshare.errors import FairshareError
from fairshare.lab.simulate.readers import read_workload
from fairshare.lab.simulate.readers.options import ReaderOptions
from fairshare.lab.simulate.readers.reference import FILES, schema

ROOT = Path(__file__).parents[4]
VALIDATOR = jsonschema.Draft7Validator(schema())

COMPLETE: Any = {
    "nodes": [
        {"name": "n", "count": 2, "rack": "/r", "resources": {"memory-mb": "8g", "vcores": 8}}
    ],
    "applications": [
        {
            "at": 0,
            "user": "ann",
            "user_groups": "staff",
            "queue": "root.a",
            "name": "nightly",
            "priority": 1,
            "tags": ["t"],
            "repeat": 3,
            "every": "1h 30m",
            "groups": [
                {
                    "name": "map",
                    "duration": ["1s", "2s"],
                    "count": 2,
                    "resources": {"memory-mb": 1024},
                    "fail_attempts": [0, 1],
                    "max_attempts": 2,
                    "priority": 2,
                    "hosts": "n-1",
                    "racks": ["/r"],
                    "run_by_locality": {"rack": 1.5, "off-switch": 2},
                    "relax": True,
                    "time_limit": "1m",
                    "gang": False,
                    "gang_timeout": "30s",
                    "at_once": 1,
                    "keep_going": True,
                },
                {"name": "b", "duration": "0", "resources": {}, "after": "map", "slow_start": 0.5},
            ],
        },
        {
            "at": "1s",
            "user": "bob",
            "repeat": 2,
            "think": {"mean": "10s"},
            "groups": [{"duration": "1s", "resources": {}}],
        },
    ],
}
BEYOND_A_SCHEMA = ("value for", "values for", "two groups", "unknown resource type")
"""A list with one value for each task, names that must differ, types that the cluster declares."""


def refused(value: Any, file: Path) -> str:
    """What the reader says to a document; "" if it takes it."""
    file.write_text(json.dumps(value))
    try:
        read_workload(file, ReaderOptions())
    except FairshareError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", FILES)
def test_the_page_and_the_schema_are_made_from_the_form(name):
    assert (ROOT / "docs" / "reference" / name).read_text() == FILES[name](), (
        "run python -m fairshare.lab.simulate.readers.reference docs/reference"
    )


def test_the_program_that_writes_them_is_not_loaded_by_its_package():
    script = "import sys, fairshare.lab.simulate.readers as room; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert "fairshare.lab.simulate.readers.own" in loaded
    assert "fairshare.lab.simulate.readers.reference" not in loaded


def test_every_workload_of_the_project_is_valid():
    (example,) = (ROOT / "examples" / "workloads").glob("*.yaml")
    page = (ROOT / "docs" / "reference" / "workload-format.md").read_text()
    for text in (example.read_text(), page.split("```yaml\n")[1].split("```")[0]):
        root = read_yaml(text, "w.yaml", Problems())
        assert root is not None
        assert [error.message for error in VALIDATOR.iter_errors(root.plain)] == []


@pytest.mark.slow
def test_the_schema_refuses_what_the_reader_refuses_and_nothing_else(tmp_path):
    file = tmp_path / "w.json"
    assert refused(COMPLETE, file) == ""
    assert [error.message for error in VALIDATOR.iter_errors(COMPLETE)] == []
    differing = []
    for path, new in changed(COMPLETE):
        value = put(COMPLETE, path, new)
        said = refused(value, file)
        beyond = any(words in said for words in BEYOND_A_SCHEMA)
        harmless = new is None and not said  # an empty text in a list, which an editor shows
        if bool(said) == VALIDATOR.is_valid(value) and not beyond and not harmless:
            differing.append((path, new, said))
    assert differing == []


def test_the_schema_is_one():
    jsonschema.Draft7Validator.check_schema(schema())
