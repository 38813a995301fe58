"""What papers have measured on clusters, by simulation with the schedulers here.

What a paper does not say was chosen by who wrote the facts down, and stands in them.
"""

import random
from collections.abc import Callable
from statistics import fmean
from typing import Any

from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.scheduler import FairScheduler
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.core.schedulers.pools.scheduler import PoolsScheduler
from fairshare.core.schedulers.pools.settings import TYPES, PoolsSettings

from . import reach
from .fact import Fact, Mismatch, OutOfReach
from .frameworks import drf_by_size, frameworks, waits_by_size
from .trial import Trial

Numbers = dict[str, float]
MAP = TYPES.vector({"map-slots": 1})


def seed_of(fact: Fact) -> int:
    """Where chance begins: the `seed` of the setup, else 1."""
    return int(fact["setup"].get("seed", 1))


def _users(fact: Fact) -> dict[str, str]:
    """The users of the two kinds: small and large."""
    setup = fact["setup"]
    return {
        f"{kind}-{number}": kind
        for kind in ("small", "large")
        for number in range(setup[f"{kind}_users"])
    }


def _closed_loop(trial: Trial, fact: Fact, group: Callable[[str], TaskGroup]) -> Numbers:
    """Every user has one job at a time, for the minutes of the setup."""
    kinds = _users(fact)

    def submit(user: str) -> None:
        trial.tell(SubmitApplication(user, f"root.{user}", tasks=(group(kinds[user]),)))

    trial.on_end = submit
    for user in kinds:
        submit(user)
    trial.run(fact["setup"]["minutes"] * 60_000)
    found: Numbers = {}
    for kind in ("large", "small"):
        times = [end - begun for user, begun, end in trial.ended_ms if kinds[user] == kind]
        found[f"{kind}_jobs"] = len(times)
        found[f"{kind}_response_s"] = fmean(times) / 1000
    return found


def _task_ms(fact: Fact, trial_of: Callable[[], Trial], seed: int) -> Callable[[Any], int]:
    """Task times of the setup, a tenth more or less."""
    chance = random.Random(seed)
    setup, kinds = fact["setup"], _users(fact)

    def duration_ms(event: Any) -> int:
        user = trial_of().manager.state.applications[event.application].user
        return round(setup[f"{kinds[user]}_task_s"] * 1000 * chance.uniform(0.9, 1.1))

    return duration_ms


def drf_jobs(fact: Fact) -> Numbers:
    """Two kinds of tasks under DRF."""
    setup = fact["setup"]

    def size(kind: str) -> tuple[int, int]:
        cpus, gigabytes = setup[f"{kind}_task"]
        return round(gigabytes * 1024), cpus

    queues = {"root": QueueSettings("root", parent=True, policy="drf")}
    for user in _users(fact):
        queues[f"root.{user}"] = QueueSettings(f"root.{user}", policy="drf")
    settings = FairSettings(
        minimum_allocation=(512, 1),
        increment_allocation=(512, 1),
        assign_multiple=True,
        dynamic_max_assign=False,
        allocations=AllocationSettings(queues=queues, from_file=True),
    )
    made: list[Trial] = []
    trial = Trial(
        FairScheduler(ResourceTypes()),
        settings,
        setup["nodes"],
        (setup["gigabytes"] * 1024, setup["cpus"]),
        _task_ms(fact, lambda: made[0], seed_of(fact)),
    )
    made.append(trial)
    return _closed_loop(trial, fact, lambda kind: TaskGroup("t", setup["tasks"], size(kind)))


def slot_jobs(fact: Fact) -> Numbers:
    """The same jobs on slots, whatever their tasks need."""
    setup = fact["setup"]
    made: list[Trial] = []
    trial = Trial(
        PoolsScheduler(TYPES),
        PoolsSettings(generation="1.2"),
        setup["nodes"],
        TYPES.vector({"map-slots": setup["slots"]}),
        _task_ms(fact, lambda: made[0], seed_of(fact)),
    )
    made.append(trial)
    return _closed_loop(trial, fact, lambda kind: TaskGroup("t", setup["tasks"], MAP))


def located_job(chance: random.Random, maps: int, nodes: int, replicas: int) -> SubmitApplication:
    """A job whose maps have their data on some nodes each, at random."""
    tasks = tuple(
        TaskGroup(
            f"m{number}",
            1,
            MAP,
            hosts=tuple(f"n{node}" for node in chance.sample(range(nodes), replicas)),
        )
        for number in range(maps)
    )
    return SubmitApplication("small", "default", tasks=tasks)


def small_job_locality(
    setup: dict[str, Any], wait_node_ms: int, wait_rack_ms: int, jobs: int, seed: int = 1
) -> float:
    """The part of the maps of small jobs that run on their data, on a cluster that is full."""
    chance = random.Random(seed)
    settings = PoolsSettings(
        generation="1.2",
        assign_multiple=True,
        locality_delay_ms=wait_node_ms,
        locality_delay_node_ms=wait_node_ms,
        locality_delay_rack_ms=wait_rack_ms,
    )
    nodes = setup["nodes"]
    trial = Trial(
        PoolsScheduler(TYPES),
        settings,
        nodes,
        TYPES.vector({"map-slots": setup["map_slots"]}),
        lambda event: round(chance.uniform(15_000, 25_000)),
        beat_ms=3000,
        update_ms=3000,
    )
    # A job that has all slots, and whose tasks end at all times, stands for the rest of the work.
    slots = nodes * setup["map_slots"]
    trial.tell(SubmitApplication("rest", "default", tasks=(TaskGroup("m", slots * 40, MAP),)))
    trial.run(60_000)
    for number in range(jobs):
        at_ms = 60_000 + number * 2000
        trial.submit_at(at_ms, located_job(chance, setup["maps"], nodes, setup["replicas"]))
    trial.run(60_000 + jobs * 2000 + 120_000)
    return trial.local.get("small", 0) / trial.started["small"]


def with_and_without(fact: Fact) -> Numbers:
    """Locality of small jobs, with the waits of the setup and with none."""
    setup = fact["setup"]
    waits = (setup["wait_node_s"] * 1000, setup["wait_rack_s"] * 1000)
    return {
        "without": small_job_locality(setup, 0, 0, 60, seed_of(fact)),
        "with": small_job_locality(setup, *waits, 60, seed_of(fact)),
    }


def by_wait(fact: Fact) -> Numbers:
    """Locality of small jobs by the time that they wait."""
    setup = fact["setup"]
    return {
        f"wait_{wait}": small_job_locality(setup, wait * 1000, 0, 60, seed_of(fact))
        for wait in setup["wait_s"]
    }


BY_NAME: dict[str, Callable[[Fact], Numbers]] = {
    "locality of jobs of three maps, without and with waiting": with_and_without,
    "locality of jobs of ten maps, without and with waiting": with_and_without,
    "a wait of one second is enough for most": by_wait,
    "large and small jobs under DRF": drf_jobs,
    "large and small jobs on three slots a node": slot_jobs,
    "sixteen frameworks on one cluster": frameworks,
    "completion times under DRF against slots, by job size": drf_by_size,
    "delay scheduling against naive fair sharing, by job size": waits_by_size,
}


def simulations(fact: Fact) -> None:
    """Run the setup; every accepted bound must be met.

    A bound that the setup itself rules out is reported as out of reach, once all others are met and
    the simulation agrees with the arithmetic.
    """
    run = BY_NAME.get(fact["name"])
    if run is None:
        raise Mismatch("nobody has set up this simulation")
    rule = reach.BY_NAME.get(fact["name"])
    within = {} if rule is None else rule(fact["setup"])
    found = run(fact)
    reasons = []
    for key, bounds in fact["accept"].items():
        limit = within.get(key)
        if limit is not None and not limit.least <= found[key] <= limit.most:
            raise Mismatch(f"{key}: found {found[key]:.3f}, which cannot be: {limit.why}")
        if limit is not None and limit.excludes(bounds):
            reasons.append(f"{key}: accepted {bounds}, found {found[key]:.3f}: {limit.why}")
            continue
        least, most = bounds.get("min", float("-inf")), bounds.get("max", float("inf"))
        if not least <= found[key] <= most:
            raise Mismatch(f"{key}: expected {bounds}, found {found}")
    if reasons:
        raise OutOfReach("; ".join(reasons))
