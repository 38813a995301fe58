"""Owns when the scheduler tidies up: queues that were made on demand and are empty go.

Hadoop looks every ten seconds; we look ten seconds after something ended that could have left a
queue empty, and again while there was something to do.
"""

from collections.abc import Sequence

from fairshare.model.events import (
    ApplicationEnded,
    ApplicationMoved,
    ApplicationRejected,
    ConfigurationLoaded,
    Event,
)

INTERVAL_MS = 10_000

_CAUSES = frozenset((ApplicationEnded, ApplicationMoved, ApplicationRejected, ConfigurationLoaded))


class Tidying:
    """`due_ms` is when to tidy up, None while there is no reason to."""

    def __init__(self, due_ms: int | None = None) -> None:
        self.due_ms = due_ms

    def note(self, now_ms: int, events: Sequence[Event]) -> None:
        """Take note of what may have left a queue empty."""
        if self.due_ms is None and not _CAUSES.isdisjoint(map(type, events)):
            self.due_ms = now_ms + INTERVAL_MS

    def done(self, now_ms: int, events: Sequence[Event]) -> None:
        """It was looked; where something was found, more may follow (a parent without children)."""
        self.due_ms = now_ms + INTERVAL_MS if events else None
