"""Facts from papers: rules of division, formulas of delay scheduling, published mixes of jobs."""

import math
import random
from collections.abc import Sequence

from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.resources import Resource
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.policies import POLICIES
from fairshare.core.schedulers.pools.settings import TYPES
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload

from .fact import Fact, expect
from .pools import close

STEPS = 1000
"""Tasks are divided into so many parts, so that whole parts come near to a division of tasks."""

RUNS = 1000
MAP, REDUCE = (TYPES.vector({name: 1}) for name in ("map-slots", "reduce-slots"))


class User:
    """What a policy compares: a user whose tasks are alike."""

    def __init__(self, demand: Sequence[int], weight: float, rank: int) -> None:
        self.one: Resource = tuple(demand)
        self.used: Resource = (0,) * len(demand)
        self.demand: Resource = (2**40,) * len(demand)
        self.min_share: Resource = self.used
        self.weight = weight
        self.rank = rank
        self.parts = 0


def _drf(fact: Fact) -> list[float]:
    """Served part by part in the order of our drf policy, until nothing fits."""
    capacity = tuple(amount * STEPS for amount in fact["capacity"])
    weights = fact.get("weights", [1] * len(fact["demands"]))
    users = [
        User(demand, float(weight), rank)
        for rank, (demand, weight) in enumerate(zip(fact["demands"], weights, strict=True))
    ]
    key, _ = POLICIES["drf"].key(capacity)
    left, waiting = list(capacity), list(users)
    while waiting:
        first = min(waiting, key=key)
        if any(need > room for need, room in zip(first.one, left, strict=True)):
            waiting.remove(first)
            continue
        left = [room - need for room, need in zip(left, first.one, strict=True)]
        first.used = tuple(a + b for a, b in zip(first.used, first.one, strict=True))
        first.parts += 1
    return [user.parts / STEPS for user in users]


def _asset(fact: Fact) -> list[float]:
    """Equal sums of shares, as the paper defines what it compares DRF with."""
    sums = [
        sum(need / whole for need, whole in zip(demand, fact["capacity"], strict=True))
        for demand in fact["demands"]
    ]
    scale = min(
        whole / sum(demand[kind] / part for demand, part in zip(fact["demands"], sums, strict=True))
        for kind, whole in enumerate(fact["capacity"])
    )
    return [scale / part for part in sums]


def _ceei(fact: Fact) -> list[float]:
    """The greatest product of tasks: prices at which equal budgets clear the market."""
    prices = [1.0 / whole for whole in fact["capacity"]]
    tasks: list[float] = []
    for _ in range(20_000):
        tasks = [
            1.0 / sum(price * need for price, need in zip(prices, demand, strict=True))
            for demand in fact["demands"]
        ]
        used = [
            sum(count * demand[kind] for count, demand in zip(tasks, fact["demands"], strict=True))
            for kind in range(len(prices))
        ]
        prices = [
            price * math.sqrt(amount / whole)
            for price, amount, whole in zip(prices, used, fact["capacity"], strict=True)
        ]
    return tasks


RULES = {"drf": _drf, "asset": _asset, "ceei": _ceei}
"""How many tasks each user has under a rule; only drf is one of ours."""


def allocation_rules(fact: Fact) -> None:
    """How many tasks each user has under a rule."""
    found = RULES[fact["rule"]](fact)
    expect(len(found), len(fact["tasks"]), "users")
    for number, (tasks, expected) in enumerate(zip(found, fact["tasks"], strict=True)):
        close(tasks, expected, 0.01, f"user {number}")


def delay_offers(fact: Fact) -> None:
    """The chance of a node with the data within some offers."""
    close(1 - (1 - fact["p"]) ** fact["offers"], fact["chance"], 0.001)


def skips_for(locality: float, tasks: int, nodes: int, replicas: int) -> float:
    """How many offers a job should let pass to reach a locality, before rounding up."""
    missed = (1 - locality) * tasks
    return -nodes / replicas * math.log(missed / (1 + missed))


def delay_skips(fact: Fact) -> None:
    """How often a job should let an offer pass."""
    bound = skips_for(fact["locality"], fact["tasks"], fact["nodes"], fact["replicas"])
    close(bound, fact["bound"], 0.01)
    expect(math.ceil(bound), fact["skips"], "skips")


def delay_locality(fact: Fact) -> None:
    """The locality of a job that counts the offers it lets pass; chance begins at a fixed seed."""
    chance = random.Random(1)
    nodes, skips = range(fact["nodes"]), fact["skips"]
    local = 0
    for _ in range(RUNS):
        waiting = [set(chance.sample(nodes, fact["replicas"])) for _ in range(fact["tasks"])]
        passed = 0
        while waiting:
            node = int(chance.random() * len(nodes))
            for number, places in enumerate(waiting):
                if node in places:
                    local += 1
                    passed = 0
                    del waiting[number]
                    break
            else:
                if passed >= skips:
                    waiting.pop()
                else:
                    passed += 1
    close(local / RUNS / fact["tasks"], fact["locality"], fact["within"])


def workload_of(fact: Fact, seed: int = 1) -> Workload:
    """The jobs of a published mix in random order, with exponential gaps."""
    chance = random.Random(seed)
    sizes = [
        (bin_["maps"], bin_.get("reduces", 0)) for bin_ in fact["bins"] for _ in range(bin_["jobs"])
    ]
    chance.shuffle(sizes)
    at_s = 0.0
    arrivals = []
    for maps, reduces in sizes:
        tasks = [TaskGroup("map", maps, MAP)]
        if reduces:
            tasks.append(TaskGroup("reduce", reduces, REDUCE, after=("map",), slow_start=0.05))
        plans = (GroupPlan(20_000),) * len(tasks)
        submission = SubmitApplication("user", tasks=tuple(tasks))
        arrivals.append(Arrival(round(at_s * 1000), submission, plans))
        at_s += chance.expovariate(1.0 / fact["gap_s"]) if "gap_s" in fact else 0.0
    return Workload((), tuple(arrivals))


def workloads(fact: Fact) -> None:
    """A workload of a mix has as many jobs of each size, about as far apart."""
    if "percent" in fact:
        expect(sum(fact["percent"].values()), 101, "the parts, rounded")
        return
    workload = workload_of(fact)
    found: dict[tuple[int, int], int] = {}
    for arrival in workload.arrivals:
        counts = {task.name: task.count for task in arrival.submission.tasks}
        size = (counts["map"], counts.get("reduce", 0))
        found[size] = found.get(size, 0) + 1
    expect(
        found, {(b["maps"], b.get("reduces", 0)): b["jobs"] for b in fact["bins"]}, "jobs by size"
    )
    expect(len(workload.arrivals), fact["jobs"], "jobs")
    if "gap_s" in fact:
        # The mean of n exponential gaps strays by one over the root of n.
        mean_s = workload.arrivals[-1].at_ms / 1000 / (fact["jobs"] - 1)
        close(mean_s, fact["gap_s"], 3 * fact["gap_s"] / math.sqrt(fact["jobs"]), "mean gap")
