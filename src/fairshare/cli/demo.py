"""Owns the verb `demo`: three teams share this machine for a minute."""

import click

from fairshare.cli.options import SchedulerChoice
from fairshare.cli.tables import open_console
from fairshare.families.fair.family import FairFamily
from fairshare.families.registry import FAMILIES, family_of


@click.command()
@click.option(
    "--scheduler",
    type=SchedulerChoice([one.name for one in FAMILIES.values() if one.demonstration]),
    default=FairFamily.name,
    show_default=True,
    help="The very same work under another one. fifo shows the problem that the others solve: first"
    " come, first served. With capacity two users with weights divide one queue. mapreduce"
    " is the original of them all: MapReduce jobs of three pools on map slots and reduce slots.",
)
@click.option(
    "--crash",
    is_flag=True,
    help="Kill the server (kill -9) while all teams are at work, and start another one on the same"
    " directory: what runs goes on, and the results are right all the same.",
)
@click.option("--quick", is_flag=True, hidden=True, help="Less of everything, for tests.")
def command(scheduler: str, crash: bool, quick: bool) -> None:
    """Show the scheduler at work.

    Starts a server on this machine and lets three teams run real work, some of it big and some of
    it short. Shows who has what and who waits, checks the results, and ends by itself after about a
    minute. Nothing is left but a few figures in ~/.cache/fairshare, to compare two runs with.
    """
    jobs = family_of(scheduler).schedules_jobs
    if jobs and crash:
        raise click.UsageError("--crash goes with the schedulers fair, capacity and fifo")
    if jobs:
        from fairshare.demonstration.pools import performance, plan

        passed = performance.demonstrate(open_console(), pace=plan.QUICK if quick else plan.WHOLE)
    else:
        from fairshare.demonstration.performance import demonstrate
        from fairshare.demonstration.plan import QUICK, WHOLE

        pace = QUICK if quick else WHOLE
        passed = demonstrate(scheduler, open_console(), pace=pace, crash=crash)
    if not passed:
        raise SystemExit(1)
