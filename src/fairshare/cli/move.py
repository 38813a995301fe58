"""Owns the verb `move`: it puts an application into another queue."""

import click

from fairshare.cli.options import json_option, with_client
from fairshare.cli.tables import print_json
from fairshare.client import Client


@click.command()
@click.argument("application", metavar="APP")
@click.argument("queue", metavar="QUEUE")
@with_client
@json_option
def command(client: Client, application: str, queue: str, as_json: bool) -> None:
    """Put an application into another leaf queue. Its containers go on.

    Refused, with exit code 1, if it would exceed a limit of that queue; nothing changes then.
    """
    client.move(application, queue)
    if as_json:
        print_json({"id": application, "queue": queue})
    else:
        click.echo(f"moved {application} to {queue}")
