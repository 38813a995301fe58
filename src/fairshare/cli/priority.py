"""Owns the verb `priority`, which changes the priority of an application."""

import click

from fairshare.cli.options import PRIORITY, json_option, print_json, with_client
from fairshare.cli.placement_notes import no_priorities
from fairshare.cli.verbs import Failure
from fairshare.client import Client, Refused


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("application", metavar="APP")
@click.argument("priority", metavar="N", type=PRIORITY)
@with_client
@json_option
def command(client: Client, application: str, priority: int, as_json: bool) -> None:
    """Change an application's priority in its queue: higher is first.

    The Fair Scheduler has no priorities and rejects the request. The Capacity Scheduler limits N
    to a maximum. The command prints the resulting priority.
    """
    try:
        client.set_priority(application, priority)
    except Refused as error:
        if error.code != "not-supported":
            raise
        raise Failure(no_priorities(priority, client.cluster().scheduler)) from error
    found = client.application(application)
    if as_json:
        print_json({"id": found.id, "priority": found.priority})
    else:
        click.echo(f"{found.id} has priority {found.priority}")
        if found.priority < priority:
            click.echo(
                f"{priority} is above the cluster's yarn.cluster.max-application-priority", err=True
            )
