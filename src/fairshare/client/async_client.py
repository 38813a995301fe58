"""`AsyncClient`: what `Client` does, for programs that wait in an asyncio loop.

The methods of both are described once, in `calls` and `operations`; those that follow something are
asynchronous iterators. A cancelled call closes its connection at once. What an answer means is said
in `answers`, what a failure is called in `connection`.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self, TypeVar

import httpx

from fairshare.client.connection import Address, Search, answer_of, leading, request_of
from fairshare.client.discovery import Server
from fairshare.client.exchange import ExchangeFailed
from fairshare.client.httpx_exchange import AsyncHttpxExchange
from fairshare.client.methods import Call, Conversation, Pause, SentInLoop, concluded
from fairshare.client.operations import Operations

Answer = TypeVar("Answer")
Result = TypeVar("Result")


class AsyncConnection(Address[AsyncHttpxExchange]):
    """One server, and the calls to it; of one loop alone. Its methods do what those of Connection
    do."""

    def _exchange_with(self, url: str) -> AsyncHttpxExchange:
        return AsyncHttpxExchange(url, self._token, self._transport)

    async def close(self) -> None:
        """Let the sockets go."""
        await self._exchange.close()

    async def ask(self, call: Call[Answer]) -> Answer:
        """What one call of `calls` comes to."""
        request = request_of(call)
        search = Search()
        while True:
            try:
                reply = leading(await self._exchange.send(request))
            except ExchangeFailed as error:
                successor, pause_s = self._successor(error, request, search)
                await asyncio.sleep(pause_s)
                await self._exchange.close()
                self._turn_to(successor)
            else:
                return answer_of(call, reply, self.url)

    async def follow(self, conversation: Conversation[Any]) -> AsyncIterator[Any]:
        """What a conversation shows, as soon as it does."""
        answer, error = None, None
        while True:
            try:
                step = conversation.throw(error) if error else conversation.send(answer)
            except StopIteration:
                return
            finally:
                answer, error = None, None  # an error that is raised would lead to itself
            try:
                if isinstance(step, Call):
                    asked = self.ask(step)
                    answer = await (asyncio.shield(asked) if step.shielded else asked)
                elif isinstance(step, Pause):
                    await asyncio.sleep(step.duration_s)
                else:
                    yield step.value
            except BaseException as raised:
                error = raised

    async def converse(self, conversation: Conversation[Result]) -> Result:
        """What a conversation returns."""
        result: Any = None
        async for result in self.follow(concluded(conversation)):  # noqa: B007 - the last one
            pass
        returned: Result = result
        return returned


class AsyncClient(Operations, SentInLoop):
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
        super().__init__(server)
        self.connection = AsyncConnection(server.url, server.token, transport, server.elsewhere)

    async def close(self) -> None:
        """Let the connection go; applications go on."""
        await self.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
