"""Owns the display of a simulation's report in a terminal. Does not know the simulator."""

from collections.abc import Mapping, Sequence

from fairshare.cli.cells import (
    NOTHING,
    amounts_text,
    bar,
    dominant_fraction,
    duration_text,
    plain,
    share_text,
    short_queue,
)
from fairshare.cli.tables import (
    Cell,
    Column,
    Facts,
    Listing,
    Output,
    Styled,
    ascii_only,
    bar_width,
    state_text,
)
from fairshare.lab.simulate.comparison import Run, summary
from fairshare.lab.simulate.overviews import Overview, facts_of, groups_overview, percentiles, ratio
from fairshare.lab.simulate.report import Report, Sample, Spread, cluster_total
from fairshare.wording import counted

MOST_APPLICATIONS = MOST_USERS = 20
MOST_UNFINISHED = 10
MOST_MOMENTS = 12
MOST_QUEUES = 6
"""The maximum of queues in the tables; `--json` has them all."""

QUEUE_COLUMNS = (
    Column("Queue"),
    Column("Share", whole=True),
    Column("Used", whole=True),
    Column("Fair", whole=True),
    Column("Apps", right=True, whole=True),
    Column("Containers", right=True, extra=True),
    Column("Preempted", right=True, extra=True),
    Column("Wait p50", right=True),
    Column("p95", right=True),
    Column("p99", right=True, extra=True),
    Column("max", right=True, extra=True),
    Column("Slowdown p50", right=True),
    Column("p95", right=True),
    Column("p99", right=True, extra=True),
    Column("Turnaround p50", right=True, extra=True),
    Column("p95", right=True, extra=True),
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


def report_parts(console: Output, report: Report) -> list[Facts | Listing | Styled | None]:
    """The parts of the output: summary, by queue, over time, by user and size, by application,
    notes."""
    run = summary("", report)
    return [
        Facts(_summary(report, run)),
        Listing(QUEUE_COLUMNS, _queue_rows(console, report, run)),
        _over_time(console, report),
        overview_table(groups_overview([run], "users", _duration, MOST_USERS)),
        overview_table(groups_overview([run], "sizes", _duration)),
        Listing(APPLICATION_COLUMNS, _application_rows(report)),
        Styled(_more(report)) if _more(report) else None,
        Styled(_unfinished_text(report), style="yellow") if report.unfinished else None,
    ]


def overview_table(overview: Overview) -> Listing:
    """A table that pages have, too."""
    columns = [
        Column(one.title, right=not one.words, whole=not one.words, extra=one.extra)
        for one in overview.headings
    ]
    signed = [one.signed for one in overview.headings]
    rows: list[list[Cell]] = [
        [
            Styled(cell, style="green" if cell.startswith("-") else "red") if of else cell
            for cell, of in zip(row, signed, strict=True)
        ]
        for row in overview.rows
    ]
    return Listing(columns, rows)


def _duration(ms: float) -> str:
    return duration_text(round(ms))


def _unfinished_text(report: Report) -> str:
    """The applications that were not over at the end, with the reasons."""
    count = len(report.unfinished)
    lines = [f"Not over at the end: {counted(count, 'application')}."]
    for one in report.unfinished[:MOST_UNFINISHED]:
        why = plain(one.sentence) or "it runs"
        lines.append(f"  {plain(one.name or one.id)}: {why}")
    if count > MOST_UNFINISHED:
        lines.append("  ... --json has all of them.")
    return "\n".join(lines)


def _summary(report: Report, run: Run) -> list[tuple[str, Cell]]:
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
        *facts_of(run, _duration),
    ]


def _spread_text(spread: Spread | None) -> str:
    if spread is None:
        return NOTHING
    names = ("min", "mean", "p50", "p95", "max")
    times_ms = (spread.min, round(spread.mean), spread.p50, spread.p95, spread.max)
    return ", ".join(f"{n} {duration_text(ms)}" for n, ms in zip(names, times_ms, strict=True))


def _queue_rows(console: Output, report: Report, run: Run) -> list[list[Cell]]:
    total = cluster_total(report)
    groups = {group.name: group for group in run.queues}
    rows: list[list[Cell]] = []
    for queue in report.queues:
        group = groups.get(queue.name)
        used = {name: round(amount) for name, amount in queue.used.items()}
        fair = {name: round(amount) for name, amount in queue.fair_share.items()}
        shares = dominant_fraction(used, total), dominant_fraction(fair, total)
        rows.append(
            [
                short_queue(queue.name),
                bar(shares[0], bar_width(console), shares[1], ascii_only=ascii_only(console)),
                amounts_text(used),
                share_text(fair),
                str(queue.applications),
                str(queue.containers),
                str(queue.preempted_containers),
                *percentiles(None if group is None else group.wait, _duration),
                NOTHING if queue.waiting is None else duration_text(queue.waiting.max),
                *percentiles(None if group is None else group.slowdown, ratio),
                *_columns(queue.turnaround),
            ]
        )
    return rows


def _over_time(console: Output, report: Report) -> Listing | None:
    """The used fraction of the cluster, in total and by queue, with the queue's fair share.

    Both are means over the time from one line to the next.
    """
    samples = report.timeline
    if not samples:
        return None
    queues = sorted(report.queues, key=lambda queue: -max(queue.used.values(), default=0))
    names = sorted(queue.name for queue in queues[:MOST_QUEUES])
    columns = [Column("From", right=True, whole=True), Column("Use", whole=True)]
    columns += [Column(f"{short_queue(name)} used/fair", right=True) for name in names]
    rows: list[list[Cell]] = []
    step = -(-len(samples) // MOST_MOMENTS)
    for some in (samples[n : n + step] for n in range(0, len(samples), step)):
        total = some[-1].total
        row: list[Cell] = [
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
    return Listing(columns, rows)


def _mean(samples: Sequence[Sample], amounts: Sequence[Mapping[str, float]]) -> dict[str, int]:
    """The mean of amounts over samples, weighted by their length."""
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


def _application_rows(report: Report) -> list[list[Cell]]:
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
    """Notes of the reader, and about rows that were left out and applications that failed."""
    lines = list(report.notes)
    for what, most, which, count in (
        ("users", MOST_USERS, "most applications", len(report.users)),
        ("applications", MOST_APPLICATIONS, "the longest turnaround", len(report.applications)),
    ):
        if count > most:
            lines.append(f"The {most} {what} with {which} of {count:,}; --json has all of them.")
    reasons = {one.diagnostics: one for one in report.applications if one.diagnostics}
    lines += [f"{plain(one.name or one.id)}: {plain(why)}" for why, one in reasons.items()][:5]
    return "\n".join(lines)
