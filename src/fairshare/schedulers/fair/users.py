"""Owns the number of running applications of each user, and those waiting for a limit, in all
queues.

Only counts; `limits.py` has the limits.
"""

from fairshare.model.identifiers import ApplicationId
from fairshare.schedulers.fair.applications import FairApplication

Waiting = dict[ApplicationId, FairApplication]


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

    def start(self, application: FairApplication) -> None:
        """Count an application as running."""
        self._running[application.user] = self.running(application.user) + 1

    def stop(self, application: FairApplication) -> None:
        """Count an application as no longer running."""
        left = self.running(application.user) - 1
        if left:
            self._running[application.user] = left
        else:
            del self._running[application.user]

    def wait(self, application: FairApplication) -> None:
        """Add a waiting application, behind the user's others."""
        self._waiting.setdefault(application.user, {})[application.id] = application

    def wait_no_longer(self, application: FairApplication) -> None:
        """Remove a waiting application, which runs now or has left."""
        waiting = self._waiting[application.user]
        del waiting[application.id]
        if not waiting:
            del self._waiting[application.user]

    def put_back(self, user: str, waiting: Waiting) -> None:
        """Set the order of a user's waiting applications."""
        self._waiting[user] = waiting
