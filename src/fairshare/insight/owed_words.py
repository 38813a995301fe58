"""Owns the words for what preemption owes to an application, and for what keeps it away, with the
setting that decides this (`schedulers/entitlement.py`)."""

from collections.abc import Callable, Mapping
from typing import Final

from fairshare.schedulers.entitlement import Obstacle, Preemption
from fairshare.wording import counted

_FAIR: Final[Mapping[Obstacle, str]] = {
    Obstacle.OFF: "preemption is off (yarn.scheduler.fair.preemption)",
    Obstacle.PROTECTED: "these queues are exempt from it (allowPreemptionFrom)",
}

_CAPACITY: Final[Mapping[Obstacle, str]] = {
    Obstacle.OFF: "the monitor is off (yarn.resourcemanager.scheduler.monitor.enable)",
    Obstacle.PROTECTED: "these queues are exempt from it (disable_preemption)",
}

_BOTH: Final[Mapping[Obstacle, str]] = {
    Obstacle.OBSERVE_ONLY: (
        "the monitor only observes (yarn.resourcemanager.monitor.capacity.preemption.observe_only)"
    ),
    Obstacle.UTILIZATION: (
        "{percent:.0f} % of the cluster is used, and preemption begins above"
        " {threshold_percent:g} % (yarn.scheduler.fair.preemption.cluster-utilization-threshold)"
    ),
    Obstacle.NO_TIMEOUT: (
        "{queue} has no timeout after which it counts as starved (fairSharePreemptionTimeout,"
        " defaultFairSharePreemptionTimeout)"
    ),
    Obstacle.ABOVE_THRESHOLD: (
        "it counts as starved below {threshold_percent:g} % of its share"
        " (fairSharePreemptionThreshold)"
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
    p, whose, share = preemption, "It", "fair share"
    if p.guaranteed:
        whose, share = p.queue, "guaranteed capacity"
    text = f" {whose} has {amount(p.used, p.share)} of its {share} of {amount(p.share)}"
    if p.above:
        named = [f"{one.queue} by {amount(one.amount)}" for one in p.above]
        more = p.above_count - len(p.above)
        if more:
            named.append(counted(more, "other queue"))
        text += f". Above theirs: {_listed(named)}"
    known = {**_BOTH, **(_CAPACITY if p.guaranteed else _FAIR)}
    if p.obstacle in known:
        numbers = {
            "queue": p.queue,
            "percent": p.percent,
            "threshold_percent": p.threshold_percent,
        }
        return f"{text}. Nothing is preempted for it: {known[p.obstacle].format(**numbers)}."
    due = left(p.due_ms) if p.obstacle is Obstacle.NOT_YET else ""
    if due:
        return f"{text}. Preemption for it begins {due}."
    return f"{text}. Preemption is on, and takes containers for it as far as its rules allow."


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
