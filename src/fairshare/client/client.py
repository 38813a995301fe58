"""Owns what a user of a cluster can do and see from Python. Knows no terminal.

Each method is one call of the REST interface, except `watch`, `wait`, `map` and `failure_log`,
which are made of others. All raise ServerUnreachable, Refused or AnswerNotUnderstood.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from fairshare.client import logs, waiting
from fairshare.client.answers import (
    Application,
    Cluster,
    Configuration,
    Container,
    Label,
    Node,
    Properties,
    Queue,
    Reason,
    Refreshed,
    Stopping,
    Task,
)
from fairshare.client.calls import Calls, map_submission
from fairshare.client.connection import Connection
from fairshare.client.discovery import Server
from fairshare.client.errors import ApplicationFailed
from fairshare.client.submissions import Submission
from fairshare.errors import FairshareError

Item = TypeVar("Item")
Result = TypeVar("Result")

LOG_LINES = 10
"""How much of a failed container's log is worth showing at once."""


class Client:
    """A fairshare server. Without `url` it is found by FAIRSHARE_URL or in the state directory.

    >>> with Client() as client:                                         # doctest: +SKIP
    ...     group = TaskGroup(name="hello", count=3, arguments=("echo", "hello"),
    ...                       resources={"memory-mb": 256, "vcores": 1})
    ...     application = client.submit(Submission(queue="research", tasks=(group,)))
    ...     client.wait(application)
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        server = Server(url, token)
        self._calls = Calls(server)
        self.connection = Connection(server.url, server.token, transport, server.elsewhere)
        # While waiting: the least time between two questions, and how long a server may be away.
        self.pace_s = waiting.PACE_S
        self.patience_s = waiting.PATIENCE_S

    @property
    def url(self) -> str:
        """Where the server is."""
        return self.connection.url

    def cluster(self) -> Cluster:
        """The cluster as a whole."""
        return self.connection.ask(self._calls.cluster())

    def configuration(self) -> Configuration:
        """The configuration in force, and whether the files say something else."""
        return self.connection.ask(self._calls.configuration())

    def refresh_queues(self) -> Refreshed:
        """Let the server read its configuration again. Raises Refused with all problems."""
        return self.connection.ask(self._calls.refresh_queues())

    def labels(self) -> list[Label]:
        """The cluster's partitions (node labels), and the nodes of each."""
        return self.connection.ask(self._calls.labels())

    def add_labels(self, labels: Mapping[str, bool]) -> list[Label]:
        """Make partitions, by name: whether each is exclusive."""
        return self.connection.ask(self._calls.change_labels("add", labels=dict(labels)))

    def remove_labels(self, labels: Sequence[str]) -> list[Label]:
        """Remove partitions that no queue names."""
        return self.connection.ask(self._calls.change_labels("remove", labels=list(labels)))

    def label_nodes(self, nodes: Mapping[str, str], *, known: bool = False) -> list[Label]:
        """Put nodes into partitions; "" is the default one."""
        return self.connection.ask(
            self._calls.change_labels("assign", nodes=dict(nodes), known=known)
        )

    def order_nodes(self, verb: str, nodes: Sequence[str], **more: int) -> tuple[Node, ...]:
        """`drain`, `undrain` or `decommission` (with `timeout_ms`) nodes; all nodes as they are."""
        return self.connection.ask(self._calls.order_nodes(verb, nodes, more))

    def safe_mode(self) -> bool:
        """Whether nothing is admitted and granted."""
        return self.connection.ask(self._calls.safe_mode())

    def set_safe_mode(self, on: bool) -> bool:
        """Admit and grant nothing any more, or again."""
        return self.connection.ask(self._calls.set_safe_mode(on))

    def properties(self) -> Properties:
        """The scheduler's properties. Raises Refused where only a file can change them."""
        return self.connection.ask(self._calls.properties())

    def change_configuration(self, update: Mapping[str, Any], *, check: bool = False) -> Properties:
        """Change properties by a document as Hadoop's `scheduler-conf` takes it; with `check` only
        see what would come of it. Raises Refused with all that is wrong: nothing has changed then.
        """
        return self.connection.ask(self._calls.change_configuration(update, check))

    def format_configuration(self) -> Properties:
        """Forget all changes: the file holds again."""
        return self.connection.ask(self._calls.format_configuration())

    def queues(self) -> tuple[Queue, ...]:
        """All queues, the root first."""
        return self.connection.ask(self._calls.queues())

    def nodes(self) -> tuple[Node, ...]:
        """All nodes."""
        return self.connection.ask(self._calls.nodes())

    def applications(
        self,
        *,
        state: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        limit: int | None = None,
    ) -> tuple[Application, ...]:
        """The applications of that state, user and queue, the newest first."""
        return self.connection.ask(
            self._calls.applications(state=state, user=user, queue=queue, limit=limit)
        )

    def application(self, application: str | int) -> Application:
        """One application with its groups, its live containers and its diagnostics."""
        return self.connection.ask(self._calls.application(application))

    def reasons(self, application: str | int) -> tuple[Reason, ...]:
        """Why an application waits, the weightiest reason first; none if it waits for nothing."""
        return self.connection.ask(self._calls.reasons(application))

    def tasks(self, application: str | int) -> tuple[Task, ...]:
        """Every task of an application."""
        return self.connection.ask(self._calls.tasks(application))

    def containers(self, application: str | int) -> tuple[Container, ...]:
        """Every container of an application, alive or over."""
        return self.connection.ask(self._calls.containers(application))

    def changes(self, since: int = 0, timeout_s: int = 0) -> int:
        """The version of the cluster's state: when it is not `since`, or after the timeout."""
        return self.connection.ask(self._calls.changes(since, timeout_s))

    def submit(self, submission: Submission) -> str:
        """Hand an application in; its id. Raises Refused when the cluster does not take it.

        It belongs to `submission.user`, else to FAIRSHARE_USER, else to who has the token, else to
        who runs this program.
        """
        return self.connection.ask(self._calls.submit(submission))

    def kill(self, application: str | int, diagnostics: str | None = None) -> None:
        """End an application; `diagnostics` tells its user why."""
        self.connection.ask(self._calls.kill(application, diagnostics))

    def move(self, application: str | int, queue: str) -> None:
        """Put an application into another queue; its containers go on."""
        self.connection.ask(self._calls.move(application, queue))

    def set_priority(self, application: str | int, priority: int) -> None:
        """Change an application's priority."""
        self.connection.ask(self._calls.set_priority(application, priority))

    def stop_container(self, container: str) -> None:
        """End one container as if it had failed: its task runs again."""
        self.connection.ask(self._calls.stop_container(container))

    def shutdown(self, *, stop_containers: bool | None = None) -> Stopping:
        """End the server. Containers that live on are found again by the next server of its state.

        With None they live on, unless the server was started with --stop-containers. The answer
        says which, and how much was running.
        """
        return self.connection.ask(self._calls.shutdown(stop_containers))

    def log(self, container: str, stream: str = "stdout") -> bytes:
        """All that a container has printed so far."""
        return b"".join(logs.read_all(self.connection, container, stream))

    def follow_log(self, container: str, stream: str = "stdout") -> Iterator[bytes]:
        """What a container has printed and will print, until it is over."""
        return logs.follow(self.connection, container, stream)

    def result(self, container: str) -> Any:
        """What the Python callable returned that a container ran; raises NotPicklable."""
        return self.connection.ask(self._calls.result(container))

    def watch(
        self, application: str | int, timeout_s: float | None = None
    ) -> Iterator[Application]:
        """The application as it stands, after each change, and at last when it is over."""
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
    ) -> list[Result]:
        """`[function(item) for item in items]`, each call in a container of its own.

        The results stand in the order of the items. Raises ApplicationFailed when one call has
        failed `max_attempts` times; WaitTimedOut after `timeout_s`. Whatever ends the waiting
        early, Ctrl-C too, kills the application: nobody would take its results.
        """
        given = list(items)
        if not given:
            return []
        submission = map_submission(
            function,
            given,
            name=name,
            user=user,
            queue=queue,
            resources=resources,
            environment=environment,
            max_attempts=max_attempts,
            time_limit_ms=time_limit_ms,
        )
        application = self.submit(submission)
        try:
            ended = self.wait(application, timeout_s)
        except BaseException:
            with contextlib.suppress(FairshareError):  # what ended the waiting is to be told
                self.kill(application, "Nobody waits for its results any more.")
            raise
        if ended.state != "FINISHED":
            log = self.failure_log(application)
            raise ApplicationFailed(application, ended.state, ended.diagnostics, log)
        return self.connection.converse(self._calls.results(application, len(given)))

    def failure_log(self, application: str | int, lines: int = LOG_LINES) -> str:
        """The end of what the last failed container wrote to stderr, else to stdout; may be ""."""
        failure = logs.failure(self._calls, application, lines)
        return self.connection.converse(failure)

    def close(self) -> None:
        """Let the connection go; applications go on."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
