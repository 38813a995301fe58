"""Owns the reference page of scenarios and their JSON Schema, made from `form.py`.

`python -m fairshare.scenarios.reference docs/reference` writes both; a test compares them.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from fairshare.config.yaml_form import schema_text
from fairshare.scenarios.description import CAUSES, KEYS
from fairshare.scenarios.expectations import CHECKS, JOB_CHECKS
from fairshare.scenarios.form import job_root, root, schema
from fairshare.scenarios.job_step_forms import JOB_STEPS, TASKS
from fairshare.scenarios.step_forms import ASK, NODE, STEPS, StepForm

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


def _steps(title: str, note: str, steps: Mapping[str, StepForm]) -> str:
    """A table of the steps, then one for each that has keys."""
    rows = ["| step | short form | effect |", "| --- | --- | --- |"]
    for name, step in steps.items():
        short = step.short.value.words if step.short else ""
        rows.append(f"| `{name}` | {short} | {step.meaning} |")
    rows.append("| `expect` | | states what must hold now |")
    parts = [f"## {title}", note, "\n".join(rows)]
    parts += [f"#{step.form(name).table}" for name, step in steps.items() if step.keys]
    return "\n\n".join(parts)


def _expected(checks: Mapping[str, frozenset[str]]) -> str:
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
        _steps("Steps", "A step is a mapping with one of these keys.", STEPS),
        ASK.table,
        _steps(
            "Steps of scheduler: mapreduce",
            "With this scheduler `ask`, `blacklist`, `labels`, `release` and `run` do not exist,"
            " and"
            " these steps differ:",
            own,
        ),
        TASKS.table,
        _EXPECT,
        _expected(CHECKS),
        "With `scheduler: mapreduce`:",
        _expected(JOB_CHECKS),
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
