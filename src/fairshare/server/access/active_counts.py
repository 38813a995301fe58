"""Owns the number of unfinished applications of each user, recorded or being submitted, and the
bytes of the user's submissions. Derived from events; knows no limit."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator

from fairshare.model.applications import Application
from fairshare.model.events import ApplicationEnded, ApplicationSubmitted, Event
from fairshare.model.identifiers import ApplicationId
from fairshare.server.access.submitted_bytes import SubmittedBytes


class ActiveCounts:
    """The census of one server; begins with the recovered applications."""

    def __init__(self, applications: Iterable[Application] = ()) -> None:
        self._users: dict[ApplicationId, str] = {}
        self._counts: Counter[str] = Counter()
        known = list(applications)
        self.submitted_bytes = SubmittedBytes(known)
        for application in known:
            if not application.over:
                self._enter(application.id, application.user)

    def observe(self, event: Event) -> None:
        """Apply recorded events."""
        self.submitted_bytes.observe(event)
        if isinstance(event, ApplicationSubmitted):
            self._enter(event.application, event.submission.user)
        elif isinstance(event, ApplicationEnded):
            user = self._users.pop(event.application, None)
            if user is not None:
                self._leave(user)

    def count(self, user: str) -> int:
        """The number of a user's unfinished applications."""
        return self._counts[user]

    @contextlib.contextmanager
    def on_its_way(self, user: str) -> Iterator[None]:
        """Count a submission from its request on, so that concurrent ones count, too."""
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
