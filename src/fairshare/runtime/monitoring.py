"""Owns when the scheduler's preemption monitor has its rounds.

Hadoop's monitor runs at intervals for ever. Ours runs while the scheduler says that something could
come of it: the first round an interval after that began, and each further one an interval later.
"""

from fairshare.schedulers.protocol import Scheduler


class Monitoring:
    """`due_ms` is when the next round is due, None while none is needed."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.due_ms: int | None = None

    def is_due(self, now_ms: int) -> bool:
        """Whether a round is due; then the next one is an interval away."""
        if self.due_ms is None or self.due_ms > now_ms:
            return False
        self.due_ms = None
        return True

    def look(self, now_ms: int) -> None:
        """Something may have changed: find out whether rounds are needed."""
        interval_ms = self._scheduler.monitor_interval_ms()
        if interval_ms is None:
            self.due_ms = None
        elif self.due_ms is None or self.due_ms > now_ms + interval_ms:  # or it is shorter now
            self.due_ms = now_ms + interval_ms
