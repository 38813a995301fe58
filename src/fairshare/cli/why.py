"""The verb `why`, which explains why an application waits, and what would start it."""

import click

from fairshare.api import routes
from fairshare.cli.cells import amounts_text
from fairshare.cli.options import json_option, print_json, with_client
from fairshare.cli.tables import Indented, Output, Styled, open_output, print_all
from fairshare.client import Client
from fairshare.client.answers import Reason
from fairshare.client.errors import in_plain_words
from fairshare.client.exchange import path_of
from fairshare.wording import counted, plain


@click.command()
@click.argument("application", metavar="APP")
@with_client
@json_option
def command(client: Client, application: str, as_json: bool) -> None:
    """Explain why an application or a part of it waits, and what would start it.

    The most important reason comes first: a limit on the application as a whole, then for each
    group of tasks (or each request of its master) what prevents its next container. APP is an id
    or its number alone. Exits with 0 even if nothing waits.
    """
    if as_json:
        print_json(client.connection.get(path_of(routes.LIST_REASONS, application)))
        return
    reasons = client.reasons(application)
    console = open_output()
    if not reasons:
        details = client.application(application)
        if details.state == "REJECTED":
            click.echo(f"It was refused: {in_plain_words(details.diagnostics)}")
        else:
            why = f" {in_plain_words(details.diagnostics)}" if details.diagnostics else ""
            click.echo(f"It is not waiting: it is {details.state}.{why}")
        return
    for reason in reasons:
        _print_reason(console, reason)


def _print_reason(console: Output, reason: Reason) -> None:
    about = _about(reason)
    if about:
        print_all(console, Styled(plain(about), style="bold"))
    for text, style in ((reason.sentence, ""), (reason.remedy, "dim")):
        words = Styled(plain(text), style=style)
        print_all(console, Indented(words, 2 if about else 0))


def _about(reason: Reason) -> str:
    """The subject of a reason: `map: 12 containers of 1G 1c`; empty for the whole application."""
    if not reason.containers:
        return f"{reason.group}:" if reason.group else ""
    waits = counted(reason.containers, "container")
    if reason.wanted:
        waits += f" of {amounts_text(reason.wanted)}"
    return f"{reason.group}: {waits}" if reason.group else waits
