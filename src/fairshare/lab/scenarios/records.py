"""Owns the record of a scenario: what happened at each step, as JSON that can be compared by line.

A record holds `name`, `file`, `steps` and the `state` at the end; instead of steps and state it has
`error` when the configuration was refused.
"""

import json
from typing import Any, Literal

from fairshare.errors import ConfigurationError
from fairshare.lab.scenarios.document import Scenario
from fairshare.lab.scenarios.runners import runner_of
from fairshare.lab.scenarios.steps import Expect

States = Literal["all", "checks", "end"]
"""After which steps the whole state is recorded: all, the checks, or none."""


def record(scenario: Scenario, states: States = "all") -> dict[str, Any]:
    """Run a scenario and write down what happens; its checks are not looked at."""
    written: dict[str, Any] = {"name": scenario.name, "file": scenario.file, "steps": []}
    try:
        runner = runner_of(scenario)
    except ConfigurationError as refusal:
        return {**written, "error": str(refusal)}
    for number, step in enumerate(scenario.steps):
        outcome = runner.step(step)
        line: dict[str, Any] = {"step": number, "kind": step.kind}
        if outcome.error is not None:
            line["error"] = outcome.error
        if outcome.events:
            line["events"] = outcome.events
        if states == "all" or (states == "checks" and isinstance(step, Expect)):
            line["state"] = runner.describe()
        written["steps"].append(line)
    written["state"] = runner.describe()
    return written


def record_text(written: dict[str, Any]) -> str:
    """Sorted keys, one line for each key and each step."""
    lines = []
    for key in sorted(written):
        if key == "steps":
            steps = ",\n  ".join(json.dumps(step, sort_keys=True) for step in written[key])
            lines.append(f'"steps": [\n  {steps}\n ]')
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(written[key], sort_keys=True)}")
    return "{" + ",\n ".join(lines) + "}\n"
