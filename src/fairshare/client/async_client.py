"""Owns `AsyncClient`: what `Client` does, for programs that wait in an asyncio loop.

Each method is the one of the same name there, and says there what it means; those that follow
something are asynchronous iterators. A call that is cancelled lets go of its connection at once.
Knows no terminal.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import msgspec

from fairshare.client import callables, logs, waiting
from fairshare.client.answers import (
    Application,
    Cluster,
    Configuration,
    Container,
    Label,
    Labels,
    Node,
    Properties,
    Queue,
    Reason,
    Refreshed,
    SafeMode,
    Task,
    listed,
    understood,
)
from fairshare.client.async_connection import AsyncConnection
from fairshare.client.client import LOG_LINES
from fairshare.client.connection import segment
from fairshare.client.discovery import (
    TOKEN_VARIABLE,
    USER_VARIABLE,
    checked_url,
    find_url,
    own_user,
    published_url,
)
from fairshare.client.errors import ApplicationFailed, Refused, WaitTimedOut
from fairshare.client.submissions import DEFAULT_RESOURCES, Submission, TaskGroup
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
        found = checked_url(url, "the given URL") if url else find_url()
        token = token or os.environ.get(TOKEN_VARIABLE)
        self._proven = token is not None
        elsewhere = (lambda: None) if url else published_url
        self.connection = AsyncConnection(found, token, transport, elsewhere)
        self.pace_s = waiting.PACE_S
        self.patience_s = waiting.PATIENCE_S

    def _user(self) -> str | None:
        return os.environ.get(USER_VARIABLE) if self._proven else own_user()

    def _actor(self) -> dict[str, str]:
        user = self._user()
        return {} if user is None else {"user": user}

    @property
    def url(self) -> str:
        """Where the server is."""
        return self.connection.url

    async def cluster(self) -> Cluster:
        """The cluster as a whole."""
        return understood(await self.connection.get("/cluster"), Cluster)

    async def configuration(self) -> Configuration:
        """The configuration in force, and whether the files say something else."""
        return understood(await self.connection.get("/configuration"), Configuration)

    async def refresh_queues(self) -> Refreshed:
        """Let the server read its configuration again. Raises Refused with all problems."""
        return understood(
            await self.connection.post("/admin/refresh-queues", self._actor()), Refreshed
        )

    async def labels(self) -> list[Label]:
        """The cluster's partitions (node labels), and the nodes of each."""
        return understood(await self.connection.get("/labels"), Labels).labels

    async def add_labels(self, labels: Mapping[str, bool]) -> list[Label]:
        """Make partitions, by name: whether each is exclusive."""
        return await self._change_labels("add", {"labels": dict(labels)})

    async def remove_labels(self, labels: Sequence[str]) -> list[Label]:
        """Remove partitions that no queue names."""
        return await self._change_labels("remove", {"labels": list(labels)})

    async def label_nodes(self, nodes: Mapping[str, str], *, known: bool = False) -> list[Label]:
        """Put nodes into partitions; "" is the default one."""
        return await self._change_labels("assign", {"nodes": dict(nodes), "known": known})

    async def _change_labels(self, verb: str, body: dict[str, Any]) -> list[Label]:
        found = await self.connection.post(f"/admin/labels/{verb}", {**body, **self._actor()})
        return understood(found, Labels).labels

    async def order_nodes(self, verb: str, nodes: Sequence[str], **more: int) -> tuple[Node, ...]:
        """`drain`, `undrain` or `decommission` (with `timeout_ms`) nodes; all nodes as they are."""
        body = {"nodes": list(nodes), **more, **self._actor()}
        found = await self.connection.post(f"/admin/nodes/{verb}", body)
        return listed(found, "nodes", Node)

    async def safe_mode(self) -> bool:
        """Whether nothing is admitted and granted."""
        return understood(await self.connection.get("/admin/safe-mode"), SafeMode).safe_mode

    async def set_safe_mode(self, on: bool) -> bool:
        """Admit and grant nothing any more, or again."""
        found = await self.connection.post("/admin/safe-mode", {"on": on, **self._actor()})
        return understood(found, SafeMode).safe_mode

    async def properties(self) -> Properties:
        """The scheduler's properties. Raises Refused where only a file can change them."""
        return understood(await self.connection.get("/configuration/properties"), Properties)

    async def change_configuration(
        self, update: Mapping[str, Any], *, check: bool = False
    ) -> Properties:
        """Change properties by a document as Hadoop's `scheduler-conf` takes it; with `check` only
        see what would come of it. Raises Refused with all that is wrong: nothing has changed then.
        """
        body = {"update": update, "check": check, **self._actor()}
        return understood(await self.connection.post("/admin/configuration", body), Properties)

    async def format_configuration(self) -> Properties:
        """Forget all changes: the file holds again."""
        answer = await self.connection.post("/admin/configuration/format", self._actor())
        return understood(answer, Properties)

    async def queues(self) -> tuple[Queue, ...]:
        """All queues, the root first."""
        return listed(await self.connection.get("/queues"), "queues", Queue)

    async def nodes(self) -> tuple[Node, ...]:
        """All nodes."""
        return listed(await self.connection.get("/nodes"), "nodes", Node)

    async def applications(
        self,
        *,
        state: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        limit: int | None = None,
    ) -> tuple[Application, ...]:
        """The applications of that state, user and queue, the newest first."""
        answer = await self.connection.get(
            "/applications", state=state, user=user, queue=queue, limit=limit
        )
        return listed(answer, "applications", Application)

    async def application(self, application: str | int) -> Application:
        """One application with its groups, its live containers and its diagnostics."""
        return understood(await self.connection.get(_path(application)), Application)

    async def reasons(self, application: str | int) -> tuple[Reason, ...]:
        """Why an application waits, the weightiest reason first; none if it waits for nothing."""
        return listed(await self.connection.get(_path(application, "reasons")), "reasons", Reason)

    async def tasks(self, application: str | int) -> tuple[Task, ...]:
        """Every task of an application."""
        return listed(await self.connection.get(_path(application, "tasks")), "tasks", Task)

    async def containers(self, application: str | int) -> tuple[Container, ...]:
        """Every container of an application, alive or over."""
        answer = await self.connection.get(_path(application, "containers"))
        return listed(answer, "containers", Container)

    async def changes(self, since: int = 0, timeout_s: int = 0) -> int:
        """The version of the cluster's state: when it is not `since`, or after the timeout."""
        answer = await self.connection.get(
            "/changes", wait_s=timeout_s, since=since, timeout=timeout_s
        )
        return understood(understood(answer, dict[str, Any]).get("version"), int)

    async def submit(self, submission: Submission) -> str:
        """Hand an application in; its id. Raises Refused when the cluster does not take it.

        It belongs to `submission.user`, else to FAIRSHARE_USER, else to who has the token, else to
        who runs this program.
        """
        if submission.user is None:
            submission = msgspec.structs.replace(submission, user=self._user())
        answer = understood(await self.connection.post("/applications", submission), dict[str, Any])
        return understood(answer.get("id"), str)

    async def kill(self, application: str | int, diagnostics: str | None = None) -> None:
        """End an application; `diagnostics` tells its user why."""
        body = {} if diagnostics is None else {"diagnostics": diagnostics}
        await self.connection.post(_path(application, "kill"), {**body, **self._actor()})

    async def move(self, application: str | int, queue: str) -> None:
        """Put an application into another queue; its containers go on."""
        await self.connection.post(_path(application, "move"), {"queue": queue, **self._actor()})

    async def set_priority(self, application: str | int, priority: int) -> None:
        """Change an application's priority."""
        body = {"priority": priority, **self._actor()}
        await self.connection.post(_path(application, "priority"), body)

    async def stop_container(self, container: str) -> None:
        """End one container as if it had failed: its task runs again."""
        await self.connection.post(f"/containers/{segment(container)}/stop", self._actor())

    async def shutdown(self, *, stop_containers: bool | None = None) -> None:
        """End the server. Containers that live on are found again by the next server of its state.

        With None they live or end as the server was told when it was started.
        """
        body = {} if stop_containers is None else {"stop_containers": stop_containers}
        await self.connection.post("/shutdown", {**body, **self._actor()})

    async def log(self, container: str, stream: str = "stdout") -> bytes:
        """All that a container has printed so far."""
        parts = []
        offset = 0
        while True:
            chunk = await self._read(container, stream, offset)
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
                chunk = await self._read(container, stream, offset)
            if chunk.advance:
                yield chunk.shown
                offset += chunk.advance
            if chunk.complete:
                return
            if not chunk.advance:
                await asyncio.sleep(logs.PACE_S)

    async def _read(self, container: str, stream: str, offset: int) -> logs.Chunk:
        path = f"/containers/{segment(container)}/logs/{segment(stream)}"
        answer = await self.connection.get_response(path, offset=offset, limit=logs.CHUNK_BYTES)
        return logs.chunk_of(answer)

    async def result(self, container: str) -> Any:
        """What the Python callable returned that a container ran; raises NotPicklable."""
        path = f"/containers/{segment(container)}/result"
        response = await self.connection.get_response(path)
        return callables.unpickled(response.content, container)

    async def watch(
        self, application: str | int, timeout_s: float | None = None
    ) -> AsyncIterator[Application]:
        """The application as it stands, after each change, and at last when it is over."""
        began_s = time.monotonic()
        patience = waiting.Patience(self.patience_s)
        version = 0
        while True:
            asked_s = time.monotonic()
            current: Application | None = None
            with patience.outlast_absence():
                poll_s = waiting.poll_s(began_s, timeout_s) if version else 0
                version = await self.changes(version, poll_s)
                current = await self.application(application)
            if patience.absent or current is None:
                version = 0  # a server that was started again counts anew
            else:
                yield current
                if current.over:
                    return
            if timeout_s is not None and time.monotonic() - began_s >= timeout_s:
                raise WaitTimedOut(str(application), timeout_s)
            await asyncio.sleep(max(0.0, asked_s + self.pace_s - time.monotonic()))

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
        group = TaskGroup(
            name="map",
            count=len(given),
            resources=dict(resources or DEFAULT_RESOURCES),
            callable=callables.pickled(callables.call_by_index(function, given)),
            environment=dict(environment or {}),
            max_attempts=max_attempts,
            time_limit_ms=time_limit_ms,
        )
        named = name or getattr(function, "__name__", "map")
        application = await self.submit(
            Submission(user=user, queue=queue, name=named, tasks=(group,))
        )
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
        containers = {task.index: task.container for task in await self.tasks(application)}
        return [await self.result(containers[index] or "") for index in range(len(given))]

    async def failure_log(self, application: str | int, lines: int = LOG_LINES) -> str:
        """The end of what the last failed container wrote to stderr, else to stdout; may be ""."""
        failed = [one for one in await self.containers(application) if one.failed]
        for container in sorted(failed, key=lambda one: one.finished_ms or 0, reverse=True)[:1]:
            for stream in ("stderr", "stdout"):
                try:
                    text = (await self.log(container.id, stream)).decode(errors="replace")
                except Refused:  # its files are already cleaned away
                    continue
                if text.strip():
                    return "\n".join(text.splitlines()[-lines:])
        return ""

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


def _path(application: str | int, call: str = "") -> str:
    path = f"/applications/{segment(str(application))}"
    return f"{path}/{call}" if call else path
