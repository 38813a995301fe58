"""Owns the number of running applications of each user, and those waiting for a limit, in all
queues.

Only counts; `limits.py` has the limits.
"""

from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.schedulers.fair.attempts import FairAttempt

Waiting = dict[ApplicationId, FairAttempt]


class Users:
    """Running and waiting applications by user."""

    def __init__(self) -> None:
        self._running: dict[str, int] = {}
        self._waiting: dict[str, Waiting] = {}

    def running(self, user: str) -> int:
        """The number of a user's runnable applications."""
        return self._running.get(user, 0)

    def waiting(self, user: str) -> Waiting:
        """The waiting applications of a user, in the order in which they began to wait."""
        return self._waiting.get(user, {})

    def start(self, attempt: FairAttempt) -> None:
        """Count an application as running."""
        self._running[attempt.user] = self.running(attempt.user) + 1

    def stop(self, attempt: FairAttempt) -> None:
        """Count an application as no longer running."""
        left = self.running(attempt.user) - 1
        if left:
            self._running[attempt.user] = left
        else:
            del self._running[attempt.user]

    def wait(self, attempt: FairAttempt) -> None:
        """Add a waiting application, behind the user's others."""
        self._waiting.setdefault(attempt.user, {})[attempt.id] = attempt

    def wait_no_longer(self, attempt: FairAttempt) -> None:
        """Remove a waiting application, which runs now or has left."""
        waiting = self._waiting[attempt.user]
        del waiting[attempt.id]
        if not waiting:
            del self._waiting[attempt.user]

    def put_back(self, user: str, waiting: Waiting) -> None:
        """Set the order of a user's waiting applications."""
        self._waiting[user] = waiting
