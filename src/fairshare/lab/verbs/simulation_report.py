"""A simulation's report in a terminal, and that of several runs with means and intervals."""

from collections.abc import Mapping, Sequence
from typing import Final

from fairshare.cli.cells import (
    NOTHING,
    amounts_text,
    bar,
    change_text,
    dominant_fraction,
    duration_text,
    fine_duration_text,
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
from fairshare.lab.simulate.repetition import Estimate, Estimates, Repetition, SeedsPairing
from fairshare.lab.simulate.report import Report, Sample, Spread, cluster_total
from fairshare.wording import counted, plain

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


def report_parts(
    console: Output, report: Report, whole: str = "--json"
) -> list[Facts | Listing | Styled | None]:
    """The parts of the output: summary, by queue, over time, by user and size, by application,
    notes. `whole` is what has the rows that are left out."""
    run = summary("", report)
    return [
        Facts(_summary(report, run)),
        Listing(QUEUE_COLUMNS, _queue_rows(console, report, run)),
        _over_time(console, report),
        overview_table(groups_overview([run], "users", _duration, MOST_USERS)),
        overview_table(groups_overview([run], "sizes", _duration)),
        Listing(APPLICATION_COLUMNS, _application_rows(report)),
        Styled(notes) if (notes := _more(report, whole)) else None,
        Styled(_unfinished_text(report, whole), style="yellow") if report.unfinished else None,
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


def _unfinished_text(report: Report, whole: str) -> str:
    """The applications that were not over at the end, with the reasons."""
    count = len(report.unfinished)
    lines = [f"Not over at the end: {counted(count, 'application')}."]
    for one in report.unfinished[:MOST_UNFINISHED]:
        why = plain(one.sentence) or "it runs"
        lines.append(f"  {plain(one.name or one.id)}: {why}")
    if count > MOST_UNFINISHED:
        lines.append(f"  ... {whole} has all of them.")
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
                dominant_fraction(_mean(some, [moment.used for moment in some]), total),
                bar_width(console),
                ascii_only=ascii_only(console),
            ),
        ]
        for name in names:
            of_queue = [moment.queues.get(name) for moment in some]
            used, fair = (
                dominant_fraction(_mean(some, amounts), total)
                for amounts in (
                    [use.used if use else {} for use in of_queue],
                    [use.fair_share if use else {} for use in of_queue],
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
    longest = sorted(report.applications, key=lambda application: -(application.turnaround_ms or 0))
    return [
        [
            application.name or application.id,
            application.user,
            short_queue(application.queue),
            state_text(application.state),
            duration_text(application.submitted_ms),
            NOTHING if application.waiting_ms is None else duration_text(application.waiting_ms),
            NOTHING
            if application.turnaround_ms is None
            else duration_text(application.turnaround_ms),
            str(application.containers),
        ]
        for application in longest[:MOST_APPLICATIONS]
    ]


def _more(report: Report, whole: str) -> str:
    """Notes of the reader, and about rows that were left out and applications that failed."""
    lines = list(report.notes)
    for what, most, which, count in (
        ("users", MOST_USERS, "most applications", len(report.users)),
        ("applications", MOST_APPLICATIONS, "the longest turnaround", len(report.applications)),
    ):
        if count > most:
            lines.append(f"The {most} {what} with {which} of {count:,}; {whole} has all of them.")
    reasons = {one.diagnostics: one for one in report.applications if one.diagnostics}
    lines += [f"{plain(one.name or one.id)}: {plain(why)}" for why, one in reasons.items()][:5]
    return "\n".join(lines)


# Several runs, with means and intervals.


MOST_ROWS: Final = 20

_TIMES: Final = ("wait_p50", "wait_p95", "wait_p99")
_COLUMNS: Final = (
    Column("Apps", right=True, whole=True),
    Column("Wait p50", right=True),
    Column("p95", right=True),
    Column("p99", right=True),
    Column("Slowdown p50", right=True),
    Column("p95", right=True),
    Column("Preempted", right=True, extra=True),
)


def seeds_parts(repetition: Repetition) -> list[Facts | Listing | None]:
    """The parts of the output: what holds for all, then by queue, user and size."""
    return [
        Facts(_summary_of_runs(repetition)),
        _table("Queue", repetition.queues),
        _table("User", repetition.users),
        _table("Size", repetition.sizes),
    ]


RUN_COLUMNS: Final = (
    Column("Run"),
    Column("Seeds", right=True, whole=True),
    Column("Makespan", right=True),
    *_COLUMNS[1:6],
    Column("Jain", right=True, extra=True),
    Column("Share error", right=True, extra=True),
    Column("GB hours lost", right=True, extra=True),
)
CHANGES: Final = (
    ("Makespan", "makespan_ms"),
    ("Wait p50", "wait_p50"),
    ("Wait p95", "wait_p95"),
    ("Wait p99", "wait_p99"),
    ("Slowdown p50", "slowdown_p50"),
    ("Slowdown p95", "slowdown_p95"),
    ("Turnaround p50", "turnaround_p50"),
    ("Turnaround p95", "turnaround_p95"),
    ("Jain's index", "jain"),
    ("Share error", "share_error"),
    ("GB hours lost", "lost_gb_hours"),
)
CHANGE_COLUMNS: Final = (
    Column("Number"),
    Column("Change", right=True),
    Column("95 %", right=True),
    Column(""),
)


def runs_table(runs: Sequence[tuple[str, Repetition]]) -> Listing:
    """A row for each run, with half of the interval beside each number."""
    rows: list[list[Cell]] = []
    for name, numbers in runs:
        whole = numbers.whole
        rows.append(
            [
                name,
                _seeds(numbers.seeds),
                _time(whole.get("makespan_ms")),
                *(_time(whole.get(key)) for key in _TIMES),
                _number(whole.get("slowdown_p50"), 2),
                _number(whole.get("slowdown_p95"), 2),
                _number(whole.get("jain"), 3),
                _percent(whole.get("share_error")),
                _number(whole.get("lost_gb_hours"), 3),
            ]
        )
    return Listing(RUN_COLUMNS, rows)


def changes_table(pairing: SeedsPairing) -> Listing:
    """How numbers change between runs with the same seed, and whether that may be chance."""
    rows: list[list[Cell]] = []
    for title, key in CHANGES:
        change = pairing.changes.get(key)
        if change is None:
            continue
        text = change_text if key.endswith("_ms") or "wait" in key or "turn" in key else _signed
        chance = "may be chance" if change.low <= 0 <= change.high else ""
        if change.low == change.high == 0:
            chance = "the same"
        cells = (text(change.mean), f"{text(change.low)} to {text(change.high)}", chance)
        rows.append([title, *cells])
    return Listing(CHANGE_COLUMNS, rows)


def pairing_sentence(pairing: SeedsPairing) -> str:
    """What the changes are made of, or why there are none."""
    if not pairing.seeds:
        return f"{pairing.run}: no seed is in both, so that the runs cannot be paired."
    pairs = counted(len(pairing.seeds), "pair")
    return f"{pairing.run}: changes from the first run, of {pairs} of runs with the same seed."


def _signed(value: float) -> str:
    return f"{value:+.3g}"


def _summary_of_runs(found: Repetition) -> list[tuple[str, Cell]]:
    whole = found.whole
    count = len(found.seeds)
    used = ", ".join(
        f"{_percent(one)} {name.removeprefix('utilization_')}"
        for name, one in whole.items()
        if name.startswith("utilization_")
    )
    return [
        ("Scheduler", found.scheduler),
        (
            "Runs",
            f"{count}, with the seeds {_seeds(found.seeds)}; ± is half of a 95 % interval",
        ),
        ("Applications", _number(whole.get("applications"))),
        (
            "Containers",
            ", ".join(
                f"{_number(whole.get(f'containers_{kind}'))} {kind}"
                for kind in ("granted", "succeeded", "failed", "preempted", "aborted")
            ),
        ),
        ("Makespan", _time(whole.get("makespan_ms"))),
        ("Used", used or NOTHING),
        (
            "Waiting",
            ", ".join(f"{name.removeprefix('wait_')} {_time(whole.get(name))}" for name in _TIMES),
        ),
        ("Jain's index", _number(whole.get("jain"), 3)),
        ("Share error", _percent(whole.get("share_error"))),
    ]


def _seeds(seeds: tuple[int, ...]) -> str:
    if seeds == tuple(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _table(title: str, groups: Mapping[str, Estimates]) -> Listing | None:
    if not groups:
        return None
    rows: list[list[Cell]] = []
    longest = sorted(groups, key=lambda name: -_estimated_mean(groups[name].get("applications")))
    shown = groups if title != "User" else {name: groups[name] for name in longest[:MOST_ROWS]}
    for name, of_group in shown.items():
        rows.append(
            [
                short_queue(name) if title == "Queue" else name,
                _number(of_group.get("applications")),
                *(_time(of_group.get(key)) for key in _TIMES),
                _number(of_group.get("slowdown_p50"), 2),
                _number(of_group.get("slowdown_p95"), 2),
                _number(of_group.get("preempted")),
            ]
        )
    return Listing((Column(title), *_COLUMNS), rows)


def _estimated_mean(found: Estimate | None) -> float:
    return 0.0 if found is None else found.mean


def _half(found: Estimate) -> float:
    return (found.high - found.low) / 2


def _number(estimate: Estimate | None, digits: int = 1) -> str:
    """A mean and half of its interval.

    >>> _number(Estimate(3.0, 2.5, 3.5, 4)), _number(Estimate(10, 10, 10, 4))
    ('3.0 ± 0.5', '10')
    """
    if estimate is None:
        return NOTHING
    if estimate.low == estimate.high and estimate.mean == round(estimate.mean):
        return f"{estimate.mean:,.0f}"
    return f"{estimate.mean:,.{digits}f} ± {_half(estimate):,.{digits}f}"


def _time(estimate: Estimate | None) -> str:
    if estimate is None:
        return NOTHING
    half = _half(estimate)
    return fine_duration_text(estimate.mean) + (f" ± {fine_duration_text(half)}" if half else "")


def _percent(found: Estimate | None) -> str:
    if found is None:
        return NOTHING
    return f"{found.mean:.1%}" + (f" ± {_half(found):.1%}" if _half(found) else "")
