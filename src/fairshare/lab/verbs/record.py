"""Owns `fairshare record`: runs scenario files and records the events of each step."""

import sys
from pathlib import Path

import click

from fairshare.errors import ConfigurationError
from fairshare.lab.scenarios.document import NotAScenario, read_scenario
from fairshare.lab.scenarios.files import base_directory, find_files
from fairshare.lab.scenarios.records import States, record, record_text
from fairshare.wording import cause


@click.command
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="FILE_OR_DIR...",
    type=click.Path(exists=True, path_type=Path),
)
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
    help="The steps after which the whole state is written: all, those with checks, or none.",
)
def command(paths: tuple[Path, ...], out: Path | None, states: States) -> None:
    """Record scenarios: the allocations, reservations, refusals and ends at each step.

    The records of two schedulers, or of two versions, can be compared line by line. Exits with 1 if
    a file cannot be read as a scenario.
    """
    files = find_files(paths)
    base = base_directory(files)
    unreadable = written = 0
    for path in files:
        try:
            text = _record(path, path.relative_to(base), states)
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


def _record(path: Path, name: Path, states: States) -> str:
    scenario = read_scenario(path.read_text(encoding="utf-8"), str(path), path.parent)
    return record_text({**record(scenario, states), "file": str(name)})
