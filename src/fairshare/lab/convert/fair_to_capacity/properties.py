"""What becomes of the properties in yarn-site.xml: assignment, locality, sizes, the scheduler, and
preemption with the Capacity Scheduler's monitors.

Whatever belongs to the Fair Scheduler goes; what means the same to both stays where it is. The Fair
Scheduler preempts for queues that have been below their share or minimum for a set time, the
Capacity Scheduler for those below their capacity, at each look. Without any time the first never
preempts, whatever its switch says (Hadoop: FairSchedulerConfiguration,
CapacitySchedulerConfiguration, FSQueue.getFairSharePreemptionTimeout,
ProportionalCapacityPreemptionPolicy).
"""

import math
from collections.abc import Iterator
from typing import Final

from fairshare.core.model.resources import NO_LIMIT
from fairshare.core.schedulers.fair.settings import NEVER_MS
from fairshare.lab.convert.fair_to_capacity.draft import Draft, Options, Outcome
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.convert.fair_to_capacity.texts import plain_number
from fairshare.lab.convert.fair_to_capacity.tree import Queue, Tree
from fairshare.settings.capacity.monitor import ENABLE, POLICIES, PREEMPTION
from fairshare.settings.fair.names import PREFIX
from fairshare.settings.family import CLASS, TASK_SCHEDULER
from fairshare.settings.resource_types import RESOURCE_TYPES, limit_key, new_increment_key
from fairshare.wording import counted

_PROPORTIONAL: Final = (
    "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity."
    "ProportionalCapacityPreemptionPolicy"
)
_REMOVAL: Final = (
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity."
    "AutoCreatedQueueDeletionPolicy"
)
_NO_TIME: Final = "the Capacity Scheduler looks at capacities at each interval, without waiting"


def convert_preemption(source: Source, tree: Tree, makes_queues: bool, draft: Draft) -> bool:
    """Write the monitors, and the queues that they spare; returns whether any preempts."""
    settings = source.settings
    fires = settings.preemption and any(_times(source, tree))
    policies = [_PROPORTIONAL] if fires else []
    if makes_queues:
        policies.append(_REMOVAL)
    if policies:
        draft.set_site(ENABLE, "true")
        draft.set_site(POLICIES, ",".join(policies))
    if settings.preemption:
        _note_switch(source, fires, draft)
    if fires:
        _write_times(source, draft)
    for queue in tree.root.below():
        _note_queue(source, queue, fires, draft)
    _note_file(source, fires, draft)
    return fires


def _times(source: Source, tree: Tree) -> Iterator[bool]:
    """Whether a time that ends is set anywhere."""
    allocations = source.settings.allocations
    yield allocations.fair_share_timeout_ms < NEVER_MS
    yield allocations.min_share_timeout_ms < NEVER_MS
    for queue in tree.root.below():
        for time_ms in (queue.own.fair_share_timeout_ms, queue.own.min_share_timeout_ms):
            yield time_ms is not None and time_ms < NEVER_MS


def _note_switch(source: Source, fires: bool, draft: Draft) -> None:
    if fires:
        outcome: Outcome = "changed"
        became = f"{ENABLE}=true"
        why = "between queues alone, and towards capacities: none within a queue"
    else:
        outcome, became = "kept", ""
        why = "no time is set after which containers are taken, so that none ever were: it is off"
    place = source.site.place(f"{PREFIX}preemption")
    draft.note("", "preemption", f"{PREFIX}preemption", "true", outcome, became, why, place)


def _write_times(source: Source, draft: Draft) -> None:
    settings = source.settings
    for name, suffix, time_ms, why in (
        ("waitTimeBeforeKill", "max_wait_before_kill", settings.wait_before_kill_ms,
         "from the first word to the end of a container"),
        ("waitTimeBeforeNextStarvationCheck", "monitoring_interval",
         max(settings.wait_before_next_starvation_check_ms, 1),
         "how often is looked; there it was how long one application is not looked at again"),
    ):  # fmt: skip
        became = draft.set_site(PREEMPTION + suffix, str(time_ms))
        outcome: Outcome = "kept" if suffix == "max_wait_before_kill" else "changed"
        element = PREFIX + name
        place = source.site.place(element)
        draft.note("", "preemption", element, str(time_ms), outcome, became, why, place)
    if settings.preemption_utilization_threshold != 0.0:
        element = f"{PREFIX}preemption.cluster-utilization-threshold"
        value = plain_number(settings.preemption_utilization_threshold)
        why = "containers are taken however full the cluster is"
        place = source.site.place(element)
        draft.note("", "preemption", element, value, "lost", "", why, place)


def _note_queue(source: Source, queue: Queue, fires: bool, draft: Draft) -> None:
    settings = queue.own
    if not settings.preemptable:
        became = draft.set_queue(queue.path, "disable_preemption", "true")
        why = "nothing is taken from it, nor from the queues below"
        if not fires and source.subject.has_site:
            why += "; nothing is taken from any"
        place = source.place(queue.name, "allowPreemptionFrom")
        draft.note(
            queue.name, "preemption", "allowPreemptionFrom", "false", "kept", became, why, place
        )
    for element, value in (
        ("minSharePreemptionTimeout", _seconds(settings.min_share_timeout_ms)),
        ("fairSharePreemptionTimeout", _seconds(settings.fair_share_timeout_ms)),
        ("fairSharePreemptionThreshold", _number(settings.fair_share_threshold)),
    ):
        if value:
            _note_time(source, queue.name, element, value, fires, draft)


def _note_file(source: Source, fires: bool, draft: Draft) -> None:
    allocations = source.settings.allocations
    for element, value in (
        ("defaultFairSharePreemptionTimeout", _seconds(allocations.fair_share_timeout_ms)),
        ("defaultMinSharePreemptionTimeout", _seconds(allocations.min_share_timeout_ms)),
        (
            "defaultFairSharePreemptionThreshold",
            ""
            if allocations.fair_share_threshold == 0.5
            else _number(allocations.fair_share_threshold),
        ),
    ):
        if value:
            _note_time(source, "", element, value, fires, draft)


def _note_time(
    source: Source, queue: str, element: str, value: str, fires: bool, draft: Draft
) -> None:
    outcome: Outcome = "lost"
    why = _NO_TIME
    if not source.subject.has_site:
        outcome = "unknown"
        why = f"not known without yarn-site.xml: lost if {PREFIX}preemption is true there"
    elif not fires:
        outcome, why = "kept", "preemption is off: it had no effect"
    place = source.place(queue, element)
    draft.note(queue, "preemption-time", element, value, outcome, "", why, place)


def _seconds(time_ms: int | None) -> str:
    return "" if time_ms is None or time_ms >= NEVER_MS else f"{time_ms // 1000} s"


def _number(value: float | None) -> str:
    return "" if value is None else plain_number(value)


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
    if source.settings.size_based_weight:
        suffix = "ordering-policy.fair.enable-size-based-weight=true"
        why = "in every leaf with the order fair"
        name = f"{PREFIX}sizebasedweight"
        _say(source, draft, "size-based-weight", name, "kept", suffix, why)
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
        newer = key = f"{RESOURCE_TYPES}.{name}.minimum-allocation"
        if name in settings.types.names[:2]:
            keys.append(limit_key(name, "increment"))
            key = limit_key(name, "minimum")
        written = [key for key in keys if key in source.site]
        for increment_key in written:
            draft.site[increment_key] = None
        if increment <= 0 or (increment == least and not written):
            continue
        minimum = min(increment, most)
        became = draft.set_site(key, str(minimum)) if minimum != least else f"{key}={least}"
        if minimum != least and newer != key and newer in source.site:
            draft.site[newer] = None
        if least <= minimum == increment:
            outcome: Outcome = "kept"
            why = "asks are rounded up to multiples of it"
        else:
            outcome = "changed"
            why = f"it is the smallest container as well: asks below {least} are no longer raised"
        element = written[0] if written else f"increment of {name}"
        _say(source, draft, "increment", element, outcome, became, why, str(increment))


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
