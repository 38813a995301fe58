"""The list of the Capacity Scheduler's classes in snapshots, with their tags and fields."""

from typing import Final

from fairshare.core.schedulers.capacity import settings as capacity_settings
from fairshare.core.schedulers.capacity import users as capacity_users
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt, Stage
from fairshare.core.schedulers.capacity.calculators import DominantCalculator, MemoryCalculator
from fairshare.core.schedulers.capacity.queues import CapacityQueue, Share
from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.capacity.users import User
from fairshare.settings.family import StoredClass

STORED_CLASSES: Final = (
    StoredClass("capacity-attempt", CapacityAttempt),
    StoredClass("capacity-stage", Stage),
    StoredClass("capacity-dominant-calculator", DominantCalculator),
    StoredClass("capacity-memory-calculator", MemoryCalculator, ("_rest",)),
    StoredClass("capacity-queue", CapacityQueue, derived=("waiting_kinds",)),
    StoredClass("capacity-share", Share),
    StoredClass("capacity-scheduler", CapacityScheduler, ("_state",)),
    StoredClass("capacity-amount", capacity_settings.Amount),
    StoredClass("capacity-settings", capacity_settings.CapacitySettings),
    StoredClass("capacity-intra-queue-preemption", capacity_settings.IntraQueuePreemption),
    StoredClass("capacity-label-capacity", capacity_settings.LabelCapacity),
    StoredClass("capacity-monitor-settings", capacity_settings.MonitorSettings),
    StoredClass("capacity-percentage", capacity_settings.Percentage),
    StoredClass("capacity-priority-rule", capacity_settings.PriorityRule),
    StoredClass("capacity-queue-settings", capacity_settings.QueueSettings),
    StoredClass("capacity-template", capacity_settings.Template),
    StoredClass("capacity-unit", capacity_settings.Unit),
    StoredClass("capacity-vector", capacity_settings.Vector),
    StoredClass("capacity-weight", capacity_settings.Weight),
    StoredClass("capacity-workflow-priority", capacity_settings.WorkflowPriority),
    StoredClass(
        "capacity-state",
        CapacityState,
        (
            "calculator",
            "labels",
            "totals",
            "added_labels",
            "assigned_labels",
            "partition_of",
            "started_ms",
            "starts",
            "user_runnable",
            "selected_ms",
            "most_on_node",
            "departed",
            "arrivals",
            "ports",
            "reserved_ms",
            "most_nodes",
            "fulfilling",
            "counts_asks",
            "to_recompute",
            "resized",
        ),
        state=True,
    ),
    StoredClass("capacity-user", User),
    StoredClass("capacity-users", capacity_users.Users),
)
