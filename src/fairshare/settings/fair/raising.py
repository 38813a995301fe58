"""Which setting of the Fair Scheduler makes a limit, and the settings with a larger one."""

from typing import Any

from msgspec.structs import replace

from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.entitlement import Obstacle, Preemption
from fairshare.core.schedulers.fair.settings import NEVER_MS, Amount, FairSettings, QueueSettings
from fairshare.core.schedulers.reasons import Cause, Reason
from fairshare.settings.raising import (
    FACTORS,
    OF_PREEMPTION,
    TIMEOUT_S,
    Raise,
    amount_text,
    amounts_above,
    counts_above,
)


def raised(settings: FairSettings, reason: Reason, total: Resource) -> Raise | None:
    """The limit of a reason; `total` is what all nodes offer. None: it is not a limit."""
    allocations, name = settings.allocations, reason.queue
    queue = allocations.queues.get(name, QueueSettings(name))

    def with_queue(**fields: Any) -> FairSettings:
        queues = {**allocations.queues, name: replace(queue, **fields)}
        return replace(settings, allocations=replace(allocations, queues=queues))

    match reason.cause:
        case Cause.QUEUE_MAXIMUM if reason.limit is not None:
            return Raise(
                f"maxResources of {name}",
                amounts_above(reason, reason.limit, total),
                lambda value: amount_text(settings.types, value),
                lambda value: with_queue(max_share=Amount(absolute=value)),
            )
        case Cause.QUEUE_APPLICATIONS:
            return Raise(
                f"maxRunningApps of {name}",
                counts_above(reason.count),
                str,
                lambda value: with_queue(max_running_applications=value),
            )
        case Cause.USER_APPLICATIONS:
            users = allocations.user_max_applications
            return Raise(
                f"maxRunningApps of the user {reason.user}",
                counts_above(reason.count),
                str,
                lambda value: replace(
                    settings,
                    allocations=replace(
                        allocations, user_max_applications={**users, reason.user: value}
                    ),
                ),
            )
        case Cause.QUEUE_MASTERS:
            now = queue.max_master_share
            now = allocations.queue_max_master_share_default if now is None else now
            return Raise(
                f"maxAMShare of {name}",
                [step / 20 for step in range(1, 21) if step / 20 > now],
                str,
                lambda value: with_queue(max_master_share=single(value)),
            )
        case _:
            return None if reason.preemption is None else _preempting(settings, reason.preemption)


def _preempting(settings: FairSettings, owed: Preemption) -> Raise | None:
    """Preemption, with more and more of what may be in its way."""
    if owed.obstacle in (Obstacle.NOT_YET, Obstacle.NONE, Obstacle.NO_QUEUE_ABOVE):
        return None
    allocations = settings.allocations
    queue = allocations.queues.get(owed.queue, QueueSettings(owed.queue))
    times = (queue.fair_share_timeout_ms, allocations.fair_share_timeout_ms)
    timed = any(time not in (None, NEVER_MS) for time in times)
    above = [one.queue for one in owed.above]

    def changed(level: int) -> tuple[FairSettings, list[str]]:
        mine, queues = queue, dict(allocations.queues)
        words = ["yarn.scheduler.fair.preemption = true"]
        if not timed:
            mine = replace(mine, fair_share_timeout_ms=1_000 * TIMEOUT_S)
            words.append(f"fairSharePreemptionTimeout of {owed.queue} = {TIMEOUT_S}")
        if level > 0:
            mine = replace(mine, fair_share_threshold=1.0)
            words.append(f"fairSharePreemptionThreshold of {owed.queue} = 1.0")
        for name in above if level > 1 else ():
            known = queues.get(name, QueueSettings(name))
            queues[name] = replace(known, preemptable=True)
            words.append(f"allowPreemptionFrom of {name} = true")
        threshold = settings.preemption_utilization_threshold
        if owed.obstacle is Obstacle.UTILIZATION:
            threshold = 0.0
            words.append("yarn.scheduler.fair.preemption.cluster-utilization-threshold = 0")
        queues[owed.queue] = mine
        whole = replace(
            settings,
            preemption=True,
            preemption_utilization_threshold=threshold,
            allocations=replace(allocations, queues=queues),
        )
        return whole, words

    return Raise(
        "preemption",
        (0, 1, 2),
        lambda level: ", ".join(changed(level)[1]),
        lambda level: changed(level)[0],
        verb="works with",
        price=OF_PREEMPTION,
    )


def enlarged(settings: FairSettings, name: str) -> Raise | None:
    """The weight of a queue; None: of root, which has everything."""
    if name == "root":
        return None
    allocations = settings.allocations
    queue = allocations.queues.get(name, QueueSettings(name))
    return Raise(
        f"weight of {name}",
        [single(queue.weight * factor) for factor in FACTORS],
        lambda value: f"{value:g}",
        lambda value: replace(
            settings,
            allocations=replace(
                allocations, queues={**allocations.queues, name: replace(queue, weight=value)}
            ),
        ),
    )
