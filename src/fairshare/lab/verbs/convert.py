"""The verb `convert`, from a Fair Scheduler configuration to a Capacity Scheduler one, with a
comparison of both on a workload or on a server's history.
"""

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from textwrap import TextWrapper
from typing import cast, get_args

import click
import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from fairshare.cli.cells import NOTHING, duration_text, short_queue
from fairshare.cli.lint import read_cluster
from fairshare.cli.options import DURATION, Whole
from fairshare.cli.tables import PIPE_WIDTH, Cell, Column, Facts, Listing, open_console, print_all
from fairshare.cli.verbs import Failure
from fairshare.lab.convert.comparison import Comparison, QueueMetrics, compare, sentence, verdict
from fairshare.lab.convert.fair_to_capacity.converting import Conversion, assumptions, convert
from fairshare.lab.convert.fair_to_capacity.draft import (
    Calculator,
    Finding,
    Mode,
    Options,
    Rules,
    read_rules,
    tally,
)
from fairshare.lab.convert.fair_to_capacity.source import Source, read_source
from fairshare.lab.convert.fair_to_capacity.texts import YARN_SITE, as_text
from fairshare.lab.convert.generation import generate, known_cluster, known_count, nodes_for
from fairshare.lab.plan.planning import Plan, Proposal, plan
from fairshare.lab.simulate.readers import read_workload
from fairshare.lab.simulate.readers.options import ReaderOptions
from fairshare.lab.simulate.report import cluster_total
from fairshare.lab.simulate.workload import Workload
from fairshare.lab.simulate.world import World
from fairshare.lab.verbs.histories import read_world
from fairshare.lab.verbs.plan import show
from fairshare.lab.verbs.simulated_trace import TraceOptions, is_workload, read_trace
from fairshare.runtime.journal.sqlite import JOURNAL_FILE
from fairshare.settings.output import Written, write_directory
from fairshare.settings.resource_types import UnknownResourceType
from fairshare.wording import counted, plain


def read_recorded(source: Source, path: Path) -> World | None:
    """The history of a state directory; None if it is none. Raises Failure."""
    if path.name != JOURNAL_FILE and not (path / JOURNAL_FILE).exists():
        return None
    world = read_world(path)
    types = source.settings.types.names
    if world.types.names != types:
        raise Failure(
            f"--compare: the history of {path} has the resource types"
            f" {', '.join(world.types.names)}, and the configuration {', '.join(types)}"
        )
    return world


def compare_on(world: World, conversion: Conversion) -> Plan:
    """What the converted configuration would have done to a history."""
    settings = conversion.settings
    names = {old: new for old, new in conversion.names.items() if old != new}
    return plan(world, Proposal("capacity", settings, settings.heartbeat_interval_ms, names))


CAPACITY_FILE = "capacity-scheduler.xml"
MADE_UP = ""
"""The value of --compare without a workload."""

LEAST_LIST = 40
LEAST_TABLE = 160
"""On a terminal narrower than this, findings are printed as a list."""

OUTCOME_STYLES = {"kept": "green", "changed": "yellow", "lost": "red", "unknown": "magenta"}

COMPARISON_COLUMNS = (
    Column("Queue"),
    Column("Scheduler", whole=True),
    Column("Apps", right=True, whole=True),
    Column("Containers", right=True, extra=True),
    Column("GB-seconds", right=True, whole=True),
    Column("Vcore-seconds", right=True, extra=True),
    Column("Wait mean", right=True),
    Column("p95", right=True),
    Column("Slowdown", right=True),
    Column("Preempted", right=True, extra=True),
    Column("Share over time", right=True),
)


@click.command
@click.argument("path", metavar="DIR_OR_FILE", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--output",
    "-o",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory for capacity-scheduler.xml, yarn-site.xml and the other files of"
    " DIR; without it no files are written.",
)
@click.option("--force", is_flag=True, help="Replace existing files, and keep them as FILE~.")
@click.option(
    "--print", "prints", is_flag=True, help="Print both files to stdout, and the table to stderr."
)
@click.option(
    "--mode",
    type=click.Choice(get_args(Mode)),
    default="weights",
    show_default=True,
    help="The form of shares: weights (3w), percentage (75), absolute"
    " ([memory=76800,vcores=75], needs the cluster), vectors (weights, and maximums"
    " for each resource type; Hadoop 3.4).",
)
@click.option(
    "--calculator",
    type=click.Choice(get_args(Calculator)),
    default="auto",
    show_default=True,
    help="The resource calculator of all queues. auto: dominant if a queue has the"
    " policy drf or a maximum container size, and with modes that write vcores.",
)
@click.option(
    "--cluster",
    callback=read_cluster,
    metavar="AMOUNTS",
    help="The total of all nodes, such as memory-mb=81920,vcores=80.",
)
@click.option("--nodes", type=Whole(1), metavar="N", help="The number of nodes.")
@click.option(
    "--rules",
    "rules_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Fail if certain elements are lost or changed: a file in the format of Hadoop's"
    " fs2cs, with rules such as minResources.action=abort or maxChildQueue.limit=50.",
)
@click.option(
    "--strict", is_flag=True, help="Write nothing and exit with 1 if anything is or may be lost."
)
@click.option(
    "--compare",
    "workload",
    is_flag=False,
    flag_value=MADE_UP,
    metavar="[WORK]",
    help="Simulate both and show the differences: with a workload, a trace of a real cluster, the"
    " history in the state directory of a server, or a generated workload.",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="The seed of the generated workload."
)
@click.option(
    "--until", type=DURATION, metavar="TIME", help="End the comparison at this time, such as 1h."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    path: Path,
    output: Path | None,
    force: bool,
    prints: bool,
    mode: str,
    calculator: str,
    cluster: dict[str, int] | None,
    nodes: int | None,
    rules_file: Path | None,
    strict: bool,
    workload: str | None,
    seed: int,
    until: int | None,
    as_json: bool,
) -> None:
    """Convert a Fair Scheduler configuration to a Capacity Scheduler configuration.

    DIR_OR_FILE is a configuration directory, or a single allocation file. Reports the outcome of
    each element, with the reason: kept (same meaning), changed (similar meaning), lost, or unknown
    (without yarn-site.xml its effect cannot be determined).

    fairshare validates the result before it writes all files or none. Exits with 1 if the
    configuration cannot be converted, if --rules forbids it, or with --strict if anything is or
    may be lost.
    """
    if prints and as_json:
        raise click.UsageError("--print and --json both need stdout: use one")
    source = read_source(path)
    rules = read_rules(rules_file.read_text(), str(rules_file)) if rules_file else Rules()
    history = read_recorded(source, Path(workload)) if workload else None
    loaded = None if history is not None else _given(source, workload)
    offered = loaded.nodes if loaded else ()
    try:
        known = known_cluster(source, cluster, offered)
    except UnknownResourceType as error:
        raise click.UsageError(f"--cluster: {error}") from error
    options = Options(
        mode=cast(Mode, mode),
        cluster=known,
        nodes=known_count(source, nodes, cluster is not None, offered),
        calculator=cast(Calculator, calculator),
    )
    conversion = convert(source, options)
    rules.check(conversion.findings, conversion.children)
    counts = tally(conversion.findings)
    refused = strict and counts.lost + counts.unknown > 0
    written = Written([], [])
    if output is not None and not refused:
        written = write_directory(conversion.files, output, force=force)
    comparison = planned = None
    if history is not None:
        planned = compare_on(history, conversion)
    elif workload is not None:
        joined = nodes_for(source, options.cluster, options.nodes, offered)
        work = loaded or generate(source, joined, seed)
        comparison = compare(
            source, conversion, work, joined, until, check_access=loaded is not None
        )
    if as_json:
        answer = _answer(source, conversion, comparison, written)
        if planned is not None:
            answer["plan"] = msgspec.to_builtins(planned)
        click.echo(json.dumps(answer, indent=1))
    else:
        _report(source, conversion, comparison, written, prints)
        if planned is not None:
            show(open_console(stderr=prints), planned, ())
    if refused:
        what = "Something is lost" if counts.lost else "Without yarn-site.xml something may be lost"
        click.echo(f"{what}, and --strict forbids it: nothing was written.", err=True)
        raise SystemExit(1)


def _given(source: Source, workload: str | None) -> Workload | None:
    """The workload of the command line; None if there is none, or a generated one is used."""
    if not workload:
        return None
    file = Path(workload)
    if not file.exists():
        raise click.UsageError(
            f"--compare: there is no workload, trace or state directory {workload}"
        )
    if is_workload(file):
        return read_workload(file, ReaderOptions(types=source.settings.types))
    return read_trace(file, "fair", source.settings.types, source.settings, TraceOptions())


def _report(
    source: Source,
    conversion: Conversion,
    comparison: Comparison | None,
    written: Written,
    prints: bool,
) -> None:
    """Print tables; with `prints`, only the files on stdout."""
    console = open_console(stderr=prints)
    for problem in (*source.problems, *conversion.problems):
        click.echo(plain(str(problem)), err=True)
    found = tally(conversion.findings)
    count = Text(f"{found.kept} kept, {found.changed} changed, {found.lost} lost", style="bold")
    if found.unknown:
        count.append(f", {found.unknown} not known without yarn-site.xml")
    wide = console.width >= LEAST_TABLE
    shown = _finding_table if wide else _finding_list
    parts: list[RenderableType] = []
    if assumed := assumptions(source):
        values = ", ".join(f"{name}={value}" for name, value in assumed.items())
        parts.append(Text(f"There is no yarn-site.xml. Assumed, as Hadoop's defaults: {values}"))
    parts.append(shown(console, conversion.findings))
    if comparison is not None:
        parts.append(Facts(_summary(comparison, made_up=not conversion.guarantees)))
        parts.append(Listing(COMPARISON_COLUMNS, _comparison_rows(comparison)))
    print_all(console, *parts, count)
    for path in written.files:
        console.print(Text(f"Wrote {path}"), soft_wrap=True)
    for path in written.copies:
        console.print(Text(f"Kept what was there as {path}"), soft_wrap=True)
    if comparison is not None:
        console.print()
        for queue in comparison.queues:
            line = sentence(queue, conversion.findings)
            # One line in a pipe, where rich would break it within words.
            console.print(Text(plain(line)), soft_wrap=console.width >= PIPE_WIDTH)
        if line := verdict(comparison):
            console.print(Text(line, style="bold"), soft_wrap=console.width >= PIPE_WIDTH)
    if prints:
        click.echo(as_text(conversion.files, (CAPACITY_FILE, YARN_SITE)), nl=False)


def _finding_table(_: Console, findings: Sequence[Finding]) -> Table:
    """A table of all findings; long texts are wrapped, not cut, since each word may matter."""
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    made.add_column("Queue", overflow="fold")
    made.add_column("Element", overflow="fold")
    made.add_column("Outcome", no_wrap=True)
    made.add_column("Became", overflow="fold")
    made.add_column("Why", overflow="fold")
    made.add_column("Where", overflow="fold")
    for finding in findings:
        where = f"{Path(finding.file).name}:{finding.line}" if finding.line else NOTHING
        made.add_row(
            Text(plain(short_queue(finding.queue)) or "all"),
            Text(plain(f"{finding.element} {finding.value}".strip())),
            Text(finding.outcome, style=OUTCOME_STYLES[finding.outcome]),
            Text(plain(finding.became) or NOTHING),
            Text(plain(finding.why)),
            Text(plain(where)),
        )
    return made


def _finding_list(console: Console, findings: Sequence[Finding]) -> Text:
    """The findings as a list by queue, for narrow terminals, without reasons for kept elements."""
    indent = " " * 10
    wrapper = TextWrapper(
        max(console.width, LEAST_LIST),
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    lines: list[Text] = []
    for queue, group in groupby(findings, key=lambda finding: finding.queue):
        lines.append(Text(plain(queue) or "all queues", style="bold"))
        for finding in group:
            row = f"{finding.element} {finding.value}".strip()
            row = wrapper.fill(plain(row + (f" -> {finding.became}" if finding.became else "")))
            line = Text(f"  {finding.outcome:8}{row.removeprefix(indent)}")
            line.stylize(OUTCOME_STYLES[finding.outcome], 2, len(indent))
            lines.append(line)
            if finding.outcome != "kept":
                lines.append(Text(wrapper.fill(plain(finding.why)), style="dim"))
    return Text("\n").join(lines)


def _summary(comparison: Comparison, *, made_up: bool) -> list[tuple[str, Cell]]:
    before, after = comparison.before, comparison.after
    total = cluster_total(before)
    cluster = ", ".join(f"{amount} {name}" for name, amount in total.items())
    if made_up:
        cluster += " (made up: say --cluster)"
    makespans = f"fair {duration_text(before.makespan_ms)}"
    makespans += f", capacity {duration_text(after.makespan_ms)}"
    return [
        ("Workload", counted(len(before.applications), "application")),
        ("Cluster", cluster or NOTHING),
        ("Makespan", makespans),
        ("Shares", f"in quarters of the first {duration_text(comparison.window_ms)}"),
    ]


def _comparison_rows(comparison: Comparison) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for queue in comparison.queues:
        rows.append([short_queue(queue.name), "fair", *_cells(queue.before)])
        rows.append(["", "capacity", *_cells(queue.after)])
    return rows


def _cells(metrics: QueueMetrics | None) -> list[Cell]:
    if metrics is None:
        return [NOTHING] * (len(COMPARISON_COLUMNS) - 2)
    seconds = metrics.resource_seconds
    return [
        str(metrics.applications),
        str(metrics.containers),
        str(round(seconds.get("memory-mb", 0) / 1024)),
        str(seconds.get("vcores", 0)),
        _time(metrics.waiting_mean_ms),
        _time(metrics.waiting_p95_ms),
        NOTHING if metrics.slowdown is None else f"{metrics.slowdown:.2f}",
        str(metrics.preempted),
        " ".join(f"{share:.0%}" for share in metrics.shares),
    ]


def _time(ms: int | None) -> str:
    return NOTHING if ms is None else f"{ms / 1000:.1f}s"


def _answer(
    source: Source,
    conversion: Conversion,
    comparison: Comparison | None,
    written: Written,
) -> dict[str, object]:
    """The whole result as JSON, for scripts."""
    answer: dict[str, object] = {
        "assumed": assumptions(source),
        "findings": msgspec.to_builtins(conversion.findings),
        **msgspec.to_builtins(tally(conversion.findings)),
        "problems": msgspec.to_builtins(conversion.problems),
        "files": {name: text.decode() for name, text in conversion.files.items()},
        "written": [str(path) for path in written.files],
        "copies": [str(path) for path in written.copies],
    }
    if comparison is not None:
        answer["comparison"] = [
            {**msgspec.to_builtins(queue), "sentence": sentence(queue, conversion.findings)}
            for queue in comparison.queues
        ]
        answer["contended"] = comparison.contended
        answer["cluster_used"] = comparison.used
    return answer
