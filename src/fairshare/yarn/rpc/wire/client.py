"""Calls to other processes of Hadoop, in practice to NodeManagers.

Connections are kept by address and login, shared by the calls that are open at once, and closed
when no call has used them for a while, before the other side does it.
"""

import asyncio
import itertools
from secrets import token_bytes
from typing import Any

from google.protobuf.message import DecodeError
from msgspec import Struct

from fairshare.errors import FairshareError
from fairshare.wording import cause
from fairshare.yarn.rpc.wire import framing, sasl
from fairshare.yarn.rpc.wire.descriptors import METHODS
from fairshare.yarn.rpc.wire.framing import Malformed
from fairshare.yarn.rpc.wire.messages import (
    IpcConnectionContextProto,
    RequestHeaderProto,
    RpcRequestHeaderProto,
    RpcResponseHeaderProto,
    RpcSaslProto,
)
from fairshare.yarn.rpc.wire.tokens import Token

IDLE_S = 8.0
"""Hadoop's own clients close after 10 s, its servers later."""

_OPEN_S = 20.0
_MOST_ANSWER_BYTES = 16 * 1024 * 1024
_OPENING = framing.MAGIC + bytes((framing.VERSION, 0))
_MOST_CALL_ID = 0x7FFFFFFF


class RemoteError(FairshareError):
    """The other side refused a call. `class_name` is the Java class of its exception."""

    def __init__(self, class_name: str, message: str) -> None:
        self.class_name = class_name
        self.message = message
        super().__init__(f"{class_name.rpartition('.')[2]}: {message}")


class Unreachable(FairshareError):
    """There was no answer: the call may have been carried out, or not."""


class _Peer(Struct, frozen=True):
    """With whom, and as whom: connections are shared among calls that agree in it."""

    address: tuple[str, int]
    protocol: str
    user: str
    token: Token | None


class _Connection:
    """An open connection with its reader; `lost` says why it is of no more use."""

    def __init__(self, peer: _Peer, client_id: bytes) -> None:
        self._peer = peer
        self._client_id = client_id
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._waiting: dict[int, tuple[Any, asyncio.Future[Any]]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self.lost = ""

    async def open(self) -> None:
        """Connect and log in. Raises OSError, RemoteError, Malformed, WrongLogin."""
        self._reader, self._writer = await asyncio.open_connection(*self._peer.address)
        try:
            token = self._peer.token
            self._writer.write(
                _OPENING + bytes((framing.PLAIN if token is None else framing.SASL,))
            )
            if token is not None:
                await self._log_in(token)
            context = IpcConnectionContextProto(protocol=self._peer.protocol)
            if token is None:
                context.userInfo.effectiveUser = self._peer.user
            self._write(framing.CONTEXT_CALL, framing.NO_RETRY, context.SerializeToString())
        except BaseException:
            self._writer.close()
            raise
        self._reading = asyncio.get_running_loop().create_task(self._read_answers())

    async def _log_in(self, token: Token) -> None:
        state = RpcSaslProto.SaslState
        start = RpcSaslProto(state=state.Value("NEGOTIATE"))
        self._write(framing.SASL_CALL, framing.NO_RETRY, start.SerializeToString())
        offer = await self._read_sasl()
        for auth in offer.auths:
            if auth.method == sasl.METHOD and auth.mechanism == sasl.MECHANISM:
                break
        else:
            raise sasl.WrongLogin("the server does not offer a login with tokens")
        login = sasl.ClientLogin(token.identifier, token.password)
        answer = RpcSaslProto(
            state=state.Value("INITIATE"), token=login.answer(auth.challenge), auths=[auth]
        )
        answer.auths[0].ClearField("challenge")
        self._write(framing.SASL_CALL, framing.NO_RETRY, answer.SerializeToString())
        last = await self._read_sasl()
        if last.state != state.Value("SUCCESS"):
            raise sasl.WrongLogin("the server asks further during the login")
        login.verify(last.token)

    async def _read_sasl(self) -> Any:
        header, frame, at = await self._read_frame()
        if header.status:
            raise RemoteError(header.exceptionClassName, header.errorMsg)
        return RpcSaslProto.FromString(framing.take_part(frame, at)[0])

    async def _read_frame(self) -> tuple[Any, bytes, int]:
        length = framing.frame_length(await self._reader.readexactly(4))
        if length > _MOST_ANSWER_BYTES:
            raise Malformed(f"an answer of {length} bytes; at most {_MOST_ANSWER_BYTES} are taken")
        frame = await self._reader.readexactly(length)
        part, at = framing.take_part(frame, 0)
        return RpcResponseHeaderProto.FromString(part), frame, at

    def _write(self, call_id: int, retry_count: int, *parts: bytes) -> None:
        header = RpcRequestHeaderProto(
            rpcKind=framing.PROTOCOL_BUFFERS,
            rpcOp=0,
            callId=call_id,
            clientId=b"" if call_id == framing.SASL_CALL else self._client_id,
            retryCount=retry_count,
        )
        self._writer.write(framing.frame(header.SerializeToString(), *parts))

    async def _read_answers(self) -> None:
        problem: FairshareError
        try:
            while True:
                header, frame, at = await self._read_frame()
                if header.status == RpcResponseHeaderProto.RpcStatusProto.Value("FATAL"):
                    problem = RemoteError(header.exceptionClassName, header.errorMsg)
                    break
                waiting = self._waiting.pop(header.callId, None)
                if waiting is None or waiting[1].done():
                    continue
                response, answered = waiting
                if header.status:
                    answered.set_exception(RemoteError(header.exceptionClassName, header.errorMsg))
                else:
                    answered.set_result(response.FromString(framing.take_part(frame, at)[0]))
        except asyncio.CancelledError:
            problem = Unreachable("the connection was closed here")
            raise
        except asyncio.IncompleteReadError:
            problem = Unreachable("the other side closed the connection")
        except (OSError, Malformed, DecodeError) as error:
            problem = Unreachable(cause(error))
        finally:
            self.lost = str(problem)
            self._writer.close()
            for _, answered in self._waiting.values():
                if not answered.done():
                    answered.set_exception(problem)
            self._waiting.clear()

    async def call(self, call_id: int, name: str, request: Any, response: Any) -> Any:
        """Call a method; the response message."""
        loop = asyncio.get_running_loop()
        if self._idle is not None:
            self._idle.cancel()
        naming = RequestHeaderProto(
            methodName=name,
            declaringClassProtocolName=self._peer.protocol,
            clientProtocolVersion=1,
        )
        answered: asyncio.Future[Any] = loop.create_future()
        self._waiting[call_id] = response, answered
        try:
            self._write(call_id, 0, naming.SerializeToString(), request.SerializeToString())
            await self._writer.drain()
            return await answered
        finally:
            self._waiting.pop(call_id, None)
            if not self._waiting and not self.lost:
                self._idle = loop.call_later(IDLE_S, self.close)

    def close(self) -> list[asyncio.Task[Any]]:
        """End it, and return what is then to be awaited; calls that wait fail with Unreachable."""
        self.lost = self.lost or "the connection was closed here"
        if self._idle is not None:
            self._idle.cancel()
        assert self._reading is not None
        self._reading.cancel()
        return [self._reading]


class RpcClient:
    """Calls with one client id, in the loop that first uses it."""

    def __init__(self, user: str) -> None:
        self._user = user
        self._client_id = token_bytes(16)
        self._call_ids = itertools.cycle(range(_MOST_CALL_ID))
        self._connections: dict[_Peer, asyncio.Task[_Connection]] = {}

    async def call(
        self,
        address: tuple[str, int],
        protocol: str,
        name: str,
        request: object,
        *,
        token: Token | None = None,
        timeout_s: float = 30.0,
    ) -> Any:
        """The response of one call, within `timeout_s` in all.

        Raises RemoteError if the other side refuses, Unreachable if it does not answer.
        """
        method = METHODS[protocol, name]
        peer = _Peer(address, protocol, self._user, token)
        where = f"{address[0]}:{address[1]}"
        try:
            async with asyncio.timeout(timeout_s):
                connection = await self._connected(peer)
                return await connection.call(next(self._call_ids), name, request, method.response)
        except TimeoutError:
            raise Unreachable(f"{where} did not answer {name} within {timeout_s:g} s") from None
        except asyncio.IncompleteReadError:
            raise Unreachable(f"{where} closed the connection during the login") from None
        except (OSError, Malformed, DecodeError, sasl.WrongLogin, Unreachable) as problem:
            raise Unreachable(f"{where}: {cause(problem)}") from problem

    async def _connected(self, peer: _Peer) -> _Connection:
        task = self._connections.get(peer)
        if task is None or _is_lost(task):
            for other, opening in list(self._connections.items()):
                if _is_lost(opening):
                    del self._connections[other]
            task = asyncio.get_running_loop().create_task(self._open(peer))
            task.add_done_callback(_is_lost)  # which takes note of an error without a caller
            self._connections[peer] = task
        await asyncio.wait([task])  # unlike `shield` it logs no error that has no caller left
        return task.result()

    async def _open(self, peer: _Peer) -> _Connection:
        connection = _Connection(peer, self._client_id)
        async with asyncio.timeout(_OPEN_S):
            await connection.open()
        return connection

    async def close(self) -> None:
        """Close all connections; calls that wait fail."""
        ends: list[asyncio.Task[Any]] = []
        for task in self._connections.values():
            if not task.done():
                task.cancel()
                ends.append(task)
            elif not _is_lost(task):
                ends += task.result().close()
        await asyncio.gather(*ends, return_exceptions=True)
        self._connections.clear()


def _is_lost(opening: "asyncio.Task[_Connection]") -> bool:
    """Whether a connection is of no more use; False while it opens."""
    if not opening.done():
        return False
    return opening.cancelled() or opening.exception() is not None or bool(opening.result().lost)
