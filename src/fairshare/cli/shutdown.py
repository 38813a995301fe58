"""Owns the verb `shutdown`: it ends the server, and waits until it is gone."""

import time

import click

from fairshare.cli.options import json_option, with_client
from fairshare.cli.tables import print_json
from fairshare.cli.verbs import Failure
from fairshare.client import Client, Refused, ServerUnreachable

PATIENCE_S = 60.0
PACE_S = 0.1


@click.command()
@click.option(
    "--stop-containers/--keep-containers",
    default=None,
    help="End what runs, or let it run on. [default: as the server was started]",
)
@click.option("--wait/--no-wait", default=True, help="Wait until it is gone. [default: wait]")
@with_client
@json_option
def command(client: Client, stop_containers: bool | None, wait: bool, as_json: bool) -> None:
    """End the server.

    Containers that run on are found again by the next server with the same state directory.
    """
    client.shutdown(stop_containers=stop_containers)
    if wait:
        wait_until_gone(client)
    if as_json:
        print_json({"url": client.url, "ended": wait})
    else:
        click.echo(f"the server at {client.url} {'has ended' if wait else 'is ending'}")


def wait_until_gone(client: Client) -> None:
    """Ask until nobody answers; raises Failure when that takes too long."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        try:
            client.changes()
        except ServerUnreachable:
            return
        except Refused:  # it says that it is ending
            pass
        time.sleep(PACE_S)
    raise Failure(
        f"the server at {client.url} still answers after {PATIENCE_S:g} s: its log says what it"
        " waits for"
    )
