"""The compact form of records: what is needed to simulate a history again, in few bytes.

Kept are the inputs, the instants, and which container was granted, launched and ended where. Left
out are commands, environments, measurements, and events that follow from decisions. Many records
together are packed by columns: records of the same shape (kinds of input and events) are a table,
of which whole numbers are stored as differences, compressed. A container then takes about 30 bytes.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from fairshare.core.model.events import (
    ApplicationRejected,
    ApplicationSubmitted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    Event,
    TasksAdded,
)
from fairshare.core.model.inputs import (
    AddTasks,
    ContainerExited,
    ForgetApplications,
    LaunchContainer,
    ReloadRefused,
    SubmitApplication,
)
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.record import Record
from fairshare.documents.ready import ready
from fairshare.wording import STOPPED

MOST_BYTES: Final = 1024**3
"""Of a block that has been unpacked: more is not one of ours."""

_NO_COMMAND: Final = Command()
_NO_GROUP: Final = TaskGroup("", 0, ())
_LEVEL: Final = 6
_UNREADABLE: Final = (
    zlib.error,
    msgspec.MsgspecError,
    TypeError,
    ValueError,
    IndexError,
    RuntimeError,  # a column that ends too early
)


def thin(record: Record) -> Record | None:
    """A record with what a simulation needs; None if it needs nothing of it."""
    kind = type(record.input)
    if kind is ForgetApplications or kind is ReloadRefused:
        return None
    change = _INPUTS.get(kind)
    given = record.input if change is None else change(record.input)
    events: list[Event] = []
    for event in record.events:
        shorter = _EVENTS.get(type(event))
        if shorter is not None:
            events.append(shorter(event))
    return Record(record.sequence, record.now_ms, given, tuple(events), record.pace)


def _groups(tasks: tuple[TaskGroup, ...]) -> tuple[TaskGroup, ...]:
    return tuple(msgspec.structs.replace(one, command=_NO_COMMAND) for one in tasks)


def _submission(submission: SubmitApplication) -> SubmitApplication:
    return msgspec.structs.replace(
        submission,
        tasks=_groups(submission.tasks),
        driver=None if submission.driver is None else _NO_COMMAND,
    )


def _exit(report: ContainerExited) -> ContainerExited:
    said = STOPPED if report.diagnostics == STOPPED else ""
    return msgspec.structs.replace(report, diagnostics=said, peak_memory_mb=0, cpu_ms=0)


_INPUTS: Final[dict[type, Callable[[Any], Any]]] = {
    AddTasks: lambda given: AddTasks(given.application, _groups(given.tasks)),
    ContainerExited: _exit,
    LaunchContainer: lambda given: msgspec.structs.replace(given, command=_NO_COMMAND),
    SubmitApplication: _submission,
}


def _only_user(submission: SubmitApplication) -> SubmitApplication:
    """Whose it is, and how many groups of tasks it has: the rest is in the input."""
    return SubmitApplication(submission.user, tasks=(_NO_GROUP,) * len(submission.tasks))


_EVENTS: Final[dict[type, Callable[[Any], Event]]] = {
    ApplicationSubmitted: lambda event: ApplicationSubmitted(
        event.application, _only_user(event.submission), "", 0
    ),
    ApplicationRejected: lambda event: ApplicationRejected(
        event.application, _only_user(event.submission), "", ""
    ),
    TasksAdded: lambda event: TasksAdded(event.application, (_NO_GROUP,) * len(event.tasks)),
    ContainerAllocated: lambda event: msgspec.structs.replace(
        event, resource=(), priority=0, request=0, reserved=False, allocated_ms=0
    ),
    ContainerLaunched: lambda event: ContainerLaunched(
        event.container, None, event.group, event.task
    ),
    ContainerCompleted: lambda event: ContainerCompleted(event.container, 0),
}

# The packing.


def pack(records: Iterable[Record]) -> bytes:
    """Records, which may be thin, as bytes."""
    shapes: dict[bytes, int] = {}
    order: list[int] = []
    tables: list[list[list[Any]]] = []
    for record in records:
        leaves: list[Any] = []
        shape = msgspec.msgpack.encode(_shape(msgspec.to_builtins(record), leaves))
        number = shapes.setdefault(shape, len(shapes))
        if number == len(tables):
            tables.append([[] for _ in leaves])
        for column, leaf in zip(tables[number], leaves, strict=True):
            column.append(leaf)
        order.append(number)
    columns = [[_differences(column) for column in table] for table in tables]
    return zlib.compress(msgspec.msgpack.encode((list(shapes), order, columns)), _LEVEL)


def unpack(body: bytes) -> Iterator[Record]:
    """The records of `pack`, in their order. Raises ValueError if the bytes are not of it."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(body, MOST_BYTES)
        if not unpacker.eof:
            raise ValueError("they are cut off")
        shapes, order, columns = msgspec.msgpack.decode(data)
        tables = [[iter(_sums(*column)) for column in table] for table in columns]
        forms = [msgspec.msgpack.decode(shape) for shape in shapes]
        record = ready(Record)
        for number in order:
            row = (next(column) for column in tables[number])
            yield msgspec.convert(_filled(forms[number], row), record)
    except _UNREADABLE as error:
        raise ValueError(f"these are not packed records: {error}") from error


def _shape(tree: Any, leaves: list[Any]) -> Any:
    """A tree without its numbers and texts, which are appended to `leaves`. Tags, which say what a
    struct is, stay."""
    if isinstance(tree, dict):
        return {
            key: [value] if key == "type" else _shape(value, leaves) for key, value in tree.items()
        }
    if isinstance(tree, list | tuple):
        if tree and isinstance(tree[0], str):  # an event, or a list of texts
            return [[tree[0]], *(_shape(one, leaves) for one in tree[1:])]
        return [_shape(one, leaves) for one in tree]
    leaves.append(tree)
    return 0


def _filled(shape: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(shape, dict):
        return {
            key: value[0] if key == "type" else _filled(value, leaves)
            for key, value in shape.items()
        }
    if isinstance(shape, list):
        if shape and isinstance(shape[0], list) and len(shape[0]) == 1:
            first = shape[0][0]
            if isinstance(first, str):
                return [first, *(_filled(one, leaves) for one in shape[1:])]
        return [_filled(one, leaves) for one in shape]
    return next(leaves)


def _differences(column: list[Any]) -> tuple[bool, list[Any]]:
    """A column of whole numbers as the differences from one to the next; others as they are."""
    if not all(type(one) is int for one in column):
        return False, column
    return True, [now - before for before, now in zip([0, *column], column, strict=False)]


def _sums(differences: bool, column: list[Any]) -> Iterator[Any]:
    if not differences:
        yield from column
        return
    value = 0
    for step in column:
        value += step
        yield value
