"""Owns the times after which interactive containers end."""

from collections.abc import Mapping
from typing import NamedTuple


class Interactive(NamedTuple):
    """`idle_ms`: nothing was typed, printed or computed for so long; 0: they never end for it.
    `detached_ms`: no user was attached. `idle_of_queues_ms` are times of queues and of those below
    them."""

    idle_ms: int = 3_600_000
    detached_ms: int = 60_000
    idle_of_queues_ms: Mapping[str, int] = {}

    def idle_in(self, queue: str) -> int:
        """The idle time in a queue: its own, else that of the nearest queue above it.

        >>> times = Interactive(5, 1, {"root.ml": 2, "root.ml.free": 0})
        >>> times.idle_in("root.ml.a"), times.idle_in("root.ml.free"), times.idle_in("root.mlx")
        (2, 0, 5)
        """
        while queue:
            if queue in self.idle_of_queues_ms:
                return self.idle_of_queues_ms[queue]
            queue = queue.rpartition(".")[0]
        return self.idle_ms


INTERACTIVE = Interactive()
