"""The verb `compare`, which lays simulations side by side.

`report` is the verb of accounts; this one reads what `simulate --json` has written.
"""

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from fairshare.cli.options import json_option, print_json
from fairshare.cli.tables import open_console, print_all
from fairshare.cli.verbs import Failure
from fairshare.documents.ready import ready
from fairshare.lab.simulate.comparison import compare
from fairshare.lab.simulate.overviews import (
    idle_text,
    moved_overview,
    pairing_sentence,
    runs_overview,
)
from fairshare.lab.simulate.page import duration, render
from fairshare.lab.simulate.repetition import Repetition, paired
from fairshare.lab.simulate.report import Report
from fairshare.lab.verbs.simulation_report import changes_table, overview_table, runs_table
from fairshare.lab.verbs.simulation_report import pairing_sentence as seeds_sentence
from fairshare.wording import cause, plain

MOST_BYTES = 1_000_000_000


@click.command
@click.argument(
    "paths",
    metavar="RUN...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a self-contained page with plots.",
)
@json_option
def command(paths: tuple[Path, ...], page: Path | None, as_json: bool) -> None:
    """Compare simulations: waits, slowdowns, fairness, and applications that end earlier or later.

    RUN is a file that `fairshare simulate --json` wrote, for one run or with --seeds. All others
    are compared with the first; with --seeds, runs with the same seed are paired.
    """
    runs = [(name, read_run(path)) for name, path in zip(names_of(paths), paths, strict=True)]
    reports = [(name, run) for name, run in runs if isinstance(run, Report)]
    several = [(name, run) for name, run in runs if isinstance(run, Repetition)]
    if several:
        if reports:
            raise Failure(
                f"{several[0][0]} was written with --seeds, and {reports[0][0]} without: simulate"
                " both with the same --seeds, or both without"
            )
        if page is not None:
            raise click.UsageError("--html shows single runs: simulate without --seeds")
        _compare_seeds(several, as_json=as_json)
        return
    comparison = compare(reports)
    if page is not None:
        write_page(page, reports)
    if as_json:
        print_json(msgspec.to_builtins(comparison))
        return
    console = open_console()
    print_all(console, overview_table(runs_overview(comparison.runs, duration)))
    if text := idle_text(comparison):
        click.echo(f"\n{text}")
    for one in comparison.pairings:
        click.echo(f"\n{plain(one.run)}: {pairing_sentence(one, duration)}")
        moved = moved_overview(one, duration)
        if moved.rows:
            print_all(console, overview_table(moved))


def _compare_seeds(runs: Sequence[tuple[str, Repetition]], *, as_json: bool) -> None:
    """Compare what was simulated with several seeds."""
    (_, first), *others = runs
    pairings = [paired(first, found, name) for name, found in others]
    if as_json:
        named = [{"name": name, **msgspec.to_builtins(found)} for name, found in runs]
        print_json({"runs": named, "pairings": msgspec.to_builtins(pairings)})
        return
    console = open_console()
    print_all(console, runs_table(runs))
    for one in pairings:
        click.echo(f"\n{plain(seeds_sentence(one))}")
        if one.seeds:
            print_all(console, changes_table(one))


def names_of(paths: tuple[Path, ...]) -> list[str]:
    """Short names of runs: those of the files, with their directories where they are the same."""
    stems = [path.stem for path in paths]
    same = len(set(stems)) < len(stems)
    return [str(path.with_suffix("")) for path in paths] if same else stems


def read_run(path: Path) -> Report | Repetition:
    """What was simulated once or with several seeds, in a file; raises Failure."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise Failure(f"{path} has more than {MOST_BYTES:,} bytes")
        written = path.read_bytes()
        try:
            return msgspec.json.decode(written, type=ready(Report))
        except msgspec.ValidationError:
            several = msgspec.json.decode(written, type=ready(dict[str, msgspec.Raw]))
            if "seeds" not in several:
                raise
            return msgspec.json.decode(written, type=ready(Repetition))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Failure(
            f"{path} is not a run: {cause(error)}. Write one: fairshare simulate TRACE --conf DIR"
            f" --json > {path}"
        ) from error
    except OSError as error:
        raise Failure(f"cannot read {path}: {cause(error)}") from error


def write_page(path: Path, reports: list[tuple[str, Report]]) -> None:
    """Write the page; raises Failure."""
    try:
        path.write_text(render(compare(reports), reports), encoding="utf-8")
    except OSError as error:
        raise Failure(f"cannot write {path}: {cause(error)}") from error
    click.echo(f"wrote {path}", err=True)
