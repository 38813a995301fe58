"""The Capacity Scheduler's settings of random lives: three queues, of which the first one may use a
partition, and preemption without pauses."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairshare.core.schedulers.capacity.settings import (
    ALL_LABELS,
    CapacitySettings,
    LabelCapacity,
    MonitorSettings,
    Percentage,
    QueueSettings,
)

SCHEDULERS = ("fair", "capacity")
QUEUES = ("root.a", "root.b", "root.c")
LABEL = "gpu"
WHOLE = Percentage(100.0)


def capacity_queues(
    shares: Sequence[float], further: Callable[[Percentage], Mapping[str, Any]]
) -> dict[str, QueueSettings]:
    """The queues with these shares in percent; `further` has the other settings of each."""
    everything = {LABEL: LabelCapacity(WHOLE, WHOLE)}
    children = tuple(name.removeprefix("root.") for name in QUEUES)
    queues = {"root": QueueSettings(children=children, capacity=WHOLE, label_capacities=everything)}
    for name, share in zip(QUEUES, map(Percentage, shares), strict=True):
        first = name == QUEUES[0]
        queues[name] = QueueSettings(
            capacity=share,
            accessible_labels=(ALL_LABELS,) if first else (),
            label_capacities=everything if first else {},
            **further(share),
        )
    return queues


def capacity_settings(
    queues: dict[str, QueueSettings], *, preempts: bool, interval_ms: int, wait_before_kill_ms: int
) -> CapacitySettings:
    """Settings of these queues; preemption takes all at once that it may."""
    monitor = MonitorSettings(
        enabled=preempts,
        monitor_on=preempts,
        interval_ms=interval_ms,
        wait_before_kill_ms=wait_before_kill_ms,
        total_per_round=1.0,
        natural_termination_factor=1.0,
    )
    return CapacitySettings(queues=queues, labels_enabled=True, monitor=monitor)
