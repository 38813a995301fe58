"""Owns the interface through which mappings query queues, and the resolution of a mapping's path.

A path starts with a short name or with `root`; it must end at a leaf, or at a queue that can be
created (Hadoop: CSQueueStore, CSMappingPlacementRule).
"""

from typing import Protocol


class MappingQueues(Protocol):
    """The queries of mappings about queues."""

    def find(self, name: str) -> str | None:
        """The full path of the queue with this full path, or with this short name if it is unique;
        None if no queue or several queues match."""

    def is_ambiguous(self, name: str) -> bool:
        """Whether several queues have this short name."""

    def is_leaf(self, path: str) -> bool:
        """Whether the existing queue with this full path is a leaf."""

    def makes_leaves(self, path: str) -> bool:
        """Whether leaves can be created directly below this existing queue: it has legacy or
        flexible auto-creation, or was auto-created itself."""

    def makes_parents(self, path: str) -> bool:
        """Whether a parent with a leaf can be created below this queue: only with flexible
        auto-creation."""


class Unusable(Exception):
    """A path does not lead to a queue for applications; the message says why."""


def from_root(path: str, queues: MappingQueues) -> str:
    """The path with its first part, which may be a short name, replaced by the full path.

    `from_root("people.ann", queues) == "root.people.ann"`, if one queue is called `people`.
    """
    first, dot, rest = path.partition(".")
    found = queues.find(first)
    if found is None:
        wrong = "is ambiguous" if queues.is_ambiguous(first) else "does not exist"
        raise Unusable(f"the queue {first!r} {wrong}, so that {path!r} leads nowhere")
    return f"{found}{dot}{rest}"


def target(path: str, queues: MappingQueues, *, create: bool) -> str:
    """The full path of the leaf at a path; with `create`, also of a leaf that can be created.

    Raises Unusable.
    """
    if not all(path.split(".")):
        raise Unusable(f"the path {path!r} has an empty part")
    full = from_root(path, queues)
    if queues.find(full) is None:
        _check_room(full, queues)
        if not create:
            raise Unusable(f"there is no queue {full!r}, and the rule does not let it be created")
    elif not queues.is_leaf(full):
        raise Unusable(f"{full!r} is a parent queue: applications run in leaf queues alone")
    return full


def _check_room(full: str, queues: MappingQueues) -> None:
    """Raise Unusable unless the queue can be created below its parent, or, together with its
    parent, below its grandparent."""
    parent, _, leaf = full.rpartition(".")
    if queues.find(parent) is not None:
        room = not queues.is_leaf(parent) and queues.makes_leaves(parent)
    else:
        above = parent.rpartition(".")[0]
        found = above and queues.find(above) is not None
        room = bool(found) and not queues.is_leaf(above) and queues.makes_parents(above)
    if not room:
        raise Unusable(
            f"there is no queue {leaf!r} below {parent!r}, which is not a dynamic parent queue"
            " that could create it"
        )
