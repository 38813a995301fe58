"""All that a state directory keeps of a cluster's past: the state at any moment of the journal, and
the world from a moment on.

The server may be running: the directory is only read. A moment begins with the newest state that
the journal keeps from before it; the records up to it are applied, and nothing is decided again.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from fairshare.cli.cells import instant_text
from fairshare.cli.verbs import Failure
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.record import Record
from fairshare.errors import JournalError
from fairshare.lab.branch.eta import Submissions
from fairshare.lab.branch.lives import RunTimes
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.world import Origin, World
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal
from fairshare.runtime.projections.projections import MANAGER, MEMORY, Projections, checked_parts
from fairshare.runtime.recovery import Position
from fairshare.runtime.runtime import RuntimeMemory
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.server.long_history import LongHistory
from fairshare.server.recovered import Recovered
from fairshare.server.state_directory import ClusterIdentity, StateDirectory

MOST_TRIES: Final = 3
"""So often a moment is looked for while the server deletes its oldest records."""


class Cut(NamedTuple):
    """Where a history is cut: after a record, or after all records up to an instant; after the last
    one without both."""

    record: int | None = None
    at_ms: int | None = None


NOW: Final = Cut()


class Moment(NamedTuple):
    """A state of the past: after which record, at which instant, and what a snapshot of it would
    have."""

    position: Position
    manager: ResourceManager
    projections: Projections
    directory: Path | None = None
    """The state directory; None: the moment is simulated."""

    def origin(self) -> Origin:
        """The moment as the beginning of a world."""
        return origin_of(self.manager, self.position)

    def run_times(self) -> RunTimes:
        """How long what is known there has run."""
        return RunTimes(self.manager.state, self.projections.history)

    def submissions(self) -> Submissions:
        """What was submitted in the day before."""
        if self.directory is None:
            return Submissions(0)
        with contextlib.closing(SqliteJournal(self.directory, read_only=True)) as journal:
            return Submissions.before(journal, self.position.sequence)


def origin_of(
    manager: ResourceManager, position: Position, memory: RuntimeMemory | None = None
) -> Origin:
    """A state as the beginning of a world, which each simulation makes for itself."""
    small = freeze(position.sequence, position.now_ms, {MANAGER: manager})
    return Origin(position, lambda: thaw(small)[MANAGER], memory)


def origin_in(snapshot: Snapshot) -> Origin:
    """The state in a snapshot as the beginning of a world. Raises JournalError."""
    parts = checked_parts(thaw(snapshot))
    # Without the projections, which make most of a snapshot: each simulation reads it.
    position = Position(snapshot.sequence, snapshot.now_ms)
    return origin_of(parts[MANAGER], position, parts.get(MEMORY))


class History:
    """The journal of a state directory, and before it the long history, if that leads up to it."""

    def __init__(
        self, journal: SqliteJournal, identity: ClusterIdentity, history: LongHistory | None
    ) -> None:
        self.journal = journal
        self.identity = identity
        self._history = history

    @classmethod
    @contextlib.contextmanager
    def open(cls, directory: Path) -> Iterator[Self]:
        """Open both for reading. A long history that cannot be read is left out. Raises Failure,
        JournalError."""
        if directory.name == JOURNAL_FILE:
            directory = directory.parent
        if not (directory / JOURNAL_FILE).exists():
            raise Failure(
                f"{directory} has no {JOURNAL_FILE}: name a server's state directory with"
                " --against, as `fairshare status` shows it (or, for `plan`, a trace that"
                " `fairshare simulate` reads)"
            )
        identity = StateDirectory(directory).identity()
        if identity is None:
            raise Failure(f"{directory} has no cluster.json, which says whose journal this is")
        with contextlib.closing(SqliteJournal(directory, read_only=True)) as journal:
            history = None
            try:
                history = LongHistory.open_for_reading(directory)
                if history is not None and not history.leads_up_to(journal):
                    history.close()
                    history = None
            except JournalError:
                history = None
            try:
                yield cls(journal, identity, history)
            finally:
                if history is not None:
                    history.close()

    # What is kept.

    def first_record(self) -> int:
        """The number of the first record."""
        first = None if self._history is None else self._history.first
        return self.journal.first_record() if first is None else first

    def states(self) -> list[int]:
        """The numbers of the records after which there is a state, ascending."""
        older = [] if self._history is None else self._history.states()
        return sorted({*older, *self.journal.snapshots()})

    def state(self, sequence: int) -> Snapshot:
        """The state after a record."""
        if sequence in self.journal.snapshots() or self._history is None:
            return self.journal.snapshot(sequence)
        return self._history.state(sequence)

    def records(self, after: int) -> Iterator[Record]:
        """The records after a number; those of the long history have only what worlds need."""
        if self._history is not None:
            yield from self._history.records(after)
            after = max(after, self._history.last or 0)
        yield from self.journal.records(after)

    # Worlds.

    def world(self, origin: Origin | None) -> World:
        """What happened from the first record on, or after an origin."""
        return read_history(
            self.records(0 if origin is None else origin.position.sequence),
            self.identity.scheduler,
            self.identity.types(),
            self.identity.epoch_ms,
            origin,
        )

    def origin(self, last_ms: int | None) -> Origin | None:
        """The newest kept state that is older than the last part of the history, the oldest one if
        none is; None: the first record. Raises Failure."""
        first = self.first_record()
        whole = first == 1
        if whole and last_ms is None:
            return None
        oldest: Origin | None = None
        for sequence in reversed([one for one in self.states() if one >= first - 1]):
            try:
                snapshot = self.state(sequence)
                origin = origin_in(snapshot)
            except JournalError:
                continue  # as a server that starts goes back to an older one
            if last_ms is not None and snapshot.now_ms <= self.journal.last_instant_ms() - last_ms:
                return origin
            oldest = origin
        if oldest is None and not whole:
            raise Failure(
                f"the journal of {self.journal.path.parent} begins with record {first}, as those"
                " before it were trimmed, and has no state from which the rest could be simulated:"
                " raise `records` and `journal_mb` below [retention] in fairshare.toml"
            )
        return None if whole else oldest

    # Moments.

    def moment(self, cut: Cut = NOW) -> Moment:
        """The state at a cut of the journal. Raises Failure, JournalError."""
        for _ in range(MOST_TRIES - 1):
            first = self.journal.first_record()
            try:
                return self._moment(cut)
            except JournalError:
                if self.journal.first_record() == first:
                    raise  # else the server deleted these records meanwhile
        return self._moment(cut)

    def _moment(self, cut: Cut) -> Moment:
        last = self._last(cut)
        first = self.journal.first_record()
        begin, kept = self._base(last)
        if begin.sequence < first - 1:
            raise self._too_early(cut)
        recovered = Recovered(self.identity.scheduler, self.identity.types(), begin, kept)
        recovered.follow(self.journal, last)
        position = recovered.position
        if cut.at_ms is not None:
            position = Position(position.sequence, cut.at_ms)
        parts = position, recovered.manager, recovered.projections
        return Moment(*parts, self.journal.path.parent)

    def _base(self, last: int) -> tuple[Position, dict[str, Any]]:
        """The newest readable state up to a record, and what it has; the empty one if none is."""
        for sequence in reversed([one for one in self.journal.snapshots() if one <= last]):
            try:
                snapshot = self.journal.snapshot(sequence)
                return Position(sequence, snapshot.now_ms), checked_parts(thaw(snapshot))
            except JournalError:
                continue  # as a server that starts goes back to an older one
        return Position(), {}

    def _last(self, cut: Cut) -> int:
        """The number of the last record that comes before a cut; 0: none does."""
        # A state may be younger than the first record that is left, and the only one.
        low = max((self.journal.first_record() - 1, *self.journal.snapshots()))
        step = 1
        while self._instant(low + step) is not None:
            low, step = low + step, 2 * step
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._instant(middle) is not None else (low, middle)
        if cut.record is not None:
            if cut.record > low:
                raise Failure(f"the journal ends with record {low:,}: there is no {cut.record:,}")
            return cut.record
        if cut.at_ms is None:
            return low
        first = self.journal.first_record()
        earliest_ms = self._instant(first)
        if earliest_ms is None or cut.at_ms < earliest_ms:
            raise self._too_early(cut)
        below, above = first, low + 1  # the answer is from `below` on, and before `above`
        while above - below > 1:
            middle = (below + above) // 2
            instant_ms = self._instant(middle)
            earlier = instant_ms is not None and instant_ms <= cut.at_ms
            below, above = (middle, above) if earlier else (below, middle)
        return below

    def _instant(self, number: int) -> int | None:
        """The instant of a record; None: there is none of this number."""
        record = next(self.journal.records(number - 1), None)
        return None if record is None else record.now_ms

    def _too_early(self, cut: Cut) -> Failure:
        first = self.journal.first_record()
        reached = [one for one in self.journal.snapshots() if one >= first - 1]
        begin = 1 if first == 1 else min(reached, default=first)
        instant_ms = self._instant(max(begin, first))
        since = "" if instant_ms is None else f", of {instant_text(instant_ms)}"
        what = "that instant" if cut.record is None else f"record {cut.record:,}"
        place = self.journal.path.parent
        if begin == 1:
            return Failure(f"{what} is before the first record of {place}{since}")
        return Failure(
            f"{what} is before what the journal of {place} keeps: its first state is that of record"
            f" {begin:,}{since}. To keep more raise `records` and `journal_mb` below [retention] in"
            " fairshare.toml"
        )
