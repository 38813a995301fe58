"""Owns `AsyncClient`: what `Client` does, for programs that wait in an asyncio loop.

The REST calls of both are described once, in `calls`; the methods here that follow something are
asynchronous iterators. A cancelled call closes its connection at once. Knows no terminal. Its HTTP
conversation (`AsyncConnection`) has the same calls and the same failures: what an answer means is
said in `answers`, what a failure is called in `connection`.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Self, TypeVar

import httpx

from fairshare.client import logs, waiting
from fairshare.client.answers import Application
from fairshare.client.calls import (
    Call,
    Calls,
    CallTable,
    Conversation,
    map_call,
    map_submission,
    results,
    submitting,
)
from fairshare.client.client import LOG_LINES
from fairshare.client.connection import (
    decoded,
    get_request,
    post_request,
    put_request,
    successful,
    unreachable,
)
from fairshare.client.discovery import Server
from fairshare.client.errors import ApplicationFailed
from fairshare.client.exchange import ExchangeFailed, NotConnected, Reply, Request
from fairshare.client.httpx_exchange import AsyncHttpxExchange
from fairshare.client.interpreter import choose_interpreter
from fairshare.client.methods import SentInLoop
from fairshare.client.submissions import Submission
from fairshare.errors import FairshareError

Answer = TypeVar("Answer")
Item = TypeVar("Item")
Result = TypeVar("Result")


class AsyncConnection:
    """One server, and the calls to it; of one loop alone. The arguments are those of Connection.

    A call raises ServerUnreachable, Refused or AnswerNotUnderstood and nothing else.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        elsewhere: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._token = token
        self._transport = transport
        self._elsewhere = elsewhere
        self._turn_to(url)

    def _turn_to(self, url: str) -> None:
        self.url = url
        self._exchange = AsyncHttpxExchange(url, self._token, self._transport)

    async def close(self) -> None:
        """Let the sockets go."""
        await self._exchange.close()

    async def ask(self, call: Call[Answer]) -> Answer:
        """What one call of `calls` comes to."""
        if call.body is not None:
            return call.understand(await self.post(call.path, call.body))
        if call.content:
            return call.understand(await self.put(call.path, call.content, wait_s=call.wait_s))
        send = self.get_response if call.whole else self.get
        return call.understand(await send(call.path, wait_s=call.wait_s, **call.parameters))

    async def converse(self, conversation: Conversation[Result]) -> Result:
        """What a conversation of several calls comes to."""
        try:
            call = next(conversation)
            while True:
                try:
                    answer = await self.ask(call)
                except FairshareError as error:
                    call = conversation.throw(error)
                else:
                    call = conversation.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result

    async def get(
        self, path: str, *, wait_s: float = 0.0, **parameters: str | int | float | None
    ) -> Any:
        """The decoded JSON of a GET. `wait_s` is how long the server may take on purpose."""
        return self._decoded(await self.get_response(path, wait_s=wait_s, **parameters))

    async def get_response(
        self, path: str, *, wait_s: float = 0.0, **parameters: str | int | float | None
    ) -> Reply:
        """The answer to a GET whose body is not JSON; parameters that are None are left out."""
        return await self._call(get_request(path, wait_s, parameters))

    async def post(self, path: str, body: object) -> Any:
        """The decoded JSON of a POST; None when the answer is empty. `body` becomes JSON."""
        reply = await self._call(post_request(path, body))
        return self._decoded(reply) if reply.content else None

    async def put(self, path: str, content: bytes, *, wait_s: float = 0.0) -> Any:
        """The decoded JSON of a PUT of bytes."""
        return self._decoded(await self._call(put_request(path, content, wait_s)))

    async def _call(self, request: Request) -> Reply:
        try:
            reply = await self._exchange.send(request)
        except NotConnected as error:
            other = self._elsewhere()
            if other is not None and other != self.url:
                await self._exchange.close()
                self._turn_to(other)
                return await self._call(request)
            raise unreachable(error, self.url, request.read_s) from error
        except ExchangeFailed as error:
            raise unreachable(error, self.url, request.read_s) from error
        return successful(reply, self.url)

    def _decoded(self, reply: Reply) -> Any:
        return decoded(reply, self.url)


class AsyncClient(CallTable, SentInLoop):
    """A fairshare server, found as `Client` finds it.

    >>> async with AsyncClient() as client:                              # doctest: +SKIP
    ...     squares = await client.map(lambda number: number * number, range(10))
    """

    connection: AsyncConnection

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        server = Server(url, token)
        self._server = server
        self._calls = Calls(server)
        self.connection = AsyncConnection(server.url, server.token, transport, server.elsewhere)
        # While waiting: the least time between two questions, and how long a server may be away.
        self.pace_s = waiting.PACE_S
        self.patience_s = waiting.PATIENCE_S

    @property
    def url(self) -> str:
        """Where the server is."""
        return self.connection.url

    async def submit(self, submission: Submission) -> str:
        """Submit an application; its id. Raises Refused when the cluster does not take it.

        It belongs to `submission.user`, else to FAIRSHARE_USER, else to the user of the token, else
        to the user who runs this program. Calls that are too large for one request are uploaded
        first.
        """
        return await self.connection.converse(submitting(self._calls, submission))

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

    async def watch(
        self, application: str | int, timeout_s: float | None = None
    ) -> AsyncIterator[Application]:
        """The application after each change, and at last when it is over."""
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
        python: str | None = None,
    ) -> list[Result]:
        """`[function(item) for item in items]`, each call in a container of its own."""
        given = list(items)
        if not given:
            return []
        call = map_call(function, given)  # before the server is asked
        interpreter = choose_interpreter(await self.cluster(), python)
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
        application = await self.submit(submission)
        try:
            ended = await self.wait(application, timeout_s)
        except BaseException:
            with contextlib.suppress(FairshareError):  # the error that ended the waiting is raised
                killed = self.kill(application, "No client waits for its results any more.")
                await asyncio.shield(killed)
            raise
        if ended.state != "FINISHED":
            log = await self.failure_log(application)
            raise ApplicationFailed(application, ended.state, ended.diagnostics, log)
        return await self.connection.converse(results(self._calls, application, len(given)))

    async def failure_log(self, application: str | int, lines: int = LOG_LINES) -> str:
        """The end of what the last failed container wrote to stderr, else to stdout; may be ""."""
        failure = logs.failure(self._calls, application, lines)
        return await self.connection.converse(failure)

    async def close(self) -> None:
        """Let the connection go; applications go on."""
        await self.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
