"""The reference page and the JSON Schema of scenario files, which are made from the structs in
`document.py`, `steps.py` and `job_steps.py`, and the keys in `expectations.py`.

`python -m fairshare.lab.scenarios.reference docs/reference` writes them; a test compares them.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from fairshare.documents.structs import (
    document_schema,
    keys_of,
    note_of,
    schema_of,
    schema_text,
    structs_in,
    table,
    table_of,
    title_of,
)
from fairshare.documents.values import Schema
from fairshare.lab.scenarios.description import CAUSES, KEYS
from fairshare.lab.scenarios.document import JobScenario, Scenario
from fairshare.lab.scenarios.expectations import CHECKS, JOB_CHECKS
from fairshare.lab.scenarios.job_steps import JOB_STEPS, Tasks
from fairshare.lab.scenarios.steps import STEPS, Ask, Expect, Node, Step, step_schema

_ANY: Final = {"$ref": "#/definitions/expected"}
_NUMBER: Final = {"type": "number"}
_KEYS: Final = {key.name for key in keys_of(Scenario)}
_JOB_KEYS: Final = [key for key in keys_of(JobScenario) if key.name not in _KEYS]
"""The keys that only scenarios of MapReduce have."""


def _meaning(step: type[Step]) -> str:
    title = title_of(step)
    return title[:1].lower() + title[1:]


def _expect(checks: Mapping[str, frozenset[str]]) -> Schema:
    """The form of `expect`: things by name, and of each the keys that can be checked."""
    things: dict[str, Schema] = {}
    for kind, keys in checks.items():
        values: dict[str, Any] = dict.fromkeys(sorted(keys), _ANY)
        if "why" in keys:
            values["why"] = {"$ref": "#/definitions/why"}
        thing = {"type": "object", "additionalProperties": False, "properties": values}
        optional = {"anyOf": [thing, {"type": "null"}]}
        named = {"type": "object", "additionalProperties": optional}
        things[kind] = optional if kind == "cluster" else {"anyOf": [named, {"type": "null"}]}
    return {"type": "object", "additionalProperties": False, "properties": things}


def _steps(steps: Mapping[str, type[Step]], checks: Mapping[str, frozenset[str]]) -> Schema:
    """One step: a mapping with one key."""
    properties = {
        name: step_schema(step) | {"description": _meaning(step).replace("`", "")}
        for name, step in steps.items()
    }
    properties["expect"] = _expect(checks) | {"description": _meaning(Expect)}
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": properties,
    }


def _expected() -> Schema:
    """A value, a distance or a range, at any depth."""
    about = {"properties": {"about": _NUMBER, "within": _NUMBER}, "additionalProperties": False}
    between = {"properties": {"min": _NUMBER, "max": _NUMBER}, "additionalProperties": False}
    has_bound = {"anyOf": [{"required": ["min"]}, {"required": ["max"]}]}
    memory = {"if": {"type": "string"}, "then": {"pattern": r"^\s*[0-9.]+\s*[a-zA-Z]*\s*$"}}
    plain = {"properties": {"memory-mb": {"allOf": [memory, _ANY]}}, "additionalProperties": _ANY}
    return {
        "if": {"type": "object"},
        "then": {
            "if": {"required": ["about"]},
            "then": about,
            "else": {"if": has_bound, "then": between, "else": plain},
        },
    }


def _why() -> Schema:
    keys: dict[str, Any] = {key: {} for key in sorted(KEYS)}
    keys["cause"] = {"enum": sorted(CAUSES)}
    return {"type": "object", "minProperties": 1, "additionalProperties": False, "properties": keys}


def schema() -> Schema:
    """The JSON Schema of a scenario file."""
    form = document_schema("A scenario of fairshare", Scenario)
    of_job_scenarios = schema_of(JobScenario)["properties"]
    form["properties"] |= {key.name: of_job_scenarios[key.name] for key in _JOB_KEYS}
    listed = form["properties"]["steps"]["anyOf"][0]
    listed["items"] = {"type": "object"}
    of_jobs = {"required": ["scheduler"], "properties": {"scheduler": {"const": "mapreduce"}}}
    with_steps = {"properties": {"steps": {"type": "array", "minItems": 1}}, "required": ["steps"]}
    refused = {"required": ["error"], "properties": {"error": {"enum": [None, False]}}}
    form |= {
        "allOf": [
            {
                "if": of_jobs,
                "then": {
                    "required": [key.name for key in _JOB_KEYS if key.needed],
                    "properties": {"steps": {"items": {"$ref": "#/definitions/job_step"}}},
                },
                "else": {
                    "properties": {
                        "steps": {"items": {"$ref": "#/definitions/step"}},
                        **{key.name: False for key in _JOB_KEYS},
                    }
                },
            },
            {"if": with_steps, "then": {"anyOf": [refused, {"not": {"required": ["error"]}}]}},
        ]
    }
    inner = [
        struct
        for step in (*STEPS.values(), *JOB_STEPS.values())
        for struct in structs_in(step)
        if struct is not step
    ]
    form["definitions"] |= {struct.__name__.lower(): schema_of(struct) for struct in inner}
    form["definitions"] |= {
        "expected": _expected(),
        "why": _why(),
        "step": _steps(STEPS, CHECKS),
        "job_step": _steps(JOB_STEPS, JOB_CHECKS),
    }
    return form


_INTRODUCTION: Final = """\
# The format of scenarios

This page lists every key of a scenario file; [scenarios](../scenarios.md) shows how to use them.
The page and [scenario.schema.json](scenario.schema.json) are generated from the structs in the
code; do not edit them.

Editors with YAML support check and complete a scenario that begins with the following line. Replace
`scenario.schema.json` by the path or the URL of your copy of the schema:

```yaml
# yaml-language-server: $schema=scenario.schema.json
scenario: 1
scheduler: fair
nodes:
  - {name: n, count: 2, resources: {memory-mb: 8g, vcores: 8}}
steps:
  - submit: {app: x, asks: [{count: 3, resources: {memory-mb: 1g, vcores: 1}}]}
  - update: 1
  - heartbeat: all
  - expect: {apps: {x: {containers: {min: 1}}}}
```

[Values](../values.md) have the usual syntax; a duration without a unit is in seconds. A key that is
not listed here is an error, which suggests the nearest valid key. If a package with another
scheduler is installed, `python -m fairshare.lab.scenarios.reference DIR` writes a schema that
includes it."""

_EXPECT: Final = """\
## Expectations

`expect` has `apps`, `queues` and `nodes`, each by name, and `cluster`. Numbers must be equal;
`{about: 3333, within: 1}` allows a tolerance and `{min: 3, max: 5}` a range. Only the keys that a
mapping names are checked."""


def _table_of_steps(title: str, note: str, steps: Mapping[str, type[Step]]) -> str:
    """A table of the steps, then one for each that has keys."""
    rows = ["| step | short form | effect |", "| --- | --- | --- |"]
    for name, step in steps.items():
        short = step.SHORT.value.words if step.SHORT else ""
        rows.append(f"| `{name}` | {short} | {_meaning(step)} |")
    rows.append(f"| `expect` | | {_meaning(Expect)} |")
    parts = [f"## {title}", note, "\n".join(rows)]
    for name, step in steps.items():
        if keys_of(step):
            parts.append("#" + table(name, keys_of(step), note_of(step)))
    return "\n\n".join(parts)


def _listed_checks(checks: Mapping[str, frozenset[str]]) -> str:
    rows = ["| of | keys |", "| --- | --- |"]
    for kind, keys in checks.items():
        rows.append(f"| `{kind}` | {_listed(keys)} |")
    return "\n".join(rows)


def _listed(words: frozenset[str]) -> str:
    return ", ".join(f"`{word}`" for word in sorted(words))


def page() -> str:
    """The text of the page."""
    steps = {name: step for name, step in JOB_STEPS.items() if step is not STEPS.get(name)}
    parts = (
        _INTRODUCTION,
        table_of(Scenario),
        table(title_of(JobScenario), _JOB_KEYS),
        table_of(Node),
        _table_of_steps("Steps", "A step is a mapping with one of these keys.", STEPS),
        table_of(Ask),
        _table_of_steps(
            "Steps of scheduler: mapreduce",
            "With this scheduler `ask`, `blacklist`, `labels`, `release` and `run` do not exist,"
            " and"
            " these steps differ:",
            steps,
        ),
        table_of(Tasks),
        _EXPECT,
        _listed_checks(CHECKS),
        "With `scheduler: mapreduce`:",
        _listed_checks(JOB_CHECKS),
        f"`why` is the most important reason why an application waits. Its keys are"
        f" {_listed(KEYS)}; causes are {_listed(CAUSES)}.",
    )
    return "\n\n".join(parts) + "\n"


FILES: Final[Mapping[str, Callable[[], str]]] = {
    "scenario-format.md": page,
    "scenario.schema.json": lambda: schema_text(schema()),
}


def main(directory: Path) -> None:
    """Write the page and the schema."""
    for name, text in FILES.items():
        (directory / name).write_text(text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
