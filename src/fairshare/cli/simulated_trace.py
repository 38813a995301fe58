"""Owns what `simulate` does with traces of real clusters: their options, their progress, Ctrl-C.

Long simulations are watched: a terminal sees how far they are, and Ctrl-C ends them with a report
of what there is.
"""

import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any, Self

import click
import msgspec
from click.core import ParameterSource

from fairshare.families.registry import family_of
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.inputs import NodeJoined
from fairshare.model.resources import ResourceTypes
from fairshare.simulate.readers import READERS
from fairshare.simulate.traces.fitting import Fitting, fitted
from fairshare.simulate.traces.queue_choice import QueueChoice, read_mapping
from fairshare.simulate.traces.registry import is_trace, open_trace
from fairshare.simulate.workload import Workload
from fairshare.wording import counted

OF_TRACES = ("mapping", "limit", "span", "gang")
OF_WORKLOADS = ("queue_from", "processors_per_task", "memory_per_processor_mb")
_FLAGS = {"mapping": "--map", "page": "--html"}
_LOOK_S = 0.25
"""The time between two lines of progress."""
_INSTANTS = 64
"""How many instants are simulated between two looks at the clock."""


class TraceOptions(msgspec.Struct, frozen=True):
    """The options for traces; `nodes` replace those of the trace."""

    mapping: Path | None = None
    limit: int | None = None
    span_ms: int | None = None
    gang: bool = False
    nodes: tuple[NodeJoined, ...] = ()


def is_workload(path: Path) -> bool:
    """Whether a file is a workload in our own format, not a trace."""
    suffixes = [one for one in path.suffixes if one.lower() != ".gz"]
    known = bool(suffixes) and suffixes[-1].lower() in READERS
    return known and path.is_file() and not is_trace(path)


def refuse(names: tuple[str, ...], reason: str) -> None:
    """Raise a usage error for options that were given and would have no effect."""
    context = click.get_current_context()
    wrong = [
        _FLAGS.get(name, f"--{name.replace('_', '-')}")
        for name in names
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if wrong:
        raise click.UsageError(f"{', '.join(wrong)} cannot be given here: {reason}")


def read_trace(
    path: Path, scheduler: str, types: ResourceTypes, settings: Any, options: TraceOptions
) -> Workload:
    """The workload of a trace under the settings of a scheduler."""
    trace = open_trace(path)
    manager = ResourceManager(family_of(scheduler).create(types))
    mapping = None if options.mapping is None else read_mapping(options.mapping)
    choice = QueueChoice(manager, msgspec.json.encode(settings), mapping)
    fitting = Fitting(
        types,
        settings.maximum_allocation,
        options.limit,
        options.span_ms,
        options.gang,
        options.nodes,
    )
    return fitted(trace, fitting, choice)


class Watch:
    """While it is open, shows how far a simulation is, and Ctrl-C ends it at the next instant."""

    def __init__(self, workload: Workload) -> None:
        arrivals = workload.arrivals
        self._times_ms = [one.at_ms for one in arrivals]
        self._shown = sys.stderr.isatty()
        self._began_s = time.monotonic()
        self._look_s = self._began_s + _LOOK_S
        self._instants = 0
        self._arrived = 0
        self._drawn = False
        self.interrupted = False
        self._earlier: Any = None

    def __enter__(self) -> Self:
        if self._handles():
            self._earlier = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._earlier is not None:
            signal.signal(signal.SIGINT, self._earlier)
        if self._drawn:
            click.echo("\r\x1b[K", nl=False, err=True)

    @staticmethod
    def _handles() -> bool:
        try:
            return signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None)
        except ValueError:
            return False

    def _interrupt(self, _: int, __: FrameType | None) -> None:
        self.interrupted = True

    def __call__(self, now_ms: int) -> bool:
        """Whether to end at this instant."""
        self._instants += 1
        if self._shown and self._instants % _INSTANTS == 0:
            self._look(now_ms)
        return self.interrupted

    def _look(self, now_ms: int) -> None:
        now_s = time.monotonic()
        if now_s < self._look_s:
            return
        self._look_s = now_s + _LOOK_S
        while self._arrived < len(self._times_ms) and self._times_ms[self._arrived] <= now_ms:
            self._arrived += 1
        self._drawn = True
        text = progress_text(now_ms, self._arrived, self._times_ms, now_s - self._began_s)
        click.echo(f"\r\x1b[K{text}", nl=False, err=True)


def progress_text(now_ms: int, arrived: int, times_ms: list[int], spent_s: float) -> str:
    """How far a simulation is, and how long the arrivals that are left take at this pace.

    >>> progress_text(3_600_000, 1, [0, 36_000_000], 10.0)
    '1 h simulated, 1 of 2 applications arrived, about 90 s left'
    """
    last_ms = times_ms[-1] if times_ms else 0
    hours = now_ms / 3_600_000
    text = (
        f"{hours:.3g} h simulated, {arrived:,} of {counted(len(times_ms), 'application')} arrived"
    )
    if arrived == len(times_ms):
        return f"{text}, waiting for their ends"
    left_s = spent_s * (last_ms - now_ms) / max(1, now_ms)
    return f"{text}, about {left_s:.0f} s left"
