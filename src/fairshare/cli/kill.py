"""Owns the verb `kill`: it ends applications."""

import click

from fairshare.cli.batches import act_on_each
from fairshare.cli.options import json_option, with_client
from fairshare.client import Client


@click.command()
@click.argument("applications", metavar="APP...", nargs=-1, required=True)
@click.option("--diagnostics", metavar="TEXT", help="Why, for those whose applications they are.")
@with_client
@json_option
def command(
    client: Client, applications: tuple[str, ...], diagnostics: str | None, as_json: bool
) -> None:
    """End applications with all their containers.

    All that can be ended are ended; the exit code is 1 if one of them could not be.
    """
    act_on_each(
        applications,
        lambda application: client.kill(application, diagnostics),
        kind="applications",
        done="killed",
        as_json=as_json,
    )
