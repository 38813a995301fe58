"""The lint rules about pools: minimums, limits, preemption, locality, weights.

Settings of another generation, and unknown names, are reported when the files are read.
"""

import sys
from collections.abc import Iterator
from typing import Final

from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.pools.settings import (
    DEFAULT_POOL,
    NEVER_MS,
    NO_ADJUSTER,
    SLOTS,
    PoolsSettings,
)
from fairshare.documents.problems import Finding, Place, Problems
from fairshare.documents.xml import Element, parse
from fairshare.settings.allocation import Texts
from fairshare.settings.lint_rules import rules_of
from fairshare.settings.pools.names import PREFIX


class PoolsSubject:
    """A configuration of the pool scheduler. `cluster` is what all nodes have; None: unknown."""

    def __init__(self, settings: PoolsSettings, texts: Texts, cluster: Resource | None) -> None:
        self.has_site = texts.has_site
        self.settings = settings
        self.allocations = settings.allocations
        self.site = texts.site
        self.cluster = cluster
        self._top = None
        if texts.document is not None:
            self._top = parse(texts.document, texts.file, Problems())
        self._elements: dict[str, Element] = {}
        if self._top is not None:
            self._collect(self._top, "")

    def _collect(self, holder: Element, parent: str) -> None:
        for child in holder.children:
            if child.name == "pool":
                name = child.attributes.get("name", "")
                full = f"{parent}.{name}" if parent else name
                self._elements[full] = child
                if self.settings.hierarchical:
                    self._collect(child, full)

    def pool_place(self, pool: str, *tags: str) -> Place:
        """Where a pool says one of these things; else where it begins; else the file."""
        element = self._elements.get(pool)
        return self.top_place(*tags) if element is None else _last(element, tags)

    def top_place(self, *tags: str) -> Place:
        """Where the file says one of these things for all pools; else where it begins."""
        return self.site.place() if self._top is None else _last(self._top, tags)


def _last(element: Element, tags: tuple[str, ...]) -> Place:
    found = [child for child in element.children if child.name in tags]
    return found[-1].text_place if found else element.place


_TIMEOUTS = ("defaultMinSharePreemptionTimeout", "fairSharePreemptionTimeout")
_MIN_TIMEOUT = "minSharePreemptionTimeout"
_BOOSTER = "mapred.newjobweightbooster."
_LONG_MS = 100_000_000
"""A timeout of more than a day was probably given in milliseconds."""


def _timeouts(subject: PoolsSubject) -> Iterator[tuple[str, int]]:
    """Pools (empty: all of them) and their timeouts, where preemption has one."""
    allocations = subject.allocations
    for name, pool in allocations.pools.items():
        if pool.min_share_timeout_ms is not None and pool.min_share_timeout_ms < NEVER_MS:
            yield name, pool.min_share_timeout_ms
    for timeout_ms in (allocations.default_min_share_timeout_ms, allocations.fair_share_timeout_ms):
        if timeout_ms < NEVER_MS:
            yield "", timeout_ms


def timeouts_without_preemption(subject: PoolsSubject) -> Iterator[Finding]:
    """Timeouts that have no effect without preemption."""
    settings = subject.settings
    if settings.deficits or settings.preemption or not subject.has_site:
        return
    for name, _ in _timeouts(subject):
        yield Finding(
            subject.pool_place(name, _MIN_TIMEOUT, *_TIMEOUTS),
            f"a preemption timeout has no effect while {PREFIX}preemption is false",
            "never kills, and lets starved pools ignore where their data is",
        )


def preemption_cannot_fire(subject: PoolsSubject) -> Iterator[Finding]:
    """Preemption without a timeout."""
    settings = subject.settings
    if not settings.deficits and settings.preemption and not any(_timeouts(subject)):
        yield Finding(
            subject.site.place(PREFIX + "preemption"),
            f"preemption is on and never happens: no pool has a {_MIN_TIMEOUT}, and the file"
            f" has neither {_TIMEOUTS[0]} nor {_TIMEOUTS[1]}",
            "never kills",
        )


def preemption_observes(subject: PoolsSubject) -> Iterator[Finding]:
    """Preemption that only says what it would do."""
    settings = subject.settings
    if not settings.deficits and settings.preemption and settings.preemption_only_log:
        name = PREFIX + "preemption.only.log"
        yield Finding(subject.site.place(name), f"{name} is true: no task is killed", "only logs")


def timeout_without_minimum(subject: PoolsSubject) -> Iterator[Finding]:
    """A timeout for a minimum that is not set."""
    for name, pool in subject.allocations.pools.items():
        if pool.min_share_timeout_ms is not None and not any(pool.min_share):
            yield Finding(
                subject.pool_place(name, _MIN_TIMEOUT),
                f"the pool {name} has a {_MIN_TIMEOUT}, and neither minMaps nor minReduces",
                "never kills tasks for this pool",
            )


def timeout_in_milliseconds(subject: PoolsSubject) -> Iterator[Finding]:
    """Timeouts of days."""
    for name, timeout_ms in _timeouts(subject):
        if timeout_ms >= _LONG_MS:
            yield Finding(
                subject.pool_place(name, _MIN_TIMEOUT, *_TIMEOUTS),
                f"{timeout_ms // 1000} seconds are more than a day: were milliseconds meant?",
                "counts in seconds",
            )


def weight_zero(subject: PoolsSubject) -> Iterator[Finding]:
    """A pool that gets its minimum alone."""
    for name, pool in subject.allocations.pools.items():
        if pool.weight == 0.0 and subject.settings.generation != "0.19":
            yield Finding(
                subject.pool_place(name, "weight"),
                f"the pool {name} has no weight: it gets its minimum, and what no other pool wants",
                "may compute with numbers that are none",
            )


def minimums_above_cluster(subject: PoolsSubject) -> Iterator[Finding]:
    """Guarantees that cannot all be kept."""
    if subject.cluster is None or subject.settings.scale_min_shares:
        return
    outer = [pool for pool in subject.allocations.pools.values() if not pool.parent]
    for kind, name in enumerate(SLOTS):
        total = subject.cluster[subject.settings.types.names.index(name)]
        promised = sum(pool.min_share[kind] for pool in outer)
        if promised > total:
            yield Finding(
                subject.top_place(),
                f"the pools' minimums come to {promised} {name}, and the cluster has {total}",
                "promises them nevertheless, and does not scale them down",
            )


def nobody_may_run(subject: PoolsSubject) -> Iterator[Finding]:
    """A limit of no jobs."""
    for name, pool in subject.allocations.pools.items():
        if pool.max_running_jobs is not None and pool.max_running_jobs < 1:
            yield Finding(
                subject.pool_place(name, "maxRunningJobs"),
                f"no job in the pool {name} will ever run: maxRunningJobs is"
                f" {pool.max_running_jobs}",
                "lets them wait",
            )


def default_pool_undeclared(subject: PoolsSubject) -> Iterator[Finding]:
    """Jobs that name no pool are refused."""
    if not subject.settings.allow_undeclared_pools and (
        DEFAULT_POOL not in subject.allocations.pools
    ):
        yield Finding(
            subject.site.place(PREFIX + "allow.undeclared.pools"),
            f"only declared pools are allowed, and the pool {DEFAULT_POOL} is none of them: jobs"
            " that name no pool are refused",
            "refuses them",
        )


def locality_half_set(subject: PoolsSubject) -> Iterator[Finding]:
    """A wait that the automatic one overwrites."""
    settings = subject.settings
    delays = {
        "locality.delay.node": settings.locality_delay_node_ms,
        "locality.delay.rack": settings.locality_delay_rack_ms,
    }
    written = [name for name, delay_ms in delays.items() if delay_ms is not None]
    if not settings.deficits and settings.locality_delay_ms == -1 and len(written) == 1:
        yield Finding(
            subject.site.place(PREFIX + written[0]),
            f"{PREFIX}{written[0]} has no effect alone: set the other one, or"
            f" {PREFIX}locality.delay, too",
            "overwrites it with the automatic delay",
        )


def caps_without_multiple(subject: PoolsSubject) -> Iterator[Finding]:
    """Caps on tasks for each heartbeat, which hands out one anyway."""
    settings = subject.settings
    if settings.deficits or settings.assigns_multiple:
        return
    for name, cap in (
        ("assignmultiple.maps", settings.maps_per_heartbeat),
        ("assignmultiple.reduces", settings.reduces_per_heartbeat),
    ):
        if cap != -1:
            yield Finding(
                subject.site.place(PREFIX + name),
                f"{PREFIX}{name} has no effect while {PREFIX}assignmultiple is false",
                "hands out one task in a heartbeat",
            )


def booster_not_chosen(subject: PoolsSubject) -> Iterator[Finding]:
    """Settings of a booster that is off."""
    names = subject.site.names(_BOOSTER)
    if names and subject.settings.weight_adjuster == NO_ADJUSTER:
        yield Finding(
            subject.site.place(names[0]),
            f"{names[0]} has no effect: {PREFIX}weightadjuster does not name the booster"
            " (org.apache.hadoop.mapred.NewJobWeightBooster)",
            "boosts no jobs",
        )


RULES: Final = rules_of(sys.modules[__name__])
