"""The patience of a client: it follows an application until it is over.

The server tells by a long poll when something changed. A server that restarts meanwhile is waited
for; applications outlive it.
"""

import contextlib
import time
from collections.abc import Iterator
from math import ceil

from fairshare.client.errors import Refused, ServerUnreachable, WaitTimedOut

SERVICE_UNAVAILABLE = 503
"""What a server says that is about to end."""

LONGEST_POLL_S = 30
"""How long one question may stay open."""

PACE_S = 0.2
"""The least time between two questions: on a busy cluster something changes all the time."""

PATIENCE_S = 60.0
"""How long a server that has answered before may be away."""


class Patience:
    """Waits for a server that has answered before, and is away for a while. `answered`: it has
    answered this client, before the first question that this waits for."""

    def __init__(self, patience_s: float = PATIENCE_S, *, answered: bool = False) -> None:
        self._patience_s = patience_s
        self._seen_s = time.monotonic() if answered else None
        self.absent = False

    @contextlib.contextmanager
    def outlast_absence(self) -> Iterator[None]:
        """Failures inside because no server answers are passed over (`absent` says so), unless none
        has ever answered, or for `patience_s`."""
        try:
            yield
        except (ServerUnreachable, Refused) as error:
            away = isinstance(error, ServerUnreachable) or error.status == SERVICE_UNAVAILABLE
            seen_s = self._seen_s
            if not away or seen_s is None or time.monotonic() - seen_s > self._patience_s:
                raise
            self.absent = True
        else:
            self._seen_s = time.monotonic()
            self.absent = False


class Watch:
    """The questions of who follows an application, however they are sent.

    Within `question`, ask for the changes since `version`, open for `poll_s`, and then for the
    application: a change in between is seen too often, never missed. `absent` says that no server
    has answered.
    """

    def __init__(
        self, application: str | int, timeout_s: float | None, pace_s: float, patience_s: float
    ) -> None:
        self._application = str(application)
        self._timeout_s = timeout_s
        self._pace_s = pace_s
        self._began_s = self._asked_s = time.monotonic()
        self._patience = Patience(patience_s)
        self.version = 0

    @property
    def absent(self) -> bool:
        """Whether the last request reached no server."""
        return self._patience.absent

    @property
    def poll_s(self) -> int:
        """How long the next question may stay open; the first one not at all."""
        return poll_s(self._began_s, self._timeout_s) if self.version else 0

    @contextlib.contextmanager
    def question(self) -> Iterator[None]:
        """One question, which outlasts an absence of the server; raises ServerUnreachable when it
        has been away for too long."""
        self._asked_s = time.monotonic()
        with self._patience.outlast_absence():
            yield
        if self.absent:
            self.version = 0  # a server that was started again counts from 0 again

    def pause_s(self) -> float:
        """How long to wait until the next question; raises WaitTimedOut when time is up."""
        now_s = time.monotonic()
        if self._timeout_s is not None and now_s - self._began_s >= self._timeout_s:
            raise WaitTimedOut(self._application, self._timeout_s)
        return max(0.0, self._asked_s + self._pace_s - now_s)


def poll_s(began_s: float, timeout_s: float | None) -> int:
    """How long the next question may stay open: whole seconds, as the server takes them; the last
    one may end a moment late."""
    if timeout_s is None:
        return LONGEST_POLL_S
    return max(0, min(LONGEST_POLL_S, ceil(began_s + timeout_s - time.monotonic())))
