"""Owns the list of core classes that snapshots store, with their tags and fields.

A scheduler's family lists the scheduler's own classes (`SchedulerFamily.stored_classes`), which
are added when a snapshot has one of them. A tag is permanent; so is the name of a field, unless
`changes` lists its change. One test names each class that the state reaches and that is missing
here, and each undeclared field:
`tests/unit/runtime/test_stored.py`.
"""

import re
import threading
from collections.abc import Iterator
from typing import Any, Final

from fairshare.families.family import AnyFamily
from fairshare.families.registry import all_families
from fairshare.families.stored_class import StoredClass
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.applications import Application
from fairshare.model.arrays import TaskArray
from fairshare.model.asks import Ask, AskKey, AskTable
from fairshare.model.attempts import Attempt
from fairshare.model.events import (
    ApplicationState,
    ContainerAllocated,
    ExitCode,
    Locality,
    MasterUnregistered,
    NodeAdded,
)
from fairshare.model.gangs import Gang
from fairshare.model.inputs import Condition, StartConditions, SubmissionDetails, SubmitApplication
from fairshare.model.nodes import Node, Reservation
from fairshare.model.operations import Drain, Failing
from fairshare.model.queues import Queue
from fairshare.model.resources import ResourceTypes
from fairshare.model.tasks import Assignment, GroupProgress, TaskBoard
from fairshare.model.work import Command, ContainerRequest, EndSignal, Payload, TaskGroup
from fairshare.placement.mapping.rule import MappingAction, MappingFallback, MappingRule, Matcher
from fairshare.placement.rule import RuleSettings
from fairshare.runtime.kinds import Changes, Kinds, Part
from fairshare.schedulers.ordering import Order

STORED: Final = Kinds()
"""All kinds in snapshots. `projections/stored.py` adds the server's projections."""

add = STORED.add

_LATER: Final[dict[str, Any]] = {
    "drains": {},
    "overcommits": {},
    "gangs": {},
    "deferred": {},
    "dependents": {},
    "safe_mode": False,
    "ending": {},
    "_largest_node": None,
    "hosts": {},
    "failing": {},
    "set_back_application": 0,
    "first_container": 1,
}
"""What each scheduler's state has got since 0.1.0."""


def _attempts(state: Any) -> dict[int, Attempt]:
    """`attempts` for snapshots in which an application was one object with its current attempt;
    here these are the attempts that `_OF_ATTEMPTS` made of them."""
    found = {}
    for number, attempt in state.applications.items():
        application = state.applications[number] = attempt.application
        application.attempt = attempt if attempt.active else attempt.outside()
        if attempt.active:
            found[number] = attempt
    return found


def _began_ms(application: Any) -> int:
    """When an application began that a release without this field started: nothing of it is known
    any more but that it was after its submission, and that is what the release showed."""
    return int(application.submitted_ms) if application.containers_allocated else 0


_OF_ATTEMPTS: Final[dict[str, Any]] = {
    "renamed": {"attempt": "number"},
    "added": {"to_preempt": {}},
    "part": Part(
        "application",
        Application,
        frozenset(Application.__slots__) - {"attempt", "began_ms"},
        {
            "began_ms": _began_ms,
            "first_priority": lambda application: application.priority,
        },
    ),
}
"""The changes of each scheduler's attempts, which were applications up to 0.1.0."""
_OF_QUEUES: Final = Changes(renamed={"applications": "attempts"})
"""The change of each scheduler's queues."""
_CLUSTER: Final = (
    "drains",
    "overcommits",
    "failing",
    "gangs",
    "deferred",
    "dependents",
    "safe_mode",
    "types",
    "epoch_ms",
    "none",
    "total",
    "nodes",
    "racks",
    "hosts",
    "queues",
    "applications",
    "next_application",
    "set_back_application",
    "first_container",
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
    derived=(
        "_consequences",
        "_goes_back",
        "_inputs",
        "_lifetimes",
        "_lives",
        "_partitions",
        "_settle",
        "_starts",
        "_state",
    ),
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
add("start-condition", Condition)
add("start-conditions", StartConditions)
add("node", Node, changes=Changes(added={"ending": {}, "host": lambda node: node.name}))
add("reservation", Reservation)
add("drain", Drain)
add("failing", Failing)
add("queue", Queue, changes=_OF_QUEUES)
add("application", Attempt, changes=Changes(**_OF_ATTEMPTS))
add("application-of-attempts", Application, changes=Changes(added={"began_ms": _began_ms}))
add("resource-types", ResourceTypes)
add("assignment", Assignment)
add("gang", Gang)
add(
    "group-progress",
    GroupProgress,
    changes=Changes(
        added={
            "killed": lambda progress: set(),
            "unstartable": lambda progress: set(),
            "paused": {},
            "pauses": {},
        }
    ),
)
add(
    "task-board",
    TaskBoard,
    derived=("_failing", "_waiting", "depends_on_running"),
    changes=Changes(added={"_by_name": lambda board: {one.spec.name: one for one in board.groups}}),
)
add("command", Command)
add("container-request", ContainerRequest)
add("payload", Payload)
add("end-signal", EndSignal)
add("task-array", TaskArray)
add("task-group", TaskGroup)
add("mapping-action", MappingAction)
add("mapping-fallback", MappingFallback)
add("mapping-rule", MappingRule)
add("matcher", Matcher)
add("rule-settings", RuleSettings)
add("order", Order, derived=("key",), changes=Changes(added={"stale": {}}))


_adding = threading.Lock()


def _add_family(family: AnyFamily) -> None:
    """Add the classes of a scheduler; a state has the fields of each scheduler's state, too.

    A thread that reads a snapshot and the loop that writes one may do so at the same time.
    """
    with _adding:
        for one in family.stored_classes:
            if one.tag not in STORED.by_tag:
                _add(one)


def _add(one: StoredClass) -> None:
    STORED.add(
        one.tag,
        one.cls,
        *(_CLUSTER if one.state else ()),
        *one.fields,
        *(("attempts",) if one.state else ()),  # last: see `_attempts`
        derived=(*(("handlers",) if one.state else ()), *one.derived),
        names=one.names,
        changes=_changes(one),
    )


def _changes(one: StoredClass) -> Changes:
    if one.attempt:
        own = {"renamed": one.renamed, "added": one.added}
        changes = {name: {**_OF_ATTEMPTS[name], **own[name]} for name in own}
        return Changes(**{**_OF_ATTEMPTS, **changes, "removed": one.removed})
    renamed = {**(_OF_QUEUES.renamed if issubclass(one.cls, Queue) else {}), **one.renamed}
    later = {**_LATER, "attempts": _attempts} if one.state else {}
    return Changes(renamed, added={**later, **one.added}, removed=one.removed)


def all_stored() -> Kinds:
    """`STORED` with the classes of all schedulers, also of those from packages."""
    for family in all_families().values():
        _add_family(family)
    return STORED


def _add_missing(looked_for: str) -> Iterator[None]:
    """Add the schedulers' classes, one scheduler after another: that of the name first, which most
    probably has what is looked for, since a snapshot is of one scheduler."""
    words = re.split("[.-]", looked_for)
    named = [family for family in all_families().values() if family.name in words]
    for family in (*named, *all_families().values()):
        _add_family(family)
        yield


STORED.add_missing = _add_missing
