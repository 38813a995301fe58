"""Owns the choice of a server's history for `fairshare plan`: from its first record, or from one of
the states that its journal keeps.

A journal whose first records were trimmed begins with the oldest state that has all records behind
it. Does not know what is simulated with it.
"""

from pathlib import Path

from fairshare.cli.verbs import Failure
from fairshare.errors import JournalError
from fairshare.journal.protocol import Snapshot
from fairshare.journal.sqlite import JOURNAL_FILE, SqliteJournal
from fairshare.projections.projections import MANAGER, checked_parts
from fairshare.runtime.recovery import Position
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.simulate.readers.history import read_history
from fairshare.simulate.world import Origin, World


def read_world(directory: Path, last_ms: int | None = None) -> World:
    """The history of a state directory; raises Failure, JournalError.

    With `last_ms` it begins with the newest kept state that is older than that, counted from the
    last record; with the oldest one, or the first record, if none is.
    """
    # Imported lazily: the server's modules are only needed for its directory.
    from fairshare.server.state_directory import StateDirectory

    if directory.name == JOURNAL_FILE:
        directory = directory.parent
    if not (directory / JOURNAL_FILE).exists():
        raise Failure(f"{directory} has no {JOURNAL_FILE}: name a server's state directory")
    identity = StateDirectory(directory).identity()
    if identity is None:
        raise Failure(f"{directory} has no cluster.json, which says whose journal this is")
    journal = SqliteJournal(directory, read_only=True)
    try:
        origin = _origin(journal, last_ms)
        return read_history(
            journal.records(0 if origin is None else origin.position.sequence),
            identity.scheduler,
            identity.types(),
            identity.epoch_ms,
            origin,
        )
    finally:
        journal.close()


def _origin(journal: SqliteJournal, last_ms: int | None) -> Origin | None:
    """Where the history begins; None: with its first record. Raises Failure."""
    first = journal.first_record()
    whole = first == 1
    if whole and last_ms is None:
        return None
    oldest: Origin | None = None
    for sequence in reversed([one for one in journal.snapshots() if one >= first - 1]):
        try:
            snapshot = journal.snapshot(sequence)
            found = _origin_of(snapshot)
        except JournalError:
            continue  # as a server that starts goes back to an older one
        if last_ms is not None and snapshot.now_ms <= journal.last_instant_ms() - last_ms:
            return found
        oldest = found
    if oldest is None and not whole:
        raise Failure(
            f"the journal of {journal.path.parent} begins with record {first}, as those before it"
            " were trimmed, and has no state from which the rest could be simulated: raise"
            " `records` and `journal_mb` below [retention] in fairshare.toml"
        )
    return None if whole else oldest


def _origin_of(snapshot: Snapshot) -> Origin:
    manager = checked_parts(thaw(snapshot))[MANAGER]
    # Without the projections, which make most of a snapshot: each simulation reads it once.
    small = freeze(snapshot.sequence, snapshot.now_ms, {MANAGER: manager})
    position = Position(snapshot.sequence, snapshot.now_ms)
    return Origin(position, lambda: thaw(small)[MANAGER])
