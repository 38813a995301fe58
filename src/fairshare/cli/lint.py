"""`fairshare lint`: reports errors and likely mistakes in a configuration."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import click
import msgspec

from fairshare.core.model.resources import MEMORY
from fairshare.documents.problems import Problem
from fairshare.documents.sizes import parse_memory_mb
from fairshare.settings.linting import lint
from fairshare.settings.resource_types import UnknownResourceType
from fairshare.wording import plain_lines

COLOURS = {"error": "red", "warning": "yellow", "trap": "magenta"}

_PLACE_WIDTH = 9
_INDENT = 2 + _PLACE_WIDTH + 1 + 8


def read_cluster(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> dict[str, int] | None:
    """Parse `memory-mb=8192,vcores=8` or `memory-mb=8g`."""
    if value is None:
        return None
    amounts: dict[str, int] = {}
    for part in value.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if name == MEMORY and name not in amounts:
            try:
                amounts[name] = parse_memory_mb(number)
            except ValueError as error:
                raise click.BadParameter(f"{part.strip()!r}: {error}") from error
            continue
        if not (name and number.isascii() and number.isdigit()) or name in amounts:
            raise click.BadParameter(
                f"{part.strip()!r} is not name=amount; write for example memory-mb=8192,vcores=8"
            )
        amounts[name] = int(number)
    return amounts


@click.command
@click.argument("path", metavar="DIR_OR_FILE", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--cluster",
    callback=read_cluster,
    metavar="AMOUNTS",
    help="The total of all nodes, such as memory-mb=81920,vcores=80.",
)
@click.option("--strict", is_flag=True, help="Also exit with 1 for warnings and traps.")
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
def command(path: Path, cluster: dict[str, int] | None, strict: bool, as_json: bool) -> None:
    """Report errors and likely mistakes in a configuration.

    DIR_OR_FILE is a configuration directory as for `fairshare serve`, or one file: an allocation
    file of YARN or of MapReduce (with pools), a capacity-scheduler.xml, a *-site.xml file or a
    fairshare.toml.

    An error makes the configuration unusable. A warning is a setting without effect. A trap is
    valid, but probably not intended. Each has a file, line, column, the name of the rule, and
    Hadoop's behaviour in this case. Exits with 1 if there is an error.
    """
    try:
        problems = lint(path, cluster)
    except UnknownResourceType as error:
        raise click.UsageError(f"--cluster: {error}") from error
    counts = {
        severity: sum(problem.severity == severity for problem in problems) for severity in COLOURS
    }
    if as_json:
        answer = {
            "problems": msgspec.to_builtins(problems),
            **{f"{severity}s": count for severity, count in counts.items()},
        }
        click.echo(json.dumps(answer, indent=1))
    else:
        _print_problems(problems)
        click.echo(", ".join(f"{n} {word}{'' if n == 1 else 's'}" for word, n in counts.items()))
    if counts["error"] or (strict and problems):
        raise SystemExit(1)


def _print_problems(problems: Sequence[Problem]) -> None:
    colour = False if os.environ.get("NO_COLOR") else None
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for file, group in groupby(problems, key=lambda problem: problem.file):
        click.echo(click.style(plain_lines(file), bold=True), color=colour)
        for problem in group:
            place = f"{problem.line}:{problem.column}" if problem.line else "-"
            head = click.style(f"{problem.severity:8}", fg=COLOURS[problem.severity])
            message = wrapped(f"{problem.message} [{problem.rule}]", width)
            click.echo(f"  {place:{_PLACE_WIDTH}} {head}{message}", color=colour)
            if problem.hadoop:
                click.echo(" " * _INDENT + wrapped(f"Hadoop {problem.hadoop}.", width))
        click.echo()


def wrapped(text: str, width: int | None) -> str:
    """The text wrapped in the column of messages; unchanged without a width."""
    text = plain_lines(text)
    if width is None:
        return text
    lines = textwrap.wrap(text, max(width - _INDENT, 20), break_on_hyphens=False)
    return ("\n" + " " * _INDENT).join(lines)
