"""Owns the verb `compare`, which lays simulations side by side.

`report` is the verb of accounts; this one reads what `simulate --json` has written.
"""

from pathlib import Path

import click
import msgspec
from rich.text import Text

from fairshare.cli.options import json_option
from fairshare.cli.tables import Column, open_console, print_all, print_json, table
from fairshare.cli.verbs import Failure
from fairshare.plan.competition import FULL, WAITED_MS
from fairshare.simulate.comparison import Comparison, Group, Pairing, compare
from fairshare.simulate.page import duration, render, signed
from fairshare.simulate.report import Report
from fairshare.wording import cause, counted

MOST_BYTES = 1_000_000_000
COLUMNS = (
    Column("Run"),
    Column("Applications", right=True, whole=True),
    Column("Makespan", right=True),
    Column("Wait p50", right=True),
    Column("p95", right=True),
    Column("p99", right=True),
    Column("Slowdown p50", right=True),
    Column("p95", right=True),
    Column("Jain", right=True, extra=True),
    Column("Share error", right=True, extra=True),
    Column("Starved", right=True, extra=True),
    Column("GB hours lost", right=True, extra=True),
)
MOVED = (
    Column("Application"),
    Column("User"),
    Column("Queue"),
    Column("Before", right=True),
    Column("After", right=True),
    Column("Change", right=True, whole=True),
)


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
    help="Write a page with plots, one file that needs no other.",
)
@json_option
def command(paths: tuple[Path, ...], page: Path | None, as_json: bool) -> None:
    """Compare simulations: waits, slowdowns, fairness, and who wins and loses.

    RUN is what `fairshare simulate --json` has written. All others are laid beside the first.
    """
    reports = [(name, read_run(path)) for name, path in zip(names_of(paths), paths, strict=True)]
    found = compare(reports)
    if page is not None:
        write_page(page, reports)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    console = open_console()
    rows: list[list[str | Text]] = [
        [
            run.name,
            _counts(run.whole),
            duration(run.makespan_ms),
            *_times(run.whole),
            "-" if run.jain is None else f"{run.jain:.3f}",
            "-" if run.share_error is None else f"{run.share_error:.1%}",
            duration(run.starved_ms),
            f"{run.whole.lost_gb_hours:.3g}",
        ]
        for run in found.runs
    ]
    print_all(console, table(console, COLUMNS, rows))
    if text := idle_text(found):
        click.echo(f"\n{text}")
    for one in found.pairings:
        click.echo(f"\n{sentence(one)}")
        moved = [*one.losers, *reversed(one.winners)]
        cells: list[list[str | Text]] = [
            [
                item.name,
                item.user,
                item.queue,
                duration(item.before_ms),
                duration(item.after_ms),
                Text(signed(item.change_ms), style="red" if item.change_ms > 0 else "green"),
            ]
            for item in moved
        ]
        if cells:
            print_all(console, table(console, MOVED, cells))


def idle_text(found: Comparison) -> str:
    """That nothing competed in any run, if that is so: then they compare nothing."""
    used = max((run.used_most for run in found.runs), default=0.0)
    waited_ms = max((run.longest_wait_ms for run in found.runs), default=0)
    starved_ms = max((run.starved_ms for run in found.runs), default=0)
    if used >= FULL or waited_ms > WAITED_MS or starved_ms:
        return ""
    return (
        f"Nothing competed: at most {used:.0%} of the cluster was in use, and no application had to"
        " wait for room, so that this compares nothing."
    )


def names_of(paths: tuple[Path, ...]) -> list[str]:
    """Short names of runs: those of the files, with their directories where they are the same."""
    stems = [path.stem for path in paths]
    same = len(set(stems)) < len(stems)
    return [str(path.with_suffix("")) for path in paths] if same else stems


def read_run(path: Path) -> Report:
    """The report in a file; raises Failure."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise Failure(f"{path} has more than {MOST_BYTES:,} bytes")
        return msgspec.json.decode(path.read_bytes(), type=Report)
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


def sentence(found: Pairing) -> str:
    """What a run changes, in words."""
    low, high = signed(round(found.low_ms)), signed(round(found.high_ms))
    chance = ", which may be chance" if found.low_ms <= 0 <= found.high_ms else ""
    text = (
        f"{found.run}: of {counted(found.paired, 'application')} in both, the mean turnaround"
        f" changes by {signed(round(found.mean_ms))} (95 %: {low} to {high}{chance})"
    )
    if found.only_before or found.only_after:
        text += f"; {found.only_before:,} only in the first run, {found.only_after:,} only here"
    return text


def _counts(group: Group) -> str:
    return f"{group.applications:,}" + (f" ({group.rejected:,} rejected)" if group.rejected else "")


def _times(group: Group) -> list[str]:
    wait, slow = group.wait, group.slowdown
    waits = ["-"] * 3 if wait is None else [duration(one) for one in (wait.p50, wait.p95, wait.p99)]
    return [*waits, *(["-"] * 2 if slow is None else [f"{slow.p50:.2f}", f"{slow.p95:.2f}"])]
