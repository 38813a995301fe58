"""The records that only the pages use: the map of nodes, the tree of queues."""

import msgspec

from fairshare.api.queues import Queue
from fairshare.api.values import Amounts


class Choices(msgspec.Struct, frozen=True):
    """The users and the queues of the known applications."""

    users: list[str]
    queues: list[str]


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


class UserNow(msgspec.Struct, frozen=True):
    """What one user has now. Applications run if they have containers."""

    user: str
    running: int
    waiting: int
    containers: int
    used: Amounts
    pending: Amounts


class UsersNow(msgspec.Struct, frozen=True):
    """Users with applications that have not ended, those with most containers first; `known` is how
    many there are."""

    total: Amounts
    known: int
    users: tuple[UserNow, ...]
