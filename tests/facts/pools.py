"""Facts about the pool scheduler's single functions
(Hadoop: org.apache.hadoop.mapred.FairScheduler)."""

from typing import Any

from fairshare.core.model.events import Locality
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.resources import NO_LIMIT
from fairshare.core.schedulers.pools.deficits import grown, split
from fairshare.core.schedulers.pools.heartbeats import tasks_per_heartbeat
from fairshare.core.schedulers.pools.jobs import (
    Slots,
    allowed_level,
    delays_ms,
    heartbeat_interval_ms,
    maps_suffice,
)
from fairshare.core.schedulers.pools.load import even_cap, proportional_cap
from fairshare.core.schedulers.pools.naming import pool_name
from fairshare.core.schedulers.pools.preemption import below_half_share, below_min_share, lacking
from fairshare.core.schedulers.pools.service_orders import fair_rank
from fairshare.core.schedulers.pools.settings import FACTORS, NEVER_MS, PRIORITIES, PoolsSettings
from fairshare.core.schedulers.pools.sharing import Claim, fill
from fairshare.core.schedulers.pools.weights import boosted, size_weight
from fairshare.errors import ConfigurationError
from fairshare.settings.pools.file import read_pools_file
from fairshare.settings.pools.jobs import ReloadGate

from .fact import Fact, Mismatch, expect
from .files import refused

LEVELS = {
    "node": Locality.NODE_LOCAL,
    "rack": Locality.RACK_LOCAL,
    "any": Locality.OFF_SWITCH,
}


def close(found: float, expected: float, within: float, what: str = "") -> None:
    """Raise Mismatch unless both are near enough."""
    if abs(found - expected) > within:
        raise Mismatch(f"{what + ': ' if what else ''}expected {expected}, found {found}")


def boost(fact: Fact) -> None:
    """What a young job weighs."""
    found = boosted(
        fact["weight"], fact["age_ms"], fact.get("factor", 3.0), fact.get("duration_ms", 300_000)
    )
    close(found, fact["boosted"], 0.00001)


def deficit(fact: Fact) -> None:
    """One step of a deficit."""
    expect(grown(fact["deficit"], fact["share"], fact["running"], fact["ms"]), fact["after"])


def fair_shares(fact: Fact) -> None:
    """The division of slots by filling."""
    claims = [Claim(i["demand"], i.get("min", 0), i.get("weight", 1.0)) for i in fact["items"]]
    found = fill(fact["total"], claims)
    expect(len(found), len(fact["shares"]), "how many")
    for number, (share, expected) in enumerate(zip(found, fact["shares"], strict=True)):
        close(share, expected, 0.01, f"item {number}")


def guarantee_split(fact: Fact) -> None:
    """A pool's minimum, divided between its jobs."""
    jobs = []
    for reported in fact["jobs"]:
        slots = Slots()
        slots.needed, slots.weight, slots.deficit = (
            reported["tasks"],
            reported["weight"],
            reported["deficit"],
        )
        jobs.append(slots)
    split(fact["guarantee"], jobs)
    expect([slots.min for slots in jobs], fact["min"])


def heartbeat_interval(fact: Fact) -> None:
    """How often a node beats, and how long a job waits for a nearer one."""
    settings = PoolsSettings(
        generation=fact["generation"],
        heartbeats_per_second=fact.get("per_second", 100),
        heartbeat_scaling=fact.get("scaling", 1.0),
    )
    expect(heartbeat_interval_ms(settings, fact["nodes"]), fact["interval_ms"])
    if "delay_ms" in fact:
        expect(delays_ms(settings, fact["nodes"]), (fact["delay_ms"],) * 2, "delays")


def locality_level(fact: Fact) -> None:
    """How far from its data a job may go."""
    found = allowed_level(
        LEVELS[fact["last"]], fact["waited_ms"], fact["node_delay"], fact["rack_delay"]
    )
    expect(found, LEVELS[fact["level"]])


def node_cap(fact: Fact) -> None:
    """How many tasks one node may run."""
    if fact["generation"] == "0.19":
        expect(even_cap(fact["node_slots"], fact["wanted"], fact["nodes"]), fact["cap"])
        return
    cap = proportional_cap(
        fact["node_slots"], fact["wanted"], fact["total_slots"], fact.get("max_diff", 0.0)
    )
    if fact["generation"] == "0.20":
        expect(cap, fact["cap"])
    else:
        expect(max(0, cap - fact["running"]), fact["more"])


def order(fact: Fact) -> None:
    """Who is served first, whatever the order in which they stand."""
    items: dict[str, dict[str, Any]] = fact["items"]

    def rank(name: str) -> object:
        reported = items[name]
        return fair_rank(
            reported["running"],
            reported["demand"],
            reported.get("min", 0),
            reported.get("weight", 1.0),
            reported.get("start", 0),
            name,
        )

    for names in (sorted(items), sorted(items, reverse=True)):
        expect(sorted(names, key=rank), fact["order"])  # type: ignore[arg-type]


def pool_of_job(fact: Fact) -> None:
    """The pool of a job by its properties."""
    settings = PoolsSettings(
        generation=fact["generation"],
        pool_property=fact["name_property"] or "",
        strict=fact.get("strict", False),
    )
    properties = dict(fact["properties"])
    user = properties.pop("user.name", "somebody")
    expect(pool_name(settings, SubmitApplication(user, properties=properties)), fact["pool"])


def pools_file(fact: Fact) -> None:
    """What a pools file says of pools and users."""
    if fact.get("error"):
        refused(
            lambda: read_pools_file(fact["xml"], "pools.xml", fact["generation"]),
            ConfigurationError,
            "the file",
        )
        return
    found, _ = read_pools_file(fact["xml"], "pools.xml", fact["generation"])
    settings = PoolsSettings(generation=fact["generation"], allocations=found)
    expect(sorted({*found.pools, "default"}), fact["pools"], "pools")
    of_pools = {
        "min_maps": lambda name: settings.allocation(name).min_share[0],
        "min_reduces": lambda name: settings.allocation(name).min_share[1],
        "max_maps": lambda name: _limit(settings.allocation(name).max_share[0]),
        "max_reduces": lambda name: _limit(settings.allocation(name).max_share[1]),
        "weight": lambda name: settings.allocation(name).weight,
        "max_jobs": lambda name: _limit(settings.max_running_jobs(name)),
        "mode": settings.mode,
        "user_max_jobs": lambda name: _limit(settings.user_max_running_jobs(name)),
        "min_share_timeout_ms": lambda name: _timeout(settings.min_share_timeout_ms(name)),
    }
    for key, said in of_pools.items():
        for name, expected in fact.get(key, {}).items():
            expect(said(name), expected, f"{key} of {name}")
    if "fair_share_timeout_ms" in fact:
        timeout_ms = _timeout(found.fair_share_timeout_ms)
        expect(timeout_ms, fact["fair_share_timeout_ms"], "fair_share_timeout_ms")


def _limit(limit: int) -> int | None:
    return None if limit == NO_LIMIT else limit


def _timeout(timeout_ms: int) -> int | None:
    return None if timeout_ms == NEVER_MS else timeout_ms


def preemption_need(fact: Fact) -> None:
    """Whether a pool lacks something, and how much is killed for it."""
    running, demand, least, share = (fact[key] for key in ("running", "demand", "min", "share"))
    expect(below_min_share(running, least, demand), fact["starved_min"], "starved_min")
    expect(below_half_share(running, share, demand), fact["starved_half"], "starved_half")
    slots = Slots()
    slots.demand, slots.fair_share = demand, share
    found = lacking(
        running,
        least,
        slots,
        by_minimum=fact["ms_below_min"] > 60_000,
        by_share=fact["ms_below_half"] > 60_000,
    )
    expect(found, fact["need"], "need")


def priority_factor(fact: Fact) -> None:
    """What a priority weighs."""
    expect(FACTORS[PRIORITIES.index(fact["priority"])], fact["factor"])


def reload_gate(fact: Fact) -> None:
    """When a changed file is read."""
    start = fact["start"]
    gate = ReloadGate(start["last_look"], start["last_load"])
    for number, look in enumerate(fact["looks"]):
        now_ms = look["now"]
        looked = gate.look(now_ms)
        loaded = looked and gate.due(now_ms, look["mtime"]) and look.get("good", True)
        if loaded:
            gate.loaded(now_ms)
        expect((looked, loaded), (look["looked"], look["loaded"]), f"look {number}")


def size_of_job(fact: Fact) -> None:
    """What a job weighs by its size."""
    close(size_weight(fact["tasks"]), fact["weight"], 0.00001)


def slow_start(fact: Fact) -> None:
    """Whether the reduces of a job of 0.20 may start."""
    enough = maps_suffice(fact["maps"], fact["finished"], strict=fact.get("strict", False))
    expect(not fact["wait_for_maps"] or enough, fact["ok"])


def tasks_of_heartbeat(fact: Fact) -> None:
    """The most tasks of a kind that one heartbeat hands out."""
    found = tasks_per_heartbeat(fact["assign_multiple"], fact["cap"], fact["free"])
    expect(found, fact["n"])
