"""`fairshare check`: runs scenario files and reports expectations that do not hold."""

import json
from pathlib import Path

import click
import msgspec

from fairshare.lab.scenarios.files import find_files
from fairshare.lab.scenarios.report import Result, check_file, problem_line, summary


@click.command
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="FILE_OR_DIR...",
    type=click.Path(exists=True, path_type=Path),
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the expected and actual values of each failed check as JSON.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="List every scenario, including those that pass."
)
def command(paths: tuple[Path, ...], as_json: bool, verbose: bool) -> None:
    """Check scenarios: unit tests for a queue configuration.

    A scenario is a YAML file with a cluster, a configuration, applications and events, and the
    expected shares, containers and refusals. For a directory, every *.yaml file below it is run.
    Prints one line for each failed check; steps are numbered from 0. Exits with 1 if a scenario
    fails.
    """
    results: list[Result] = []
    for path in find_files(paths):
        result = _of_named_file(check_file(path), path in paths)
        results.append(result)
        if not as_json:
            for problem in result.problems:
                click.echo(problem_line(result.file, problem))
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


def _of_named_file(result: Result, named: bool) -> Result:
    """A file named on the command line must be a scenario; a file found in a directory need not."""
    return result.as_malformed() if named and result.result == "skipped" else result
