"""The verb `kill`, which ends applications, and single tasks of them."""

import sys
from fnmatch import fnmatchcase
from typing import Any

import click

from fairshare.cli.apps import ACTIVE, state_of
from fairshare.cli.batches import act_on_each
from fairshare.cli.cells import plain
from fairshare.cli.options import NAME, TAG, json_option, print_json, with_client
from fairshare.cli.placement_notes import note_unknown_queue
from fairshare.client import Application, Client
from fairshare.wording import counted

MOST_SHOWN = 10
"""The most applications that the question before the end names."""


@click.command()
@click.argument("applications", metavar="[APP[/TASK]]...", nargs=-1)
@click.option("--user", metavar="U", type=NAME, help="Applications of this user.")
@click.option("--queue", metavar="Q", type=NAME, help="Applications in this leaf queue.")
@click.option(
    "--state",
    type=click.Choice(ACTIVE, case_sensitive=False),
    help="Applications in this state.",
)
@click.option("--tag", metavar="T", type=TAG, help="Applications with this tag.")
@click.option(
    "--name", metavar="N", type=NAME, help="Applications with this name; * matches any text."
)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@click.option("--dry-run", is_flag=True, help="Only list the matching applications; kill nothing.")
@click.option("--diagnostics", metavar="TEXT", help="The reason, shown to the applications' users.")
@with_client
@json_option
def command(
    client: Client,
    applications: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    diagnostics: str | None,
    as_json: bool,
    **wanted: str | None,
) -> None:
    """Kill applications with all their containers: those that are named, or all that match the
    options.

    APP/TASK, such as 12/3 or 12/map/3, kills one task: it does not run again, and the other tasks
    go on. `fairshare stop-container` lets it run again.

    With options it lists them and asks for confirmation; without a terminal --yes is required. The
    exit code is 1 if one of them could not be killed; the others are killed nevertheless.
    """
    given = {key: value for key, value in wanted.items() if value is not None}
    if bool(applications) == bool(given):
        raise click.UsageError(
            "name either applications, or options that choose them: --user, --queue, --state,"
            " --tag, --name"
        )
    if dry_run and not given:
        raise click.UsageError("--dry-run is for applications that are chosen by options")
    if given:
        found = chosen(client, **given)
        if not found:
            note_unknown_queue(client, given.get("queue"))
        if dry_run:
            list_found(found, as_json=as_json)
            return
        if not found:
            click.echo("No such application.", err=True)
        elif not yes:
            ask(found)
        applications = tuple(one.id for one in found)
    act_on_each(
        applications,
        lambda name: kill(client, name, diagnostics),
        kind="applications",
        done="killed",
        as_json=as_json,
    )


def kill(client: Client, name: str, diagnostics: str | None) -> None:
    """Kill the application or the task that `APP`, `APP/INDEX` or `APP/GROUP/INDEX` names."""
    application, _, task = name.partition("/")
    if application and task.rpartition("/")[2].isdigit():
        client.kill(application, diagnostics, task=task)
    else:
        client.kill(name, diagnostics)


def chosen(client: Client, **wanted: Any) -> list[Application]:
    """The applications that have not ended and fit all options."""
    name = wanted.pop("name", "*")
    states = (wanted.pop("state"),) if "state" in wanted else ACTIVE
    found = client.applications(state=",".join(ACTIVE), **wanted)
    return [one for one in found if fnmatchcase(one.name, name) and state_of(one) in states]


def list_found(found: list[Application], *, as_json: bool) -> None:
    """Print the applications that would be killed."""
    if as_json:
        print_json({"applications": [{"id": one.id, "killed": False} for one in found]})
        return
    for one in found:
        click.echo(line_of(one))
    click.echo(f"{counted(len(found), 'application')} would be killed.", err=True)


def line_of(one: Application) -> str:
    """What says which application is meant."""
    return f"{one.id} {state_of(one)} {plain(one.user)} {plain(one.queue)} {plain(one.name)}"


def ask(found: list[Application]) -> None:
    """Ask whether these applications shall end; exits with 1 if not."""
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"{counted(len(found), 'application')} would be killed: without a terminal write"
            " --yes, or --dry-run to list them"
        )
    for one in found[:MOST_SHOWN]:
        click.echo(f"  {line_of(one)}", err=True)
    if len(found) > MOST_SHOWN:
        click.echo(f"  and {len(found) - MOST_SHOWN:,} more", err=True)
    click.confirm(f"Kill {counted(len(found), 'application')}?", abort=True, err=True)
