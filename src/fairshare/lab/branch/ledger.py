"""The ledger of a state directory: read from its journal, and kept by the process that follows the
records of a server.

The file says up to which record it has come. What the journal has behind that record is added from
the state there; without a file, or where a damaged one was moved aside, the ledger begins with the
first state that the journal keeps. What the journal no longer has of the time between is a gap,
which the file names.
"""

import os
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.lab.branch.history import Cut, History
from fairshare.runtime.recovery import Position, recover
from fairshare.server.insight.ledger import HOUR_MS, Ledger, LedgerRow
from fairshare.server.insight.ledger_file import (
    FILE,
    LedgerFile,
    Progress,
    add_gap,
    add_rows,
    copied_ledger,
    progress_of,
)
from fairshare.server.side_file import SideFileError, is_damage, move_aside, transaction
from fairshare.server.state_directory import StateDirectory
from fairshare.settings.registry import family_of

FLUSH_S: Final = 15.0
BEHIND_MS: Final = 5_000
"""Records may come so late: the ledger is complete up to that before the present."""

PATIENCE_S: Final = 1_800.0
"""For what came before: then the ledger has a gap."""

Add = Callable[[Sequence[LedgerRow], Progress], None]
AddGap = Callable[[int, int], None]


def read_on(
    history: History,
    progress: Progress | None,
    add: Add,
    add_gap: AddGap,
    until: Position | None = None,
) -> None:
    """Add what the journal has behind a progress, hour by hour, up to a record and its instant, or
    all of it; and the gap before that. Raises Failure, JournalError."""
    journal, identity = history.journal, history.identity
    if progress is not None and progress.epoch_ms != identity.epoch_ms:
        progress = None  # of another journal, whose records had these numbers
    position, manager = _begin(history, progress)
    met = progress is not None and progress.sequence >= position.sequence
    if progress is not None and not met and progress.now_ms < position.now_ms:
        add_gap(progress.now_ms, position.now_ms)
    ledger: Ledger | None = None
    since_ms = 0
    for record in journal.records(position.sequence):
        if until is not None and record.sequence > until.sequence:
            break
        if ledger is None:
            begin_ms = position.now_ms if position.sequence else record.now_ms
            ledger = Ledger(manager.scheduler, progress.now_ms if progress and met else begin_ms)
            since_ms = begin_ms if progress is None else progress.begin_ms
        if record.now_ms // HOUR_MS > ledger.now_ms // HOUR_MS:
            rows = ledger.take(record.now_ms)
            add(rows, Progress(identity.epoch_ms, position.sequence, record.now_ms, since_ms))
        ledger.advance(record.now_ms)
        position = recover((record,), manager.state, position)
        ledger.observe(record)
    if ledger is not None:
        end_ms = position.now_ms if until is None else until.now_ms
        rows = ledger.take(max(end_ms, ledger.now_ms))
        add(rows, Progress(identity.epoch_ms, position.sequence, ledger.now_ms, since_ms))


def _begin(history: History, progress: Progress | None) -> tuple[Position, ResourceManager]:
    """The state with which the rest begins."""
    first = history.journal.first_record()
    if progress is not None and progress.sequence >= first - 1:
        last = min(progress.sequence, history.journal.last_record())  # it may be an older copy
        moment = history.moment(Cut(record=last))
        return moment.position, moment.manager
    if first == 1:
        family = family_of(history.identity.scheduler)
        return Position(), ResourceManager(family.create(history.identity.types()))
    states = [one for one in history.journal.snapshots() if one >= first - 1]
    moment = history.moment(Cut(record=min(states)) if states else Cut())
    return moment.position, moment.manager


def ledger_of(history: History, directory: Path) -> sqlite3.Connection:
    """The ledger of a state directory up to the last record of its journal, in memory."""
    connection = copied_ledger(directory)

    def add(rows: Sequence[LedgerRow], progress: Progress) -> None:
        with transaction(connection):
            add_rows(connection, rows, progress)

    read_on(history, progress_of(connection), add, partial(add_gap, connection))
    return connection


class FollowedLedger:
    """Keeps the file of a server's ledger while its records are followed (`following.py`).

    What came before the process began is added by a copy of it, since that may take minutes; until
    that has ended, the rest waits in memory.
    """

    def __init__(self, directory: Path, scheduler: Scheduler, position: Position) -> None:
        self._directory = directory
        self._scheduler = scheduler
        self._begin = position
        self._epoch_ms = _epoch_ms(directory)
        self._ledger: Ledger | None = None
        self._sequence = position.sequence
        self._pending: dict[tuple[int, str, str, str, str, str], int] = {}
        self._flushed_s = self._began_s = time.monotonic()
        self._begin_ms = position.now_ms
        self._known = self._progress()
        self._written: Progress | None = None
        if self._known is not None and self._known.sequence >= position.sequence:
            self._written = self._known
            self._meet(position.sequence)
        elif position.sequence:
            self._ledger = Ledger(scheduler, position.now_ms)
            self._catch_up()

    def _progress(self) -> Progress | None:
        """How far the file has come; None: it has nothing of this journal, or cannot be read."""
        try:
            file = LedgerFile(self._directory)
            try:
                progress = file.progress()
            finally:
                file.close()
        except (SideFileError, sqlite3.Error):
            return None
        return progress if progress is not None and progress.epoch_ms == self._epoch_ms else None

    def _meet(self, sequence: int) -> None:
        """Begin where the file ends, if this record is there."""
        if self._known is not None and sequence == self._known.sequence:
            self._ledger = Ledger(self._scheduler, self._known.now_ms)

    def _catch_up(self) -> None:
        """Let a copy of the process add what was before."""
        if os.fork():
            return
        status = 1
        try:
            with History.open(self._directory) as history:
                file = LedgerFile(self._directory)
                read_on(history, file.progress(), file.add, file.add_gap, self._begin)
                file.close()
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(status)

    def advance(self, now_ms: int) -> None:
        """The next record is of this instant."""
        if self._ledger is not None:
            self._ledger.advance(now_ms)

    def observe(self, record: Record) -> None:
        """A record has been applied."""
        self._sequence = record.sequence
        if self._ledger is not None:
            self._ledger.observe(record)
        elif self._known is not None:
            self._meet(record.sequence)
        else:
            self._begin_ms = record.now_ms
            self._ledger = Ledger(self._scheduler, record.now_ms)

    def rest(self, now_ms: int) -> None:
        """All records are applied; write what is new from time to time."""
        ledger = self._ledger
        if ledger is None or time.monotonic() - self._flushed_s < FLUSH_S:
            return
        self._flushed_s = time.monotonic()
        for row in ledger.take(max(ledger.changed_ms, now_ms - BEHIND_MS)):
            place = row[:-1]
            self._pending[place] = self._pending.get(place, 0) + row.amount
        try:
            file = LedgerFile(self._directory)
            try:
                lost = not self._write(file, ledger.now_ms)
            finally:
                file.close()
        except sqlite3.Error as error:
            lost = is_damage(error)
            if lost:
                move_aside(self._directory / FILE)
        except SideFileError:
            return  # it waits: the answers say up to when the ledger is complete
        if lost:  # the file is closed: a copy of the process shall not have it open
            # It is made again from the journal, up to now.
            self._pending.clear()
            self._written = None
            self._begin = Position(self._sequence, ledger.now_ms)
            self._begin_ms = ledger.now_ms
            self._began_s = time.monotonic()
            self._catch_up()

    def _write(self, file: LedgerFile, now_ms: int) -> bool:
        """Write what is new, if it is time; whether the file is the one that was written before."""
        progress = file.progress()
        if progress is not None and progress.epoch_ms != self._epoch_ms:
            progress = None
        if self._written is not None and progress != self._written:
            return False
        behind = self._begin.sequence > (0 if progress is None else progress.sequence)
        if behind and time.monotonic() - self._began_s < PATIENCE_S:
            return True
        if behind and progress is not None:
            file.add_gap(progress.now_ms, self._begin.now_ms)
        begin_ms = self._begin_ms if progress is None else progress.begin_ms
        rows = [LedgerRow(*place, amount) for place, amount in self._pending.items()]
        progress = Progress(self._epoch_ms, self._sequence, now_ms, begin_ms)
        file.add(rows, progress)
        self._written = progress
        self._pending.clear()
        return True


def _epoch_ms(directory: Path) -> int:
    identity = StateDirectory(directory).identity()
    return 0 if identity is None else identity.epoch_ms
