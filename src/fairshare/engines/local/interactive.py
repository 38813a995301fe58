"""Owns the times after which containers with a terminal end."""

from typing import NamedTuple


class Interactive(NamedTuple):
    """`idle_ms`: nothing was typed, printed or computed for so long; 0: they never end for it.
    `detached_ms`: no user was attached."""

    idle_ms: int = 3_600_000
    detached_ms: int = 60_000


INTERACTIVE = Interactive()
