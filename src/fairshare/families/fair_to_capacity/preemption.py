"""Owns what becomes of preemption, and the Capacity Scheduler's monitors
(Hadoop: ProportionalCapacityPreemptionPolicy).

The Fair Scheduler takes containers for whom has been below his share or minimum for a set time; the
Capacity Scheduler for whom is below his capacity, at each look. Without any time the first never
takes any, whatever its switch says (Hadoop: FSQueue.getFairSharePreemptionTimeout).
"""

from collections.abc import Iterator
from typing import Final

from fairshare.families.capacity.monitor import ENABLE, POLICIES, PREEMPTION
from fairshare.families.fair.names import PREFIX
from fairshare.families.fair_to_capacity.draft import Draft, Outcome
from fairshare.families.fair_to_capacity.source import Source
from fairshare.families.fair_to_capacity.texts import plain_number
from fairshare.families.fair_to_capacity.tree import Queue, Tree
from fairshare.schedulers.fair.settings import NEVER_MS

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
    """Write the monitors, and who is left alone; whether containers are taken at all."""
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
    own = queue.own
    if not own.preemptable:
        became = draft.set_queue(queue.path, "disable_preemption", "true")
        why = "nothing is taken from it, nor from the queues below"
        if not fires and source.subject.has_site:
            why += "; nothing is taken from any"
        place = source.place(queue.name, "allowPreemptionFrom")
        draft.note(
            queue.name, "preemption", "allowPreemptionFrom", "false", "kept", became, why, place
        )
    for element, value in (
        ("minSharePreemptionTimeout", _seconds(own.min_share_timeout_ms)),
        ("fairSharePreemptionTimeout", _seconds(own.fair_share_timeout_ms)),
        ("fairSharePreemptionThreshold", _number(own.fair_share_threshold)),
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
