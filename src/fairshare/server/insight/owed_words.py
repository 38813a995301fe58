"""Owns the words for what preemption owes to an application, and for what keeps it away, with the
setting that decides this (`core/schedulers/entitlement.py`)."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from fairshare.core.schedulers.entitlement import Entitlement, Obstacle, Preemption
from fairshare.wording import counted

_SETTINGS: Final[Mapping[Entitlement, Mapping[str, str]]] = {
    Entitlement.FAIR_SHARE: {
        "on": "yarn.scheduler.fair.preemption",
        "timeout": "fairSharePreemptionTimeout, defaultFairSharePreemptionTimeout",
        "threshold": "fairSharePreemptionThreshold",
        "exempt": "allowPreemptionFrom",
    },
    Entitlement.GUARANTEED_CAPACITY: {
        "on": "yarn.resourcemanager.scheduler.monitor.enable",
        "observe": "yarn.resourcemanager.monitor.capacity.preemption.observe_only",
        "exempt": "disable_preemption",
    },
    Entitlement.POOL_SHARE: {
        "on": "mapred.fairscheduler.preemption",
        "observe": "mapred.fairscheduler.preemption.only.log",
        "timeout": "minSharePreemptionTimeout, fairSharePreemptionTimeout",
        "threshold": "fairSharePreemptionTimeout",
    },
}
"""The settings that decide, where they differ."""

_OBSTACLES: Final[Mapping[Obstacle, str]] = {
    Obstacle.OFF: "preemption is off ({on})",
    Obstacle.OBSERVE_ONLY: "what would be preempted is only logged or shown ({observe})",
    Obstacle.PROTECTED: "these queues are exempt from it ({exempt})",
    Obstacle.UTILIZATION: (
        "{percent:.0f} % of the cluster is used, and preemption begins above"
        " {threshold_percent:g} % (yarn.scheduler.fair.preemption.cluster-utilization-threshold)"
    ),
    Obstacle.NO_TIMEOUT: ("{queue} has no timeout after which it counts as starved ({timeout})"),
    Obstacle.ABOVE_THRESHOLD: (
        "it counts as starved below {threshold_percent:g} % of its share ({threshold})"
    ),
    Obstacle.SMALL_EXCESS: (
        "an excess of up to {threshold_percent:g} % is tolerated"
        " (yarn.resourcemanager.monitor.capacity.preemption.max_ignored_over_capacity)"
    ),
    Obstacle.NO_QUEUE_ABOVE: "no other has more than its share",
}


def owed(
    preemption: Preemption,
    amount: Callable[..., str],
    left: Callable[[int], str],
) -> str:
    """One or two sentences, each after a space. `amount` words a vector (with another `beside` it),
    `left` the time until an instant, or nothing if it has passed or the present is not known."""
    p, fair = preemption, preemption.entitlement is not Entitlement.GUARANTEED_CAPACITY
    whose = "It" if p.entitlement is Entitlement.FAIR_SHARE else p.queue
    share = "fair share" if fair else "guaranteed capacity"
    text = f" {whose} has {amount(p.used, p.share)} of its {share} of {amount(p.share)}"
    if p.above:
        named = [f"{one.queue} by {amount(one.amount)}" for one in p.above]
        more = p.above_count - len(p.above)
        if more:
            named.append(counted(more, "other queue"))
        text += f". Above theirs: {_listed(named)}"
    reason = _OBSTACLES.get(p.obstacle)
    if reason:
        numbers = msgspec.structs.asdict(p)
        text_of_reason = reason.format(**numbers, **_SETTINGS[p.entitlement])
        return f"{text}. Nothing is preempted for it: {text_of_reason}."
    due = left(p.due_ms) if p.obstacle is Obstacle.NOT_YET else ""
    if due:
        return f"{text}. Preemption for it begins {due}."
    return f"{text}. Preemption is on, and takes containers for it as far as its rules allow."


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
