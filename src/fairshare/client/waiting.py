"""Owns the patience of a client: it follows an application until it is over.

The server tells by a long poll when something changed. A server that restarts meanwhile is waited
for; applications outlive it.
"""

import contextlib
import time
from collections.abc import Iterator
from math import ceil
from typing import Protocol

from fairshare.client.answers import Application
from fairshare.client.errors import Refused, ServerUnreachable, WaitTimedOut

SERVICE_UNAVAILABLE = 503
"""What a server says that is about to end."""

LONGEST_POLL_S = 30
"""How long one question may stay open."""

PACE_S = 0.2
"""The least time between two questions: on a busy cluster something changes all the time."""

PATIENCE_S = 60.0
"""How long a server that has answered before may be away."""


class Watched(Protocol):
    """What is needed of a client."""

    def application(self, application: str | int) -> Application:
        """One application as it stands."""

    def changes(self, since: int = 0, timeout_s: int = 0) -> int:
        """The version of the cluster's state: when it is not `since`, or after the timeout."""


class Patience:
    """Waits for a server that has answered before, and is away for a while."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._seen_s: float | None = None
        self.absent = False

    @contextlib.contextmanager
    def outlast_absence(self) -> Iterator[None]:
        """What fails inside because nobody answers is passed over (`absent` says so), unless nobody
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


def watch(
    client: Watched,
    application: str | int,
    *,
    timeout_s: float | None = None,
    pace_s: float = PACE_S,
    patience_s: float = PATIENCE_S,
) -> Iterator[Application]:
    """The application as it stands, again after each change, and at last when it is over.

    Raises WaitTimedOut after `timeout_s`, ServerUnreachable when the server has been away for
    `patience_s`.
    """
    began_s = time.monotonic()
    seen_s: float | None = None
    version = 0
    while True:
        asked_s = time.monotonic()
        try:
            # The version is read first: a change in between is then seen too often, never missed.
            version = client.changes(version, poll_s(began_s, timeout_s) if seen_s else 0)
            current = client.application(application)
            seen_s = time.monotonic()
        except (ServerUnreachable, Refused) as error:
            away = isinstance(error, ServerUnreachable) or error.status == SERVICE_UNAVAILABLE
            if not away or seen_s is None or time.monotonic() - seen_s > patience_s:
                raise
            version = 0  # a server that was started again counts anew
        else:
            yield current
            if current.over:
                return
        if timeout_s is not None and time.monotonic() - began_s >= timeout_s:
            raise WaitTimedOut(str(application), timeout_s)
        time.sleep(max(0.0, asked_s + pace_s - time.monotonic()))


def poll_s(began_s: float, timeout_s: float | None) -> int:
    """How long the next question may stay open: whole seconds, as the server takes them; the last
    one may end a moment late."""
    if timeout_s is None:
        return LONGEST_POLL_S
    return max(0, min(LONGEST_POLL_S, ceil(began_s + timeout_s - time.monotonic())))
