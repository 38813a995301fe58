"""Snapshots: a whole state as bytes, and back; and the list of core classes that they store, with
their tags and fields.

A snapshot is data: MessagePack, compressed, of what `graph.py` makes of the objects. It names no
class and no function, and whatever the bytes say, nothing is made but the kinds that are listed
here. A snapshot that cannot be read is a JournalError, so that the reader goes on to an older one,
or to the records: never to half a state.

A scheduler's family lists the scheduler's own classes (`SchedulerFamily.stored_classes`), which are
added when a snapshot has one of them. A tag is permanent, and so is the name of a field.
`tests/unit/runtime/test_stored.py` names each class that the state reaches and that is missing
here, and each undeclared field.
"""

import re
import threading
import zlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from fairshare.api.work import EndSignal
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.arrays import TaskArray
from fairshare.core.model.asks import Ask, AskKey, AskTable
from fairshare.core.model.bookings import Booking, BookingRules, Kept, Span
from fairshare.core.model.ended import EndedApplication
from fairshare.core.model.events import (
    ApplicationState,
    ContainerAllocated,
    EndCause,
    ExitCode,
    Locality,
    MasterUnregistered,
    NodeAdded,
)
from fairshare.core.model.inputs import (
    Condition,
    StartConditions,
    SubmissionDetails,
    SubmitApplication,
)
from fairshare.core.model.nodes import Drain, Failing, Node, Reservation
from fairshare.core.model.nothing import NOTHING
from fairshare.core.model.queues import Queue
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.state import Gang
from fairshare.core.model.tasks import Assignment, GroupProgress, TaskBoard
from fairshare.core.model.time_limits import TimeLimit
from fairshare.core.model.usage import Budget, Cell, Fairness, Ledger
from fairshare.core.model.work import Command, ContainerRequest, Payload, TaskGroup
from fairshare.core.placement.mapping import MappingAction, MappingFallback, MappingRule, Matcher
from fairshare.core.placement.rules import RuleSettings
from fairshare.core.schedulers.ordering import Order
from fairshare.errors import JournalError
from fairshare.runtime.collection import without_collection
from fairshare.runtime.graph import Kinds, Reader, Writer
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.settings.family import AnyFamily
from fairshare.settings.registry import all_families

STORED: Final = Kinds()
"""All kinds in snapshots. `runtime/projections/projections.py` adds the server's projections."""

add = STORED.add

_CLUSTER: Final = (
    "drains",
    "overcommits",
    "failing",
    "gangs",
    "deferred",
    "dependents",
    "ledger",
    "bookings",
    "kept",
    "bookings_ms",
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
    "attempts",
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
        "_inputs",
        "_lifetimes",
        "_lives",
        "_starts",
        "_state",
    ),
    derive=lambda one: ResourceManager.__init__(one, one.scheduler),
)
add("ask", Ask)
add("ask-key", AskKey)
add("ask-table", AskTable)
add("node-added", NodeAdded)
add("application-state", ApplicationState)
add("container-allocated", ContainerAllocated)
add("end-cause", EndCause)
add("exit-code", ExitCode)
add("locality", Locality)
add("master-unregistered", MasterUnregistered)
add("submission-details", SubmissionDetails)
add("submit-application", SubmitApplication)
add("start-condition", Condition)
add("start-conditions", StartConditions)
add("node", Node)
add("reservation", Reservation)
add("drain", Drain)
add("failing", Failing)
add("queue", Queue)
add("attempt", Attempt)
add("application", Application, derived=("packed",))
STORED.add_packed(EndedApplication, Application)
add("resource-types", ResourceTypes)
add("assignment", Assignment)
add("gang", Gang)
add("group-progress", GroupProgress)
add("task-board", TaskBoard, derived=("_failing", "_waiting", "depends_on_running"))
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
add("booking", Booking)
add("booking-rules", BookingRules)
add("booking-kept", Kept)
add("booking-span", Span)
add("budget", Budget)
add("fairness", Fairness)
add("time-limit", TimeLimit)
add("usage-cell", Cell)
add("usage-ledger", Ledger)
add("order", Order, derived=("key",))


_adding = threading.Lock()


def add_family(family: AnyFamily) -> None:
    """Add the classes of a scheduler; a state has the fields of each scheduler's state, too. They
    are imported now, and else when a snapshot first has one of them.

    A thread that reads a snapshot and the loop that writes one may do so at the same time.
    """
    with _adding:
        for stored in family.stored_classes:
            if stored.tag not in STORED.by_tag:
                STORED.add(
                    stored.tag,
                    stored.cls,
                    *(_CLUSTER if stored.state else ()),
                    *stored.fields,
                    derived=(*(("handlers", "sizes") if stored.state else ()), *stored.derived),
                    names=stored.names,
                )


def _add_missing(looked_for: str) -> Iterator[None]:
    """Add the schedulers' classes, one scheduler after another: that of the name first, which most
    probably has what is looked for, since a snapshot is of one scheduler."""
    words = re.split("[.-]", looked_for)
    named = [family for family in all_families().values() if family.name in words]
    for family in (*named, *all_families().values()):
        add_family(family)
        yield


STORED.add_missing = _add_missing


FORM: Final = 1
"""The version of this form, which is stored beside each snapshot."""

MOST_BYTES: Final = 4 * 1024**3
"""Of a snapshot that has been unpacked: more is not a state, but an attack."""


def freeze(sequence: int, now_ms: int, parts: dict[str, Any]) -> Snapshot:
    """A snapshot of some objects by name; what they share is written once.

    They are not changed. Raises JournalError if an object is none of the stored kinds.
    """
    with without_collection():
        writer = Writer(STORED)
        writer.as_table(type(NOTHING))
        body = msgspec.msgpack.encode(writer.write(parts))
    return Snapshot(sequence, now_ms, FORM, zlib.compress(body, 1))


def thaw(snapshot: Snapshot) -> dict[str, Any]:
    """The objects of a snapshot, new ones. Raises JournalError if it cannot be read."""
    if snapshot.form != FORM:
        raise JournalError(
            f"the snapshot behind record {snapshot.sequence} has format {snapshot.form}, and"
            f" this version of fairshare reads format {FORM}: use the version that wrote it"
        )
    try:
        unpacker = zlib.decompressobj()
        body = unpacker.decompress(snapshot.body, MOST_BYTES)
        if not unpacker.eof:
            raise ValueError("it is cut off, or larger than any state")
        with without_collection():
            return Reader(STORED, msgspec.msgpack.decode(body)).read()
    except Exception as error:
        raise JournalError(
            f"the snapshot behind record {snapshot.sequence} cannot be read ({error!r}): it is "
            "damaged, or was written by another version of fairshare"
        ) from error
