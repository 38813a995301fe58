"""Writes what docs/fairness.md says was measured, and its plots: `make fairness`.

All is simulated, with ten seeds: a cluster of 16 slots under the Fair Scheduler, with tasks of
exponential times around five minutes. Slurm's fair tree is computed beside it, from the formula of
its documentation: of siblings the one with the largest `shares / usage` is served first, with
usage that decays by half in a half-life.
"""

import concurrent.futures
import heapq
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated, ContainerCompleted
from fairshare.core.model.inputs import NodeJoined, SubmitApplication
from fairshare.core.model.usage import Fairness
from fairshare.core.model.work import TaskGroup
from fairshare.core.record import Record
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import ForgetfulJournal
from fairshare.settings.registry import family_of

DOCS: Final = Path(__file__).parents[1] / "docs"
BEGIN: Final = "## Measured\n"
SEEDS: Final = range(1, 11)
SLOTS: Final = 16
TASK_S: Final = 300
STRENGTH: Final = Fairness().strength
HOUR_S: Final = 3_600
DAY_S: Final = 24 * HOUR_S
HALF_LIVES: Final = {"an hour": HOUR_S, "a day": DAY_S, "a week": 7 * DAY_S}


class Job(msgspec.Struct, frozen=True):
    """Tasks of one slot that a queue submits at an instant, with their times."""

    at_s: float
    queue: str
    tasks_s: tuple[float, ...]


Use = dict[str, list[float]]
"""Of each queue the slots that it had on average, hour by hour."""


def tasks(chance: random.Random, count: int, mean_s: int = TASK_S) -> tuple[float, ...]:
    """The times of tasks; none is shorter than a second."""
    return tuple(max(1.0, chance.expovariate(1 / mean_s)) for _ in range(count))


def fair(
    jobs: Sequence[Job], weights: Mapping[str, float], hours: int, half_life_s: int, strength: int
) -> Use:
    """The use under the Fair Scheduler; half-life 0: without a memory."""
    queues = {
        f"root.{name}": QueueSettings(f"root.{name}", weight=weight)
        for name, weight in weights.items()
    }
    settings = FairSettings(
        minimum_allocation=(1024, 1),
        assign_multiple=True,
        dynamic_max_assign=False,
        allocations=AllocationSettings(
            queues=queues, queue_max_master_share_default=-1.0, from_file=True
        ),
        fairness=Fairness(half_life_s * 1_000, strength),
    )
    arrivals = []
    for job in jobs:
        group = TaskGroup(name="task", count=len(job.tasks_s), resource=(1024, 1))
        submission = SubmitApplication("user", job.queue, tasks=(group,))
        plan = GroupPlan(tuple(round(one * 1_000) for one in job.tasks_s))
        arrivals.append(Arrival(round(job.at_s * 1_000), submission, (plan,)))
    use = {name: [0.0] * hours for name in weights}
    begun: dict[int, tuple[str, int]] = {}

    def follow(record: Record) -> None:
        for event in record.events:
            if isinstance(event, ContainerAllocated):
                name = manager.state.applications[event.application].queue.removeprefix("root.")
                begun[event.container] = name, record.now_ms
            elif isinstance(event, ContainerCompleted):
                name, begin_ms = begun.pop(event.container)
                add(use[name], begin_ms / 1_000, record.now_ms / 1_000)

    manager = ResourceManager(family_of("fair").create(settings.types))
    simulator = Simulator(
        manager,
        msgspec.json.encode(settings),
        Workload((), tuple(sorted(arrivals, key=lambda one: one.at_ms))),
        ForgetfulJournal(),
        nodes=[NodeJoined(f"n{number}", (8_192, 8), "/r") for number in range(SLOTS // 8)],
        observers=(follow,),
    )
    simulator.run(until_ms=hours * HOUR_S * 1_000)
    for name, begin_ms in begun.values():
        add(use[name], begin_ms / 1_000, hours * HOUR_S)
    return use


def add(slots: list[float], begin_s: float, end_s: float) -> None:
    """Count the use of one slot from one instant to another."""
    for hour in range(int(begin_s // HOUR_S), min(len(slots), int(end_s // HOUR_S) + 1)):
        within = min(end_s, (hour + 1) * HOUR_S) - max(begin_s, hour * HOUR_S)
        slots[hour] += max(0.0, within) / HOUR_S


CALCULATED_S: Final = 300
"""Slurm computes usage again at this interval (PriorityCalcPeriod)."""


def fair_tree(
    jobs: Sequence[Job], weights: Mapping[str, float], hours: int, half_life_s: int
) -> Use:
    """The use under Slurm's fair tree with one level of accounts: `LF = S / U`, the largest first,
    with the parts S of all shares and U of all usage."""
    use = {name: [0.0] * hours for name in weights}
    waiting: dict[str, list[float]] = {name: [] for name in weights}
    usage = dict.fromkeys(weights, 0.0)
    running: list[tuple[float, str]] = []
    held = dict.fromkeys(weights, 0)
    order = sorted(jobs, key=lambda one: -one.at_s)
    now_s, calculated_s = 0.0, 0.0
    while now_s < hours * HOUR_S:
        while order and order[-1].at_s <= now_s:
            job = order.pop()
            waiting[job.queue] = [*reversed(job.tasks_s), *waiting[job.queue]]
        while running and running[0][0] <= now_s:
            held[heapq.heappop(running)[1]] -= 1
        if now_s >= calculated_s:
            old = 2 ** -(CALCULATED_S / half_life_s)
            usage = {name: one * old + held[name] * CALCULATED_S for name, one in usage.items()}
            calculated_s += CALCULATED_S
        while len(running) < SLOTS and any(waiting.values()):
            name = max(
                (one for one in weights if waiting[one]),
                key=lambda one: (weights[one] / usage[one] if usage[one] else float("inf"), one),
            )
            end_s = now_s + waiting[name].pop()
            heapq.heappush(running, (end_s, name))
            held[name] += 1
            add(use[name], now_s, end_s)
        times = [calculated_s, hours * HOUR_S]
        times += [running[0][0]] if running else []
        times += [order[-1].at_s] if order else []
        now_s = min(times)
    return use


def jain(amounts: Sequence[float]) -> float:
    """Jain's index: 1 if all have the same, 1 / n if one has all.

    >>> jain([4, 4]), jain([4, 0])
    (1.0, 0.5)
    """
    return sum(amounts) ** 2 / (len(amounts) * sum(one * one for one in amounts))


def morning(seed: int) -> list[Job]:
    """Queue a wants everything from the beginning, b from the seventh hour on."""
    chance = random.Random(seed)
    per_hour = SLOTS * HOUR_S // TASK_S
    jobs = [Job(hour * HOUR_S, "a", tasks(chance, per_hour * 2)) for hour in range(24)]
    return jobs + [Job(hour * HOUR_S, "b", tasks(chance, per_hour * 2)) for hour in range(6, 24)]


def one_after_the_other(seed: int) -> list[Job]:
    """Queues a, b and c want everything from hours 0, 6 and 12 on."""
    chance = random.Random(seed)
    count = 2 * SLOTS * HOUR_S // TASK_S
    return [
        Job(hour * HOUR_S, name, tasks(chance, count))
        for name, first in (("a", 0), ("b", 6), ("c", 12))
        for hour in range(first, 24)
    ]


WEIGHTS: Final = {"a": 1.0, "b": 2.0, "c": 3.0}
LOAD: Final = 1.3
"""So much of its share each queue asks for in the long run."""
DAYS: Final = 5
LONG_TASK_S: Final = 4 * TASK_S


def arriving(seed: int, instants: Callable[[random.Random, str], Sequence[float]]) -> list[Job]:
    """Jobs at some instants, together 1.3 times the share of each queue."""
    chance = random.Random(seed)
    jobs = []
    for name, weight in WEIGHTS.items():
        whole = LOAD * DAYS * DAY_S * SLOTS * weight / sum(WEIGHTS.values()) / LONG_TASK_S
        at_s = instants(chance, name)
        count = max(1, round(whole / len(at_s)))
        jobs += [Job(one, name, tasks(chance, count, LONG_TASK_S)) for one in at_s]
    return jobs


def poisson(chance: random.Random, name: str) -> list[float]:
    """Ten jobs an hour, at random."""
    return sorted(chance.uniform(0, DAYS * DAY_S) for _ in range(DAYS * 24 * 10))


def mornings(chance: random.Random, name: str) -> list[float]:
    """A hundred jobs each day, at nine o'clock and a little later."""
    return [
        day * DAY_S + 9 * HOUR_S + chance.expovariate(1 / 600)
        for day in range(DAYS)
        for _ in range(100)
    ]


def in_turns(chance: random.Random, name: str) -> list[float]:
    """Each queue in hours of the day of its own: what it cannot get there waits."""
    first = {"a": 0, "b": 8, "c": 16}[name]
    return [
        day * DAY_S + (first + chance.uniform(0, 8)) * HOUR_S
        for day in range(DAYS)
        for _ in range(100)
    ]


PATTERNS: Final = {
    "ten jobs an hour, at random": poisson,
    "a hundred jobs each morning": mornings,
    "queues in turns, eight hours each": in_turns,
}
MEMORIES: Final[Mapping[str, tuple[int, int]]] = {
    "without a memory": (0, STRENGTH),
    **{f"half-life of {name}": (length_s, STRENGTH) for name, length_s in HALF_LIVES.items()},
}


def mean_use(uses: Sequence[Use]) -> Use:
    """The mean over seeds."""
    return {
        name: [statistics.mean(column) for column in zip(*(use[name] for use in uses), strict=True)]
        for name in uses[0]
    }


def _morning(part: tuple[str, int]) -> Use:
    memory, seed = part
    weights = {"a": 1.0, "b": 1.0}
    if memory == TREE:
        return fair_tree(morning(seed), weights, 24, 7 * DAY_S)
    return fair(morning(seed), weights, 24, *MEMORIES[memory])


def _day(part: tuple[str, int]) -> Use:
    memory, seed = part
    weights = {"a": 1.0, "b": 1.0, "c": 1.0}
    if memory == TREE:
        return fair_tree(one_after_the_other(seed), weights, 24, 7 * DAY_S)
    return fair(one_after_the_other(seed), weights, 24, *MEMORIES[memory])


def _long(part: tuple[str, str, int]) -> Use:
    pattern, memory, seed = part
    jobs = arriving(seed, PATTERNS[pattern])
    return fair(jobs, WEIGHTS, DAYS * 24, *MEMORIES[memory])


TREE: Final = "Slurm's fair tree, a week"
COLOURS: Final = ("#888888", "#d95f02", "#1b9e77", "#7570b3", "#222222")


def plot(lines: Mapping[str, Sequence[float]], title: str) -> str:
    """Lines over the hours of a day, as SVG."""
    wide, high, left, top = 640, 290, 46, 34
    inner_w, inner_h = wide - left - 12, high - top - 50

    def point(hour: float, slots: float) -> str:
        x = left + inner_w * hour / 24
        return f"{x:.1f},{top + inner_h * (1 - slots / SLOTS):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{wide}" height="{high}" fill="#ffffff"/>',
        f'<text x="{left}" y="14" font-size="13">{title}</text>',
    ]
    for slots in (0, 4, 8, 12, 16):
        x, y = point(0, slots).split(",")
        parts.append(f'<path d="M{x} {y}h{inner_w}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 6}" y="{float(y) + 4}" text-anchor="end">{slots}</text>')
    for hour in range(0, 25, 6):
        x, y = point(hour, 0).split(",")
        parts.append(f'<text x="{x}" y="{float(y) + 15}" text-anchor="middle">{hour} h</text>')
    for number, (name, values) in enumerate(lines.items()):
        colour = COLOURS[number]
        points = " ".join(point(hour + 0.5, value) for hour, value in enumerate(values))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        place = f'x="{left + (number % 3) * 200}" y="{high - 16 + (number // 3) * 13}"'
        parts.append(f'<text {place} fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Simulate, and write the page and its plots."""
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        memories = [*MEMORIES, TREE]
        days = {one: list(pool.map(_day, [(one, seed) for seed in SEEDS])) for one in memories}
        early = {one: list(pool.map(_morning, [(one, seed) for seed in SEEDS])) for one in memories}
        long = {
            (pattern, memory): list(pool.map(_long, [(pattern, memory, seed) for seed in SEEDS]))
            for pattern in PATTERNS
            for memory in ("without a memory", "half-life of a day")
        }
    lines = {one: mean_use(uses)["b"] for one, uses in early.items()}
    (DOCS / "fairness-morning.svg").write_text(
        plot(lines, "Slots of a queue that had nothing until hour 6 (its share is 8)")
    )
    lines = {one: mean_use(uses)["c"] for one, uses in days.items()}
    (DOCS / "fairness-day.svg").write_text(
        plot(lines, "Slots of a queue that came at hour 12, as the third")
    )
    page = (DOCS / "fairness.md").read_text().partition(BEGIN)[0].rstrip("\n")
    (DOCS / "fairness.md").write_text(f"{page}\n\n" + "\n".join(_measured(early, days, long)))


HEAD: Final = f"""
`make fairness` writes this part. All is simulated, with ten seeds: {SLOTS} slots under the Fair
Scheduler, tasks of exponential times around five minutes, strength {STRENGTH}, the default. Means
are over the seeds. Slurm's fair tree is computed from the formula of its documentation, with its
default half-life of a week.

### The morning made up for in the afternoon

Queue `a` has the cluster for six hours; then `b`, of the same weight, wants everything, too.
*Made up for* is what `b` has had beyond its half by hour 24, of the half of six hours that it did
not have.

| | hour 7 | hour 8 | hour 10 | hour 14 | hour 24 | made up for |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""
DAY: Final = """
![Slots of the queue that had nothing in the morning](fairness-morning.svg)

### Jain's index over a day

Queues `a`, `b` and `c` of the same weight want everything from hours 0, 6 and 12 on. The index of
what each had over the day is 1 if all had the same, and 1/3 if one had everything.

| | a | b | c | Jain's index | range |
| --- | ---: | ---: | ---: | ---: | --- |"""
LONG: Final = f"""
![Slots of the queue that came last](fairness-day.svg)

### Shares in the long run

Queues of weights 1, 2 and 3 ask for {LOAD} times their shares, {DAYS} days long, in three
patterns, with tasks of twenty minutes. *Off* is the largest difference between the part of all that
was used that a queue had in these days and its part of the weights, in percent of the cluster:
the mean over the seeds, and the largest.

| pattern | off, without a memory | largest | off, half-life of a day | largest |
| --- | ---: | ---: | ---: | ---: |"""


def _measured(
    early: Mapping[str, list[Use]],
    days: Mapping[str, list[Use]],
    long: Mapping[tuple[str, str], list[Use]],
) -> list[str]:
    lines = [BEGIN.rstrip(), HEAD]
    for name, uses in early.items():
        b = mean_use(uses)["b"]
        shown = " | ".join(f"{b[hour - 1]:.1f}" for hour in (7, 8, 10, 14, 24))
        made_up = (sum(b[6:]) - 18 * SLOTS / 2) / (6 * SLOTS / 2)
        lines.append(f"| {name} | {shown} | {round(made_up, 2) + 0.0:.0%} |")  # never -0%
    lines.append(DAY)
    for name, uses in days.items():
        sums = {queue: sum(hours) / 24 for queue, hours in mean_use(uses).items()}
        found = [jain([sum(hours) for hours in use.values()]) for use in uses]
        shown = " | ".join(f"{one:.1f}" for one in sums.values())
        spread = f"{min(found):.3f} to {max(found):.3f}"
        lines.append(f"| {name} | {shown} | {statistics.mean(found):.3f} | {spread} |")
    lines.append(LONG)
    for pattern in PATTERNS:
        cells = []
        for memory in ("without a memory", "half-life of a day"):
            off = [largest_difference(use) for use in long[pattern, memory]]
            cells.append(f"{statistics.mean(off):.2%} | {max(off):.2%}")
        lines.append(f"| {pattern} | {' | '.join(cells)} |")
    return [*lines, ""]


def largest_difference(use: Use) -> float:
    """How far the part of a queue is from its weight, at most."""
    whole = sum(map(sum, use.values()))
    weights = sum(WEIGHTS.values())
    return max(abs(sum(use[name]) / whole - WEIGHTS[name] / weights) for name in WEIGHTS)


if __name__ == "__main__":
    main()
