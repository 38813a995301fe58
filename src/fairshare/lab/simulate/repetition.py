"""The numbers of several runs of one simulation, which differ by their seeds: means, and how sure
they are.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from fairshare.lab.simulate.comparison import Group, summary
from fairshare.lab.simulate.report import Report

Numbers = dict[str, float]
"""Numbers by name, such as `wait_p95` (times in ms)."""

_T: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""The 97.5 % quantiles of Student's t for 1 to 10 degrees of freedom."""
_NORMAL: Final = 1.959964


class RunNumbers(msgspec.Struct, frozen=True):
    """The numbers of one run: of all applications, and by queue, user and size. `off` counts the
    applications that were rejected or are not over."""

    scheduler: str
    seed: int
    off: int
    whole: Numbers
    queues: dict[str, Numbers]
    users: dict[str, Numbers]
    sizes: dict[str, Numbers]


class Estimate(msgspec.Struct, frozen=True):
    """The mean of a number over `runs` runs that have it, and the interval in which the true mean
    is with a confidence of 95 %, by Student's t; of one run the interval is the number itself."""

    mean: float
    low: float
    high: float
    runs: int


Estimates = dict[str, Estimate]


class Repetition(msgspec.Struct, frozen=True):
    """The numbers of several runs; and of each run those of all applications, by seed, so that runs
    of another configuration can be paired with them."""

    scheduler: str
    seeds: tuple[int, ...]
    whole: Estimates
    queues: dict[str, Estimates]
    users: dict[str, Estimates]
    sizes: dict[str, Estimates]
    by_seed: dict[int, Numbers] = {}


class SeedsPairing(msgspec.Struct, frozen=True):
    """What a configuration changes: the differences of numbers between runs with the same seed,
    with their means and intervals. `seeds` are those that both have; without any there are none."""

    run: str
    seeds: tuple[int, ...]
    changes: Estimates


def paired(before: Repetition, after: Repetition, name: str) -> SeedsPairing:
    """The changes from one configuration to another, seed by seed."""
    seeds = tuple(seed for seed in before.by_seed if seed in after.by_seed)
    changes = [
        {
            key: value - before.by_seed[seed][key]
            for key, value in after.by_seed[seed].items()
            if key in before.by_seed[seed]
        }
        for seed in seeds
    ]
    return SeedsPairing(name, seeds, _estimates(changes))


def numbers_of(report: Report, seed: int) -> RunNumbers:
    """The numbers of one run."""
    run = summary("", report)
    whole = flat(run.whole)
    for name in ("makespan_ms", "utilization", "longest_wait_ms", "jain", "share_error"):
        whole |= flat(getattr(run, name), name)
    whole |= flat(report.containers, "containers")
    queues = _by_name(run.queues)
    for queue in report.queues:
        queues.setdefault(queue.name, {}).update(
            flat(queue.used, "used") | flat(queue.fair_share, "fair_share")
        )
    off = ("REJECTED", "PENDING", "RUNNING")
    return RunNumbers(
        scheduler=report.scheduler,
        seed=seed,
        off=sum(report.applications_by_state.get(state, 0) for state in off),
        whole=whole,
        queues=queues,
        users=_by_name(run.users),
        sizes=_by_name(run.sizes),
    )


def flat(value: object, path: str = "") -> Numbers:
    """All numbers of a tree of structs and mappings, by their paths.

    >>> flat({"wait": {"p50": 3, "p95": None}, "name": "a"})
    {'wait_p50': 3.0}
    """
    tree = msgspec.to_builtins(value)
    if isinstance(tree, Mapping):
        found: Numbers = {}
        for key, one in tree.items():
            found |= flat(one, f"{path}_{key}" if path else str(key))
        return found
    return {path: float(tree)} if isinstance(tree, int | float) else {}


def _by_name(groups: Iterable[Group]) -> dict[str, Numbers]:
    return {group.name: flat(group) for group in groups}


def repetition(runs: Sequence[RunNumbers]) -> Repetition:
    """Several runs, at least one, as one answer."""
    ordered = sorted(runs, key=lambda run: run.seed)
    return Repetition(
        scheduler=ordered[0].scheduler,
        seeds=tuple(run.seed for run in ordered),
        whole=_estimates([run.whole for run in ordered]),
        queues=_grouped([run.queues for run in ordered]),
        users=_grouped([run.users for run in ordered]),
        sizes=_grouped([run.sizes for run in ordered]),
        by_seed={run.seed: run.whole for run in ordered},
    )


def _grouped(runs: Sequence[dict[str, Numbers]]) -> dict[str, Estimates]:
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: _estimates([run[name] for run in runs if name in run]) for name in names}


def _estimates(runs: Sequence[Numbers]) -> Estimates:
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: estimate([run[name] for run in runs if name in run]) for name in names}


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of some values, at least one, and its interval.

    >>> estimate([1.0, 2.0, 3.0])
    Estimate(mean=2.0, low=-0.484338, high=4.484338, runs=3)
    """
    count = len(values)
    mean = statistics.fmean(values)
    off = 0.0 if count < 2 else _t(count - 1) * statistics.stdev(values) / count**0.5
    return Estimate(round(mean, 6), round(mean - off, 6), round(mean + off, 6), count)


def _t(degrees: int) -> float:
    """The 97.5 % quantile of Student's t; beyond the table by Fisher's expansion.

    >>> round(_t(20), 3), round(_t(100), 3)
    (2.086, 1.984)
    """
    if degrees <= len(_T):
        return _T[degrees - 1]
    z = _NORMAL
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )
