"""What takes several calls: submissions, waiting, logs and maps, once for both clients.

Each is a conversation, which a client holds in its own way (`methods`).
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from fairshare.api.work import DEFAULT_RESOURCES, Submission, TaskGroup
from fairshare.client import callables, logs, waiting
from fairshare.client.answers import Application
from fairshare.client.calls import Calls, CallTable
from fairshare.client.discovery import Server
from fairshare.client.errors import ApplicationFailed
from fairshare.client.methods import Conversation, Pause, Yielded, following, method
from fairshare.errors import FairshareError

Item = TypeVar("Item")
Result = TypeVar("Result")

LOG_LINES: Final = 10
"""How much of a failed container's log is worth showing at once."""

MOST_INLINE: Final = 4 << 20
"""A server takes bodies of 8 MB by default, and a call grows by a third in JSON."""


class Operations(CallTable):
    """The methods of both clients: one for each call, and those of several calls."""

    connection: Any

    def __init__(self, server: Server) -> None:
        self._server = server
        self._calls = Calls(server)
        # While waiting: the least time between two questions, and how long a server may be away.
        self.pace_s = waiting.PACE_S
        self.patience_s = waiting.PATIENCE_S

    @property
    def url(self) -> str:
        """Where the server is."""
        url: str = self.connection.url
        return url

    @method
    def submit(self, submission: Submission) -> Conversation[str]:
        """Submit an application; its id. Raises Refused when the cluster does not take it.

        It belongs to `submission.user`, else to FAIRSHARE_USER, else to the user of the token, else
        to the user who runs this program. Calls that are too large for one request are uploaded
        first.
        """
        return (yield from self._submitting(submission))

    def _submitting(self, submission: Submission) -> Conversation[str]:
        sizes = sum(len(group.callable) for group in submission.tasks)
        if sizes > MOST_INLINE:
            digests: dict[bytes, str] = {}
            tasks = []
            for group in submission.tasks:
                if group.callable and group.callable not in digests:
                    digests[group.callable] = yield self._calls.upload(group.callable)
                payload = digests.get(group.callable)
                tasks.append(msgspec.structs.replace(group, callable=b"", payload=payload))
            submission = msgspec.structs.replace(submission, tasks=tuple(tasks))
        name: str = yield self._calls.submit_whole(submission)
        return name

    @method
    def log(self, container: str, stream: str = "stdout") -> Conversation[bytes]:
        """All that a container has printed so far."""
        return (yield from logs.whole(container, stream))

    @following
    def follow_log(self, container: str, stream: str = "stdout") -> Conversation[bytes]:
        """What a container has printed and will print, until it is over."""
        return (yield from logs.growing(container, stream, patience_s=self.patience_s))

    @following
    def watch(
        self, application: str | int, timeout_s: float | None = None
    ) -> Conversation[Application]:
        """The application after each change, and at last when it is over."""
        return (yield from self._watching(application, timeout_s))

    @method
    def wait(
        self, application: str | int, timeout_s: float | None = None
    ) -> Conversation[Application]:
        """The application when it is over, however it ended; raises WaitTimedOut."""
        return (yield from self._watching(application, timeout_s))

    def _watching(
        self, application: str | int, timeout_s: float | None
    ) -> Conversation[Application]:
        watch = waiting.Watch(application, timeout_s, self.pace_s, self.patience_s)
        while True:
            current: Application | None = None
            with watch.question():
                watch.version = yield self._calls.changes(watch.version, watch.poll_s)
                current = yield self._calls.application(application)
            if current is not None and not watch.absent:
                yield Yielded(current)
                if current.over:
                    return current
            yield Pause(watch.pause_s())

    @method
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
        max_attempts: int | None = None,
        time_limit_ms: int | None = None,
        timeout_s: float | None = None,
        python: str | None = None,
    ) -> Conversation[list[Result]]:
        """`[function(item) for item in items]`, each call in a container of its own.

        The results are in the order of the items. Raises ApplicationFailed when one call has
        failed `max_attempts` times (None: four, but a call that exceeds its time or memory fails at
        once); WaitTimedOut after `timeout_s`. Whatever ends the waiting
        early, Ctrl-C too, kills the application: no client would take its results.
        """
        arguments = list(items)
        if not arguments:
            return []
        call = _pickled(function, arguments)  # before the server is asked
        from fairshare.client.interpreter import choose_interpreter  # which only calls need

        interpreter = choose_interpreter((yield self._calls.cluster()), python)
        if interpreter.by_value:
            with interpreter.pickling():
                call = _pickled(function, arguments)
        group = TaskGroup(
            name="map",
            count=len(arguments),
            resources=dict(resources or DEFAULT_RESOURCES),
            callable=call,
            python=interpreter.python,
            environment=interpreter.environment(environment or {}),
            max_attempts=max_attempts,
            time_limit_ms=time_limit_ms,
        )
        named = name or getattr(function, "__name__", "map")
        submission = Submission(user=user, queue=queue, name=named, tasks=(group,))
        application = yield from self._submitting(submission)
        try:
            ended = yield from self._watching(application, timeout_s)
        except BaseException:
            with contextlib.suppress(FairshareError):  # the error that ended the waiting is raised
                kill = self._calls.kill(application, "No client waits for its results any more.")
                yield msgspec.structs.replace(kill, shielded=True)
            raise
        if ended.state != "FINISHED":
            log = yield from logs.failure(self._calls, application, LOG_LINES)
            raise ApplicationFailed(application, ended.state, ended.diagnostics, log)
        containers = {task.index: task.container for task in (yield self._calls.tasks(application))}
        found = []
        for index in range(len(arguments)):
            found.append((yield self._calls.result(containers[index] or "")))
        return found

    @method
    def failure_log(self, application: str | int, lines: int = LOG_LINES) -> Conversation[str]:
        """The end of what the last failed container wrote to stderr, else to stdout; may be ""."""
        return (yield from logs.failure(self._calls, application, lines))


def _pickled(function: Callable[[Any], Any], items: Sequence[object]) -> bytes:
    """What each task of a map runs; raises NotPicklable."""
    return callables.pickled(callables.call_by_index(function, items))
