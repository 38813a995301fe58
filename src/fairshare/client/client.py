"""Owns what a user of a cluster can do and see from Python. Knows no terminal.

The methods that are one call of the REST interface are described in `calls`; those written here
are made of several calls. All raise ServerUnreachable, Refused or AnswerNotUnderstood.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Self, TypeVar

from fairshare.client import logs, waiting
from fairshare.client.answers import Application
from fairshare.client.calls import Calls, CallTable, map_call, map_submission, results, submitting
from fairshare.client.connection import Connection
from fairshare.client.discovery import Server
from fairshare.client.errors import ApplicationFailed
from fairshare.client.interpreter import choose_interpreter
from fairshare.client.methods import Sent
from fairshare.client.submissions import Submission
from fairshare.errors import FairshareError

if TYPE_CHECKING:
    import httpx

Item = TypeVar("Item")
Result = TypeVar("Result")

LOG_LINES = 10
"""How much of a failed container's log is worth showing at once."""


class Client(CallTable, Sent):
    """A fairshare server. Without `url` it is found by FAIRSHARE_URL or in the state directory.

    >>> with Client() as client:                                         # doctest: +SKIP
    ...     group = TaskGroup(name="hello", count=3, arguments=("echo", "hello"),
    ...                       resources={"memory-mb": 256, "vcores": 1})
    ...     application = client.submit(Submission(queue="research", tasks=(group,)))
    ...     client.wait(application)
    """

    connection: Connection

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        server = Server(url, token)
        self._server = server
        self._calls = Calls(server)
        self.connection = Connection(server.url, server.token, transport, server.elsewhere)
        # While waiting: the least time between two questions, and how long a server may be away.
        self.pace_s = waiting.PACE_S
        self.patience_s = waiting.PATIENCE_S

    @property
    def url(self) -> str:
        """Where the server is."""
        return self.connection.url

    def submit(self, submission: Submission) -> str:
        """Submit an application; its id. Raises Refused when the cluster does not take it.

        It belongs to `submission.user`, else to FAIRSHARE_USER, else to the user of the token, else
        to the user who runs this program. Calls that are too large for one request are uploaded
        first.
        """
        return self.connection.converse(submitting(self._calls, submission))

    def log(self, container: str, stream: str = "stdout") -> bytes:
        """All that a container has printed so far."""
        return b"".join(logs.read_all(self.connection, container, stream))

    def follow_log(self, container: str, stream: str = "stdout") -> Iterator[bytes]:
        """What a container has printed and will print, until it is over."""
        return logs.follow(self.connection, container, stream)

    def watch(
        self, application: str | int, timeout_s: float | None = None
    ) -> Iterator[Application]:
        """The application after each change, and at last when it is over."""
        watch = waiting.Watch(application, timeout_s, self.pace_s, self.patience_s)
        while True:
            current: Application | None = None
            with watch.question():
                watch.version = self.changes(watch.version, watch.poll_s)
                current = self.application(application)
            if current is not None and not watch.absent:
                yield current
                if current.over:
                    return
            time.sleep(watch.pause_s())

    def wait(self, application: str | int, timeout_s: float | None = None) -> Application:
        """The application when it is over, however it ended; raises WaitTimedOut."""
        last: Application | None = None
        for current in self.watch(application, timeout_s):
            last = current
        assert last is not None  # a watch yields at least once, or raises
        return last

    def call_when_over(
        self, application: str | int, function: Callable[[Application], object]
    ) -> threading.Thread:
        """Call `function` with the application when it is over, in a thread, which is returned and
        does not keep the program from ending. An error is printed as of any thread."""

        def follow() -> None:
            function(self.wait(application))

        thread = threading.Thread(target=follow, name=f"fairshare-{application}", daemon=True)
        thread.start()
        return thread

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        name: str | None = None,
        queue: str | None = None,
        user: str | None = None,
        resources: Mapping[str, int] | None = None,
        environment: Mapping[str, str] | None = None,
        max_attempts: int = 4,
        time_limit_ms: int | None = None,
        timeout_s: float | None = None,
        python: str | None = None,
    ) -> list[Result]:
        """`[function(item) for item in items]`, each call in a container of its own.

        The results stand in the order of the items. Raises ApplicationFailed when one call has
        failed `max_attempts` times; WaitTimedOut after `timeout_s`. Whatever ends the waiting
        early, Ctrl-C too, kills the application: no client would take its results.
        """
        given = list(items)
        if not given:
            return []
        call = map_call(function, given)  # before the server is asked
        interpreter = choose_interpreter(self.cluster(), python)
        submission = map_submission(
            function,
            given,
            call,
            name=name,
            user=user,
            queue=queue,
            resources=resources,
            environment=environment,
            max_attempts=max_attempts,
            time_limit_ms=time_limit_ms,
            interpreter=interpreter,
        )
        application = self.submit(submission)
        try:
            ended = self.wait(application, timeout_s)
        except BaseException:
            with contextlib.suppress(FairshareError):  # the error that ended the waiting is raised
                self.kill(application, "No client waits for its results any more.")
            raise
        if ended.state != "FINISHED":
            log = self.failure_log(application)
            raise ApplicationFailed(application, ended.state, ended.diagnostics, log)
        return self.connection.converse(results(self._calls, application, len(given)))

    def failure_log(self, application: str | int, lines: int = LOG_LINES) -> str:
        """The end of what the last failed container wrote to stderr, else to stdout; may be ""."""
        failure = logs.failure(self._calls, application, lines)
        return self.connection.converse(failure)

    def close(self) -> None:
        """Let the connection go; applications go on."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
