"""Owns `AsyncClient`: what `Client` does, for programs that wait in an asyncio loop.

Each method is the one of the same name there, and says there what it means; those that follow
something are asynchronous iterators. A call that is cancelled lets go of its connection at once.
Knows no terminal.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
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
from fairshare.client.async_connection import AsyncConnection
from fairshare.client.calls import Calls, map_submission
from fairshare.client.client import LOG_LINES
from fairshare.client.discovery import Server
from fairshare.client.errors import ApplicationFailed
from fairshare.client.submissions import Submission
from fairshare.errors import FairshareError

Item = TypeVar("Item")
Result = TypeVar("Result")


class AsyncClient:
    """A fairshare server, found as `Client` finds it.

    >>> async with AsyncClient() as client:                              # doctest: +SKIP
    ...     squares = await client.map(lambda number: number * number, range(10))
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        server = Server(url, token)
        self._calls = Calls(server)
        self.connection = AsyncConnection(server.url, server.token, transport, server.elsewhere)
        # While waiting: the least time between two questions, and how long a server may be away.
        self.pace_s = waiting.PACE_S
        self.patience_s = waiting.PATIENCE_S

    @property
    def url(self) -> str:
        """Where the server is."""
        return self.connection.url

    async def cluster(self) -> Cluster:
        """The cluster as a whole."""
        return await self.connection.ask(self._calls.cluster())

    async def configuration(self) -> Configuration:
        """The configuration in force, and whether the files say something else."""
        return await self.connection.ask(self._calls.configuration())

    async def refresh_queues(self) -> Refreshed:
        """Let the server read its configuration again. Raises Refused with all problems."""
        return await self.connection.ask(self._calls.refresh_queues())

    async def labels(self) -> list[Label]:
        """The cluster's partitions (node labels), and the nodes of each."""
        return await self.connection.ask(self._calls.labels())

    async def add_labels(self, labels: Mapping[str, bool]) -> list[Label]:
        """Make partitions, by name: whether each is exclusive."""
        return await self.connection.ask(self._calls.change_labels("add", labels=dict(labels)))

    async def remove_labels(self, labels: Sequence[str]) -> list[Label]:
        """Remove partitions that no queue names."""
        return await self.connection.ask(self._calls.change_labels("remove", labels=list(labels)))

    async def label_nodes(self, nodes: Mapping[str, str], *, known: bool = False) -> list[Label]:
        """Put nodes into partitions; "" is the default one."""
        return await self.connection.ask(
            self._calls.change_labels("assign", nodes=dict(nodes), known=known)
        )

    async def order_nodes(self, verb: str, nodes: Sequence[str], **more: int) -> tuple[Node, ...]:
        """`drain`, `undrain` or `decommission` (with `timeout_ms`) nodes; all nodes as they are."""
        return await self.connection.ask(self._calls.order_nodes(verb, nodes, more))

    async def safe_mode(self) -> bool:
        """Whether nothing is admitted and granted."""
        return await self.connection.ask(self._calls.safe_mode())

    async def set_safe_mode(self, on: bool) -> bool:
        """Admit and grant nothing any more, or again."""
        return await self.connection.ask(self._calls.set_safe_mode(on))

    async def properties(self) -> Properties:
        """The scheduler's properties. Raises Refused where only a file can change them."""
        return await self.connection.ask(self._calls.properties())

    async def change_configuration(
        self, update: Mapping[str, Any], *, check: bool = False
    ) -> Properties:
        """Change properties by a document as Hadoop's `scheduler-conf` takes it; with `check` only
        see what would come of it. Raises Refused with all that is wrong: nothing has changed then.
        """
        return await self.connection.ask(self._calls.change_configuration(update, check))

    async def format_configuration(self) -> Properties:
        """Forget all changes: the file holds again."""
        return await self.connection.ask(self._calls.format_configuration())

    async def queues(self) -> tuple[Queue, ...]:
        """All queues, the root first."""
        return await self.connection.ask(self._calls.queues())

    async def nodes(self) -> tuple[Node, ...]:
        """All nodes."""
        return await self.connection.ask(self._calls.nodes())

    async def applications(
        self,
        *,
        state: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        limit: int | None = None,
    ) -> tuple[Application, ...]:
        """The applications of that state, user and queue, the newest first."""
        return await self.connection.ask(
            self._calls.applications(state=state, user=user, queue=queue, limit=limit)
        )

    async def application(self, application: str | int) -> Application:
        """One application with its groups, its live containers and its diagnostics."""
        return await self.connection.ask(self._calls.application(application))

    async def reasons(self, application: str | int) -> tuple[Reason, ...]:
        """Why an application waits, the weightiest reason first; none if it waits for nothing."""
        return await self.connection.ask(self._calls.reasons(application))

    async def tasks(self, application: str | int) -> tuple[Task, ...]:
        """Every task of an application."""
        return await self.connection.ask(self._calls.tasks(application))

    async def containers(self, application: str | int) -> tuple[Container, ...]:
        """Every container of an application, alive or over."""
        return await self.connection.ask(self._calls.containers(application))

    async def changes(self, since: int = 0, timeout_s: int = 0) -> int:
        """The version of the cluster's state: when it is not `since`, or after the timeout."""
        return await self.connection.ask(self._calls.changes(since, timeout_s))

    async def submit(self, submission: Submission) -> str:
        """Hand an application in; its id. Raises Refused when the cluster does not take it.

        It belongs to `submission.user`, else to FAIRSHARE_USER, else to who has the token, else to
        who runs this program.
        """
        return await self.connection.ask(self._calls.submit(submission))

    async def kill(self, application: str | int, diagnostics: str | None = None) -> None:
        """End an application; `diagnostics` tells its user why."""
        await self.connection.ask(self._calls.kill(application, diagnostics))

    async def move(self, application: str | int, queue: str) -> None:
        """Put an application into another queue; its containers go on."""
        await self.connection.ask(self._calls.move(application, queue))

    async def set_priority(self, application: str | int, priority: int) -> None:
        """Change an application's priority."""
        await self.connection.ask(self._calls.set_priority(application, priority))

    async def stop_container(self, container: str) -> None:
        """End one container as if it had failed: its task runs again."""
        await self.connection.ask(self._calls.stop_container(container))

    async def shutdown(self, *, stop_containers: bool | None = None) -> Stopping:
        """End the server. Containers that live on are found again by the next server of its state.

        With None they live on, unless the server was started with --stop-containers. The answer
        says which, and how much was running.
        """
        return await self.connection.ask(self._calls.shutdown(stop_containers))

    async def log(self, container: str, stream: str = "stdout") -> bytes:
        """All that a container has printed so far."""
        parts = []
        offset = 0
        while True:
            chunk = await self.connection.ask(logs.part(container, stream, offset))
            if chunk.advance:
                parts.append(chunk.shown)
            if chunk.complete or not chunk.advance:
                return b"".join(parts)
            offset += chunk.advance

    async def follow_log(self, container: str, stream: str = "stdout") -> AsyncIterator[bytes]:
        """What a container has printed and will print, until it is over."""
        offset = 0
        patience = waiting.Patience(self.patience_s)
        while True:
            chunk = logs.Chunk(b"", complete=False)
            with patience.outlast_absence():
                chunk = await self.connection.ask(logs.part(container, stream, offset))
            if chunk.advance:
                yield chunk.shown
                offset += chunk.advance
            if chunk.complete:
                return
            if not chunk.advance:
                await asyncio.sleep(logs.PACE_S)

    async def result(self, container: str) -> Any:
        """What the Python callable returned that a container ran; raises NotPicklable."""
        return await self.connection.ask(self._calls.result(container))

    async def watch(
        self, application: str | int, timeout_s: float | None = None
    ) -> AsyncIterator[Application]:
        """The application as it stands, after each change, and at last when it is over."""
        watch = waiting.Watch(application, timeout_s, self.pace_s, self.patience_s)
        while True:
            current: Application | None = None
            with watch.question():
                watch.version = await self.changes(watch.version, watch.poll_s)
                current = await self.application(application)
            if current is not None and not watch.absent:
                yield current
                if current.over:
                    return
            await asyncio.sleep(watch.pause_s())

    async def wait(self, application: str | int, timeout_s: float | None = None) -> Application:
        """The application when it is over, however it ended; raises WaitTimedOut."""
        last: Application | None = None
        async for current in self.watch(application, timeout_s):
            last = current
        assert last is not None  # a watch yields at least once, or raises
        return last

    async def map(
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
        """`[function(item) for item in items]`, each call in a container of its own."""
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
        application = await self.submit(submission)
        try:
            ended = await self.wait(application, timeout_s)
        except BaseException:
            with contextlib.suppress(FairshareError):  # what ended the waiting is to be told
                told = self.kill(application, "Nobody waits for its results any more.")
                await asyncio.shield(told)
            raise
        if ended.state != "FINISHED":
            log = await self.failure_log(application)
            raise ApplicationFailed(application, ended.state, ended.diagnostics, log)
        return await self.connection.converse(self._calls.results(application, len(given)))

    async def failure_log(self, application: str | int, lines: int = LOG_LINES) -> str:
        """The end of what the last failed container wrote to stderr, else to stdout; may be ""."""
        failure = logs.failure(self._calls, application, lines)
        return await self.connection.converse(failure)

    async def close(self) -> None:
        """Let the connection go; applications go on."""
        await self.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
