"""What `simulate` does with traces of real clusters: their options, and which ones they are."""

from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import NodeJoined
from fairshare.core.model.resources import ResourceTypes
from fairshare.lab.simulate.readers import READERS
from fairshare.lab.simulate.traces.fitting import Fitting, QueueChoice, fitted, read_mapping
from fairshare.lab.simulate.traces.registry import is_trace, open_trace
from fairshare.lab.simulate.traces.rows import Skipped, skipped
from fairshare.lab.simulate.workload import Workload
from fairshare.settings.registry import family_of

OF_TRACES = ("mapping", "limit", "span", "gang", "closed_loop", "divide", "skip_bad")
OF_WORKLOADS = ("queue_from", "processors_per_task", "memory_per_processor_mb")
_FLAGS = {"mapping": "--map", "page": "--html", "last_ms": "--last"}


class TraceOptions(msgspec.Struct, frozen=True):
    """The options for traces; `nodes` replace those of the trace. Without `divide` the settings
    must get the maximum allocation of the workload."""

    mapping: Path | None = None
    limit: int | None = None
    span_ms: int | None = None
    gang: bool = False
    closed_loop: bool = False
    nodes: tuple[NodeJoined, ...] = ()
    divide: bool = True


def _skip(context: click.Context, option: click.Parameter, chosen: bool) -> None:
    skipped.set(Skipped() if chosen else None)


skip_bad = click.option(
    "--skip-bad",
    is_flag=True,
    expose_value=False,
    callback=_skip,
    help="Leave out the damaged lines of a trace, and say how many, instead of refusing it.",
)


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
        options.closed_loop,
        options.nodes,
        options.divide,
        family_of(scheduler).rounding(settings),
    )
    return fitted(trace, fitting, choice)
