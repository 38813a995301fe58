"""Owns the verb `kill`, which ends applications."""

import click

from fairshare.cli.batches import act_on_each
from fairshare.cli.options import json_option, with_client
from fairshare.client import Client


@click.command()
@click.argument("applications", metavar="APP...", nargs=-1, required=True)
@click.option("--diagnostics", metavar="TEXT", help="The reason, shown to the applications' users.")
@with_client
@json_option
def command(
    client: Client, applications: tuple[str, ...], diagnostics: str | None, as_json: bool
) -> None:
    """Kill applications with all their containers.

    The exit code is 1 if one of them could not be killed; the others are killed nevertheless.
    """
    act_on_each(
        applications,
        lambda application: client.kill(application, diagnostics),
        kind="applications",
        done="killed",
        as_json=as_json,
    )
