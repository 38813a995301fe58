"""The verb `shutdown`, which ends the server and waits for its end."""

import time

import click
import msgspec

from fairshare.cli.options import json_option, print_json, with_client
from fairshare.cli.verbs import Failure
from fairshare.client import Client, Refused, ServerUnreachable
from fairshare.wording import counted

PATIENCE_S = 60.0
PACE_S = 0.1


@click.command()
@click.option(
    "--stop-containers/--keep-containers",
    default=None,
    help="End containers, or let them continue for the next server to take over. [default: as the"
    " server was started; otherwise they continue]",
)
@click.option(
    "--wait/--no-wait", default=True, help="Wait for the end of the server. [default: wait]"
)
@with_client
@json_option
def command(client: Client, stop_containers: bool | None, wait: bool, as_json: bool) -> None:
    """Shut down the server.

    Containers continue, and the next server with the same state directory takes them over.
    """
    left = client.shutdown(stop_containers=stop_containers)
    if wait:
        wait_until_gone(client)
    if as_json:
        running = msgspec.to_builtins(left)
        del running["stopping"]
        print_json({"url": client.url, "ended": wait, **running})
    else:
        click.echo(f"the server at {client.url} {'has ended' if wait else 'is ending'}")
        if not left.stop_containers and left.containers:
            click.echo(what_runs_on(left.applications, left.containers))


def what_runs_on(applications: int, containers: int) -> str:
    """The message about running applications and containers after the end of the server.

    >>> print(what_runs_on(1, 5))
    1 application with 5 containers keeps running.
    The next start takes it over; --stop-containers ends it.
    """
    verb, them = ("keeps", "it") if applications == 1 else ("keep", "them")
    return (
        f"{counted(applications, 'application')} with {counted(containers, 'container')} {verb}"
        f" running.\nThe next start takes {them} over; --stop-containers ends {them}."
    )


def wait_until_gone(client: Client) -> None:
    """Wait until the server no longer answers; raises Failure after a timeout."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        try:
            client.changes()
        except ServerUnreachable:
            return
        except Refused:  # the server is ending
            pass
        time.sleep(PACE_S)
    raise Failure(
        f"the server at {client.url} still answers after {PATIENCE_S:g} s: its log says what it"
        " waits for"
    )
