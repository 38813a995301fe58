"""The verbs of scenario files: `check` reports expectations that do not hold, `record` what
happened at each step, as JSON that can be compared by line.

A record holds `name`, `file`, `steps` and the `state` at the end; instead of steps and state it has
`error` when the configuration was refused.
"""

import json
import sys
from pathlib import Path
from typing import Any, Literal

import click
import msgspec

from fairshare.errors import ConfigurationError
from fairshare.lab.scenarios.document import NotAScenario, Scenario, read_scenario
from fairshare.lab.scenarios.files import base_directory, find_files
from fairshare.lab.scenarios.report import Result, check_file, problem_line, runner_of, summary
from fairshare.lab.scenarios.steps import Expect
from fairshare.wording import cause

_files_of_scenarios = click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="FILE_OR_DIR...",
    type=click.Path(exists=True, path_type=Path),
)


@click.command
@_files_of_scenarios
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the expected and actual values of each failed check as JSON.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="List every scenario, including those that pass."
)
def check_command(paths: tuple[Path, ...], as_json: bool, verbose: bool) -> None:
    """Check scenarios: unit tests for a queue configuration.

    A scenario is a YAML file with a cluster, a configuration, applications and events, and the
    expected shares, containers and refusals. For a directory, every *.yaml file below it is run.
    Prints one line for each failed check, and the queues and applications at the first of them;
    steps are numbered from 0. Exits with 1 if a scenario fails.
    """
    results: list[Result] = []
    for path in find_files(paths):
        result = of_named_file(check_file(path), path in paths)
        results.append(result)
        if not as_json:
            for problem in result.problems:
                click.echo(problem_line(result.file, problem))
            for line in result.picture:
                click.echo(f"  {line}")
            if verbose:
                name = f": {result.name}" if result.name else ""
                click.echo(f"{result.result} {result.file}{name}")
    if all(result.result == "skipped" for result in results):
        raise click.UsageError(f"no scenario in {', '.join(map(str, paths))}")
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(results), indent=1, sort_keys=True))
    else:
        click.echo(summary(results))
    if any(result.result == "failed" for result in results):
        raise SystemExit(1)


def of_named_file(result: Result, named: bool) -> Result:
    """A file named on the command line must be a scenario; a file found in a directory need not."""
    return result.as_malformed() if named and result.result == "skipped" else result


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


@click.command
@_files_of_scenarios
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write one JSON file for each scenario there, instead of printing them.",
)
@click.option(
    "--states",
    type=click.Choice(("all", "checks", "end")),
    default="all",
    show_default=True,
    help="The steps after which the whole state is written: all, those with checks, or the end.",
)
def record_command(paths: tuple[Path, ...], out: Path | None, states: States) -> None:
    """Record scenarios: the allocations, reservations, refusals and ends at each step.

    The records of two schedulers, or of two versions, can be compared line by line. Exits with 1 if
    a file cannot be read as a scenario.
    """
    files = find_files(paths)
    base = base_directory(files)
    unreadable = written = 0
    for path in files:
        try:
            scenario = read_scenario(path.read_text(encoding="utf-8"), str(path), path.parent)
            text = record_text({**record(scenario, states), "file": str(path.relative_to(base))})
        except NotAScenario as reason:
            if path in paths:
                click.echo(reason, err=True)
                unreadable += 1
            continue
        except ConfigurationError as error:
            click.echo(error, err=True)
            unreadable += 1
            continue
        except (OSError, UnicodeDecodeError) as error:
            click.echo(f"{path}: {cause(error)}", err=True)
            unreadable += 1
            continue
        written += 1
        if out is None:
            sys.stdout.write(text)
        else:
            target = out / path.relative_to(base).with_suffix(".json")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    if not written and not unreadable:
        raise click.UsageError(f"no scenario in {', '.join(map(str, paths))}")
    if unreadable:
        raise SystemExit(1)
