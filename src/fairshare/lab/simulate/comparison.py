"""What is compared between simulations: sums by queue, user and size, fairness, and the same
application in two runs.

The same reports yield the same comparison.
"""

import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from fairshare.core.model.resources import MEMORY
from fairshare.lab.simulate.report import ApplicationReport, Report, cluster_total

LEAST_RUN_MS: Final = 10_000
"""Shorter runs count as this long in a bounded slowdown (Feitelson et al., 1997)."""
MOST_MOVED: Final = 10
ENOUGH: Final = 0.95
"""A queue with this part of what it is entitled to has enough: containers are not divisible."""
FULL: Final = 0.8
"""From this part on a cluster is called full: containers leave gaps."""
WAITED_MS: Final = 2_000
"""Waits up to this one are those for a node's next heartbeat."""
GB_HOUR: Final = 1024 * 3_600_000
"""MB·ms."""
RESAMPLES: Final = 1_000
EXACT: Final = 1_000
"""Up to so many pairs the interval is resampled; beyond, the normal distribution gives it."""
SIZES: Final = ((1, "1 container"), (10, "2 to 10"), (100, "11 to 100"))
LARGEST_SIZE: Final = "more than 100"


class Times(msgspec.Struct, frozen=True):
    """The median, 95th and 99th percentile, by nearest rank."""

    p50: float
    p95: float
    p99: float


class Group(msgspec.Struct, frozen=True):
    """The applications of a queue, a user or a size. Waits are in ms, None without any. Work was
    lost in containers that did not succeed, of which some were preempted. `on_node` is the part of
    the containers of applications that wanted places that came to a wanted node, `on_rack` at least
    to its rack; None if none wanted one.

    Of a queue `share` is the mean part of the cluster that it used, and `due` that of its fair
    share, each of the resource of which it is most; `starved_ms` is its longest starvation
    (`Run`)."""

    name: str
    applications: int
    rejected: int
    unfinished: int
    preempted: int
    wait: Times | None
    slowdown: Times | None
    turnaround: Times | None = None
    containers: int = 0
    lost_gb_hours: float = 0.0
    preempted_gb_hours: float = 0.0
    on_node: float | None = None
    on_rack: float | None = None
    share: float | None = None
    due: float | None = None
    starved_ms: int | None = None


class Run(msgspec.Struct, frozen=True):
    """One simulation. `jain` is Jain's index of the queues' used memory in proportion to their fair
    shares, 1 if all have the same part of theirs; `share_error` the mean part of the cluster's
    memory that queues had above or below their shares, halved, as each error is one of two.

    `starved_queue` is the one that used less than it was entitled to for longest, without a break:
    for `starved_ms`. `used_most` is the largest part of the cluster that was used in an interval.
    """

    name: str
    scheduler: str
    makespan_ms: int
    utilization: dict[str, float]
    longest_wait_ms: int
    jain: float | None
    share_error: float | None
    whole: Group
    queues: tuple[Group, ...]
    users: tuple[Group, ...]
    sizes: tuple[Group, ...]
    starved_ms: int = 0
    starved_queue: str = ""
    used_most: float = 0.0


class Moved(msgspec.Struct, frozen=True):
    """An application in two runs, with its turnarounds."""

    name: str
    user: str
    queue: str
    before_ms: int
    after_ms: int

    @property
    def change_ms(self) -> int:
        """How much later it ends in the second run."""
        return self.after_ms - self.before_ms


class Pairing(msgspec.Struct, frozen=True):
    """The applications that are in the first run and in another one, and ended in both.

    `mean_ms` is the mean change of the turnaround, and with a confidence of 95 % from `low_ms` to
    `high_ms`: it is no more than chance if 0 is in between.
    """

    run: str
    paired: int
    only_before: int
    only_after: int
    mean_ms: float
    low_ms: float
    high_ms: float
    losers: tuple[Moved, ...]
    winners: tuple[Moved, ...]


class Comparison(msgspec.Struct, frozen=True):
    """Runs, and each later one beside the first."""

    runs: tuple[Run, ...]
    pairings: tuple[Pairing, ...]

    def _repr_html_(self) -> str:
        from fairshare.lab.notebook import comparison_html  # terminals are not known here

        return comparison_html(self)


def compare(reports: Sequence[tuple[str, Report]]) -> Comparison:
    """Compare reports with their names."""
    runs = tuple(summary(name, report) for name, report in reports)
    first = reports[0][1] if reports else None
    pairings = tuple(
        pairing(first, report, name) for name, report in reports[1:] if first is not None
    )
    return Comparison(runs, pairings)


def summary(name: str, report: Report) -> Run:
    """The sums of one report."""
    applications = report.applications
    starvation = starvations(report)
    starved = max(((ms, name) for name, ms in starvation.items()), default=(0, ""))
    return Run(
        name=name,
        scheduler=report.scheduler,
        makespan_ms=report.makespan_ms,
        utilization=report.utilization,
        longest_wait_ms=max((one.waiting_ms or 0 for one in applications), default=0),
        jain=_jain(report),
        share_error=_share_error(report),
        starved_ms=starved[0],
        starved_queue=starved[1],
        used_most=used_most(report),
        whole=_group("all", applications),
        queues=tuple(_queues(report, _groups(applications, lambda one: one.queue), starvation)),
        users=_groups(applications, lambda one: one.user),
        sizes=_groups(applications, size_of, [*(words for _, words in SIZES), LARGEST_SIZE]),
    )


def _queues(report: Report, groups: Iterable[Group], starvation: dict[str, int]) -> Iterator[Group]:
    """Groups with what is known of their queues."""
    total = cluster_total(report)
    queues = {queue.name: queue for queue in report.queues}
    for group in groups:
        queue = queues.get(group.name)
        if queue is None:
            yield group
            continue
        yield msgspec.structs.replace(
            group,
            share=most_of(queue.used, total),
            due=most_of(queue.fair_share, total),
            starved_ms=starvation.get(group.name, 0),
        )


def most_of(amounts: Mapping[str, float], total: Mapping[str, float]) -> float:
    """The part of the total, of the resource of which it is most.

    >>> most_of({"memory-mb": 10, "vcores": 3}, {"memory-mb": 100, "vcores": 10})
    0.3
    """
    parts = [amounts.get(kind, 0.0) / whole for kind, whole in total.items() if whole]
    return max(parts, default=0.0)


def size_of(application: ApplicationReport) -> str:
    """The class of an application by its containers."""
    fitting = (words for most, words in SIZES if application.containers <= most)
    return next(fitting, LARGEST_SIZE)


def _groups(
    found: Iterable[ApplicationReport],
    key: Callable[[ApplicationReport], str],
    order: Sequence[str] = (),
) -> tuple[Group, ...]:
    groups: dict[str, list[ApplicationReport]] = defaultdict(list)
    for one in found:
        groups[key(one)].append(one)
    names = [name for name in order if name in groups] or sorted(groups)
    return tuple(_group(name, groups[name]) for name in names)


def _group(name: str, applications: Sequence[ApplicationReport]) -> Group:
    near = [application.near for application in applications if application.near]
    placed = sum(map(sum, near))
    return Group(
        name=name,
        applications=len(applications),
        rejected=sum(application.state == "REJECTED" for application in applications),
        unfinished=sum(application.state in ("PENDING", "RUNNING") for application in applications),
        preempted=sum(application.preempted_containers for application in applications),
        wait=times(
            [
                application.waiting_ms
                for application in applications
                if application.waiting_ms is not None
            ]
        ),
        slowdown=times(
            [slow for application in applications if (slow := slowdown(application)) is not None]
        ),
        turnaround=times(
            [
                application.turnaround_ms
                for application in applications
                if application.turnaround_ms is not None
            ]
        ),
        containers=sum(application.containers for application in applications),
        lost_gb_hours=sum(application.lost_mb_ms for application in applications) / GB_HOUR,
        preempted_gb_hours=sum(application.preempted_mb_ms for application in applications)
        / GB_HOUR,
        on_node=sum(distances[0] for distances in near) / placed if placed else None,
        on_rack=sum(sum(distances[:2]) for distances in near) / placed if placed else None,
    )


def starvations(report: Report) -> dict[str, int]:
    """By queue the longest time in ms, without a break, in which it used less than it was entitled
    to, by more than a twentieth, of any resource; in whole intervals of the report."""
    longest: dict[str, int] = {}
    running: dict[str, int] = {}
    for sample in report.timeline:
        for name, queue in sample.queues.items():
            owed = any(
                queue.used.get(kind, 0.0) < amount * ENOUGH
                for kind, amount in queue.entitled.items()
            )
            running[name] = running.get(name, 0) + sample.length_ms if owed else 0
            longest[name] = max(longest.get(name, 0), running[name])
    return longest


def used_most(report: Report) -> float:
    """The largest part of the cluster in use over an interval, of the resource of which it is
    most."""
    return max((most_of(sample.used, sample.total) for sample in report.timeline), default=0.0)


def slowdown(application: ApplicationReport) -> float | None:
    """The bounded slowdown, at least 1; None if the application has not ended, or never ran.

    One that waits for 30 s, and then runs for 30 s, has 2.0.
    """
    turnaround_ms, waiting_ms = application.turnaround_ms, application.waiting_ms
    if turnaround_ms is None or waiting_ms is None:
        return None
    return max(1.0, turnaround_ms / max(turnaround_ms - waiting_ms, LEAST_RUN_MS))


def times(values: Sequence[float]) -> Times | None:
    """The percentiles of some values; None if there are none.

    >>> times(range(1, 101))
    Times(p50=50, p95=95, p99=99)
    """
    if not values:
        return None
    ordered = sorted(values)
    p50, p95, p99 = (ordered[-(-len(ordered) * percent // 100) - 1] for percent in (50, 95, 99))
    return Times(p50, p95, p99)


def _jain(report: Report) -> float | None:
    parts = [
        queue.used.get(MEMORY, 0) / fair
        for queue in report.queues
        if (fair := queue.fair_share.get(MEMORY, 0)) > 0
    ]
    squares = sum(part * part for part in parts)
    return None if not squares else sum(parts) ** 2 / (len(parts) * squares)


def _share_error(report: Report) -> float | None:
    whole, error = 0, 0.0
    for sample in report.timeline:
        total = sample.total.get(MEMORY, 0)
        if total:
            off = sum(
                abs(queue.used.get(MEMORY, 0) - queue.fair_share.get(MEMORY, 0))
                for queue in sample.queues.values()
            )
            error += sample.length_ms * off / 2
            whole += sample.length_ms * total
    return error / whole if whole else None


def pairing(before: Report, after: Report, name: str) -> Pairing:
    """The same applications in two reports."""
    olds, news = keyed(before), keyed(after)
    moved = [
        Moved(before.name, before.user, news[key].queue, before.turnaround_ms, other_ms)
        for key, before in olds.items()
        if key in news
        and before.turnaround_ms is not None
        and (other_ms := news[key].turnaround_ms) is not None
    ]
    changes = [move.change_ms for move in moved]
    low_ms, high_ms = interval(changes)
    by_change = sorted(moved, key=lambda move: (-move.change_ms, move.name, move.user))
    return Pairing(
        run=name,
        paired=len(moved),
        only_before=len(olds.keys() - news.keys()),
        only_after=len(news.keys() - olds.keys()),
        mean_ms=statistics.fmean(changes) if changes else 0.0,
        low_ms=low_ms,
        high_ms=high_ms,
        losers=tuple(move for move in by_change[:MOST_MOVED] if move.change_ms > 0),
        winners=tuple(move for move in by_change[: -MOST_MOVED - 1 : -1] if move.change_ms < 0),
    )


def keyed(report: Report) -> dict[tuple[str, str, int, int], ApplicationReport]:
    """Applications by what is the same in every run: name, user, arrival, and which of several.

    A user in a closed loop submits later if what it waits for ends later: there the session is in
    place of the arrival, as a negative number."""
    seen: Counter[tuple[str, str, int]] = Counter()
    by_key = {}
    for one in report.applications:
        key = (one.name, one.user, -one.session or one.submitted_ms)
        by_key[*key, seen[key]] = one
        seen[key] += 1
    return by_key


def interval(changes: Sequence[float]) -> tuple[float, float]:
    """The interval in which the mean is, with a confidence of 95 %; (0, 0) without changes.

    Up to 1,000 changes are drawn 1,000 times with replacement, always in the same way; of more the
    mean is distributed normally.

    >>> interval([5, 5, 5])
    (5.0, 5.0)
    """
    if not changes:
        return 0.0, 0.0
    count = len(changes)
    if count > EXACT:
        off = 1.96 * statistics.stdev(changes) / count**0.5
        middle = statistics.fmean(changes)
        return middle - off, middle + off
    chance = random.Random(1)  # noqa: S311 - drawn, not secret
    means = sorted(sum(chance.choices(changes, k=count)) / count for _ in range(RESAMPLES))
    return means[round(0.025 * RESAMPLES)], means[round(0.975 * RESAMPLES) - 1]
