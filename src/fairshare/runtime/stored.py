"""Owns the list of core classes that snapshots store, with their tags and fields.

A tag is permanent; so is the name of a field, unless `changes` lists its change. One test names
each class that the state reaches and that is missing here, and each undeclared field:
`tests/unit/runtime/test_stored.py`.
"""

from typing import Any, Final

from fairshare.families.registry import all_families
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.applications import Application
from fairshare.model.asks import Ask, AskKey, AskTable
from fairshare.model.events import (
    ApplicationState,
    ContainerAllocated,
    ExitCode,
    Locality,
    MasterUnregistered,
    NodeAdded,
)
from fairshare.model.inputs import SubmissionDetails, SubmitApplication
from fairshare.model.nodes import Node, Reservation
from fairshare.model.operations import Drain
from fairshare.model.queues import Queue
from fairshare.model.resources import ResourceTypes
from fairshare.model.tasks import Assignment, GroupProgress, TaskBoard
from fairshare.model.work import Command, ContainerRequest, Payload, TaskGroup
from fairshare.placement.mapping.rule import MappingAction, MappingFallback, MappingRule, Matcher
from fairshare.placement.rule import RuleSettings
from fairshare.runtime.kinds import Changes, Kinds
from fairshare.schedulers.base import BaseState
from fairshare.schedulers.capacity import settings as capacity_settings
from fairshare.schedulers.capacity import users as capacity_users
from fairshare.schedulers.capacity.applications import CapacityApplication, Stage
from fairshare.schedulers.capacity.calculators import DominantCalculator, MemoryCalculator
from fairshare.schedulers.capacity.queues import CapacityQueue, Share
from fairshare.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.schedulers.capacity.users import User
from fairshare.schedulers.fair import settings as fair_settings
from fairshare.schedulers.fair import users as fair_users
from fairshare.schedulers.fair.applications import FairApplication
from fairshare.schedulers.fair.containers import Tables
from fairshare.schedulers.fair.policies import Policy, policy_named
from fairshare.schedulers.fair.queues import FairQueue
from fairshare.schedulers.fair.scheduler import FairScheduler
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.fifo import settings as fifo_settings
from fairshare.schedulers.fifo.scheduler import FifoScheduler
from fairshare.schedulers.fifo.state import FifoApplication, FifoState
from fairshare.schedulers.ordering import Order
from fairshare.schedulers.pools import settings as pools_settings
from fairshare.schedulers.pools.jobs import Job, Slots
from fairshare.schedulers.pools.scheduler import PoolsScheduler
from fairshare.schedulers.pools.state import PoolsState
from fairshare.schedulers.pools.tree import Pool

STORED: Final = Kinds()
"""All kinds in snapshots. `projections/stored.py` adds the server's projections."""

add = STORED.add

_LATER: Final[dict[str, Any]] = {
    "drains": {},
    "overcommits": {},
    "safe_mode": False,
    "ending": {},
    "_largest_node": None,
}
"""What each scheduler's state has got since 0.1.0."""
_CLUSTER: Final = (
    "drains",
    "overcommits",
    "safe_mode",
    "types",
    "epoch_ms",
    "none",
    "total",
    "nodes",
    "racks",
    "queues",
    "applications",
    "next_application",
    "running",
    "ending",
    "_largest_node",
    "settings",
)
"""The fields of each scheduler's state."""

add(
    "resource-manager",
    ResourceManager,
    "scheduler",
    derived=("_goes_back", "_inputs", "_lifetimes", "_lives", "_partitions", "_settle"),
    derive=lambda one: ResourceManager.__init__(one, one.scheduler),
)
add("ask", Ask)
add("ask-key", AskKey, changes=Changes(added={"withdrawn": frozenset()}))
add("ask-table", AskTable)
add("node-added", NodeAdded)
add("application-state", ApplicationState)
add("container-allocated", ContainerAllocated)
add("exit-code", ExitCode)
add("locality", Locality)
add("master-unregistered", MasterUnregistered)
add("submission-details", SubmissionDetails)
add("submit-application", SubmitApplication)
add("node", Node, changes=Changes(added={"ending": {}}))
add("reservation", Reservation)
add("drain", Drain)
add("queue", Queue)
add("application", Application)
add("resource-types", ResourceTypes)
add("assignment", Assignment)
add("group-progress", GroupProgress)
add(
    "task-board",
    TaskBoard,
    changes=Changes(added={"_by_name": lambda board: {one.spec.name: one for one in board.groups}}),
)
add("command", Command)
add("container-request", ContainerRequest)
add("payload", Payload)
add("task-group", TaskGroup)
add("mapping-action", MappingAction)
add("mapping-fallback", MappingFallback)
add("mapping-rule", MappingRule)
add("matcher", Matcher)
add("rule-settings", RuleSettings)
add(
    "capacity-application",
    CapacityApplication,
    changes=Changes(
        added={"asked": lambda one: dict.fromkeys(key.label for key in one.asks.keys.values())}
    ),
)
add("capacity-stage", Stage)
add("capacity-dominant-calculator", DominantCalculator)
add("capacity-memory-calculator", MemoryCalculator, "_rest")
add(
    "capacity-queue",
    CapacityQueue,
    changes=Changes(
        added={
            "divides_amounts": False,
            "funded": lambda one: one.entitled,
            "given": CapacityQueue.given_now,
            "template_worth": {},
        }
    ),
)
add("capacity-share", Share)
add("capacity-scheduler", CapacityScheduler, "_state")
add("capacity-amount", capacity_settings.Amount)
add(
    "capacity-settings",
    capacity_settings.CapacitySettings,
    changes=Changes(removed=frozenset({"user_metrics", "application_fail_fast"})),
)
add("capacity-intra-queue-preemption", capacity_settings.IntraQueuePreemption)
add("capacity-label-capacity", capacity_settings.LabelCapacity)
add("capacity-monitor-settings", capacity_settings.MonitorSettings)
add("capacity-percentage", capacity_settings.Percentage)
add("capacity-priority-rule", capacity_settings.PriorityRule)
add("capacity-queue-settings", capacity_settings.QueueSettings)
add("capacity-template", capacity_settings.Template)
add("capacity-unit", capacity_settings.Unit)
add("capacity-vector", capacity_settings.Vector)
add("capacity-weight", capacity_settings.Weight)
add("capacity-workflow-priority", capacity_settings.WorkflowPriority)
add(
    "capacity-state",
    CapacityState,
    *_CLUSTER,
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
    "_fulfilling",
    "_granting",
    "_to_place",
    "stirred",
    derived=("handlers",),
    changes=Changes(added={**_LATER, "departed": {}, "most_nodes": lambda state: len(state.nodes)}),
)
add("capacity-user", User)
add("capacity-users", capacity_users.Users)
add("fair-application", FairApplication)
add("fair-tables", Tables, "_arrivals", "most_nodes", "most_on_node", "ports")
add("fair-policy", Policy, names=policy_named)
add("fair-queue", FairQueue)
add("fair-scheduler", FairScheduler, "_state")
add("fair-allocation-settings", fair_settings.AllocationSettings)
add("fair-amount", fair_settings.Amount)
add("fair-settings", fair_settings.FairSettings)
add("fair-queue-settings", fair_settings.QueueSettings)
add(
    "fair-state",
    FairState,
    *_CLUSTER,
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
    derived=("handlers",),
    changes=Changes(added=_LATER),
)
add("fair-users", fair_users.Users, "_running", "_waiting")
add("fifo-application", FifoApplication)
add("fifo-scheduler", FifoScheduler, "_state")
add("fifo-settings", fifo_settings.FifoSettings)
add(
    "fifo-state",
    FifoState,
    *_CLUSTER,
    "line",
    "started_ms",
    derived=("handlers",),
    changes=Changes(added=_LATER),
)
add("order", Order, derived=("key",))
add("pools-job", Job)
add("pools-slots", Slots)
add("pools-scheduler", PoolsScheduler, "_state")
add("pools-pool-allocation", pools_settings.PoolAllocation)
add("pools-pool-allocations", pools_settings.PoolAllocations)
add("pools-settings", pools_settings.PoolsSettings)
add(
    "pools-state",
    PoolsState,
    *_CLUSTER,
    "places",
    "root",
    "jobs",
    "waiting",
    "delays_ms",
    "changed",
    "arrived",
    "updated_ms",
    "beat_ms",
    "checked_ms",
    derived=(
        "handlers",
        "lines",
    ),
    changes=Changes(added=_LATER),
)
add("pools-pool", Pool)


def all_stored() -> Kinds:
    """`STORED` with the classes of schedulers from packages."""
    for family in all_families().values():
        for tag, cls, fields in family.stored_classes:
            if tag not in STORED.by_tag:
                derived = ("handlers",) if issubclass(cls, BaseState) else ()
                own = (*_CLUSTER, "started_ms") if issubclass(cls, BaseState) else ()
                STORED.add(tag, cls, *own, *fields, derived=derived)
    return STORED
