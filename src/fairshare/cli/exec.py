"""The verb `exec`, which runs a command in a running container."""

import os

import click

from fairshare.cli.console import converse, on_terminal, terminal_size
from fairshare.cli.options import with_client, without_dashes
from fairshare.cli.orders import running_container
from fairshare.client import Client
from fairshare.client.discovery import Server
from fairshare.client.sessions import open_session


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("target", metavar="APP[/TASK]|CONTAINER")
@click.argument("command_line", metavar="[--] COMMAND [ARGUMENT]...", nargs=-1, required=True)
@click.option(
    "--terminal/--no-terminal",
    default=None,
    help="Whether the command gets a terminal. [default: if this is one]",
)
@with_client
def command(
    client: Client, target: str, command_line: tuple[str, ...], terminal: bool | None
) -> None:
    """Run a command in a running container.

    It has the account, the environment, the working directory and the limits of the container, and
    standard input. The exit code is that of the command. It ends with the container, with this
    program, and when the connection is lost.
    """
    terminal = on_terminal() if terminal is None else terminal
    arguments = without_dashes(command_line)
    if not arguments:
        raise click.UsageError("a command is needed: what is to run there")
    container = running_container(client, target)
    request: dict[str, object] = {"arguments": arguments}
    if terminal:
        term = os.environ.get("TERM", "")
        request |= {"terminal": True, "term": term, **terminal_size()}
    with open_session(Server(client.url, None), container, "exec") as session:
        session.say(**request)
        raise click.exceptions.Exit(converse(session, terminal=terminal and on_terminal()))
