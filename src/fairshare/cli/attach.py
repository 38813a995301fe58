"""The verb `attach`: the terminal of a running application, or else its output."""

import click

from fairshare.cli.console import converse, on_terminal
from fairshare.cli.options import with_client
from fairshare.cli.orders import running_container
from fairshare.cli.run import Endings, LiveOutput, follow
from fairshare.client import Client
from fairshare.client.discovery import Server
from fairshare.client.errors import Refused
from fairshare.client.sessions import open_session


@click.command()
@click.argument("target", metavar="APP[/TASK]|CONTAINER")
@with_client
def command(client: Client, target: str) -> None:
    """Follow a running application.

    For a terminal (fairshare shell) it takes the terminal over. For any other application it shows
    the output until the application has ended, and exits with the exit code of its command; Ctrl-C
    leaves it running.
    """
    application, _, task = target.partition("/")
    if task or target.startswith("container_"):
        code = _terminal(client, running_container(client, target), optional=False)
    else:
        running = [one.id for one in client.containers(application) if one.state == "RUNNING"]
        code = _terminal(client, running[0], optional=True) if len(running) == 1 else None
    if code is not None:
        raise click.exceptions.Exit(code)
    several = len(client.containers(application)) > 1
    raise click.exceptions.Exit(
        follow(client, application, Endings(), LiveOutput(client, lines=several))
    )


NO_TERMINAL = ("no-terminal", "no-session", "not-running")
"""The codes of refusals after which an application's output is shown: the container has no
terminal, or has just ended."""


def _terminal(client: Client, container: str, *, optional: bool) -> int | None:
    """Take a terminal over; returns the exit code. None: there is none, and it is `optional`."""
    try:
        session = open_session(Server(client.url, None), container, "terminal")
    except Refused as refusal:
        if refusal.code in NO_TERMINAL and optional:
            return None
        raise
    with session:
        return converse(session, terminal=on_terminal())
