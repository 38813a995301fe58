"""Owns the display of several runs of a simulation, with means and intervals. Runs nothing."""

from collections.abc import Mapping, Sequence
from typing import Final

from fairshare.cli.cells import NOTHING, fine_duration_text, short_queue
from fairshare.cli.tables import Cell, Column, Facts, Listing
from fairshare.lab.simulate.repetition import Estimate, Estimates, Repetition, SeedsPairing
from fairshare.wording import counted

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


def seeds_parts(found: Repetition) -> list[Facts | Listing | None]:
    """The parts of the output: what holds for all, then by queue, user and size."""
    return [
        Facts(_summary(found)),
        _table("Queue", found.queues),
        _table("User", found.users),
        _table("Size", found.sizes),
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
    for name, found in runs:
        whole = found.whole
        rows.append(
            [
                name,
                _seeds(found.seeds),
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


def changes_table(found: SeedsPairing) -> Listing:
    """How numbers change between runs with the same seed, and whether that may be chance."""
    rows: list[list[Cell]] = []
    for title, key in CHANGES:
        change = found.changes.get(key)
        if change is None:
            continue
        text = _signed_time if key.endswith("_ms") or "wait" in key or "turn" in key else _signed
        chance = "may be chance" if change.low <= 0 <= change.high else ""
        if change.low == change.high == 0:
            chance = "the same"
        cells = (text(change.mean), f"{text(change.low)} to {text(change.high)}", chance)
        rows.append([title, *cells])
    return Listing(CHANGE_COLUMNS, rows)


def pairing_sentence(found: SeedsPairing) -> str:
    """What the changes are made of, or why there are none."""
    if not found.seeds:
        return f"{found.run}: no seed is in both, so that the runs cannot be paired."
    pairs = counted(len(found.seeds), "pair")
    return f"{found.run}: changes from the first run, of {pairs} of runs with the same seed."


def _signed_time(ms: float) -> str:
    return ("-" if ms < 0 else "+") + fine_duration_text(abs(ms))


def _signed(value: float) -> str:
    return f"{value:+.3g}"


def _summary(found: Repetition) -> list[tuple[str, Cell]]:
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
    longest = sorted(groups, key=lambda name: -_mean(groups[name].get("applications")))
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


def _mean(found: Estimate | None) -> float:
    return 0.0 if found is None else found.mean


def _half(found: Estimate) -> float:
    return (found.high - found.low) / 2


def _number(found: Estimate | None, digits: int = 1) -> str:
    """A mean and half of its interval.

    >>> _number(Estimate(3.0, 2.5, 3.5, 4)), _number(Estimate(10, 10, 10, 4))
    ('3.0 ± 0.5', '10')
    """
    if found is None:
        return NOTHING
    if found.low == found.high and found.mean == round(found.mean):
        return f"{found.mean:,.0f}"
    return f"{found.mean:,.{digits}f} ± {_half(found):,.{digits}f}"


def _time(found: Estimate | None) -> str:
    if found is None:
        return NOTHING
    half = _half(found)
    return fine_duration_text(found.mean) + (f" ± {fine_duration_text(half)}" if half else "")


def _percent(found: Estimate | None) -> str:
    if found is None:
        return NOTHING
    return f"{found.mean:.1%}" + (f" ± {_half(found):.1%}" if _half(found) else "")
