"""Owns the verb `demo`: three teams share this machine for a minute."""

import click

from fairshare.cli.tables import open_console


@click.command()
@click.option(
    "--scheduler",
    type=click.Choice(["fair", "fifo"]),
    default="fair",
    show_default=True,
    help="fifo shows the problem that fair solves: the very same work, first come first served.",
)
@click.option("--quick", is_flag=True, hidden=True, help="Less of everything, for tests.")
def command(scheduler: str, quick: bool) -> None:
    """Show the scheduler at work.

    Starts a server on this machine and lets three teams run real work, some of it big and some of
    it short. Shows who has what and who waits, checks the results, and ends by itself after about a
    minute. Nothing is left but a few figures in ~/.cache/fairshare, to compare two runs with.
    """
    from fairshare.demonstration.performance import demonstrate
    from fairshare.demonstration.plan import QUICK, WHOLE

    if not demonstrate(scheduler, open_console(), pace=QUICK if quick else WHOLE):
        raise SystemExit(1)
