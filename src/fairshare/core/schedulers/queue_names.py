"""Owns the advice about queues to name at the end of a refusal. Knows no scheduler."""

from collections.abc import Iterable

MOST_NAMES = 8


def listed(names: Iterable[str]) -> str:
    """Names in order; of many the first ones.

    >>> listed(f"root.q{number}" for number in range(10))
    'root.q0, root.q1, root.q2, root.q3, root.q4, root.q5, root.q6, root.q7, and 2 more'
    """
    ordered = sorted(names)
    more = len(ordered) - MOST_NAMES
    return ", ".join(ordered[:MOST_NAMES]) + (f", and {more} more" if more > 0 else "")


_LEAVES = ". Its leaf queues are "
_NO_LEAF = ". No leaf queue is below it"


def leaves_below(queue: str, leaves: Iterable[str]) -> str:
    """What follows the statement that a queue is not a leaf.

    >>> leaves_below("root.lab", ["root.lab.ml", "root.lab.bio", "root.laboratory"])
    '. Its leaf queues are root.lab.bio, root.lab.ml'
    >>> leaves_below("root.lab", [])
    '. No leaf queue is below it'
    """
    below = [name for name in leaves if name.startswith(f"{queue}.")]
    return f"{_LEAVES}{listed(below)}" if below else _NO_LEAF


def without_leaves(reason: str) -> str:
    """A reason without what `leaves_below` added, as Hadoop words it.

    >>> without_leaves("root.lab is not a leaf queue. Its leaf queues are root.lab.ml")
    'root.lab is not a leaf queue'
    """
    return reason.partition(_LEAVES)[0].partition(_NO_LEAF)[0]
