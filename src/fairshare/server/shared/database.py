"""Connections to the database, and the words for what is wrong with it.

Nothing here depends on a session: no prepared statement, lock or setting outlives a transaction, so
that a pooler may be between. Each `Link` has a thread and a connection, so that the event loop
never waits longer than it wants to for a database that does not answer.
"""

import contextlib
import queue
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from fairshare.errors import FairshareError, JournalError
from fairshare.runtime.shared import UnavailableError
from fairshare.wording import cause

Result = TypeVar("Result")
Connection = Any  # psycopg's, which is an extra

CONNECT_S: Final = 3
OLDEST_VERSION: Final = 120_000

_OPTIONS: Final = {
    "connect_timeout": CONNECT_S,
    "tcp_user_timeout": 5_000,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "application_name": "fairshare",
    "client_encoding": "UTF8",
    "target_session_attrs": "read-write",
}
_PASSING: Final = ("08", "53", "57", "25006", "40", "55")
"""Beginnings of SQLSTATEs after which the same may work later: lost, full, shutting down,
read-only, serialization, locked."""


_REFUSED: Final = (
    ("database .* does not exist", "3D000"),
    ("authentication failed|role .* does not exist|no pg_hba.conf entry|no password", "28000"),
)
"""Words with which a connection is refused, whose SQLSTATE psycopg does not say."""


class DatabaseError(FairshareError):
    """The database cannot be used as it is; the message says what to do."""


def shown(url: str) -> str:
    """The URL without its password.

    >>> shown("postgresql://fairshare:secret@db1:5432/fairshare?password=x&sslmode=require")
    'postgresql://fairshare@db1:5432/fairshare?sslmode=require'
    """
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    netloc = f"{user.partition(':')[0]}{at}{hosts}"
    query = re.sub(r"(^|&)password=[^&]*", "", parts.query).lstrip("&")
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise DatabaseError(
            "state in PostgreSQL needs the extra fairshare[postgres]: pip install"
            " 'fairshare[postgres]'"
        ) from error
    return psycopg


def trouble(url: str, error: Exception) -> FairshareError:
    """What psycopg's error means: UnavailableError if the same may work later."""
    words = " ".join(str(error).split()) or cause(error)
    state = getattr(error, "sqlstate", None) or next(
        (code for pattern, code in _REFUSED if re.search(pattern, words)), ""
    )
    passing = not state or state.startswith(_PASSING)
    advice = {
        "25006": "it is read-only: name its primary, or all hosts of the replication",
        "28": "user or password are wrong: mend the URL, or the file of passwords (PGPASSFILE)",
        "3D": "there is no such database: make it (createdb)",
        "42501": "the user may not do that: make it the owner of the database",
        "53100": "its disk is full: make room there",
    }
    hint = next((text for start, text in advice.items() if state.startswith(start)), "")
    kind = UnavailableError if passing else JournalError
    return kind(f"the database {shown(url)} fails: {hint or words}" + (f" ({words})" * bool(hint)))


class Link:
    """One connection, and the thread that uses it. It connects when it is needed, and again after
    an error."""

    def __init__(self, url: str, name: str) -> None:
        self.url = url
        self._driver = _driver()
        self._connection: Connection | None = None
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"database {name}", daemon=True)
        self._thread.start()

    def start(self, work: Callable[[Connection], Result]) -> "Future[Result]":
        """Have the thread do something with the connection, after what it was given before.

        The future raises UnavailableError if the database does not answer, JournalError if it
        refuses.
        """
        future: Future[Result] = Future()

        def step() -> None:
            try:
                future.set_result(self._do(work))
            except BaseException as error:  # the caller's to handle, wherever it is
                future.set_exception(error)

        self._work.put(step)
        return future

    def run(self, work: Callable[[Connection], Result], timeout_s: float) -> Result:
        """The result of `start`; raises UnavailableError if it is not there in time: it may still
        happen."""
        future = self.start(work)
        try:
            return future.result(timeout_s)
        except TimeoutError:
            raise self.unanswered(timeout_s) from None

    def unanswered(self, timeout_s: float) -> UnavailableError:
        """The error for work that takes too long."""
        return UnavailableError(
            f"the database {shown(self.url)} has not answered for {timeout_s:g} s: it is slow, or"
            " cannot be reached"
        )

    def close(self, timeout_s: float = 5.0) -> None:
        """End the thread after what it was given; it is left alone if that takes too long."""
        self._work.put(None)
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while (step := self._work.get()) is not None:
            step()
        self._disconnect()

    def _do(self, work: Callable[[Connection], Result]) -> Result:
        try:
            if self._connection is None:
                given = {name for name, _ in parse_qsl(urlsplit(self.url).query)}
                options = {name: value for name, value in _OPTIONS.items() if name not in given}
                self._connection = self._driver.connect(
                    self.url, autocommit=True, prepare_threshold=None, **options
                )
            return work(self._connection)
        except self._driver.Error as error:
            lost = self._connection is None or self._connection.closed
            if lost or not getattr(error, "sqlstate", None):
                self._disconnect()
            raise trouble(self.url, error) from error
        except BaseException:
            if self._connection is not None and self._connection.closed:
                self._disconnect()
            raise

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(self._driver.Error):
                self._connection.close()
            self._connection = None


@contextlib.contextmanager
def link_to(url: str, name: str) -> Iterator[Link]:
    """A link that is closed at the end."""
    made = Link(url, name)
    try:
        yield made
    finally:
        made.close()
