"""The records that only the pages use: screenfuls of long lists, the tree of queues."""

from typing import Generic

import msgspec

from fairshare.api.applications import Id, Progress
from fairshare.api.nodes import Node
from fairshare.api.queues import Queue
from fairshare.api.values import Amounts, Held


class LineFields(msgspec.Struct, Generic[Id, Held], frozen=True):
    """The fields of `ApplicationLine` that need no view of the scheduler."""

    id: Id
    name: str
    user: str
    queue: str
    kind: str
    state: str
    priority: int
    attempt: int
    runnable: bool
    submitted_ms: int
    started_ms: int
    began_ms: int
    finished_ms: int | None
    containers: int
    used: Held
    reserved: Held
    pending: Held
    preempted: int
    progress: Progress


class ApplicationLine(LineFields[str, Amounts], frozen=True):
    """One application as a list shows it."""

    diagnostics: str


class PastApplication(ApplicationLine, frozen=True, kw_only=True):
    """One application at a past moment."""

    at_ms: int


class ApplicationLines(msgspec.Struct, frozen=True):
    """A screenful of applications, and sums over all that match."""

    at_ms: int | None
    known: int
    counts: dict[str, int]
    matching: int
    held: int
    containers: int
    offset: int
    rows: tuple[ApplicationLine, ...]


class Choices(msgspec.Struct, frozen=True):
    """The users and the queues of the known applications."""

    users: list[str]
    queues: list[str]


class NodeLines(msgspec.Struct, frozen=True):
    """A screenful of nodes, and sums over all that match."""

    at_ms: int | None
    known: int
    matching: int
    counts: dict[str, int]
    labels: dict[str, int]
    used: Amounts
    total: Amounts
    containers: int
    idle: int
    decommissioned: tuple[str, ...] | None
    offset: int
    rows: tuple[Node, ...]


class NodeMap(msgspec.Struct, frozen=True):
    """All nodes that match, in columns, by rack and name."""

    at_ms: int | None
    by: str
    names: list[str]
    racks: list[str]
    totals: list[int]
    used: list[int]
    containers: list[int]
    marks: list[int]


class QueueTree(msgspec.Struct, frozen=True):
    """The queues in sight, and how many there are."""

    at_ms: int | None
    total: Amounts
    known: int
    owed: int
    queues: tuple[Queue, ...]


class QueueName(msgspec.Struct, frozen=True):
    """The name of a queue, and its place in the tree."""

    name: str
    parent: str
    leaf: bool


class QueueNames(msgspec.Struct, frozen=True):
    """All queues by name."""

    queues: tuple[QueueName, ...]


class OwedPartFields(msgspec.Struct, Generic[Id], frozen=True):
    """The fields of `OwedPart`."""

    kind: str
    words: str
    amount: int
    applications: int
    first: Id | None
    sentence: str


class OwedPart(OwedPartFields[str], frozen=True):
    """One part of the gap. `sentence` is what the core says of the first application of it."""


class Owed(msgspec.Struct, frozen=True):
    """What a queue is owed, in parts by cause."""

    queue: str
    type: str
    owed: int
    unasked: int
    waiting: int
    looked: int
    parts: tuple[OwedPart, ...]
