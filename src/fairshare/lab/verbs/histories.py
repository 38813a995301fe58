"""The history for `fairshare plan`: that of a server, or that of a trace, which is simulated under
the present configuration. Its records are read as those of a server are.

A server's history begins with its first record, or with the oldest state of its journal that has
all records behind it. Before a journal whose first records were trimmed comes what the long history
keeps of them.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from fairshare.cli.verbs import Failure
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.record import Record
from fairshare.errors import JournalError
from fairshare.lab.simulate.readers import read_workload
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.readers.options import ReaderOptions
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.traces.registry import is_trace
from fairshare.lab.simulate.workload import EPOCH_MS, Workload
from fairshare.lab.simulate.world import Origin, World
from fairshare.lab.verbs.simulated_runs import nodes_of_engine
from fairshare.lab.verbs.simulated_trace import TraceOptions, is_workload, read_trace
from fairshare.lab.verbs.simulation_watch import Watch
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal
from fairshare.runtime.projections.projections import MANAGER, checked_parts
from fairshare.runtime.recovery import Position
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.server.long_history import LongHistory
from fairshare.server.state_directory import StateDirectory
from fairshare.settings.configuration import Configuration
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of
from fairshare.settings.reservations import with_reservations


def read_world(directory: Path, last_ms: int | None = None) -> World:
    """The history of a state directory; raises Failure, JournalError.

    With `last_ms` it begins with the newest kept state that is older than that, counted from the
    last record; with the oldest one, or the first record, if none is.
    """
    if directory.name == JOURNAL_FILE:
        directory = directory.parent
    if not (directory / JOURNAL_FILE).exists():
        raise Failure(
            f"{directory} has no {JOURNAL_FILE}: name a server's state directory, or a trace that"
            " `fairshare simulate` reads"
        )
    identity = StateDirectory(directory).identity()
    if identity is None:
        raise Failure(f"{directory} has no cluster.json, which says whose journal this is")
    with contextlib.closing(_Kept.open(directory)) as kept:
        origin = _origin(kept, last_ms)
        return read_history(
            kept.records(0 if origin is None else origin.position.sequence),
            identity.scheduler,
            identity.types(),
            identity.epoch_ms,
            origin,
        )


class _Kept:
    """All that a state directory keeps: the journal, and before it the long history, if that leads
    up to it."""

    def __init__(self, journal: SqliteJournal, history: LongHistory | None) -> None:
        self.journal = journal
        self._history = history

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Open both for reading. A long history that cannot be read is left out."""
        journal = SqliteJournal(directory, read_only=True)
        history = None
        try:
            history = LongHistory.open_for_reading(directory)
            if history is not None and not history.leads_up_to(journal):
                history.close()
                history = None
        except JournalError:
            history = None
        return cls(journal, history)

    def close(self) -> None:
        self.journal.close()
        if self._history is not None:
            self._history.close()

    def first_record(self) -> int:
        """The number of the first record."""
        found = None if self._history is None else self._history.first
        return self.journal.first_record() if found is None else found

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
        """The records after a number."""
        if self._history is not None:
            yield from self._history.records(after)
            after = max(after, self._history.last or 0)
        yield from self.journal.records(after)


def _origin(kept: _Kept, last_ms: int | None) -> Origin | None:
    """Where the history begins; None: with its first record. Raises Failure."""
    first = kept.first_record()
    whole = first == 1
    if whole and last_ms is None:
        return None
    oldest: Origin | None = None
    for sequence in reversed([one for one in kept.states() if one >= first - 1]):
        try:
            snapshot = kept.state(sequence)
            origin = _origin_of(snapshot)
        except JournalError:
            continue  # as a server that starts goes back to an older one
        if last_ms is not None and snapshot.now_ms <= kept.journal.last_instant_ms() - last_ms:
            return origin
        oldest = origin
    if oldest is None and not whole:
        raise Failure(
            f"the journal of {kept.journal.path.parent} begins with record {first}, as those before"
            " it were trimmed, and has no state from which the rest could be simulated: raise"
            " `records` and `journal_mb` below [retention] in fairshare.toml"
        )
    return None if whole else oldest


def _origin_of(snapshot: Snapshot) -> Origin:
    manager = checked_parts(thaw(snapshot))[MANAGER]
    # Without the projections, which make most of a snapshot: each simulation reads it once.
    small = freeze(snapshot.sequence, snapshot.now_ms, {MANAGER: manager})
    position = Position(snapshot.sequence, snapshot.now_ms)
    return Origin(position, lambda: thaw(small)[MANAGER])


def is_traced(path: Path) -> bool:
    """Whether it is a trace or a workload, and not the history of a server."""
    if path.name == JOURNAL_FILE or not path.exists() or (path / JOURNAL_FILE).exists():
        return False
    return is_workload(path) or is_trace(path)


class Traced(msgspec.Struct, frozen=True):
    """The history of a trace, the interval of its nodes' beats, and what its reader left out or
    assumed."""

    world: World
    beat_ms: int
    notes: tuple[str, ...]


def traced_history(path: Path, present: Path | None, options: TraceOptions, watch: Watch) -> Traced:
    """The history of a trace under a configuration, watched while it is made; raises Failure, and
    what readers of traces raise."""
    if present is None:
        raise Failure(
            f"{path} is a trace, which has no settings in force: name the configuration that the"
            " new one is compared with, as --present DIR"
        )
    configuration = read_directory(present)
    workload = _read(path, configuration, options)
    if not workload.nodes:
        raise Failure(f"{path} names no nodes, and {present} has no engine of a known size")
    configuration = with_reservations(configuration, len(workload.nodes))
    journal = MemoryJournal()
    manager = ResourceManager(family_of(configuration.scheduler).create(configuration.types))
    times_ms = [one.at_ms for one in workload.arrivals]
    watch.simulates_again("the trace", times_ms, 0, workload.later)
    simulator = Simulator(
        manager,
        msgspec.json.encode(configuration.settings),
        workload,
        journal,
        beat_interval_ms=configuration.heartbeat_interval_ms,
        observers=(watch.observe,) if workload.later else (),
        stops=watch,
    )
    simulator.run()
    parts = (configuration.scheduler, configuration.types, EPOCH_MS)
    world = read_history(journal.records(), *parts)
    return Traced(world, configuration.heartbeat_interval_ms, workload.notes)


def _read(path: Path, configuration: Configuration, options: TraceOptions) -> Workload:
    if not is_workload(path):
        parts = (configuration.scheduler, configuration.types, configuration.settings)
        return read_trace(path, *parts, options)
    workload = read_workload(path, ReaderOptions(types=configuration.types))
    nodes = workload.nodes or nodes_of_engine(configuration)
    return msgspec.structs.replace(workload, nodes=nodes)
