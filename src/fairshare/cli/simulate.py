"""Owns the verb `simulate`, which runs a workload under a configuration and prints a report.

Calls the packages that do the work. Does not schedule itself.
"""

import gc
from collections import Counter
from pathlib import Path
from typing import cast, get_args

import click
import msgspec

from fairshare.cli.cells import MEMORY, plain
from fairshare.cli.compare import write_page
from fairshare.cli.options import DURATION, MOST_NODES, Whole, scheduler_option
from fairshare.cli.options import MEMORY as MEMORY_OPTION
from fairshare.cli.simulated_trace import (
    OF_TRACES,
    OF_WORKLOADS,
    TraceOptions,
    Watch,
    is_workload,
    read_trace,
    refuse,
)
from fairshare.cli.simulation_report import report_parts
from fairshare.cli.tables import open_console, print_all
from fairshare.cli.unfinished import unfinished
from fairshare.cli.verbs import INTERRUPTED
from fairshare.client.refusals import in_plain_words
from fairshare.families.configuration import Configuration
from fairshare.families.directory import read_directory
from fairshare.families.registry import all_families, family_of
from fairshare.families.reservations import with_reservations
from fairshare.journal.lines import LinesJournal
from fairshare.journal.memory import ForgetfulJournal
from fairshare.journal.protocol import Journal
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.events import ApplicationState
from fairshare.model.inputs import NodeJoined
from fairshare.model.resources import VCORES
from fairshare.simulate.readers import READERS, read_workload
from fairshare.simulate.readers.options import QueueSource, ReaderOptions
from fairshare.simulate.report import ApplicationReport, Report, encode
from fairshare.simulate.simulator import Simulator
from fairshare.simulate.workload import Workload
from fairshare.wording import counted

_REJECTED_SHOWN = 5
"""The maximum of rejected applications that are listed with reasons; the table has them all."""


@click.command
@click.argument("trace", required=False, metavar="[TRACE]", type=click.Path(path_type=Path))
@click.option(
    "--conf",
    required=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The configuration directory, as for `serve`.",
)
@click.option(
    "--workload",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"What arrives when: {', '.join(READERS)}, each also with .gz.",
)
@click.option(
    "--map",
    "mapping",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Which queues the queues and users of a trace are: {users: {ann: root.a}, default: b}.",
)
@click.option("--limit", type=Whole(1), help="The first N jobs of a trace.")
@click.option("--span", type=DURATION, metavar="TIME", help="The first TIME of a trace: 1d.")
@click.option("--gang", is_flag=True, help="Start the tasks of a parallel job as a whole.")
@click.option(
    "--nodes",
    type=Whole(1, MOST_NODES),
    help="The number of nodes, instead of the workload's nodes.",
)
@click.option("--node-memory-mb", type=MEMORY_OPTION, help="The memory of each node. [8192]")
@click.option("--node-vcores", type=Whole(1), help="The vcores of each node. [8]")
@click.option(
    "--until",
    type=DURATION,
    metavar="TIME",
    help="Stop at this time, such as 1h, instead of at the end.",
)
@scheduler_option(sorted(all_families()))
@click.option("--json", "as_json", is_flag=True, help="Print the whole report as JSON.")
@click.option(
    "--events",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write every record to this file, one JSON line each.",
)
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report as a page with plots, too; `compare` lays several side by side.",
)
@click.option(
    "--queue-from",
    type=click.Choice(get_args(QueueSource)),
    default="default",
    show_default=True,
    help="The column of a trace that names the queue; default: the placement rules choose.",
)
@click.option(
    "--processors-per-task",
    type=Whole(1),
    default=1,
    show_default=True,
    help="The processors of each task, for a trace's jobs with several processors.",
)
@click.option(
    "--memory-per-processor-mb",
    type=MEMORY_OPTION,
    default="1024",
    show_default=True,
    help="The memory per processor of a trace's jobs without a memory request.",
)
def command(
    trace: Path | None,
    conf: Path,
    workload: Path | None,
    mapping: Path | None,
    limit: int | None,
    span: int | None,
    gang: bool,
    nodes: int | None,
    node_memory_mb: int | None,
    node_vcores: int | None,
    until: int | None,
    scheduler: str | None,
    as_json: bool,
    events: Path | None,
    page: Path | None,
    queue_from: str,
    processors_per_task: int,
    memory_per_processor_mb: int,
) -> None:
    """Simulate a workload under a configuration, and print a report.

    TRACE is a workload as for --workload, or a trace of a real cluster, a file or a directory: its
    content says the format. The decisions are those of a server: only the clock and the containers
    are simulated. The same workload and configuration yield the same bytes. Exits with 1 if
    applications are rejected or never end, and prints what they wait for; Ctrl-C ends it with a
    report of what there is.
    """
    if (trace is None) == (workload is None):
        raise click.UsageError("name a TRACE, or a workload with --workload, and not both")
    if trace is not None and is_workload(trace):
        trace, workload = None, trace
    configuration = read_directory(conf, scheduler=scheduler)
    for problem in configuration.problems:
        click.echo(plain(str(problem)), err=True)
    if trace is not None:
        refuse(OF_WORKLOADS, "a trace says it itself; --map chooses queues")
        replaced = (
            () if nodes is None else _alike(configuration, nodes, node_memory_mb, node_vcores)
        )
        read = read_trace(trace, configuration, TraceOptions(mapping, limit, span, gang, replaced))
    else:
        assert workload is not None
        refuse(OF_TRACES, "this is a workload, and they are for traces")
        options = ReaderOptions(
            types=configuration.types,
            queue_from=cast(QueueSource, queue_from),
            processors_per_task=processors_per_task,
            memory_per_processor_mb=memory_per_processor_mb,
        )
        read = read_workload(workload, options)
    offered = _nodes(configuration, read, nodes, node_memory_mb, node_vcores)
    configuration = with_reservations(configuration, len(offered))
    journal: Journal = ForgetfulJournal() if events is None else LinesJournal(events)
    watch = Watch(read)
    try:
        with watch:
            report = _simulate(configuration, read, offered, journal, until, watch)
    finally:
        journal.close()
    if as_json:
        click.echo(encode(report), nl=False)
    else:
        for line in rejections(report, of_trace=trace is not None):
            click.echo(plain(line))
        console = open_console()
        print_all(console, *report_parts(console, report))
    if page is not None:
        write_page(page, [(conf.resolve().name, report)])
    _finish(report, watch, ends=until is None)


def rejections(report: Report, *, of_trace: bool) -> list[str]:
    """The first line of a report if applications were rejected: how many, why, what would help."""
    rejected = _rejected(report)
    if not rejected:
        return []
    reasons = Counter(in_plain_words(one.diagnostics) for one in rejected)
    ((reason, count),) = reasons.most_common(1)
    all_of = counted(len(report.applications), "application")
    often = "" if len(reasons) == 1 else f" ({count:,} of them)"
    helps = " Choose queues that take them with --map." if of_trace else ""
    return [f"{len(rejected):,} of {all_of} were rejected: {reason}{often}.{helps}"]


def _rejected(report: Report) -> list[ApplicationReport]:
    return [one for one in report.applications if one.state == ApplicationState.REJECTED]


def _finish(report: Report, watch: Watch, *, ends: bool) -> None:
    """Print what is wrong, and exit with the code for it. `ends`: nothing should be left."""
    rejected = _rejected(report)
    for one in rejected[:_REJECTED_SHOWN]:
        click.echo(
            plain(f"rejected: {one.name or one.id}: {in_plain_words(one.diagnostics)}"), err=True
        )
    if len(rejected) > _REJECTED_SHOWN:
        more = len(rejected) - _REJECTED_SHOWN
        click.echo(f"rejected: {counted(more, 'application')} more", err=True)
    if watch.interrupted:
        click.echo("Ctrl-C ended the simulation: the report is of what there was", err=True)
        raise SystemExit(INTERRUPTED)
    if rejected or any(one.for_ever or ends for one in report.unfinished):
        raise SystemExit(1)


def _simulate(
    configuration: Configuration,
    workload: Workload,
    nodes: tuple[NodeJoined, ...],
    journal: Journal,
    until_ms: int | None,
    watch: Watch,
) -> Report:
    manager = ResourceManager(family_of(configuration.scheduler).create(configuration.types))
    simulator = Simulator(
        manager,
        msgspec.json.encode(configuration.settings),
        workload,
        journal,
        nodes=nodes,
        beat_interval_ms=configuration.heartbeat_interval_ms,
        stops=watch,
        forgets=True,
    )
    # Millions of small objects are created and freed, hardly any in reference cycles.
    gc.set_threshold(100_000, 50, 100)
    report = simulator.run(until_ms)
    return msgspec.structs.replace(report, unfinished=unfinished(manager.scheduler))


def _nodes(
    configuration: Configuration,
    workload: Workload,
    count: int | None,
    memory_mb: int | None,
    vcores: int | None,
) -> tuple[NodeJoined, ...]:
    """The nodes of the command line, otherwise of the workload, otherwise of fairshare.toml."""
    if count is None and (memory_mb or vcores):
        raise click.UsageError("--node-memory-mb and --node-vcores need --nodes")
    if count is None and workload.nodes:
        return workload.nodes
    if count is None:
        engine = configuration.shell.engine
        if not (engine.memory_mb and engine.vcores):
            raise click.UsageError("the workload names no nodes: say how many with --nodes")
        count, memory_mb, vcores = engine.nodes, engine.memory_mb, engine.vcores
    return _alike(configuration, count, memory_mb, vcores)


def _alike(
    configuration: Configuration, count: int, memory_mb: int | None, vcores: int | None
) -> tuple[NodeJoined, ...]:
    further = configuration.shell.engine.resources
    amounts = {**further, MEMORY: memory_mb or 8192, VCORES: vcores or 8}
    total = configuration.types.vector(amounts)
    return tuple(NodeJoined(f"node-{number + 1}", total) for number in range(count))
