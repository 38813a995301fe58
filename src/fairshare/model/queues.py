"""Owns the queue tree as data: names, children, usage. Knows no share, limit or order.

A scheduler derives its own queue from `Queue` and adds what it needs.
"""

from typing import Final, Generic, TypeVar

from fairshare.model.applications import Application
from fairshare.model.identifiers import ApplicationId
from fairshare.model.resources import Resource

ROOT = "root"

ApplicationType = TypeVar("ApplicationType", bound=Application, covariant=True)
QueueType = TypeVar("QueueType", bound="Queue[Application]", covariant=True)


def full_name(name: str) -> str:
    """`a.b` and `root.a.b` are one queue (spec/fair.md 2.1.1).

    >>> full_name("a.b"), full_name("root"), full_name("rootx")
    ('root.a.b', 'root', 'root.rootx')
    """
    if name == ROOT or name.startswith(ROOT + "."):
        return name
    return f"{ROOT}.{name}"


LONGEST_NAME: Final = 1_000
"""The characters of the longest full name of a queue that is taken from outside. It bounds how deep
queues are nested, too: what is done for all queues above one must not take long."""


def parent_name(name: str) -> str:
    """`parent_name('root.a.b') == 'root.a'`; that of root is empty."""
    return name.rpartition(".")[0]


def parents_of(name: str) -> list[str]:
    """The names of all queues above one, the nearest first.

    >>> parents_of("root.a.b")
    ['root.a', 'root']
    """
    names = []
    while name := parent_name(name):
        names.append(name)
    return names


class Queue(Generic[ApplicationType]):
    """One queue: a parent of queues, or a leaf of applications.

    `used` counts the live containers of the queue and of all below it. `applications` (of leaves)
    are those whose current attempt is in the queue, also those that wait for a limit.
    """

    __slots__ = ("applications", "children", "dynamic", "leaf", "name", "parent", "used")

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
        self.applications: dict[ApplicationId, ApplicationType] = {}
