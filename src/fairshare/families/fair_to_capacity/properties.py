"""Owns what becomes of the properties in yarn-site.xml: assignment, locality, sizes, the scheduler.

Whatever belongs to the Fair Scheduler goes; what means the same to both stays where it is
(Hadoop: FairSchedulerConfiguration, CapacitySchedulerConfiguration).
"""

import math
from typing import Final

from fairshare.config.resource_types import RESOURCE_TYPES, limit_key, new_increment_key
from fairshare.families.fair.names import PREFIX
from fairshare.families.fair_to_capacity.draft import Draft, Options, Outcome
from fairshare.families.fair_to_capacity.source import Source
from fairshare.families.fair_to_capacity.texts import plain_number
from fairshare.families.family import CLASS, TASK_SCHEDULER
from fairshare.schedulers.fair.settings import NO_LIMIT
from fairshare.wording import counted

SCHEDULER: Final = (
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
)

ASSUMED: Final = "default, assumed"
"""What is shown of a property that was not there to be read."""

_HEARTBEAT: Final = "per-node-heartbeat."
_THRESHOLD: Final = "yarn.scheduler.reservation-threshold.increment-multiple"

_WITHOUT_MEANING: Final = {
    "am.preemption": "masters are taken last there, and cannot be spared",
    "update-interval-ms": "capacities are worked out when something changes",
    "reservable-nodes": "any number of nodes may be reserved",
    "locality-delay-node-ms": "delays are counted in visits, not in time",
    "locality-delay-rack-ms": "delays are counted in visits, not in time",
}
"""What the Capacity Scheduler has nothing for, and why."""


def convert_properties(source: Source, options: Options, draft: Draft) -> None:
    """Write them all, and take away what is the Fair Scheduler's."""
    draft.set_site(CLASS, SCHEDULER)
    if TASK_SCHEDULER in source.site:
        draft.site[TASK_SCHEDULER] = None
    for name in source.site.names(PREFIX):
        draft.site[name] = None
    _assignment(source, draft)
    _continuous(source, draft)
    _locality(source, options, draft)
    _increments(source, draft)
    _size_based(source, draft)
    _without_meaning(source, draft)
    if options.mode == "vectors":
        draft.set("legacy-queue-mode.enabled", "false")


def _assignment(source: Source, draft: Draft) -> None:
    settings = source.settings
    name = f"{PREFIX}assignmultiple"
    became = draft.set(
        f"{_HEARTBEAT}multiple-assignments-enabled", str(settings.assign_multiple).lower()
    )
    why = "how many containers a node gets at one visit: one, or several"
    _say(source, draft, "assignment", name, "kept", became, why)
    if not settings.assign_multiple:
        return
    bounded = not settings.dynamic_max_assign and settings.max_assign >= 0
    most = settings.max_assign if bounded else -1
    became = draft.set(f"{_HEARTBEAT}maximum-container-assignments", str(most))
    # Its own default is one container in a place that was not asked for, whatever else is allowed.
    off_switch = max(most, 1) if bounded else NO_LIMIT
    draft.set(f"{_HEARTBEAT}maximum-offswitch-assignments", str(off_switch))
    if settings.dynamic_max_assign:
        name = f"{PREFIX}dynamic.max.assign"
        why = "half of the free room of a node at one visit, and now all of it"
        _say(source, draft, "assignment", name, "changed", became, why)
    else:
        why = "at one visit"
        _say(source, draft, "assignment", f"{PREFIX}max.assign", "kept", became, why)


def _continuous(source: Source, draft: Draft) -> None:
    settings = source.settings
    if not settings.continuous_scheduling:
        return
    became = draft.set("schedule-asynchronously.enable", "true")
    interval = str(settings.continuous_scheduling_sleep_ms)
    draft.set("schedule-asynchronously.scheduling-interval-ms", interval)
    why = "its own thread instead of visits of nodes; not honoured by fairshare"
    name = f"{PREFIX}continuous-scheduling-enabled"
    _say(source, draft, "continuous", name, "changed", became, why)


def _locality(source: Source, options: Options, draft: Draft) -> None:
    """Parts of the cluster's nodes become numbers of visits; -1 means no waiting in both."""
    settings = source.settings
    thresholds = (settings.locality_threshold_node, settings.locality_threshold_rack)
    if max(thresholds) <= 0:
        became = draft.set("node-locality-delay", "-1")
        draft.set("rack-locality-additional-delay", "0")
        why = "no application waits for a node or a rack that it requested, as before"
        _say(source, draft, "locality", f"{PREFIX}locality.threshold.node", "kept", became, why)
        return
    for suffix, key, part in (
        ("node", "node-locality-delay", thresholds[0]),
        ("rack", "rack-locality-additional-delay", thresholds[1]),
    ):
        name = f"{PREFIX}locality.threshold.{suffix}"
        if options.nodes is None:
            why = "a part of the nodes becomes a number of visits: say how many there are (--nodes)"
            _say(source, draft, "locality", name, "lost", "", why)
            continue
        visits = math.ceil(part * options.nodes) if part > 0 else (-1 if suffix == "node" else 0)
        became = draft.set(key, str(visits))
        why = f"{plain_number(part)} of {counted(options.nodes, 'node')}, as a number of visits"
        _say(source, draft, "locality", name, "changed", became, why)


def _increments(source: Source, draft: Draft) -> None:
    """Asks are rounded up to whole increments there, and to whole smallest containers here."""
    settings = source.settings
    sizes = zip(
        settings.types.names,
        settings.minimum_allocation,
        settings.increment_allocation,
        settings.maximum_allocation,
        strict=True,
    )
    for name, least, increment, most in sizes:
        keys = [new_increment_key(name)]
        if name in settings.types.names[:2]:
            keys.append(limit_key(name, "increment"))
        written = [key for key in keys if key in source.site]
        for key in written:
            draft.site[key] = None
        if increment <= 0 or (increment == least and not written):
            continue
        key = _minimum_key(name, settings.types.names[:2])
        wanted = min(increment, most)
        became = draft.set_site(key, str(wanted)) if wanted != least else f"{key}={least}"
        if wanted != least:
            newer = f"{RESOURCE_TYPES}.{name}.minimum-allocation"
            if newer != key and newer in source.site:
                draft.site[newer] = None
        if least <= wanted == increment:
            outcome: Outcome = "kept"
            why = "asks are rounded up to multiples of it"
        else:
            outcome = "changed"
            why = f"it is the smallest container as well: asks below {least} are no longer raised"
        element = written[0] if written else f"increment of {name}"
        _say(source, draft, "increment", element, outcome, became, why, str(increment))


def _minimum_key(name: str, first: tuple[str, ...]) -> str:
    if name in first:
        return limit_key(name, "minimum")
    return f"{RESOURCE_TYPES}.{name}.minimum-allocation"


def _size_based(source: Source, draft: Draft) -> None:
    if source.settings.size_based_weight:
        suffix = "ordering-policy.fair.enable-size-based-weight=true"
        why = "in every leaf with the order fair"
        name = f"{PREFIX}sizebasedweight"
        _say(source, draft, "size-based-weight", name, "kept", suffix, why)


def _without_meaning(source: Source, draft: Draft) -> None:
    for name in source.site.names(PREFIX):
        suffix = name.removeprefix(PREFIX)
        why = _WITHOUT_MEANING.get(suffix)
        if suffix.startswith("am.preemption."):
            why = _WITHOUT_MEANING["am.preemption"]
        if why is not None:
            _say(source, draft, "property", name, "lost", "", why)
    if _THRESHOLD in source.site:
        draft.site[_THRESHOLD] = None
        why = "an ask reserves whenever it does not fit"
        _say(source, draft, "property", _THRESHOLD, "lost", "", why)


def _say(
    source: Source,
    draft: Draft,
    rule: str,
    name: str,
    outcome: Outcome,
    became: str,
    why: str,
    value: str | None = None,
) -> None:
    """A finding about a property, whether it is written or has its default."""
    if value is None:
        written = [found.value for found in source.site if found.name == name]
        value = written[0] if written else "default" if source.subject.has_site else ASSUMED
    draft.note("", rule, name, value, outcome, became, why, source.site.place(name))
