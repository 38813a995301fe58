"""Whatever bytes a client sends: the server answers with frames, keeps little, and goes on."""

import asyncio
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from fairshare.yarn.rpc.wire import descriptors, framing, tokens
from fairshare.yarn.rpc.wire.calls import CallContext
from fairshare.yarn.rpc.wire.connection import Connection, State
from fairshare.yarn.rpc.wire.messages import (
    IpcConnectionContextProto,
    NodeHeartbeatRequestProto,
    NodeHeartbeatResponseProto,
    RequestHeaderProto,
    RpcRequestHeaderProto,
    RpcResponseHeaderProto,
    RpcSaslProto,
)
from fairshare.yarn.rpc.wire.sasl import ClientLogin
from fairshare.yarn.rpc.wire.server import RpcLimits, RpcServer, TokenLogins, methods_of

TRACKER = descriptors.RESOURCE_TRACKER
LIMITS = RpcLimits(frame_bytes=2_000, login_frame_bytes=1_000, calls=3)


class Transport(asyncio.Transport):
    """Takes what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def write(self, data: Any) -> None:
        assert not self.closed
        self.written += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def header(call_id: int) -> bytes:
    found = RpcRequestHeaderProto(
        rpcKind=2, rpcOp=0, callId=call_id, clientId=b"c" * 16, retryCount=0
    )
    return bytes(found.SerializeToString())


def context() -> bytes:
    found = IpcConnectionContextProto(protocol=TRACKER)
    found.userInfo.effectiveUser = "ann"
    return framing.frame(header(-3), found.SerializeToString())


def call(number: int, method: str = "nodeHeartbeat") -> bytes:
    named = RequestHeaderProto(
        methodName=method, declaringClassProtocolName=TRACKER, clientProtocolVersion=1
    )
    request = NodeHeartbeatRequestProto()
    request.node_status.response_id = number
    return framing.frame(header(number), named.SerializeToString(), request.SerializeToString())


def sasl(state: int, **other: Any) -> bytes:
    return framing.frame(header(-33), RpcSaslProto(state=state, **other).SerializeToString())


CALLS = [call(0), framing.frame(header(-4)), call(1), call(2, "unknown"), call(3)]
PLAIN = [b"hrpc\x09\0\0", context(), *CALLS]
LOGIN = ClientLogin(b"i", b"p").answer(b'realm="default",nonce="n",qop="auth"')
WITH_LOGIN = [b"hrpc\x09\0\xdf", sasl(1), sasl(2, token=LOGIN), context(), *CALLS]

PIECES = st.sampled_from([*PLAIN, *WITH_LOGIN]) | st.binary(max_size=40)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """A conversation of a client with some parts moved, lost or repeated, and bytes changed."""
    parts = list(draw(st.sampled_from([PLAIN, WITH_LOGIN])))
    for _ in range(draw(st.integers(0, 3))):
        parts.insert(draw(st.integers(0, len(parts))), draw(PIECES))
    for _ in range(draw(st.integers(0, 2))):
        del parts[draw(st.integers(0, len(parts) - 1))]
    data = bytearray(b"".join(parts))
    for _ in range(draw(st.integers(0, 4))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))])


def heartbeat(_: CallContext, request: Any) -> Any:
    return NodeHeartbeatResponseProto(response_id=request.node_status.response_id)


OTHER_FORMS = {framing.NOT_THE_PAGES, *map(framing.other_version, range(framing.VERSION))}
"""What clients of earlier versions are told, and browsers."""


@example(data=b"hrpc\x03\0\0", step=1, needs_token=False)
@example(data=b"hrpc\x00\0\0", step=1, needs_token=False)
@example(data=b"hrpc\x0a\0\0", step=1, needs_token=True)
@example(data=b"GET / HTTP/1.1\r\n\r\n", step=400, needs_token=False)
@given(data=streams(), step=st.integers(1, 400), needs_token=st.booleans())
def test_any_conversation_gets_frames_and_holds_little(
    data: bytes, step: int, needs_token: bool
) -> None:
    logins = TokenLogins(tokens.AMRM_TOKEN, lambda _: b"key") if needs_token else None
    server = RpcServer("fuzz", methods_of(TRACKER, {"nodeHeartbeat": heartbeat}), logins, LIMITS)
    connection, transport = Connection(server), Transport()
    connection.connection_made(transport)
    for start in range(0, len(data), step):
        connection.data_received(data[start : start + step])
        assert len(connection._buffer) <= LIMITS.frame_bytes + 4 + step
        if needs_token:
            assert connection._state is not State.OPEN
    assert transport.closed == (connection._state is State.CLOSED)
    told_otherwise = transport.closed and bytes(transport.written) in OTHER_FORMS
    at = len(transport.written) if told_otherwise else 0
    while at < len(transport.written):
        whole = at + 4 + framing.frame_length(transport.written, at)
        part, _ = framing.take_part(transport.written[at + 4 : whole], 0)
        answer = RpcResponseHeaderProto.FromString(part)
        assert answer.serverIpcVersionNum == 9
        assert (answer.status == 2) <= (whole == len(transport.written) and transport.closed)
        at = whole
    assert at == len(transport.written)
    connection.connection_lost(None)
    assert not server._connections
    assert not server._unfinished_bytes


def test_a_whole_conversation_is_served() -> None:
    server = RpcServer("fuzz", methods_of(TRACKER, {"nodeHeartbeat": heartbeat}), None, LIMITS)
    connection, transport = Connection(server), Transport()
    connection.connection_made(transport)
    connection.data_received(b"".join(PLAIN))
    assert connection._state is State.OPEN
    assert len(transport.written) > 150
