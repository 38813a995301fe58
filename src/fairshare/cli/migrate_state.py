"""The verb `migrate-state`, which moves the state of a server into a database, or out of it."""

import contextlib
import time
from pathlib import Path

import click

from fairshare.cli.options import state_option
from fairshare.cli.verbs import Failure
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal
from fairshare.server.shared.copy import read_marker
from fairshare.server.shared.database import link_to, shown
from fairshare.server.shared.migration import Moved, move_in
from fairshare.server.shared.takeover import POLL_S, Candidate
from fairshare.settings.shell import StateSettings
from fairshare.wording import counted


@click.command()
@state_option
@click.option(
    "--to",
    metavar="URL",
    help="The database, without a state: postgresql://USER@HOST/DATABASE. The directory"
    " is a copy of it then.",
)
@click.option(
    "--back",
    is_flag=True,
    help="Bring the directory's copy up to date, and make it a state of its own; servers"
    " cannot use the database any more.",
)
def command(state: Path, to: str | None, back: bool) -> None:
    """Move a server's state to a PostgreSQL database, or back to its directory.

    No server may run meanwhile. Everything moves in one transaction, and is compared record by
    record and file by file before it counts: an error, or an interruption, leaves it where it was.

    With --to the directory becomes a copy of the database; write the same URL as url below [state]
    of fairshare.toml. With --back the copy is brought up to date first, and the database cannot be
    used by servers any more. The ledger and the estimates go along with --to; later each host has
    its own, and --back leaves those of the directory.
    """
    if (to is None) == (not back):
        raise click.UsageError("--to and --back: give one of both")
    if to is not None:
        if not (state / JOURNAL_FILE).exists():
            raise Failure(f"{state} has no {JOURNAL_FILE}: name a server's state directory")
        with contextlib.closing(SqliteJournal(state)) as journal, link_to(to, "move") as link:
            moved = move_in(link, state, journal)
        place = f"from {state} to {shown(to)}"
    else:
        marker = read_marker(state)
        if marker is None:
            raise Failure(f"{state} is not a copy of a database: its state is its own already")
        moved = _back(marker.url, state)
        place = f"from {shown(marker.url)} to {state}"
    click.echo(
        f"moved {counted(moved.records, 'record')}, {counted(moved.snapshots, 'snapshot')} and"
        f" {counted(moved.files, 'file')} {place}; all are the same there"
    )


def _back(url: str, state: Path) -> Moved:
    patience_s = StateSettings().takeover_s
    with contextlib.closing(Candidate.open(url, state, patience_s, back=True)) as candidate:
        until_s = time.monotonic() + 2 * patience_s
        while time.monotonic() < until_s:
            beat = candidate.look()
            if beat is not None and (moved := candidate.move_back(beat)):
                return moved
            time.sleep(POLL_S)
        raise Failure(f"{candidate.leader or 'another server'} leads: stop that server first")
