"""`fairshare replay`: rebuilds a state from a journal, and verifies its decisions."""

import time
from collections.abc import Iterator
from pathlib import Path

import click

from fairshare.cli.options import Whole
from fairshare.cli.verbs import Failure
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.invariants import check
from fairshare.core.record import Record
from fairshare.errors import JournalError
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal
from fairshare.runtime.projections.projections import MANAGER, checked_parts
from fairshare.runtime.recovery import Position, recover, replay
from fairshare.runtime.snapshot import thaw
from fairshare.server.state_directory import StateDirectory
from fairshare.settings.registry import family_of
from fairshare.wording import counted


@click.command
@click.argument("journal", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--verify",
    is_flag=True,
    help="Process every input again, instead of only rebuilding the state, and show the"
    " first events that differ.",
)
@click.option(
    "--since",
    type=Whole(0),
    metavar="RECORD",
    help="Start from the snapshot after this record, instead of the oldest one.",
)
def command(journal: Path, verify: bool, since: int | None) -> None:
    """Read the journal of a server, which may be running, and rebuild its state.

    JOURNAL is a state directory, or the journal.sqlite3 in it or in a copy of it. With --verify
    this version of fairshare decides every recorded input again, and the events must equal the
    recorded ones; the first difference is printed. The invariants of the state are checked at the
    end. Exits with 1 if there is a difference.
    """
    directory = journal if journal.is_dir() else journal.parent
    if not journal.is_dir() and journal.name != JOURNAL_FILE:
        raise Failure(f"{journal} is not a journal: name a state directory, or its {JOURNAL_FILE}")
    reader = SqliteJournal(directory, read_only=True)
    try:
        _read(reader, directory, verify, since)
    finally:
        reader.close()


def _read(reader: SqliteJournal, directory: Path, verify: bool, since: int | None) -> None:
    begun = time.monotonic()
    position, manager = _begin(reader, directory, since)
    click.echo(
        f"from the snapshot after record {position.sequence}"
        if position.sequence
        else "from the first record"
    )
    last = position.sequence

    def records() -> Iterator[Record]:
        nonlocal last
        for record in reader.records(position.sequence):
            yield record
            last = record.sequence

    if verify:
        difference = replay(records(), manager)
        if difference is not None:
            raise Failure(f"decided otherwise: {difference}")
    else:
        recover(records(), manager.state, position)
    check(manager.state)
    took_s = time.monotonic() - begun
    what = "decided again, all identical" if verify else "applied"
    applications = len(manager.state.applications)
    click.echo(
        f"{counted(last - position.sequence, 'record')} {what} in {took_s:.1f} s; the state is"
        " whole: "
        f"{counted(applications, 'application')}, {counted(len(manager.state.nodes), 'node')}"
    )


def _begin(
    reader: SqliteJournal, directory: Path, since: int | None
) -> tuple[Position, ResourceManager]:
    """The position to start from, and the manager at that position."""
    start = since
    if start is None:
        start = 0 if reader.first_record() <= 1 else reader.snapshots()[0]
    if start:
        snapshot = reader.snapshot(start)
        parts = checked_parts(thaw(snapshot))
        return Position(start, snapshot.now_ms), parts[MANAGER]
    identity = StateDirectory(directory).identity()
    if identity is None:
        raise JournalError(
            f"{directory} has no cluster.json, which says whose journal this is: "
            "copy it from the server's state directory, beside the journal"
        )
    return Position(), ResourceManager(family_of(identity.scheduler).create(identity.types()))
