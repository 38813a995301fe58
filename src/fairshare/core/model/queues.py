"""The queue tree as data: names, children, usage.

Each scheduler derives its own queue from `Queue`.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, Generic, TypeVar

from fairshare.core.model.applications import Attempt
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.nothing import NOTHING
from fairshare.core.model.resources import Resource
from fairshare.documents.bounds import LONGEST_QUEUE_NAME

ROOT = "root"

AttemptType = TypeVar("AttemptType", bound=Attempt, covariant=True)
QueueType = TypeVar("QueueType", bound="Queue[Attempt]", covariant=True)


def full_name(name: str) -> str:
    """The name with `root`: `a.b` and `root.a.b` are the same queue
    (Hadoop: QueueManager.ensureRootPrefix).

    >>> full_name("a.b"), full_name("root"), full_name("rootx")
    ('root.a.b', 'root', 'root.rootx')
    """
    if name == ROOT or name.startswith(ROOT + "."):
        return name
    return f"{ROOT}.{name}"


LONGEST_NAME: Final = LONGEST_QUEUE_NAME
"""The maximum length, in characters, of a full queue name from outside. It also bounds the depth of
the tree, so that work for all ancestors of a queue stays cheap."""


def parent_name(name: str) -> str:
    """`parent_name('root.a.b') == 'root.a'`; empty for root."""
    return name.rpartition(".")[0]


def parents_of(name: str) -> list[str]:
    """The names of all ancestors of a queue, the nearest first.

    >>> parents_of("root.a.b")
    ['root.a', 'root']
    """
    names = []
    while name := parent_name(name):
        names.append(name)
    return names


class Queue(Generic[AttemptType]):
    """One queue: a parent of queues, or a leaf with applications.

    `used` is the sum of the live containers of the queue and of its descendants. `attempts` (of
    leaves) are those that are in the queue, by application, including those held back by a limit.
    `charge` is added to its use where it is compared with its siblings, for what it used in the
    past; None: nothing. `charges` are those of users in a leaf (`usage.Ledger`).
    """

    LATER_FIELDS: ClassVar[Mapping[str, object]] = {"charge": None, "charges": NOTHING}

    __slots__ = (
        "attempts",
        "charge",
        "charges",
        "children",
        "dynamic",
        "leaf",
        "name",
        "parent",
        "used",
    )

    # Only `state.py` and a scheduler's own state change these.
    name: str
    leaf: bool
    dynamic: bool
    used: Resource

    def __init__(self, name: str, leaf: bool, dynamic: bool, types: int) -> None:
        self.name = name
        self.leaf = leaf
        self.dynamic = dynamic
        self.used = (0,) * types
        self.attempts: dict[ApplicationId, AttemptType] = {}
        self.charge: Resource | None = None
        self.charges: dict[str, Resource] = {}
