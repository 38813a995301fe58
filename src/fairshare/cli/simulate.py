"""Owns the verb `simulate`: a workload, a configuration, and what would have happened.

Joins the rooms that do the work, and prints. Knows nothing of scheduling itself.
"""

import gc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast, get_args

import click
import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from fairshare.cli.cells import (
    MEMORY,
    NOTHING,
    amounts_text,
    bar,
    dominant_fraction,
    duration_text,
    plain,
    short_queue,
)
from fairshare.cli.options import DURATION, scheduler_option
from fairshare.cli.tables import (
    Column,
    ascii_only,
    bar_width,
    facts,
    open_console,
    print_all,
    state_text,
    table,
)
from fairshare.config.directory import Configuration, read_directory
from fairshare.config.scheduler_choice import SchedulerName
from fairshare.journal.lines import LinesJournal
from fairshare.journal.memory import ForgetfulJournal
from fairshare.journal.protocol import Journal
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.inputs import NodeJoined
from fairshare.model.resources import VCORES
from fairshare.schedulers.registry import SCHEDULERS
from fairshare.simulate.readers import READERS, read_workload
from fairshare.simulate.readers.options import QueueSource, ReaderOptions
from fairshare.simulate.report import Report, Sample, Spread, encode
from fairshare.simulate.simulator import Simulator
from fairshare.simulate.workload import Workload

MOST_APPLICATIONS = MOST_USERS = 20
MOST_MOMENTS = 12
MOST_QUEUES = 6
"""More are left out of the tables; `--json` has them all."""

QUEUE_COLUMNS = (
    Column("Queue"),
    Column("Share", whole=True),
    Column("Used"),
    Column("Fair"),
    Column("Apps", right=True, whole=True),
    Column("Containers", right=True, whole=True),
    Column("Preempted", right=True, extra=True),
    Column("Wait p50", right=True),
    Column("p95", right=True),
    Column("max", right=True, extra=True),
    Column("Turnaround p50", right=True),
    Column("p95", right=True),
    Column("max", right=True, extra=True),
)
USER_COLUMNS = (
    Column("User"),
    Column("Apps", right=True, whole=True),
    Column("Containers", right=True, whole=True),
    Column("Wait p50", right=True),
    Column("p95", right=True),
    Column("max", right=True, extra=True),
    Column("Turnaround p50", right=True),
    Column("p95", right=True),
    Column("max", right=True, extra=True),
)
APPLICATION_COLUMNS = (
    Column("Application"),
    Column("User"),
    Column("Queue"),
    Column("State", whole=True),
    Column("Submitted", right=True),
    Column("Wait", right=True),
    Column("Turnaround", right=True),
    Column("Containers", right=True, extra=True),
)


@click.command
@click.option(
    "--conf",
    required=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The configuration directory, as `serve` reads it.",
)
@click.option(
    "--workload",
    required=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"What arrives when: {', '.join(READERS)}, each also with .gz.",
)
@click.option("--nodes", type=click.IntRange(1), help="So many nodes, instead of the workload's.")
@click.option("--node-memory-mb", type=click.IntRange(1), help="Memory of each [8192].")
@click.option("--node-vcores", type=click.IntRange(1), help="Vcores of each [8].")
@click.option(
    "--until", type=DURATION, metavar="TIME", help="Stop then, such as 1h; else at the end."
)
@scheduler_option(tuple(SCHEDULERS))
@click.option("--json", "as_json", is_flag=True, help="Print the whole report as JSON.")
@click.option(
    "--events",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write every record there, one line of JSON each.",
)
@click.option(
    "--queue-from",
    type=click.Choice(get_args(QueueSource)),
    default="default",
    show_default=True,
    help="Which column of a trace names the queue; default: the placement rules decide.",
)
@click.option(
    "--processors-per-task",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How a trace's jobs of many processors become tasks.",
)
@click.option(
    "--memory-per-processor-mb",
    type=click.IntRange(1),
    default=1024,
    show_default=True,
    help="Where a trace does not say how much memory a job needs.",
)
def command(
    conf: Path,
    workload: Path,
    nodes: int | None,
    node_memory_mb: int | None,
    node_vcores: int | None,
    until: int | None,
    scheduler: SchedulerName | None,
    as_json: bool,
    events: Path | None,
    queue_from: str,
    processors_per_task: int,
    memory_per_processor_mb: int,
) -> None:
    """Run a workload under a configuration, in no time, and report.

    The same decisions as those of a server: only the clock and the containers are made up. The same
    workload and configuration give the same bytes.
    """
    configuration = read_directory(conf, scheduler=scheduler)
    for problem in configuration.problems:
        click.echo(plain(str(problem)), err=True)
    options = ReaderOptions(
        types=configuration.types,
        queue_from=cast(QueueSource, queue_from),
        processors_per_task=processors_per_task,
        memory_per_processor_mb=memory_per_processor_mb,
    )
    read = read_workload(workload, options)
    offered = _nodes(configuration, read, nodes, node_memory_mb, node_vcores)
    journal: Journal = ForgetfulJournal() if events is None else LinesJournal(events)
    try:
        report = _simulate(configuration, read, offered, journal, until)
    finally:
        journal.close()
    if as_json:
        click.echo(encode(report), nl=False)
    else:
        console = open_console()
        print_all(console, *_parts(console, report))


def _simulate(
    configuration: Configuration,
    workload: Workload,
    nodes: tuple[NodeJoined, ...],
    journal: Journal,
    until_ms: int | None,
) -> Report:
    manager = ResourceManager(SCHEDULERS[configuration.scheduler](configuration.types))
    simulator = Simulator(
        manager,
        msgspec.json.encode(configuration.settings),
        workload,
        journal,
        nodes=nodes,
        beat_interval_ms=configuration.heartbeat_interval_ms,
    )
    # Millions of small objects come and go, hardly any in circles.
    gc.set_threshold(100_000, 50, 100)
    return simulator.run(until_ms)


def _nodes(
    configuration: Configuration,
    workload: Workload,
    count: int | None,
    memory_mb: int | None,
    vcores: int | None,
) -> tuple[NodeJoined, ...]:
    """Those of the command line, else of the workload, else of fairshare.toml."""
    if count is None and (memory_mb or vcores):
        raise click.UsageError("--node-memory-mb and --node-vcores need --nodes")
    if count is None and workload.nodes:
        return workload.nodes
    if count is None:
        engine = configuration.shell.engine
        if not (engine.memory_mb and engine.vcores):
            raise click.UsageError("the workload names no nodes: say how many with --nodes")
        count, memory_mb, vcores = engine.nodes, engine.memory_mb, engine.vcores
    further = configuration.shell.engine.resources
    amounts = {**further, MEMORY: memory_mb or 8192, VCORES: vcores or 8}
    total = configuration.types.vector(amounts)
    return tuple(NodeJoined(f"node-{number + 1}", total) for number in range(count))


def _parts(console: Console, report: Report) -> list[RenderableType | None]:
    """What is printed: the whole, by queue, over time, by user, by application, notes."""
    return [
        facts(_summary(report)),
        table(console, QUEUE_COLUMNS, _queue_rows(console, report)),
        _over_time(console, report),
        table(console, USER_COLUMNS, _user_rows(report)),
        table(console, APPLICATION_COLUMNS, _application_rows(report)),
        Text(_more(report)) if _more(report) else None,
    ]


def _summary(report: Report) -> list[tuple[str, str | Text]]:
    containers = report.containers
    states = report.applications_by_state.items()
    use = ", ".join(f"{part:.1%} {name}" for name, part in report.utilization.items())
    return [
        ("Scheduler", report.scheduler),
        ("Applications", ", ".join(f"{n} {state.lower()}" for state, n in states if n) or "none"),
        (
            "Containers",
            f"{containers.granted} granted, {containers.succeeded} succeeded,"
            f" {containers.failed} failed, {containers.preempted} preempted,"
            f" {containers.aborted} aborted",
        ),
        ("Makespan", duration_text(report.makespan_ms)),
        ("Used", use),
        ("Waiting", _spread_text(report.waiting)),
        ("Turnaround", _spread_text(report.turnaround)),
    ]


def _spread_text(spread: Spread | None) -> str:
    if spread is None:
        return NOTHING
    names = ("min", "mean", "p50", "p95", "max")
    times_ms = (spread.min, round(spread.mean), spread.p50, spread.p95, spread.max)
    return ", ".join(f"{n} {duration_text(ms)}" for n, ms in zip(names, times_ms, strict=True))


def _queue_rows(console: Console, report: Report) -> list[list[str | Text]]:
    total = report.timeline[-1].total if report.timeline else {}
    rows: list[list[str | Text]] = []
    for queue in report.queues:
        used = {name: round(amount) for name, amount in queue.used.items()}
        fair = {name: round(amount) for name, amount in queue.fair_share.items()}
        shares = dominant_fraction(used, total), dominant_fraction(fair, total)
        rows.append(
            [
                short_queue(queue.name),
                bar(shares[0], bar_width(console), shares[1], ascii_only=ascii_only(console)),
                amounts_text(used),
                amounts_text(fair),
                str(queue.applications),
                str(queue.containers),
                str(queue.preempted_containers),
                *_columns(queue.waiting),
                *_columns(queue.turnaround),
            ]
        )
    return rows


def _over_time(console: Console, report: Report) -> Table | None:
    """What part of the cluster was used, by all and by each queue, beside its fair share.

    Both are means over the time from one line to the next.
    """
    samples = report.timeline
    if not samples:
        return None
    queues = sorted(report.queues, key=lambda queue: -max(queue.used.values(), default=0))
    names = sorted(queue.name for queue in queues[:MOST_QUEUES])
    columns = [Column("From", right=True, whole=True), Column("Use", whole=True)]
    columns += [Column(f"{short_queue(name)} used/fair", right=True) for name in names]
    rows: list[list[str | Text]] = []
    step = -(-len(samples) // MOST_MOMENTS)
    for some in (samples[n : n + step] for n in range(0, len(samples), step)):
        total = some[-1].total
        row: list[str | Text] = [
            duration_text(some[0].at_ms),
            bar(
                dominant_fraction(_mean(some, [one.used for one in some]), total),
                bar_width(console),
                ascii_only=ascii_only(console),
            ),
        ]
        for name in names:
            of_queue = [one.queues.get(name) for one in some]
            used, fair = (
                dominant_fraction(_mean(some, amounts), total)
                for amounts in (
                    [one.used if one else {} for one in of_queue],
                    [one.fair_share if one else {} for one in of_queue],
                )
            )
            row.append(f"{used:.0%} / {fair:.0%}")
        rows.append(row)
    return table(console, columns, rows)


def _mean(samples: Sequence[Sample], amounts: Sequence[Mapping[str, float]]) -> dict[str, int]:
    """The mean of amounts over samples of different length."""
    length_ms = sum(sample.length_ms for sample in samples)
    return {
        name: round(
            sum(one.get(name, 0) * s.length_ms for s, one in zip(samples, amounts, strict=True))
            / length_ms
        )
        for name in samples[-1].total
    }


def _columns(spread: Spread | None) -> list[str]:
    if spread is None:
        return [NOTHING] * 3
    return [duration_text(ms) for ms in (spread.p50, spread.p95, spread.max)]


def _user_rows(report: Report) -> list[list[str | Text]]:
    longest = sorted(report.users, key=lambda one: -(one.turnaround.max if one.turnaround else 0))
    return [
        [
            one.name,
            str(one.applications),
            str(one.containers),
            *_columns(one.waiting),
            *_columns(one.turnaround),
        ]
        for one in longest[:MOST_USERS]
    ]


def _application_rows(report: Report) -> list[list[str | Text]]:
    longest = sorted(report.applications, key=lambda one: -(one.turnaround_ms or 0))
    return [
        [
            one.name or one.id,
            one.user,
            short_queue(one.queue),
            state_text(one.state),
            duration_text(one.submitted_ms),
            NOTHING if one.waiting_ms is None else duration_text(one.waiting_ms),
            NOTHING if one.turnaround_ms is None else duration_text(one.turnaround_ms),
            str(one.containers),
        ]
        for one in longest[:MOST_APPLICATIONS]
    ]


def _more(report: Report) -> str:
    """What is left out, what went wrong, and what the reader has to say."""
    lines = list(report.notes)
    for what, count, most in (
        ("users", len(report.users), MOST_USERS),
        ("applications", len(report.applications), MOST_APPLICATIONS),
    ):
        if count > most:
            lines.append(
                f"The {most} {what} with the longest turnaround of {count}; --json has all of them."
            )
    reasons = {one.diagnostics: one for one in report.applications if one.diagnostics}
    lines += [f"{plain(one.name or one.id)}: {plain(why)}" for why, one in reasons.items()][:5]
    return "\n".join(lines)
