"""Owns when the scheduler tidies up: queues that were made on demand and are empty go.

Hadoop looks at intervals. We look an interval after something ended that could have left a queue
empty, and again while there was something to do, unless the scheduler tidies in rounds.
"""

from collections.abc import Sequence

from fairshare.model.events import (
    ApplicationEnded,
    ApplicationMoved,
    ApplicationRejected,
    ConfigurationLoaded,
    Event,
)
from fairshare.schedulers.protocol import Scheduler

_CAUSES = frozenset((ApplicationEnded, ApplicationMoved, ApplicationRejected, ConfigurationLoaded))


class Tidying:
    """`due_ms` is when to tidy up, None while there is no reason to."""

    def __init__(self, scheduler: Scheduler, due_ms: int | None = None) -> None:
        self._scheduler = scheduler
        self.due_ms = due_ms

    @classmethod
    def after_recovery(cls, scheduler: Scheduler, now_ms: int) -> "Tidying":
        """What ended before may have left a queue empty. Rounds are an interval apart for ever."""
        tidying = cls(scheduler, now_ms)
        if scheduler.tidies_in_rounds:
            tidying._put_off(now_ms, found=False)
        return tidying

    def note(self, now_ms: int, events: Sequence[Event]) -> None:
        """Take note of what may have left a queue empty."""
        if self.due_ms is None and not _CAUSES.isdisjoint(map(type, events)):
            self._put_off(now_ms, found=True)

    def done(self, now_ms: int, events: Sequence[Event]) -> None:
        """It was looked; where something was found, more may follow (a parent without children)."""
        self._put_off(now_ms, found=bool(events))

    def _put_off(self, now_ms: int, *, found: bool) -> None:
        needed = found or self._scheduler.tidies_in_rounds
        interval_ms = self._scheduler.tidy_interval_ms() if needed else None
        self.due_ms = None if interval_ms is None else now_ms + interval_ms
