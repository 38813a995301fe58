"""The verb `simulate`, which runs a workload under a configuration and prints a report.

Calls the packages that do the work. Does not schedule itself.
"""

from collections import Counter
from pathlib import Path
from typing import Any, cast, get_args

import click
import msgspec

from fairshare.cli.cells import MEMORY
from fairshare.cli.options import DURATION, MOST_NODES, Whole, checked, print_json, scheduler_option
from fairshare.cli.options import MEMORY as MEMORY_OPTION
from fairshare.cli.tables import open_console, print_all
from fairshare.cli.verbs import INTERRUPTED, Failure
from fairshare.client.errors import in_plain_words
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.inputs import NodeJoined
from fairshare.core.model.resources import VCORES
from fairshare.lab.simulate.faults import FaultSettings, parse_faults
from fairshare.lab.simulate.plots import write_plots
from fairshare.lab.simulate.readers import READERS, read_workload
from fairshare.lab.simulate.readers.options import QueueSource, ReaderOptions
from fairshare.lab.simulate.repetition import repetition
from fairshare.lab.simulate.report import ApplicationReport, Report, encode
from fairshare.lab.simulate.tables import check_parquet, tables, write_parquet, write_sqlite
from fairshare.lab.simulate.workload import Workload, alike
from fairshare.lab.verbs.cluster_source import read_cluster_from
from fairshare.lab.verbs.compare import write_page
from fairshare.lab.verbs.simulated_runs import Setup, nodes_of_engine, simulate, simulate_seeds
from fairshare.lab.verbs.simulated_trace import (
    OF_TRACES,
    OF_WORKLOADS,
    TraceOptions,
    is_workload,
    read_trace,
    refuse,
    skip_bad,
)
from fairshare.lab.verbs.simulation_report import report_parts, seeds_parts
from fairshare.lab.verbs.simulation_watch import Watch
from fairshare.runtime.collection import collect_rarely
from fairshare.runtime.journal.memory import ForgetfulJournal, LinesJournal
from fairshare.runtime.journal.protocol import Journal
from fairshare.settings.configuration import Configuration
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import all_families
from fairshare.wording import cause, counted, plain

MOST_SEEDS = 10_000
_REJECTED_SHOWN = 5
"""The maximum of rejected applications that are listed with reasons; the table has them all."""


class Options(msgspec.Struct):
    """The options of the command line."""

    trace: Path | None
    conf: Path
    workload: Path | None
    mapping: Path | None
    limit: int | None
    span: int | None
    gang: bool
    divide: bool
    closed_loop: bool
    nodes: int | None
    cluster_from: str | None
    node_memory_mb: int | None
    node_vcores: int | None
    until: int | None
    scheduler: str | None
    as_json: bool
    events: Path | None
    page: Path | None
    sqlite: Path | None
    parquet: Path | None
    svg: Path | None
    queue_from: str
    processors_per_task: int
    memory_per_processor_mb: int
    faults: FaultSettings | None
    seed: int
    seeds: int | None


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
    help=f"The workload: {', '.join(READERS)}, each also with .gz.",
)
@click.option(
    "--map",
    "mapping",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A mapping of a trace's queues and users to queues: {users: {ann: root.a}, default: b}.",
)
@click.option("--limit", type=Whole(1), help="Only the first N jobs of a trace.")
@click.option("--span", type=DURATION, metavar="TIME", help="Only the first TIME of a trace: 1d.")
@skip_bad
@click.option("--gang", is_flag=True, help="Start the tasks of a parallel job together.")
@click.option(
    "--divide",
    is_flag=True,
    help="Divide the tasks of a trace that are larger than the configuration's maximum allocation,"
    " instead of simulating a maximum as large as they are.",
)
@click.option(
    "--closed-loop",
    is_flag=True,
    help="Let the users of a trace wait for their jobs: each submits the next ones after the"
    " previous ones have ended, with the think time of the trace.",
)
@click.option(
    "--nodes",
    type=Whole(1, MOST_NODES),
    help="The number of nodes, instead of the workload's nodes.",
)
@click.option(
    "--cluster-from",
    metavar="SOURCE",
    help="The nodes of another cluster that are in service, instead of the workload's: a"
    " ResourceManager's address, or a file with the output of `scontrol show nodes`"
    " or `sinfo -N -o '%N %c %m %G'`.",
)
@click.option(
    "--node-memory-mb", type=MEMORY_OPTION, help="The memory of each node. [default: 8192]"
)
@click.option("--node-vcores", type=Whole(1), help="The vcores of each node. [default: 8]")
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
    help="Write every record to this file, as a line of JSON.",
)
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the report as a page with plots; see also `compare`.",
)
@click.option(
    "--sqlite",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the report as tables to a new SQLite file: run, applications,"
    " groups (by queue, user and size), timeline (usage, demand, entitlement and"
    " guarantee of each queue).",
)
@click.option(
    "--parquet",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write these tables as Parquet files; needs fairshare[parquet].",
)
@click.option(
    "--svg",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write plots as SVG files: usage and shares over time, waits, and the"
    " demand, entitlement and usage of each large queue.",
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
@click.option(
    "--faults",
    type=checked(parse_faults, "FAULTS"),
    help="Inject faults: nodes are lost and return, tasks fail: mtbf=7d,repair=2h,tasks=0.01.",
)
@click.option(
    "--seed",
    type=Whole(0),
    default=1,
    show_default=True,
    help="The seed of a run with faults or random think times.",
)
@click.option(
    "--seeds",
    type=Whole(1, MOST_SEEDS),
    help="Run with the seeds 1 to N, in parallel; the report has means and 95 % confidence"
    " intervals.",
)
def command(**values: Any) -> None:
    """Simulate a workload under a configuration, and print a report.

    TRACE is a workload as for --workload, or a trace of a real cluster, a file or a directory: the
    format is detected by the content. The decisions are those of a server: only the clock and the
    containers are simulated. The same workload and configuration always give the same output.
    Exits with 1 if applications are rejected or never end, and prints what they wait for; Ctrl-C
    ends it with a report of the results so far.
    """
    options = Options(**values)
    if (options.trace is None) == (options.workload is None):
        raise click.UsageError("name a TRACE, or a workload with --workload, and not both")
    if options.trace is not None and is_workload(options.trace):
        options.trace, options.workload = None, options.trace
    configuration = read_directory(options.conf, scheduler=options.scheduler)
    for problem in configuration.problems:
        click.echo(plain(str(problem)), err=True)
    try:
        with Watch() as watch:
            watch.reads(options.trace or options.workload or Path())
            setup = _setup(options, configuration)
            report = None if options.seeds is not None else _once(setup, options, watch)
    except KeyboardInterrupt:
        click.echo("Ctrl-C ended it: there is no report", err=True)
        raise SystemExit(INTERRUPTED) from None
    if report is None:
        _several(setup, options.seeds or 1, as_json=options.as_json)
    else:
        # Print the report, write its files, and exit with the code for it.
        if options.as_json:
            click.echo(encode(report), nl=False)
        else:
            for line in rejections(report, of_trace=options.trace is not None):
                click.echo(plain(line))
            console = open_console()
            print_all(console, *report_parts(console, report))
        _write_files(options, report)
        _finish(report, watch, ends=options.until is None)


def _setup(options: Options, configuration: Configuration) -> Setup:
    """Read what is simulated; refuse options that have no effect on it."""
    read = _read(options, configuration)
    offered = _nodes(configuration, read, options)
    setup = Setup.of(configuration, read, offered, options.until, options.faults)
    if options.seeds is not None:
        of_one = ("seed", "events", "page", "sqlite", "parquet", "svg")
        refuse(of_one, "they are of one run, and --seeds makes several")
    if not setup.has_chance:
        refuse(
            ("seed", "seeds"),
            "no part of this run depends on a seed; --faults and drawn think times do",
        )
    if options.parquet is not None:
        check_parquet()
    return setup


def _read(options: Options, configuration: Configuration) -> Workload:
    if options.trace is not None:
        refuse(OF_WORKLOADS, "a trace says it itself; --map chooses queues")
        replaced = _replaced(options, configuration)
        of_trace = TraceOptions(
            options.mapping,
            options.limit,
            options.span,
            options.gang,
            options.closed_loop,
            replaced,
            options.divide,
        )
        parts = (configuration.scheduler, configuration.types, configuration.settings)
        return read_trace(options.trace, *parts, of_trace)
    assert options.workload is not None
    refuse(OF_TRACES, "this is a workload, and they are for traces")
    return read_workload(
        options.workload,
        ReaderOptions(
            types=configuration.types,
            queue_from=cast(QueueSource, options.queue_from),
            processors_per_task=options.processors_per_task,
            memory_per_processor_mb=options.memory_per_processor_mb,
        ),
    )


def _once(setup: Setup, options: Options, watch: Watch) -> Report:
    """Run once."""
    events = options.events
    journal: Journal = ForgetfulJournal() if events is None else LinesJournal(events)
    workload = setup.workload
    watch.simulates([one.at_ms for one in workload.arrivals], workload.later)
    observers = (watch.observe,) if workload.later else ()
    collect_rarely()
    try:
        return simulate(setup, options.seed, journal, watch, watch.hurries, observers)
    finally:
        journal.close()


def _write_files(options: Options, report: Report) -> None:
    """Write the report in the forms of files that were requested."""
    if options.page is not None:
        write_page(options.page, [(options.conf.resolve().name, report)])
    written: list[Path] = []
    if options.sqlite is not None:
        write_sqlite(options.sqlite, tables(report))
        written.append(options.sqlite)
    if options.parquet is not None:
        written += write_parquet(options.parquet, tables(report))
    if options.svg is not None:
        try:
            written += write_plots(options.svg, report)
        except OSError as error:
            raise Failure(f"cannot write {options.svg}: {cause(error)}") from error
    for path in written:
        click.echo(f"wrote {path}", err=True)


def _several(setup: Setup, count: int, *, as_json: bool) -> None:
    """Run with several seeds, print the numbers, and exit with the code for them."""
    runs, interrupted = simulate_seeds(setup, count)
    if interrupted:
        click.echo(
            f"Ctrl-C ended the simulation: {len(runs):,} of {counted(count, 'run')} were over",
            err=True,
        )
    if runs:
        report = repetition(runs)
        if as_json:
            print_json(msgspec.to_builtins(report))
        else:
            console = open_console()
            print_all(console, *seeds_parts(report))
    if interrupted:
        raise SystemExit(INTERRUPTED)
    if any(run.off for run in runs) and setup.until_ms is None:
        worst = max(runs, key=lambda run: run.off)
        click.echo(
            f"with seed {worst.seed}, {counted(worst.off, 'application')} were rejected or never"
            f" ended: --seed {worst.seed} without --seeds names them",
            err=True,
        )
        raise SystemExit(1)


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
    for application in rejected[:_REJECTED_SHOWN]:
        click.echo(
            plain(
                f"rejected: {application.name or application.id}:"
                f" {in_plain_words(application.diagnostics)}"
            ),
            err=True,
        )
    if len(rejected) > _REJECTED_SHOWN:
        more = len(rejected) - _REJECTED_SHOWN
        click.echo(f"rejected: {counted(more, 'application')} more", err=True)
    if watch.interrupted:
        click.echo("Ctrl-C ended the simulation: the report is of what there was", err=True)
        raise SystemExit(INTERRUPTED)
    if rejected or any(application.for_ever or ends for application in report.unfinished):
        raise SystemExit(1)


def _replaced(options: Options, configuration: Configuration) -> tuple[NodeJoined, ...]:
    """The nodes of the command line; none if it does not say."""
    if options.cluster_from is not None:
        if options.nodes is not None:
            raise click.UsageError("--nodes and --cluster-from both say what there is: use one")
        return read_cluster_from(options.cluster_from, configuration.types)
    return () if options.nodes is None else _alike(configuration, options.nodes, options)


def _nodes(
    configuration: Configuration, workload: Workload, options: Options
) -> tuple[NodeJoined, ...]:
    """The nodes of the command line, otherwise of the workload, otherwise of fairshare.toml."""
    count = options.nodes
    if count is None and (options.node_memory_mb or options.node_vcores):
        raise click.UsageError("--node-memory-mb and --node-vcores need --nodes")
    if options.trace is None and (replaced := _replaced(options, configuration)):
        return replaced
    if count is not None:
        return _alike(configuration, count, options)
    if workload.nodes:
        return workload.nodes
    if nodes := nodes_of_engine(configuration):
        return nodes
    raise click.UsageError("the workload names no nodes: say how many with --nodes")


def _alike(configuration: Configuration, count: int, options: Options) -> tuple[NodeJoined, ...]:
    further = configuration.shell.engine.resources
    memory_mb, vcores = options.node_memory_mb or 8192, options.node_vcores or 8
    total = configuration.types.vector({**further, MEMORY: memory_mb, VCORES: vcores})
    return alike(count, total)
