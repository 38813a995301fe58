"""Owns how many applications of each user are not over: those that are recorded, and those that
are on their way; and how much he has handed in. Derived from events; knows no limit."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator

from fairshare.live.access.handed_in import HandedIn
from fairshare.model.applications import Application
from fairshare.model.events import ApplicationEnded, ApplicationSubmitted, Event
from fairshare.model.identifiers import ApplicationId


class Census:
    """Of one server; begins with the applications that were recovered."""

    def __init__(self, applications: Iterable[Application] = ()) -> None:
        self._users: dict[ApplicationId, str] = {}
        self._counts: Counter[str] = Counter()
        known = list(applications)
        self.handed_in = HandedIn(known)
        for application in known:
            if not application.over:
                self._enter(application.id, application.user)

    def observe(self, event: Event) -> None:
        """Take in what was recorded."""
        self.handed_in.observe(event)
        if isinstance(event, ApplicationSubmitted):
            self._enter(event.application, event.submission.user)
        elif isinstance(event, ApplicationEnded):
            user = self._users.pop(event.application, None)
            if user is not None:
                self._leave(user)

    def count(self, user: str) -> int:
        """How many applications of a user are not over."""
        return self._counts[user]

    @contextlib.contextmanager
    def on_its_way(self, user: str) -> Iterator[None]:
        """Count a submission from when it is asked for: many that come at once are many."""
        self._counts[user] += 1
        try:
            yield
        finally:
            self._leave(user)

    def _enter(self, application: ApplicationId, user: str) -> None:
        self._users[application] = user
        self._counts[user] += 1

    def _leave(self, user: str) -> None:
        self._counts[user] -= 1
        if not self._counts[user]:
            del self._counts[user]
