"""The verb `eta`: when an application starts and ends, as a server estimates it, or from a state
directory alone."""

from pathlib import Path

import click

from fairshare.api import routes
from fairshare.cli.eta_words import eta_lines
from fairshare.cli.options import json_option, print_json
from fairshare.client import Client
from fairshare.client.exchange import path_of
from fairshare.lab.branch.history import NOW, Cut, History
from fairshare.lab.branch.past_server import client_of
from fairshare.lab.verbs.at import CUT, STATE_PATH


@click.command
@click.argument("application", metavar="APP")
@click.option("--url", metavar="URL", help="The server's URL, instead of the one found.")
@click.option(
    "--against",
    metavar="DIR",
    type=STATE_PATH,
    help="Ask no server: read the journal of this state directory.",
)
@click.option("--at", "cut", type=CUT, help="The moment, as for `at`. It needs --against.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    application: str,
    url: str | None,
    against: Path | None,
    cut: Cut | None,
    as_json: bool,
) -> None:
    """Estimate when an application starts and ends.

    The cluster is simulated up to 50 times from that moment on: whatever runs and waits runs as
    long as another application, most often one like it, and submissions come as they came in the
    past day. In half of the cases it starts and ends within the first time, in nine of ten within
    the second one, which is as late as the outcomes of earlier estimates make it; until 50 of these
    are known it says that it is not yet calibrated. With fewer than 20 ended applications there is
    no estimate.

    If it waits, it also says with what smaller tasks it would start at once, if it would: memory
    and vcores are halved, and the scheduler decides.
    """
    if cut is not None and against is None:
        raise click.UsageError("--at is a moment of the journal of --against DIR.")
    if against is None:
        with (context.find_root().obj or Client)(url) as client:
            _show(client, application, as_json=as_json)
        return
    if url is not None:
        raise click.UsageError("--url names a server, and --against a state directory.")
    with History.open(against) as history:
        moment = history.moment(NOW if cut is None else cut)
    with client_of(moment) as client:
        _show(client, application, as_json=as_json)


def _show(client: Client, application: str, *, as_json: bool) -> None:
    if as_json:
        print_json(client.connection.get(path_of(routes.ESTIMATE_APPLICATION, application)))
        return
    for line in eta_lines(client.eta(application)):
        click.echo(line)
