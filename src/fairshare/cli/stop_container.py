"""Owns the verb `stop-container`, which ends single containers as if they had failed."""

import click

from fairshare.cli.batches import act_on_each
from fairshare.cli.options import json_option, with_client
from fairshare.cli.targets import running_container
from fairshare.client import Client


@click.command()
@click.argument("containers", metavar="APP/TASK|CONTAINER...", nargs=-1, required=True)
@with_client
@json_option
def command(client: Client, containers: tuple[str, ...], as_json: bool) -> None:
    """Stop containers as if they had failed; their tasks run again.

    `fairshare status APP` lists the containers of an application. The exit code is 1 if one of
    them could not be stopped.
    """

    def stop(target: str) -> None:
        client.stop_container(running_container(client, target) if "/" in target else target)

    act_on_each(containers, stop, kind="containers", done="stopped", as_json=as_json)
