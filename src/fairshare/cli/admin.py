"""Owns the verbs below `admin`, for administrators of the cluster."""

import click
import msgspec

from fairshare.cli.cells import plain_lines
from fairshare.cli.configuration import config
from fairshare.cli.json_output import print_json
from fairshare.cli.labels import labels
from fairshare.cli.node_orders import decommission, drain, safe_mode, undrain
from fairshare.cli.options import json_option, with_client
from fairshare.cli.tokens import token
from fairshare.client import Client


@click.group()
def command() -> None:
    """Administer a running server."""


command.add_command(config)
command.add_command(token)
command.add_command(labels)
for _order in (drain, undrain, decommission, safe_mode):
    command.add_command(_order)


@command.command("refresh-queues")
@with_client
@json_option
def refresh_queues(client: Client, as_json: bool) -> None:
    """Reload the server's configuration now.

    The server applies the allocation file, or capacity-scheduler.xml, and the maximum allocations
    of yarn-site.xml. Other changed settings need a restart, and are listed. If a file has errors,
    or a setting that cannot change while the server runs, all problems are printed, nothing
    changes, and the exit code is 1.
    """
    if as_json:
        print_json(msgspec.to_builtins(client.refresh_queues()))
        return
    found = client.refresh_queues()
    for problem in found.problems:
        click.echo(plain_lines(str(problem)), err=True)
    for name in found.needs_restart:
        click.echo(plain_lines(f"{name} has changed, and needs a restart of the server"), err=True)
    click.echo("the configuration was read again")
