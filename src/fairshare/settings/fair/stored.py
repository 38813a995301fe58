"""The list of the Fair Scheduler's classes in snapshots, with their tags and fields."""

from typing import Final

from fairshare.core.schedulers.fair import limits
from fairshare.core.schedulers.fair import settings as fair_settings
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.containers import Tables
from fairshare.core.schedulers.fair.policies import Policy, Remembering, policy_named
from fairshare.core.schedulers.fair.queues import Division, FairQueue
from fairshare.core.schedulers.fair.scheduler import FairScheduler
from fairshare.core.schedulers.fair.state import FairState
from fairshare.settings.family import StoredClass

STORED_CLASSES: Final = (
    StoredClass("fair-attempt", FairAttempt),
    StoredClass("fair-division", Division),
    StoredClass("fair-tables", Tables, ("_arrivals", "most_nodes", "most_on_node", "ports")),
    StoredClass("fair-policy", Policy, names=policy_named),
    StoredClass("fair-queue", FairQueue),
    StoredClass("fair-remembering-policy", Remembering),
    StoredClass("fair-scheduler", FairScheduler, ("_state",)),
    StoredClass("fair-allocation-settings", fair_settings.AllocationSettings),
    StoredClass("fair-amount", fair_settings.Amount),
    StoredClass("fair-settings", fair_settings.FairSettings),
    StoredClass("fair-queue-settings", fair_settings.QueueSettings),
    StoredClass(
        "fair-state",
        FairState,
        (
            "changed",
            "stale_demand",
            "shares_stale",
            "steady_stale",
            "starts",
            "users",
            "reservable",
            "starved",
            "kills",
            "conversions",
            "started_ms",
            "tables",
        ),
        state=True,
    ),
    StoredClass("fair-users", limits.Users, ("_running", "_waiting")),
)
