"""Owns what mappings may ask of the queues that there are, and the search for a mapping's queue.

A path begins with a short name or with `root`; the queue at its end must be a leaf, or one that may
be made (spec/capacity.md 3.1, 26.5).
"""

from typing import Protocol


class MappingQueues(Protocol):
    """The queues, as mappings see them."""

    def find(self, name: str) -> str | None:
        """The full path of the queue with this full path, or with this short name if no other queue
        has it; None: there is none, or there are several."""

    def is_ambiguous(self, name: str) -> bool:
        """Whether several queues have this short name."""

    def is_leaf(self, path: str) -> bool:
        """Whether the queue of this full path, which exists, is a leaf."""

    def makes_leaves(self, path: str) -> bool:
        """Whether leaves may be made right below this queue, which exists: it makes queues on
        demand in the old or the new way, or was itself made so."""

    def makes_parents(self, path: str) -> bool:
        """Whether a parent with a leaf may be made below this queue: only in the new way."""


class Unusable(Exception):
    """A path leads to no queue that an application can be put in; the message says why."""


def from_root(path: str, queues: MappingQueues) -> str:
    """The path with its first part, which may be a short name, written out.

    `from_root("people.ann", queues) == "root.people.ann"`, if one queue is called `people`.
    """
    first, dot, rest = path.partition(".")
    found = queues.find(first)
    if found is None:
        wrong = "is ambiguous" if queues.is_ambiguous(first) else "does not exist"
        raise Unusable(f"the queue {first!r} {wrong}, so that {path!r} leads nowhere")
    return f"{found}{dot}{rest}"


def target(path: str, queues: MappingQueues, *, create: bool) -> str:
    """The full path of the leaf that a path means; if `create`, also of one that can be made.

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
    """Raise Unusable unless the queue can be made: below its parent, or below the one above."""
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
