"""Owns the HTTP conversation of the client that waits in a loop: the same calls, the same failures.

What an answer means is said in `answers`; what a failure is called, in `connection`.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from fairshare.client.calls import Call, Conversation
from fairshare.client.connection import (
    decoded,
    get_request,
    post_request,
    put_request,
    successful,
    unreachable,
)
from fairshare.client.exchange import ExchangeFailed, NotConnected, Reply, Request
from fairshare.client.httpx_exchange import AsyncHttpxExchange
from fairshare.errors import FairshareError

Answer = TypeVar("Answer")
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
