"""Owns how large nodes must have been: the most that jobs had of each at one time.

Knows no format.
"""

from collections.abc import Iterable, Mapping

from fairshare.simulate.traces.records import TraceNodes
from fairshare.simulate.traces.rows import TraceUnreadable

MOST_SHARES = 20_000_000
"""The maximum number of shares that jobs have of nodes."""


class Occupancy:
    """What jobs have of nodes, from when to when."""

    def __init__(self) -> None:
        self._changes: dict[str, list[tuple[float, int, Mapping[str, int]]]] = {}
        self._count = 0

    def add(
        self, names: Iterable[str], began_s: float, ended_s: float, amounts: Mapping[str, int]
    ) -> None:
        """A job has these amounts of each of these nodes."""
        for name in names:
            self._count += 1
            if self._count > MOST_SHARES:
                raise TraceUnreadable(
                    f"jobs have more than {MOST_SHARES:,} shares of nodes: give a part of the trace"
                )
            changes = self._changes.setdefault(name, [])
            changes += [(began_s, 1, amounts), (max(ended_s, began_s), -1, amounts)]

    def nodes(self) -> tuple[TraceNodes, ...]:
        """A node for each name. A job that ends leaves room for one that starts at that instant."""
        return tuple(
            TraceNodes(1, self._most(changes), name)
            for name, changes in sorted(self._changes.items())
        )

    @staticmethod
    def _most(changes: list[tuple[float, int, Mapping[str, int]]]) -> dict[str, int]:
        used: dict[str, int] = {}
        most: dict[str, int] = {}
        for _, sign, amounts in sorted(changes, key=lambda change: change[:2]):
            for kind, amount in amounts.items():
                used[kind] = used.get(kind, 0) + sign * amount
                most[kind] = max(used[kind], amount, most.get(kind, 0))
        return most
