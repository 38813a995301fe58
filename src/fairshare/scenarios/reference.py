"""Owns the form of a scenario file in words, which keys there are and what each means, and the
reference page and JSON Schema that are made from it.

`document.py` and `expectations.py` read these keys, a test holds both equal; those of the steps are
in `step_forms.py`. `python -m fairshare.scenarios.reference docs/reference` writes page and schema;
a test compares them.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from fairshare.config.yaml_form import (
    BOOLEAN,
    TEXT,
    TEXTS,
    Form,
    Key,
    Schema,
    Value,
    by_name,
    document,
    form_named,
    list_of,
    one_of,
    schema_text,
)
from fairshare.families.registry import all_families
from fairshare.scenarios.configuration import JOBS
from fairshare.scenarios.description import CAUSES, KEYS
from fairshare.scenarios.document import VERSION, config_names
from fairshare.scenarios.expectations import CHECKS, JOB_CHECKS
from fairshare.scenarios.job_step_forms import JOB_STEPS, TASKS
from fairshare.scenarios.step_forms import (
    ASK,
    NODE,
    PROPERTIES,
    REFUSAL,
    STEPS,
    StepForm,
    config_of,
)

_ANY: Final = {"$ref": "#/definitions/expected"}
_NUMBER: Final = {"type": "number"}
_GENERATION: Final = Value(
    # without quotes YAML has numbers here, and 0.20 is 0.2
    {"enum": [*JOBS.generations, *(float(one) for one in JOBS.generations)]},
    ", ".join(f"`{one}`" for one in JOBS.generations),
)


def _keys() -> tuple[Key, ...]:
    schedulers = [family.public_name for family in all_families().values()]
    nodes = list_of(form_named("node", ""), "list of [nodes](#a-node)")
    return (
        Key("scenario", one_of([VERSION]), "the version of this format", needed=True),
        Key("name", TEXT, "what the scenario shows", "none"),
        Key("source", TEXT, "the source of its numbers", "none"),
        Key("scheduler", one_of(schedulers), "the scheduler under test", needed=True),
        Key(
            "config",
            config_of(config_names()),
            "Hadoop's files by name, each as inline text or as a path relative to this file's"
            " directory; or the path of a directory that contains them",
            "none",
        ),
        Key(
            "properties",
            PROPERTIES,
            "properties of `yarn-site.xml`; with `capacity` of `capacity-scheduler.xml`, with"
            " `mapreduce` of `mapred-site.xml`",
            "Hadoop's defaults",
        ),
        Key(
            "groups",
            by_name(TEXTS, "`{ann: [staff, lab]}`"),
            "the groups of each user, primary group first",
            "none",
        ),
        Key("nodes", nodes, "the cluster at the start", "none"),
        Key("error", REFUSAL, "the configuration must be rejected; there are no steps", "none"),
        Key("steps", Value({"type": "array"}, "list of [steps](#steps)"), "the steps", "none"),
        Key("unlike_hadoop", TEXT, "the reason why Hadoop behaves differently", "none"),
    )


_JOB_KEYS: Final = (
    Key("generation", _GENERATION, "the Hadoop release whose behaviour applies", needed=True),
    Key(
        "strict", BOOLEAN, "reproduce Hadoop's behaviour even if it appears to be a bug", "`false`"
    ),
    Key("wait_for_maps", BOOLEAN, "whether reduces wait until maps have ended", "`true`"),
    Key("hadoop_differs", TEXT, "the reason why Hadoop behaves differently", "none"),
)


def root() -> Form:
    """The file itself."""
    return Form("The file", _keys())


def job_root() -> Form:
    """The keys that only scenarios of MapReduce have."""
    return Form("Only with scheduler: mapreduce", _JOB_KEYS)


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


def _steps(steps: Mapping[str, StepForm], checks: Mapping[str, frozenset[str]]) -> Schema:
    """One step: a mapping with one key."""
    properties = {
        name: step.schema | {"description": step.meaning.replace("`", "")}
        for name, step in steps.items()
    }
    properties["expect"] = _expect(checks) | {"description": "states what must hold now"}
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
    form = root().schema
    form["properties"] |= job_root().schema["properties"]
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
    definitions = {
        "node": NODE.schema,
        "ask": ASK.schema,
        "tasks": TASKS.schema,
        "expected": _expected(),
        "why": _why(),
        "step": _steps(STEPS, CHECKS),
        "job_step": _steps(JOB_STEPS, JOB_CHECKS),
    }
    return document("A scenario of fairshare", form, definitions)


_INTRODUCTION: Final = """\
# The format of scenarios

This page lists every key of a scenario file; [scenarios](../scenarios.md) shows how to use them.
The page and [scenario.schema.json](scenario.schema.json) are generated from the tables in the code;
do not edit them.

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
scheduler is installed, `python -m fairshare.scenarios.reference DIR` writes a schema that includes
it."""

_EXPECT: Final = """\
## Expectations

`expect` has `apps`, `queues` and `nodes`, each by name, and `cluster`. Numbers must be equal;
`{about: 3333, within: 1}` allows a tolerance and `{min: 3, max: 5}` a range. Only the keys that a
mapping names are checked."""


def _table_of_steps(title: str, note: str, steps: Mapping[str, StepForm]) -> str:
    """A table of the steps, then one for each that has keys."""
    rows = ["| step | short form | effect |", "| --- | --- | --- |"]
    for name, step in steps.items():
        short = step.short.value.words if step.short else ""
        rows.append(f"| `{name}` | {short} | {step.meaning} |")
    rows.append("| `expect` | | states what must hold now |")
    parts = [f"## {title}", note, "\n".join(rows)]
    parts += [f"#{step.form(name).table}" for name, step in steps.items() if step.keys]
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
    own = {name: step for name, step in JOB_STEPS.items() if step is not STEPS.get(name)}
    parts = (
        _INTRODUCTION,
        root().table,
        job_root().table,
        NODE.table,
        _table_of_steps("Steps", "A step is a mapping with one of these keys.", STEPS),
        ASK.table,
        _table_of_steps(
            "Steps of scheduler: mapreduce",
            "With this scheduler `ask`, `blacklist`, `labels`, `release` and `run` do not exist,"
            " and"
            " these steps differ:",
            own,
        ),
        TASKS.table,
        _EXPECT,
        _listed_checks(CHECKS),
        "With `scheduler: mapreduce`:",
        _listed_checks(JOB_CHECKS),
        f"`why` is the most important reason why an application waits. Its keys are"
        f" {_listed(KEYS)}; causes are {_listed(CAUSES)}.",
    )
    return "\n\n".join(parts) + "\n"


def _schema() -> str:
    return schema_text(schema())


FILES: Final[Mapping[str, Callable[[], str]]] = {
    "scenario-format.md": page,
    "scenario.schema.json": _schema,
}


def main(directory: Path) -> None:
    """Write the page and the schema."""
    for name, text in FILES.items():
        (directory / name).write_text(text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
