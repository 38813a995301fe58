"""Owns the HTTP conversation of the client that waits in a loop: the same calls, the same failures.

What an answer means is said in `answers`; what a failure is called, in `connection`.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from fairshare.client.calls import Call, Conversation
from fairshare.client.connection import (
    CONNECT_TIMEOUT_S,
    READ_TIMEOUT_S,
    decoded,
    given,
    manners,
    octets,
    successful,
    unreachable,
    written,
)
from fairshare.client.discovery import UNIX
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
        transport = self._transport
        if transport is None and url.startswith(UNIX):
            path = url.removeprefix(UNIX)
            transport = httpx.AsyncHTTPTransport(verify=False, uds=path)
        self._http = httpx.AsyncClient(transport=transport, **manners(url, self._token))

    async def close(self) -> None:
        """Let the sockets go."""
        await self._http.aclose()

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
    ) -> httpx.Response:
        """The answer to a GET whose body is not JSON; parameters that are None are left out."""
        return await self._call("GET", path, wait_s=wait_s, params=given(parameters))

    async def post(self, path: str, body: object) -> Any:
        """The decoded JSON of a POST; None when the answer is empty. `body` becomes JSON."""
        response = await self._call("POST", path, **written(body))
        return self._decoded(response) if response.content else None

    async def put(self, path: str, content: bytes, *, wait_s: float = 0.0) -> Any:
        """The decoded JSON of a PUT of bytes."""
        return self._decoded(await self._call("PUT", path, wait_s=wait_s, **octets(content)))

    async def _call(
        self, method: str, path: str, *, wait_s: float = 0.0, **more: Any
    ) -> httpx.Response:
        read_s = READ_TIMEOUT_S + wait_s
        timeout = httpx.Timeout(read_s, connect=CONNECT_TIMEOUT_S)
        try:
            response = await self._http.request(method, path, timeout=timeout, **more)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            other = self._elsewhere()
            if other is not None and other != self.url:
                await self._http.aclose()
                self._turn_to(other)
                return await self._call(method, path, wait_s=wait_s, **more)
            raise unreachable(error, self.url, read_s) from error
        except httpx.HTTPError as error:
            raise unreachable(error, self.url, read_s) from error
        return successful(response, self.url)

    def _decoded(self, response: httpx.Response) -> Any:
        return decoded(response, self.url)
