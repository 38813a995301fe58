"""The form of scenarios in words, and their JSON Schema, are what the reader takes."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from tests.unit.lab.wrong_documents import changed, put

from fairshare.documents.problems import Problems
from fairshare.documents.yaml_tree import read_yaml
from fairshare.errors import FairshareError
from fairshare.lab.scenarios.document import read_scenario
from fairshare.lab.scenarios.reference import FILES, schema

ROOT = Path(__file__).parents[4]
OWN = sorted((ROOT / "tests" / "scenarios" / "own").rglob("*.yaml"))
VALIDATOR = jsonschema.Draft7Validator(schema())

COMPLETE = """
scenario: 1
name: all keys
source: nowhere
unlike_hadoop: no
scheduler: fair
config: {fair-scheduler.xml: <allocations/>, yarn-site.xml: <configuration/>}
properties: {a: true, b: 0.09, c: null}
groups: {ann: [staff, lab]}
nodes: [{name: n, count: 2, rack: /r, label: x, resources: {memory-mb: 8g, vcores: 8}}]
steps:
- submit:
    app: x
    user: ann
    queue: root.a
    name: one
    priority: 3
    am: {memory-mb: 1g}
    tags: [t]
    recovering: on
    label: x
    am_label: ""
    error: true
    asks:
    - {resources: {memory-mb: 1024}, count: 3, priority: 1, id: 0, hosts: [n1], racks: [/r],
       relax: false, label: x, duration: 30s}
    - {resources: {vcores: 1}, location: n1}
- ask: {app: x, asks: [], error: no room}
- heartbeat: n1
- heartbeat: [n1, n2]
- heartbeat: {node: all, times: 2}
- update: 1
- preempt: 1
- advance: 1.5
- advance: 1h 30m
- finish: x
- finish: {app: x, containers: 1, on: n1, error: false}
- kill: x
- kill: {app: x, error: true}
- move: {app: x, queue: b, error: true}
- set_priority: {app: x, priority: 2, error: true}
- node: {add: {name: m, resources: {memory-mb: 1}}}
- node: {remove: m}
- node: {resize: {name: n1, resources: {vcores: 1}}}
- node: {drain: n1}
- node: {undrain: n1}
- labels: {add: {x: exclusive}, remove: [y], nodes: {n1: x}, error: true}
- safe_mode: true
- reload: {}
- reload: {fair-scheduler.xml: <allocations/>, capacity-scheduler.xml: x, yarn-site.xml: x,
           properties: {a: null}, error: true}
- write: {fair-scheduler.xml: <allocations/>}
- blacklist: {app: x, add: [n1], remove: [n2], error: true}
- release: {app: x, containers: 1, error: true}
- run: {for: 1m, heartbeat: 500ms}
- expect:
    apps: {x: {containers: {min: 1, max: 2}, used: {memory-mb: 1g}, why: {cause: nothing}}}
    queues: {root.a: {weight: {about: 1.0, within: 0.1}, exists: true}}
    nodes: {n1: {containers: 1}}
    cluster: {apps_running: 1}
"""

JOBS = """
scenario: 1
scheduler: mapreduce
generation: "1.2"
strict: true
wait_for_maps: false
hadoop_differs: no
steps:
- submit:
    app: x
    user: ann
    queue: a
    priority: HIGH
    state: PREP
    conf: {a: b}
    asks: [{slot: reduce, count: 2, hosts: [n1]}]
    error: true
- heartbeat: {node: n1, times: 2, assigned: [x/m0]}
- finish: x
- finish: {app: x, tasks: all, error: true}
- finish: {app: x, tasks: [m0]}
- set_state: {app: x, state: KILLED, error: true}
- set_priority: {app: x, priority: LOW, error: true}
- set_fifo: true
- preempt: 2
- preempt: {killed: 2}
- preempt: {killed: [x/m0]}
- expect: {apps: {x: {weight: 1}}, cluster: {node_delay: 1}}
"""


def document(text: str) -> Any:
    root = read_yaml(text, "s.yaml", Problems())
    assert root is not None
    return root.plain


def refused(value: Any) -> str:
    """What the reader says to a document; "" if it takes it, or if only files are missing."""
    try:
        read_scenario(json.dumps(value), "s.yaml", Path("/nowhere"))
    except FairshareError as error:
        lines = str(error).splitlines()
        return "\n".join(line for line in lines if "/nowhere" not in line)
    return ""


def alone(whole: Any, path: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The document with no other step than the one that the path leads to, and the path in it: what
    a step may be does not depend on the others."""
    if path[:1] != ("steps",) or len(path) < 2:
        return whole, path
    return whole | {"steps": [whole["steps"][path[1]]]}, ("steps", 0, *path[2:])


@pytest.mark.parametrize("name", FILES)
def test_the_page_and_the_schema_are_made_from_the_form(name):
    assert (ROOT / "docs" / "reference" / name).read_text() == FILES[name](), (
        "run python -m fairshare.lab.scenarios.reference docs/reference"
    )


@pytest.mark.slow
def test_every_scenario_of_the_project_is_valid():
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    blocks = [block for page in pages for block in page.read_text().split("```yaml\n")[1:]]
    shown = [text for block in blocks if "scenario: 1\n" in (text := block.split("```")[0])]
    texts = {path.name: path.read_text() for path in OWN} | {text[:60]: text for text in shown}
    assert len(shown) >= 3
    wrong = {
        name: error.message
        for name, text in texts.items()
        for error in VALIDATOR.iter_errors(document(text))
    }
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("text", [COMPLETE, JOBS], ids=["yarn", "mapreduce"])
def test_the_schema_refuses_what_the_reader_refuses_and_nothing_else(text):
    whole = document(text)
    assert refused(whole) == ""
    assert [error.message for error in VALIDATOR.iter_errors(whole)] == []
    differing = []
    for place, new in changed(whole):
        around, path = alone(whole, place)
        value = put(around, path, new)
        said = refused(value)
        harmless = new is None and not said  # as `kill:` without a name, which an editor shows
        if bool(said) == VALIDATOR.is_valid(value) and not harmless:
            differing.append((place, new, said))
    assert differing == []


@pytest.mark.parametrize("value", ["{a: b}", "[a]"])
def test_a_label_that_is_not_text_is_refused(value):
    text = f"scenario: 1\nscheduler: fair\nsteps: [{{submit: {{app: x, label: {value}}}}}]"
    assert "submit.label must be a text" in refused(document(text))


def test_the_version_is_a_number_not_a_truth_value():
    assert "this program reads version 1" in refused({"scenario": True, "scheduler": "fair"})


def test_the_schema_is_one():
    jsonschema.Draft7Validator.check_schema(schema())
    assert yaml.safe_load(json.dumps(schema())) == schema()
