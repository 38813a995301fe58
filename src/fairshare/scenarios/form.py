"""Owns the form of a scenario file in words: which keys there are and what each means.

`document.py` and `expectations.py` read them; a test holds both equal. The keys of the steps are in
`step_forms.py`. Reads nothing.
"""

from collections.abc import Mapping
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
