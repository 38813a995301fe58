"""Owns the verb `resubmit`, which submits an ended application again."""

import click

from fairshare.cli.options import json_option, print_json, with_client
from fairshare.cli.submit import wait_for_end
from fairshare.client import Client


@click.command()
@click.argument("application", metavar="APP")
@click.option("--failed", is_flag=True, help="Only the tasks that did not succeed.")
@click.option("--wait/--no-wait", default=False, help="Wait for the end. [default: do not wait]")
@with_client
@json_option
def command(client: Client, application: str, failed: bool, wait: bool, as_json: bool) -> None:
    """Submit an ended application again, and print the id of the new one.

    It has the same commands, directories, variables, sizes and queue. With --failed it has the
    tasks that failed or did not run, with their indexes and lines.
    """
    found = client.resubmit(application, failed=failed)
    if not as_json:
        click.echo(found)
    elif not wait:
        print_json({"id": found})
    if wait:
        wait_for_end(client, found, as_json=as_json)
