"""One connection of a client: opening, login, and calls, each within its limits.

What a call means is the handlers' business, and who listens the server's (`server.py`). A call
whose handler needs no waiting is answered before the next is read, without a task: that is every
idle heartbeat.
"""

import asyncio
import logging
from collections.abc import Awaitable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, cast

from google.protobuf.message import DecodeError

from fairshare.yarn.rpc.wire import calls, framing, sasl
from fairshare.yarn.rpc.wire.calls import CallContext, RpcError, TokenIdentity
from fairshare.yarn.rpc.wire.framing import Malformed
from fairshare.yarn.rpc.wire.messages import (
    IpcConnectionContextProto,
    RequestHeaderProto,
    RpcRequestHeaderProto,
    RpcSaslProto,
)

if TYPE_CHECKING:
    from fairshare.yarn.rpc.wire.server import Route, RpcServer

_log = logging.getLogger("fairshare.yarn.rpc")

_LENGTH_BYTES = 4
_LONGEST_USER = 256
_BATCH = 16
"""Answers that are written together at most."""

_LARGE_BYTES = 64 * 1024
"""From here on an unfinished call counts against what all connections may hold."""


class State(IntEnum):
    """How far a connection has come."""

    OPENING = 0
    LOGIN = 1
    CONTEXT = 2
    OPEN = 3
    CLOSED = 4


class _Fatal(Exception):
    """The connection ends with this refusal."""

    def __init__(self, call_id: int, error: RpcError, detail: int) -> None:
        self.call_id = call_id
        self.error = error
        self.detail = detail
        super().__init__(error.message)


class Connection(asyncio.Protocol):
    """A connection of one client. `server` sweeps it for time-outs."""

    def __init__(self, server: "RpcServer") -> None:
        self._server = server
        self._transport: asyncio.Transport
        self._state = State.OPENING
        self._buffer = bytearray()
        self._needed = framing.PREAMBLE_BYTES
        self._reserved = 0
        self._waiting = 0
        self._paused = False
        self._blocked = False
        self._answers: list[bytes] = []
        self._login: sasl.ServerLogin | None = None
        self._token: TokenIdentity | None = None
        self._context: CallContext
        self._address = ""
        now_s = server.now_s()
        self._since_s = now_s
        self._heard_s = now_s

    # -- asyncio ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, unless there are too many."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""
        own = transport.get_extra_info("socket")
        if not self._server.opened(self, -1 if own is None else own.fileno()):
            self._state = State.CLOSED
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Forget what was not finished; calls that wait go on, their answers are dropped."""
        self._state = State.CLOSED
        self._forget_buffer()
        self._server.closed(self)

    def data_received(self, data: bytes) -> None:
        """Answer what has arrived as a whole; keep the rest."""
        if self._state is State.CLOSED:
            return
        self._heard_s = self._server.now_s()
        self._server.activity.received += len(data)
        if self._buffer or self._paused:
            self._buffer += data
            if self._paused or len(self._buffer) < self._needed:
                return
            data = bytes(self._buffer)
            self._buffer.clear()
        self._consume(data)

    def pause_writing(self) -> None:
        """The client does not take its answers: read no more calls."""
        self._blocked = True
        self._since_s = self._server.now_s()
        self._pause()

    def resume_writing(self) -> None:
        """The client has taken its answers."""
        self._blocked = False
        self._resume()

    # -- the server -------------------------------------------------------------------------------

    def overdue(self, now_s: float) -> str:
        """Why the connection is to be ended now; empty if it is not."""
        limits = self._server.limits
        if self._state is State.CLOSED:
            return "the client did not take the last answer"
        if self._state is not State.OPEN:
            return "no login in time" if now_s - self._since_s > limits.login_s else ""
        if self._blocked or (self._buffer and not self._paused):
            return "a call took too long" if now_s - self._since_s > limits.frame_s else ""
        if not self._waiting and now_s - self._heard_s > limits.idle_s:
            return "idle"
        return ""

    def abort(self, reason: str) -> None:
        """End the connection at once."""
        _log.debug("%s: connection of %s ended: %s", self._server.name, self._address, reason)
        self._transport.abort()

    # -- frames -----------------------------------------------------------------------------------

    def _consume(self, data: bytes) -> None:
        at = 0
        try:
            while self._state is not State.CLOSED:
                if self._waiting >= self._server.limits.calls or self._blocked:
                    self._pause()
                    break
                taken = self._take(data, at)
                if not taken:
                    break
                at += taken
                if len(self._answers) >= _BATCH:
                    self._flush()  # so that a client that takes no answers is noticed
        except _Fatal as fatal:
            self._refuse(fatal)
        except Malformed as problem:
            error = RpcError(calls.RPC_SERVER, f"not Hadoop's RPC: {problem}")
            self._refuse(_Fatal(framing.NO_CALL, error, framing.DESERIALIZING))
        except DecodeError as problem:
            error = RpcError(calls.RPC_SERVER, f"a header cannot be read: {problem}")
            self._refuse(_Fatal(framing.NO_CALL, error, framing.DESERIALIZING))
        self._flush()
        if self._state is State.CLOSED:
            self._forget_buffer()
        elif at < len(data):
            if not self._buffer:
                # Before the login the time counts from the start, after it from the unfinished
                # call.
                self._since_s = self._server.now_s() if self._state is State.OPEN else self._since_s
            self._buffer += data[at:]

    def _take(self, data: bytes, at: int) -> int:
        """Serve what begins at `at`; the bytes taken, 0 if it is not whole."""
        if self._state is State.OPENING:
            return self._take_opening(data, at)
        there = len(data) - at
        if there < _LENGTH_BYTES:
            self._needed = _LENGTH_BYTES
            return 0
        length = framing.frame_length(data, at)
        whole = _LENGTH_BYTES + length
        if there < whole:
            self._expect(length)
            self._needed = whole
            return 0
        self._check_length(length)
        if self._reserved:
            self._server.release(self._reserved)
            self._reserved = 0
        self._frame(data[at + _LENGTH_BYTES : at + whole])
        return whole

    def _check_length(self, length: int) -> None:
        limits = self._server.limits
        most = limits.frame_bytes if self._state is State.OPEN else limits.login_frame_bytes
        if length > most:
            raise self._fatal_server(f"a frame of {length} bytes; at most {most} are taken")

    def _expect(self, length: int) -> None:
        """Check the length of a frame before it is received."""
        self._check_length(length)
        if length > _LARGE_BYTES and not self._reserved:
            if not self._server.reserve(length):
                raise self._fatal_server("too many large calls at once; try again later")
            self._reserved = length

    def _fatal_server(self, message: str) -> _Fatal:
        error = RpcError(calls.RPC_SERVER, message)
        return _Fatal(framing.NO_CALL, error, framing.INVALID_HEADER)

    def _take_opening(self, data: bytes, at: int) -> int:
        opening = data[at : at + framing.PREAMBLE_BYTES]
        if not framing.MAGIC.startswith(opening[:4]):
            if opening.startswith(b"GET "):
                self._answers.append(framing.NOT_THE_PAGES)
            self._end(f"it opened with {bytes(opening[:4])!r}, not hrpc")
            return 0
        if len(opening) < framing.PREAMBLE_BYTES:
            self._needed = framing.PREAMBLE_BYTES
            return 0
        version, _, authentication = opening[4:]
        if version != framing.VERSION:
            self._answers.append(framing.other_version(version))
            self._end(f"it speaks version {version} of Hadoop's RPC, not {framing.VERSION}")
            return 0
        if authentication == framing.SASL:
            self._state = State.LOGIN
        elif authentication == framing.PLAIN and not self._server.tokens:
            self._state = State.CONTEXT
        else:
            error = RpcError(
                calls.ACCESS_CONTROL, "SIMPLE authentication is not enabled. Available:[TOKEN]"
            )
            raise _Fatal(framing.NO_CALL, error, framing.UNAUTHORIZED)
        return framing.PREAMBLE_BYTES

    def _frame(self, frame: bytes) -> None:
        part, at = framing.take_part(frame, 0)
        header = RpcRequestHeaderProto.FromString(part)
        call_id = header.callId
        if call_id >= 0:
            if self._state is not State.OPEN:
                raise self._fatal_server("a call before the login and the connection's context")
            self._call(header, frame, at)
        elif call_id == framing.SASL_CALL and self._state is State.LOGIN:
            self._sasl(framing.take_part(frame, at)[0])
        elif call_id == framing.CONTEXT_CALL and self._state is State.CONTEXT:
            self._take_context(framing.take_part(frame, at)[0])
        elif call_id != framing.PING_CALL:
            raise self._fatal_server(f"a frame with call id {call_id} is out of turn")

    # -- login ------------------------------------------------------------------------------------

    def _sasl(self, part: bytes) -> None:
        message = RpcSaslProto.FromString(part)
        tokens = self._server.tokens
        state = RpcSaslProto.SaslState
        if tokens is None:
            # The client goes on without a login.
            self._answer_sasl(RpcSaslProto(state=state.Value("SUCCESS")))
            self._state = State.CONTEXT
        elif message.state == state.Value("NEGOTIATE") and self._login is None:
            self._login = sasl.ServerLogin()
            offer = RpcSaslProto(state=state.Value("NEGOTIATE"))
            offer.auths.add(
                method=sasl.METHOD,
                mechanism=sasl.MECHANISM,
                protocol=sasl.PROTOCOL,
                serverId=sasl.SERVER_ID,
                challenge=self._login.challenge(),
            )
            self._answer_sasl(offer)
        elif message.state == state.Value("INITIATE") and self._login is not None:
            try:
                identifier, proof = self._login.accept(message.token, tokens.password_of)
            except sasl.WrongLogin as problem:
                error = RpcError(calls.INVALID_TOKEN, str(problem))
                raise _Fatal(framing.NO_CALL, error, framing.UNAUTHORIZED) from None
            self._token = tokens.identity(identifier)
            self._answer_sasl(RpcSaslProto(state=state.Value("SUCCESS"), token=proof))
            self._state = State.CONTEXT
            self._login = None
        else:
            raise self._fatal_server("a message of a login that is out of turn")

    def _answer_sasl(self, message: RpcSaslProto) -> None:
        header = RpcRequestHeaderProto(
            callId=framing.SASL_CALL, clientId=b"", retryCount=framing.NO_RETRY
        )
        self._answers.append(framing.success(header, message))

    def _take_context(self, part: bytes) -> None:
        context = IpcConnectionContextProto.FromString(part)
        user, real_user = context.userInfo.effectiveUser, context.userInfo.realUser
        if self._token is not None:
            user = real_user = ""
        elif not user:
            error = RpcError(calls.ACCESS_CONTROL, "the connection names no user")
            raise _Fatal(framing.NO_CALL, error, framing.UNAUTHORIZED)
        for name in (user, real_user):
            if len(name) > _LONGEST_USER or not name.isprintable():
                error = RpcError(calls.ACCESS_CONTROL, "no user can have this name")
                raise _Fatal(framing.NO_CALL, error, framing.UNAUTHORIZED)
        self._context = CallContext(
            user=user,
            real_user="" if real_user == user else real_user,
            token=self._token,
            address=self._address,
            protocol=context.protocol[:_LONGEST_USER],
        )
        self._state = State.OPEN
        self._server.activity.logins += 1
        self._server.admitted(self)

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, header: RpcRequestHeaderProto, frame: bytes, at: int) -> None:
        if header.rpcKind != framing.PROTOCOL_BUFFERS or header.rpcOp:
            message = "only calls with protocol buffers are served (RPC_PROTOCOL_BUFFER)"
            raise _Fatal(header.callId, RpcError(calls.RPC_SERVER, message), framing.INVALID_HEADER)
        named, at = framing.take_part(frame, at)
        body, _ = framing.take_part(frame, at)
        activity = self._server.activity
        activity.calls += 1
        begun_s = self._server.now_s()
        try:
            route = self._server.route(named) or self._server.find_route(
                RequestHeaderProto.FromString(named), named
            )
            request = route.request.FromString(body)
            response = route.handler(self._context, request)
        except RpcError as error:
            activity.failures += 1
            self._answers.append(framing.failure(header, error))
            return
        except DecodeError as problem:
            activity.failures += 1
            unreadable = RpcError(calls.RPC_SERVER, f"the request cannot be read: {problem}")
            self._answers.append(framing.failure(header, unreadable))
            return
        except Exception as problem:
            activity.failures += 1
            self._answers.append(framing.failure(header, self._defect(named, problem)))
            return
        finally:
            activity.spent_s += self._server.now_s() - begun_s
        if type(response) is route.response:
            self._answers.append(framing.success(header, response))
        else:
            self._waiting += 1
            self._server.run(self._wait(header, route, response))

    async def _wait(
        self, header: RpcRequestHeaderProto, route: "Route", response: Awaitable[Any]
    ) -> None:
        """Answer a call whose handler waits."""
        try:
            answer = framing.success(header, await response)
        except RpcError as error:
            answer = framing.failure(header, error)
        except Exception as problem:
            answer = framing.failure(header, self._defect(route.name.encode(), problem))
        finally:
            self._waiting -= 1
        if self._state is not State.CLOSED:
            self._server.activity.sent += len(answer)
            self._transport.write(answer)
            self._heard_s = self._server.now_s()
            self._resume()

    def _defect(self, method: bytes, problem: Exception) -> RpcError:
        _log.error(
            "%s: the call %r failed by a defect", self._server.name, method, exc_info=problem
        )
        return RpcError(calls.INPUT_OUTPUT, "internal error; the log of the server says more")

    # -- flow -------------------------------------------------------------------------------------

    def _pause(self) -> None:
        if not self._paused and self._state is not State.CLOSED:
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if not self._paused or self._blocked or self._state is State.CLOSED:
            return
        self._paused = False
        data = bytes(self._buffer)
        self._buffer.clear()
        if data:
            self._consume(data)
        if not self._paused and self._state is not State.CLOSED:  # type: ignore[comparison-overlap]
            self._transport.resume_reading()

    def _flush(self) -> None:
        if self._answers:
            answers, self._answers = self._answers, []
            data = answers[0] if len(answers) == 1 else b"".join(answers)
            self._server.activity.sent += len(data)
            self._transport.write(data)

    def _refuse(self, fatal: _Fatal) -> None:
        if self._state is not State.OPEN:
            self._server.activity.failed_logins += 1
        self._answers.append(framing.fatal(fatal.call_id, fatal.error, fatal.detail))
        self._end(fatal.error.message)

    def _end(self, reason: str) -> None:
        """Close after the answers so far; what else arrives is not looked at."""
        self._server.refused(self._address, reason)
        self._state = State.CLOSED
        self._flush()
        self._transport.close()

    def _forget_buffer(self) -> None:
        self._buffer.clear()
        if self._reserved:
            self._server.release(self._reserved)
            self._reserved = 0
