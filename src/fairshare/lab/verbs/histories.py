"""The history for `fairshare plan`: that of a server, or that of a trace, which is simulated under
the present configuration. Its records are read as those of a server are.

A server's history begins with its first record, or with the oldest state of its journal that has
all records behind it. Before a journal whose first records were trimmed comes what the long history
keeps of them.
"""

from pathlib import Path

import msgspec

from fairshare.cli.verbs import Failure
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.lab.branch.history import History
from fairshare.lab.simulate.readers import read_workload
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.readers.options import ReaderOptions
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.traces.registry import is_trace
from fairshare.lab.simulate.workload import EPOCH_MS
from fairshare.lab.simulate.world import World
from fairshare.lab.verbs.simulated_runs import nodes_of_engine
from fairshare.lab.verbs.simulated_trace import TraceOptions, is_workload, read_trace
from fairshare.lab.verbs.simulation_watch import Watch
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.journal.sqlite import JOURNAL_FILE
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of
from fairshare.settings.reservations import with_reservations


def read_world(directory: Path, last_ms: int | None = None) -> World:
    """The history of a state directory; raises Failure, JournalError.

    With `last_ms` it begins with the newest kept state that is older than that, counted from the
    last record; with the oldest one, or the first record, if none is.
    """
    with History.open(directory) as history:
        return history.world(history.origin(last_ms))


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
    parts = (configuration.scheduler, configuration.types)
    if is_workload(path):
        workload = read_workload(path, ReaderOptions(types=configuration.types))
        nodes = workload.nodes or nodes_of_engine(configuration)
        workload = msgspec.structs.replace(workload, nodes=nodes)
    else:
        workload = read_trace(path, *parts, configuration.settings, options)
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
    world = read_history(journal.records(), *parts, EPOCH_MS)
    return Traced(world, configuration.heartbeat_interval_ms, workload.notes)
