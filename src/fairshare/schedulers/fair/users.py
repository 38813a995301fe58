"""Owns how many applications each user runs, and which of them wait for a limit, in all queues.

Only counts; the limits themselves are in `limits.py`.
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
        """How many applications of a user no limit holds back."""
        return self._running.get(user, 0)

    def waiting(self, user: str) -> Waiting:
        """The applications of a user that wait, in the order in which they began to."""
        return self._waiting.get(user, {})

    def start(self, application: FairApplication) -> None:
        """One more runs."""
        self._running[application.user] = self.running(application.user) + 1

    def stop(self, application: FairApplication) -> None:
        """One no longer runs."""
        left = self.running(application.user) - 1
        if left:
            self._running[application.user] = left
        else:
            del self._running[application.user]

    def wait(self, application: FairApplication) -> None:
        """One waits, behind those that do already."""
        self._waiting.setdefault(application.user, {})[application.id] = application

    def wait_no_longer(self, application: FairApplication) -> None:
        """One runs instead, or is gone."""
        waiting = self._waiting[application.user]
        del waiting[application.id]
        if not waiting:
            del self._waiting[application.user]

    def put_back(self, user: str, waiting: Waiting) -> None:
        """Let a user's applications wait in this order."""
        self._waiting[user] = waiting
