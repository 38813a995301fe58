"""Which setting of the Capacity Scheduler makes a limit, and the settings with a larger one."""

from collections.abc import Sequence

from msgspec.structs import replace

from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity.settings import (
    Amount,
    CapacitySettings,
    LabelCapacity,
    Percentage,
    QueueSettings,
    Vector,
    Weight,
)
from fairshare.core.schedulers.entitlement import Obstacle, Preemption
from fairshare.core.schedulers.reasons import Cause, Reason
from fairshare.settings.raising import FACTORS as WEIGHTS
from fairshare.settings.raising import (
    OF_PREEMPTION,
    Raise,
    amount_text,
    amounts_above,
    counts_above,
    fractions_above,
)

FACTORS = (*(step / 10 for step in range(1, 51)), 6.0, 8.0, 10.0, 20.0, 50.0, 100.0)
"""Values of user-limit-factor."""


def raised(settings: CapacitySettings, reason: Reason, total: Resource) -> Raise | None:
    """The limit of a reason; `total` is what all nodes offer. None: it is not a limit of which one
    setting is the cause."""
    name = reason.queue
    queue = settings.queues.get(name, QueueSettings())

    def with_queue(**fields: object) -> CapacitySettings:
        return replace(settings, queues={**settings.queues, name: replace(queue, **fields)})

    match reason.cause:
        case Cause.QUEUE_MAXIMUM:
            return _maximum(settings, reason, total)
        case Cause.USER_LIMIT:
            now = queue.user_limit_factor
            now = settings.user_limit_factor if now is None else now
            return Raise(
                f"user-limit-factor of {name}",
                [factor for factor in FACTORS if factor > now],
                lambda value: f"{value:g}",
                lambda value: with_queue(user_limit_factor=single(value)),
            )
        case Cause.QUEUE_APPLICATIONS:
            return Raise(
                f"max-parallel-apps of {name}",
                counts_above(reason.count),
                str,
                lambda value: with_queue(maximum_parallel_applications=value),
            )
        case Cause.USER_APPLICATIONS:
            users = settings.users_maximum_parallel_applications
            return Raise(
                f"max-parallel-apps of the user {reason.user}",
                counts_above(reason.count),
                str,
                lambda value: replace(
                    settings,
                    users_maximum_parallel_applications={**users, reason.user: value},
                ),
            )
        case Cause.QUEUE_MASTERS | Cause.USER_MASTERS:
            share = queue.maximum_master_share
            share = settings.maximum_master_share if share is None else share
            return Raise(
                f"maximum-am-resource-percent of {name}",
                fractions_above(share),
                str,
                lambda value: with_queue(maximum_master_share=single(value)),
            )
        case _:
            return None if reason.preemption is None else _preempting(settings, reason.preemption)


def _preempting(settings: CapacitySettings, owed: Preemption) -> Raise | None:
    """The preemption monitor, and then also from queues that are exempt from it."""
    if owed.obstacle not in (Obstacle.OFF, Obstacle.OBSERVE_ONLY, Obstacle.PROTECTED):
        return None

    def changed(level: int) -> tuple[CapacitySettings, list[str]]:
        words = ["yarn.resourcemanager.scheduler.monitor.enable = true"]
        monitor = replace(settings.monitor, enabled=True, monitor_on=True, observe_only=False)
        queues = dict(settings.queues)
        for one in owed.above if level else ():
            known = queues.get(one.queue, QueueSettings())
            queues[one.queue] = replace(known, preemption_disabled=False)
            words.append(f"disable_preemption of {one.queue} = false")
        return replace(settings, monitor=monitor, queues=queues), words

    return Raise(
        "preemption",
        (0, 1),
        lambda level: ", ".join(changed(level)[1]),
        lambda level: changed(level)[0],
        verb="works with",
        price=OF_PREEMPTION,
    )


def _maximum(settings: CapacitySettings, reason: Reason, total: Resource) -> Raise | None:
    name, label = reason.queue, reason.label
    queue = settings.queues.get(name, QueueSettings())
    part = queue.label_capacities.get(label, LabelCapacity())
    maximum = part.maximum_capacity if label else queue.maximum_capacity

    def with_maximum(value: object) -> CapacitySettings:
        if label:
            labels = {**queue.label_capacities, label: replace(part, maximum_capacity=value)}
            changed = replace(queue, label_capacities=labels)
        else:
            changed = replace(queue, maximum_capacity=value)
        return replace(settings, queues={**settings.queues, name: changed})

    where = f"accessible-node-labels.{label}.maximum-capacity" if label else "maximum-capacity"
    if isinstance(maximum, Percentage):
        now = maximum.percent
        percents: Sequence[int] = [one for one in range(1, 101) if one > now]
        return Raise(
            f"{where} of {name}",
            percents,
            lambda value: f"{value} %",
            lambda value: with_maximum(Percentage(float(value))),
        )
    if isinstance(maximum, Vector) and maximum.absolute is not None and reason.limit is not None:
        return Raise(
            f"{where} of {name}",
            amounts_above(reason, reason.limit, total),
            lambda value: amount_text(settings.types, value),
            lambda value: with_maximum(Vector(tuple(Amount(one) for one in value))),
        )
    return None


MOST_PERCENT = 95
STEP_PERCENT = 5


def enlarged(settings: CapacitySettings, name: str) -> Raise | None:
    """The capacity of a queue: of a percentage the siblings give up what it gets, in proportion to
    what they have; of a weight they keep theirs. None: it has neither, or no sibling."""
    parent, _, short = name.rpartition(".")
    children = settings.queues.get(parent, QueueSettings()).children or ()
    siblings = [f"{parent}.{sibling}" for sibling in children if sibling != short]
    queue = settings.queues.get(name, QueueSettings())
    capacity = queue.capacity

    def with_weight(value: float) -> CapacitySettings:
        changed = replace(queue, capacity=Weight(value))
        return replace(settings, queues={**settings.queues, name: changed})

    if isinstance(capacity, Weight):
        values = [single(capacity.weight * factor) for factor in WEIGHTS]
        return Raise(f"capacity of {name}", values, lambda value: f"{value:g}w", with_weight)
    parts = {
        sibling: settings.queues.get(sibling, QueueSettings()).capacity for sibling in siblings
    }
    percents = {
        sibling: part.percent for sibling, part in parts.items() if isinstance(part, Percentage)
    }
    if not isinstance(capacity, Percentage) or len(percents) < len(parts) or not percents:
        return None
    now, rest = capacity.percent, sum(percents.values())
    if not rest:
        return None

    def with_percent(value: int) -> CapacitySettings:
        queues = dict(settings.queues)
        maximum = queue.maximum_capacity
        if isinstance(maximum, Percentage) and maximum.percent < value:
            maximum = Percentage(float(value))
        queues[name] = replace(queue, capacity=Percentage(float(value)), maximum_capacity=maximum)
        left = 100.0 - value
        for sibling, percent in percents.items():
            part = Percentage(single((100.0 - value) * percent / rest))
            if sibling == siblings[-1]:
                part = Percentage(single(left))  # together they have all of it
            left -= part.percent
            queues[sibling] = replace(queues.get(sibling, QueueSettings()), capacity=part)
        return replace(settings, queues=queues)

    first = int(now) // STEP_PERCENT * STEP_PERCENT + STEP_PERCENT
    return Raise(
        f"capacity of {name}",
        [*range(first, MOST_PERCENT + 1, STEP_PERCENT)],
        lambda value: f"{value} %",
        with_percent,
    )
