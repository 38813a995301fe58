"""`fairshare export-case`: a decision of a server as a scenario for a report of a defect."""

from pathlib import Path

import click

from fairshare.cli.verbs import Failure
from fairshare.core.model.identifiers import parse_application
from fairshare.lab.branch.case import decision, written
from fairshare.lab.branch.history import Cut, History
from fairshare.lab.verbs.at import CUT, against


@click.command
@click.argument("application", metavar="[APP]", required=False)
@click.option(
    "--at", "cut", type=CUT, default="now", show_default=True, help="The moment, as for `at`."
)
@click.option(
    "--conf",
    metavar="DIR",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The configuration directory that was in force.",
)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it to this file, instead of printing it.",
)
@against
def command(application: str | None, cut: Cut, conf: Path, out: Path | None, against: Path) -> None:
    """Write a scenario that reproduces a decision of a server, for a report of a defect.

    The decision is the first grant after a moment, of an application or of any; if the application
    gets nothing after it, that it waits there, and for what. The scenario has been checked: where
    the state alone does not lead to the same decision, nothing is written. It has the names of
    users and queues: change what others must not read.
    """
    number = None
    if application is not None:
        number = parse_application(application)
        if number is None:
            raise Failure(f"{application!r} is not an application: write its id or its number")
    with History.open(against) as history:
        text = written(decision(history, cut, number), conf)
    if out is None:
        click.echo(text, nl=False)
        return
    out.write_text(text, encoding="utf-8")
    click.echo(f"{out}: `fairshare check {out}` passes")
