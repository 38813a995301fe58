"""Simulations of whole workloads: many frameworks on one cluster, and jobs by their size.

Where facts leave something open it is chosen here, with its reason beside it, and never fitted to
what was published.
"""

import random
from collections.abc import Callable, Iterable
from statistics import fmean
from typing import Any

from fairshare.core.model.events import ContainerAllocated, Locality
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.scheduler import FairScheduler
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.core.schedulers.pools.scheduler import PoolsScheduler
from fairshare.core.schedulers.pools.settings import TYPES, PoolsSettings

from .fact import Fact, Mismatch
from .trial import Trial

LONGEST_MS = 7_200_000
"""No run is that long: a job that has not ended by then never will."""

Numbers = dict[str, float]
MAP = TYPES.vector({"map-slots": 1})

PLACES = 200
"""The maps of a large job share so many places (each of some nodes): it keeps the runs short, and
every node still has its part of the data."""

REMOTE = (1.5, 2.0)
"""How much longer a map takes whose data is elsewhere (papers.md, R-DS2)."""

BLOCK_MB = 128
"""The block size of these years' large files. The fact names none."""

BINS = {1: 38, 2: 16, 10: 14, 50: 8, 100: 6, 200: 6, 400: 4, 800: 4, 4800: 4}
"""Jobs by number of maps: the benchmark of the delay scheduling paper (workloads.yaml)."""

OCTOBER = ((1, 1, 39), (2, 2, 16), (3, 20, 14), (21, 60, 9), (61, 150, 6), (151, 300, 6))
OCTOBER += ((301, 500, 4), (501, 1500, 4), (1501, 6000, 3))
"""Facebook's jobs: least and most tasks, percent (workloads.yaml). The last has no end there."""


def spread(chance: random.Random, maps: int, nodes: int, replicas: int) -> tuple[TaskGroup, ...]:
    """The maps of a job, with their data on random nodes."""
    places = min(maps, PLACES)
    return tuple(
        TaskGroup(
            f"m{place}",
            maps // places + (place < maps % places),
            MAP,
            hosts=tuple(f"n{node}" for node in chance.sample(range(nodes), replicas)),
        )
        for place in range(places)
    )


def slots(
    nodes: int, each: int, wait_ms: int, beat_ms: int, local_ms: tuple[int, int], seed: int
) -> Trial:
    """A cluster of map slots with waits; a remote map takes longer."""
    chance = random.Random(seed)

    def duration_ms(event: ContainerAllocated) -> int:
        here = event.locality == Locality.NODE_LOCAL
        return round(chance.uniform(*local_ms) * (1.0 if here else chance.uniform(*REMOTE)))

    settings = PoolsSettings(
        generation="1.2",
        assign_multiple=False,
        locality_delay_ms=wait_ms,
        locality_delay_node_ms=wait_ms,
        locality_delay_rack_ms=0,
    )
    total = TYPES.vector({"map-slots": each})
    return Trial(
        PoolsScheduler(TYPES),
        settings,
        nodes,
        total,
        duration_ms,
        beat_ms=beat_ms,
        update_ms=3000,
    )


def _finish(trial: Trial, jobs: int) -> None:
    while len(trial.ended_ms) < jobs:
        trial.run(trial.now_ms + 10_000)
        if trial.now_ms > LONGEST_MS:
            raise Mismatch(f"after {LONGEST_MS} ms only {len(trial.ended_ms)} of {jobs} jobs ended")


def _local(trials: Iterable[Trial]) -> float:
    """The part of the maps that run on their data."""
    runs = list(trials)
    started = sum(sum(trial.started.values()) for trial in runs)
    return sum(sum(trial.local.values()) for trial in runs) / started


def frameworks(fact: Fact) -> Numbers:
    """Equal scans, one of each framework: on nodes of their own, then on all nodes together.

    A framework is a pool. A node offers a slot as soon as it is free, as Mesos does. A map takes
    9 to 11 s: with 23 slots that is about the paper's time of a job (papers.md, 4).
    """
    setup = fact["setup"]
    nodes, number = setup["nodes"], setup["frameworks"]
    maps = setup["gigabytes"] * 1024 // BLOCK_MB
    first_seed = 1_000 * (int(setup.get("seed", 1)) - 1)

    def job(framework: int) -> SubmitApplication:
        chance = random.Random(first_seed + framework)
        tasks = spread(chance, maps, nodes, setup["replicas"])
        return SubmitApplication(f"f{framework}", f"f{framework}", tasks=tasks)

    def cluster(size: int, wait_ms: int, seed: int) -> Trial:
        trial = slots(size, setup["slots"], wait_ms, 1000, (9_000, 11_000), seed)
        trial.beats_when_free = True
        return trial

    alone = []
    for framework in range(number):
        size = nodes * (framework + 1) // number - nodes * framework // number
        trial = cluster(size, 0, first_seed + framework)
        trial.tell(job(framework))
        _finish(trial, 1)
        alone.append(trial)
    found = {"static": _local(alone)}
    times_s: dict[int, float] = {}
    for wait_s in setup["wait_s"]:
        trial = cluster(nodes, wait_s * 1000, 1 + first_seed)
        for framework in range(number):
            trial.tell(job(framework))
        _finish(trial, number)
        found[f"wait_{wait_s}"] = _local([trial])
        times_s[wait_s] = _mean_s(trial)
    found["speed_up"] = fmean(map(_mean_s, alone)) / times_s[max(times_s)]
    return found


def _mean_s(trial: Trial) -> float:
    return fmean(end - begun for _, begun, end in trial.ended_ms) / 1000


def _by_size(trial: Trial, size: dict[str, int]) -> dict[int, list[float]]:
    """Seconds from submission to end, by the size of the job."""
    found: dict[int, list[float]] = {}
    for user, begun, end in trial.ended_ms:
        found.setdefault(size[user], []).append((end - begun) / 1000)
    return found


def _arrivals(chance: random.Random, sizes: list[int], gap_s: float) -> list[tuple[int, int]]:
    """Milliseconds and size of each job, in random order with exponential gaps."""
    chance.shuffle(sizes)
    at_s, arrivals = 0.0, []
    for size in sizes:
        arrivals.append((round(at_s * 1000), size))
        at_s += chance.expovariate(1 / gap_s)
    return arrivals


def waits_by_size(fact: Fact) -> Numbers:
    """How much sooner jobs end when maps wait for their data, by the bins of the benchmark."""
    setup = fact["setup"]
    low, high = setup["local_map_s"]
    arrivals = _arrivals(random.Random(1), [s for s, n in BINS.items() for _ in range(n)], 14)

    def times(wait_s: int) -> dict[int, list[float]]:
        local_ms = (low * 1000, high * 1000)
        beat_ms = setup["heartbeat_s"] * 1000
        trial = slots(setup["nodes"], setup["map_slots"], wait_s * 1000, beat_ms, local_ms, 1)
        sizes = {}
        for number, (at_ms, maps) in enumerate(arrivals):
            tasks = spread(random.Random(number), maps, setup["nodes"], setup["replicas"])
            trial.submit_at(at_ms, SubmitApplication(f"j{number}", "default", tasks=tasks))
            sizes[f"j{number}"] = maps
        _finish(trial, len(arrivals))
        return _by_size(trial, sizes)

    naive, waiting = times(0), times(setup["wait_s"])
    gains = [fmean(naive[size]) / fmean(waiting[size]) for size in BINS]
    return {"first_bin": gains[0], "bins_3_to_8": min(gains[2:8])}


def drf_by_size(fact: Fact) -> Numbers:
    """How much sooner jobs end under DRF than on slots, by the number of their tasks.

    The trace is not public: sizes are those of Facebook's week of 2009; a job's tasks need the CPU
    and memory that fill 50 to 75 % and 20 to 30 % of a node when its slots are full, as the paper's
    figure has it on the mean. A task takes 23 s, the median. A job comes every 2 s.
    """
    setup = fact["setup"]
    chance = random.Random(1)
    sizes = [
        round(low * (high / low) ** ((n + 0.5) / percent))
        for low, high, percent in OCTOBER
        for n in range(percent)
    ]
    cpu, memory = setup["cpus"] / setup["slots"], setup["gigabytes"] / setup["slots"]
    jobs = [
        (at_ms, size, cpu * chance.uniform(0.25, 1.0), memory * chance.uniform(0.1, 0.4))
        for at_ms, size in _arrivals(chance, sizes, 2)
    ]

    def times(trial: Trial, group: Callable[[Any], TaskGroup], queue: str) -> dict[int, Any]:
        for number, job in enumerate(jobs):
            user = f"j{number}"
            trial.submit_at(job[0], SubmitApplication(user, queue, tasks=(group(job),)))
        _finish(trial, len(jobs))
        return _by_size(trial, {f"j{number}": job[1] for number, job in enumerate(jobs)})

    def task_ms(event: ContainerAllocated) -> int:
        return round(23_000 * random.Random(event.container).uniform(0.5, 1.5))

    queues = {
        "root": QueueSettings("root", parent=True, policy="drf"),
        "root.q": QueueSettings("root.q", policy="drf"),
    }
    fair = FairSettings(
        minimum_allocation=(64, 1),
        increment_allocation=(64, 1),
        maximum_allocation=(setup["gigabytes"] * 1024, setup["cpus"] * 100),
        assign_multiple=True,
        dynamic_max_assign=False,
        allocations=AllocationSettings(queues=queues, from_file=True),
    )
    # A vcore is a hundredth of a CPU here, so that tasks may need parts of one.
    whole = (setup["gigabytes"] * 1024, setup["cpus"] * 100)
    drf = times(
        Trial(FairScheduler(ResourceTypes()), fair, setup["nodes"], whole, task_ms, beat_ms=3000),
        lambda job: TaskGroup("t", job[1], (round(job[3] * 1024), round(job[2] * 100))),
        "root.q",
    )
    slot = times(
        Trial(
            PoolsScheduler(TYPES),
            PoolsSettings(generation="1.2"),
            setup["nodes"],
            TYPES.vector({"map-slots": setup["slots"]}),
            task_ms,
            beat_ms=3000,
        ),
        lambda job: TaskGroup("t", job[1], MAP),
        "default",
    )

    def gain(least: int, most: float) -> float:
        before, after = (
            fmean(s for size, times_s in by.items() if least <= size <= most for s in times_s)
            for by in (slot, drf)
        )
        return 1 - after / before

    return {"1-500": gain(1, 500), "3001-": gain(3001, float("inf"))}
