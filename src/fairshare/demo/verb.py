"""The verb `demo`, in which three teams share this machine for a minute."""

from pathlib import Path

import click

from fairshare.cli.options import SchedulerChoice
from fairshare.cli.tables import open_console
from fairshare.demo.demonstration import demonstrate
from fairshare.settings.registry import FILE_DEFAULT, family_of


@click.command()
@click.option(
    "--scheduler",
    type=SchedulerChoice(["fair", "capacity", "pools", "fifo"]),
    default=FILE_DEFAULT,
    show_default=True,
    help="The scheduler, for the same work. fifo shows the problem that the others solve: first"
    " come, first served. With capacity, two users with weights share one queue. mapreduce"
    " is the original scheduler: MapReduce jobs of three pools on map slots and reduce slots.",
)
@click.option(
    "--crash",
    is_flag=True,
    help="Kill the server (kill -9) while all teams are at work, and start another one on the same"
    " directory: containers continue, and the results are still correct.",
)
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the server's journal in this directory, which must be new or empty, for `replay`"
    " and `plan`.",
)
@click.option("--quick", is_flag=True, hidden=True, help="A shorter run, for tests.")
def command(scheduler: str, crash: bool, keep: Path | None, quick: bool) -> None:
    """Show the scheduler at work.

    Starts a server on this machine, on which three teams run real work, some of it large and some
    short. Shows what each team has, checks the results, and ends after about a minute. It leaves
    nothing.
    """
    if crash and family_of(scheduler).jobs:
        raise click.UsageError("--crash goes with the schedulers fair, capacity and fifo")
    if keep is not None and keep.is_dir() and any(keep.iterdir()):
        raise click.UsageError(f"--keep {keep}: the directory is not empty")
    if not demonstrate(scheduler, open_console(), quick=quick, crash=crash, keep=keep):
        raise SystemExit(1)
