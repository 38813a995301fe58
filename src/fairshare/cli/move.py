"""Owns the verb `move`, which moves an application to another queue."""

import click

from fairshare.cli.options import json_option, print_json, with_client
from fairshare.client import Client


@click.command()
@click.argument("application", metavar="APP")
@click.argument("queue", metavar="QUEUE")
@with_client
@json_option
def command(client: Client, application: str, queue: str, as_json: bool) -> None:
    """Move an application to another leaf queue. Its containers continue.

    If the application would exceed a limit of that queue, the server refuses, nothing changes, and
    the exit code is 1.
    """
    client.move(application, queue)
    if as_json:
        print_json({"id": application, "queue": queue})
    else:
        click.echo(f"moved {application} to {queue}")
