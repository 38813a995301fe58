"""A port of Hadoop's RPC with our own client at it: calls, logins, refusals, limits."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.waiting import until

from fairshare.yarn.rpc.wire import calls, descriptors, framing, tokens
from fairshare.yarn.rpc.wire.calls import CallContext, Handler, RpcError
from fairshare.yarn.rpc.wire.client import RemoteError, RpcClient, Unreachable
from fairshare.yarn.rpc.wire.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    AMRMTokenIdentifierProto,
    IpcConnectionContextProto,
    NodeHeartbeatRequestProto,
    NodeHeartbeatResponseProto,
    RegisterNodeManagerRequestProto,
    RequestHeaderProto,
    RpcRequestHeaderProto,
    RpcResponseHeaderProto,
)
from fairshare.yarn.rpc.wire.server import RpcLimits, RpcServer, TokenLogins, methods_of

TRACKER = descriptors.RESOURCE_TRACKER
MASTERS = descriptors.APPLICATION_MASTER
KEY = b"12345678"


def heartbeat(context: CallContext, request: Any) -> Any:
    return NodeHeartbeatResponseProto(response_id=1, diagnostics_message=context.user)


def listener() -> socket.socket:
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    return bound


@asynccontextmanager
async def serving(
    handlers: dict[tuple[str, str], Handler],
    logins: TokenLogins | None = None,
    limits: RpcLimits | None = None,
) -> AsyncIterator[tuple[RpcServer, tuple[str, int]]]:
    server = RpcServer("test", handlers, logins, limits)
    await server.start(listener())
    try:
        yield server, ("127.0.0.1", server.port)
    finally:
        await server.stop()


@asynccontextmanager
async def client(user: str = "ann") -> AsyncIterator[RpcClient]:
    made = RpcClient(user)
    try:
        yield made
    finally:
        await made.close()


def tracker(handler: Handler = heartbeat) -> dict[tuple[str, str], Handler]:
    return methods_of(TRACKER, {"nodeHeartbeat": handler})


def test_a_call_is_answered_with_the_user_of_the_connection() -> None:
    async def body() -> None:
        async with serving(tracker()) as (_, address), client("bob") as bob:
            answer = await bob.call(address, TRACKER, "nodeHeartbeat", NodeHeartbeatRequestProto())
            assert (answer.response_id, answer.diagnostics_message) == (1, "bob")

    asyncio.run(body())


def test_calls_that_wait_are_answered_in_any_order_over_one_connection() -> None:
    async def body() -> None:
        released = asyncio.Event()

        async def wait(request: Any) -> Any:
            await released.wait()
            return NodeHeartbeatResponseProto(response_id=1)

        def handler(context: CallContext, request: Any) -> Any:
            if request.registering_collectors:
                return wait(request)
            released.set()
            return NodeHeartbeatResponseProto(response_id=2)

        slow = NodeHeartbeatRequestProto()
        slow.registering_collectors.add()
        async with serving(tracker(handler)) as (server, address), client() as ann:
            first = asyncio.create_task(ann.call(address, TRACKER, "nodeHeartbeat", slow))
            while not server._tasks:
                await asyncio.sleep(0)
            quick = NodeHeartbeatRequestProto()
            second = await ann.call(address, TRACKER, "nodeHeartbeat", quick)
            assert second.response_id == 2
            assert (await first).response_id == 1
            assert len(server._connections) == 1

    asyncio.run(body())


def refusing(error: Exception, later: bool) -> Handler:
    async def fail() -> Any:
        raise error

    def handler(context: CallContext, request: Any) -> Any:
        if later:
            return fail()
        raise error

    return handler


@pytest.mark.parametrize("later", [False, True])
def test_a_refusal_travels_by_its_class_and_the_connection_goes_on(later: bool) -> None:
    async def body() -> None:
        error = RpcError(calls.APPLICATION_NOT_FOUND, "no such application")
        async with serving(tracker(refusing(error, later))) as (server, address), client() as ann:
            for _ in range(2):
                with pytest.raises(RemoteError, match="no such application") as raised:
                    await ann.call(address, TRACKER, "nodeHeartbeat", NodeHeartbeatRequestProto())
                assert raised.value.class_name == calls.APPLICATION_NOT_FOUND
            assert len(server._connections) == 1

    asyncio.run(body())


@pytest.mark.parametrize("later", [False, True])
def test_a_defect_is_logged_and_its_text_does_not_travel(
    later: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        handlers = tracker(refusing(ZeroDivisionError("secret"), later))
        async with serving(handlers) as (_, address), client() as ann:
            with pytest.raises(RemoteError, match="internal error") as raised:
                await ann.call(address, TRACKER, "nodeHeartbeat", NodeHeartbeatRequestProto())
            assert "secret" not in str(raised.value)

    asyncio.run(body())
    assert "ZeroDivisionError: secret" in caplog.text


@pytest.mark.parametrize(
    ("protocol", "method", "class_name"),
    [
        (TRACKER, "unRegisterNodeManager", calls.NO_SUCH_METHOD),
        (MASTERS, "allocate", calls.NO_SUCH_PROTOCOL),
    ],
)
def test_what_is_not_served_is_refused(protocol: str, method: str, class_name: str) -> None:
    async def body() -> None:
        request = descriptors.METHODS[protocol, method].request()
        async with serving(tracker()) as (_, address), client() as ann:
            with pytest.raises(RemoteError) as raised:
                await ann.call(address, protocol, method, request)
            assert raised.value.class_name == class_name

    asyncio.run(body())


def master_identifier(attempt: int = 1) -> Any:
    identifier = AMRMTokenIdentifierProto(keyId=5)
    identifier.appAttemptId.attemptId = attempt
    return identifier


def allocate(context: CallContext, request: Any) -> Any:
    assert context.token is not None
    assert context.user == ""
    return AllocateResponseProto(
        response_id=context.token.content.appAttemptId.attemptId, num_cluster_nodes=0
    )


LOGINS = TokenLogins(tokens.AMRM_TOKEN, lambda found: KEY if found.keyId == 5 else None)


def test_a_master_logs_in_with_its_token() -> None:
    async def body() -> None:
        token = tokens.signed(tokens.AMRM_TOKEN, master_identifier(7), KEY)
        handlers = methods_of(MASTERS, {"allocate": allocate})
        async with serving(handlers, LOGINS) as (_, address), client() as ann:
            request = AllocateRequestProto(response_id=0, progress=0.0)
            answer = await ann.call(address, MASTERS, "allocate", request, token=token)
            assert answer.response_id == 7

    asyncio.run(body())


def test_a_client_with_a_token_comes_in_at_a_port_that_needs_none() -> None:
    async def body() -> None:
        async with serving(tracker()) as (_, address):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"hrpc\x09\x00\xdf")
            sasl = descriptors.message_or_enum("RpcSaslProto")(state=1)
            header = RpcRequestHeaderProto(callId=-33, clientId=b"")
            writer.write(framing.frame(header.SerializeToString(), sasl.SerializeToString()))
            length = framing.frame_length(await reader.readexactly(4))
            part, at = framing.take_part(answer := await reader.readexactly(length), 0)
            assert RpcResponseHeaderProto.FromString(part).callId == 4294967263
            assert type(sasl).FromString(framing.take_part(answer, at)[0]).state == 0
            writer.write(context_frame("ann") + call_frame("nodeHeartbeat"))
            length = framing.frame_length(await reader.readexactly(4))
            assert b"ann" in await reader.readexactly(length)
            writer.close()

    asyncio.run(body())


@pytest.mark.parametrize(
    "token",
    [
        None,
        tokens.signed(tokens.AMRM_TOKEN, master_identifier(), b"another"),
        tokens.signed(tokens.AMRM_TOKEN, AMRMTokenIdentifierProto(keyId=6), KEY),
        tokens.Token(b"\xff\xff", b"", tokens.AMRM_TOKEN),
    ],
)
def test_a_client_without_a_valid_token_is_refused(token: tokens.Token | None) -> None:
    async def body() -> None:
        handlers = methods_of(MASTERS, {"allocate": allocate})
        async with serving(handlers, LOGINS) as (_, address), client() as ann:
            request = AllocateRequestProto(response_id=0, progress=0.0)
            with pytest.raises((RemoteError, Unreachable)) as raised:
                await ann.call(address, MASTERS, "allocate", request, token=token)
            if isinstance(raised.value, RemoteError):
                assert raised.value.class_name in (
                    calls.INVALID_TOKEN,
                    calls.ACCESS_CONTROL,
                )

    asyncio.run(body())


def context_frame(user: str) -> bytes:
    context = IpcConnectionContextProto(protocol=TRACKER)
    if user:
        context.userInfo.effectiveUser = user
    header = RpcRequestHeaderProto(callId=-3, clientId=b"c" * 16)
    return framing.frame(header.SerializeToString(), context.SerializeToString())


def call_frame(method: str, body: bytes = b"", call_id: int = 0, kind: int = 2) -> bytes:
    header = RpcRequestHeaderProto(rpcKind=kind, rpcOp=0, callId=call_id, clientId=b"c" * 16)
    named = RequestHeaderProto(
        methodName=method, declaringClassProtocolName=TRACKER, clientProtocolVersion=1
    )
    return framing.frame(header.SerializeToString(), named.SerializeToString(), body)


PING = framing.frame(RpcRequestHeaderProto(callId=-4, clientId=b"").SerializeToString())
OPENING = b"hrpc\x09\x00\x00"


async def exchange(data: bytes, limits: RpcLimits | None = None, piece: int = 0) -> bytes:
    """What a server sends back until it closes, if the client sends these bytes."""
    async with serving(tracker(), None, limits) as (_, address):
        reader, writer = await asyncio.open_connection(*address)
        step = piece or len(data) or 1
        for start in range(0, len(data), step):
            writer.write(data[start : start + step])
            await writer.drain()
            await asyncio.sleep(0)
        try:
            return await asyncio.wait_for(reader.read(), 60)
        finally:
            writer.close()


def headers_in(data: bytes) -> list[Any]:
    found, at = [], 0
    while at < len(data):
        length = framing.frame_length(data, at)
        found.append(
            RpcResponseHeaderProto.FromString(
                framing.take_part(data[at + 4 : at + 4 + length], 0)[0]
            )
        )
        at += 4 + length
    return found


QUICK = RpcLimits(login_s=0.2, idle_s=0.2, frame_s=0.2, frame_bytes=100_000)


@pytest.mark.slow
@pytest.mark.parametrize("piece", [0, 1, 5])
def test_calls_and_pings_are_served_however_they_are_cut(piece: int) -> None:
    data = OPENING + context_frame("ann") + call_frame("nodeHeartbeat") + PING
    data += call_frame("nodeHeartbeat", call_id=3) + PING
    answers = headers_in(asyncio.run(exchange(data, QUICK, piece)))
    assert [(header.callId, header.status) for header in answers] == [(0, 0), (3, 0)]


@pytest.mark.parametrize(
    "opening", [b"POST / HTTP/1.1\r\n\r\n", b"hrpc\x01\x00\x00", b"\x16\x03\x01", b"hrpC"]
)
def test_a_connection_that_is_not_hadoops_is_closed(opening: bytes) -> None:
    assert asyncio.run(exchange(opening)) == b""


MISMATCH = "org.apache.hadoop.ipc.RPC$VersionMismatch"


@pytest.mark.parametrize(
    ("version", "head"),
    [(2, "0000000001"), (3, "ff" * 8), (4, "ff" * 8), (8, "ff" * 8)],
)
def test_a_client_of_an_older_release_reads_that_it_is_one(version: int, head: str) -> None:
    # As Hadoop 3.4.1 answered.
    answer = asyncio.run(exchange(b"hrpc" + bytes((version, 0, 0))))
    words = f"Server IPC version 9 cannot communicate with client version {version}"
    texts = (len(text).to_bytes(4) + text.encode() for text in (MISMATCH, words))
    assert answer == bytes.fromhex(head) + b"".join(texts)


def test_a_client_of_a_later_release_reads_that_it_is_one() -> None:
    (header,) = headers_in(asyncio.run(exchange(b"hrpc\x0a\0\0")))
    assert (header.status, header.errorDetail) == (2, 14)
    assert header.exceptionClassName == MISMATCH
    words = "Server IPC version 9 cannot communicate with client version 10"
    assert header.errorMsg == words


def test_a_browser_reads_that_this_port_has_no_pages() -> None:
    answer = asyncio.run(exchange(b"GET / HTTP/1.1\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert b"HTTP request to a Hadoop IPC port" in answer


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (OPENING + b"\xff\xff\xff\xff", "at most 65536"),
        (OPENING + context_frame("ann") + b"\xff\xff\xff\xff", "at most 100000"),
        (OPENING + context_frame(""), "names no user"),
        (OPENING + context_frame("a" * 257), "no user can have this name"),
        (OPENING + context_frame("ann\nroot"), "no user can have this name"),
        (OPENING + call_frame("nodeHeartbeat"), "before the login"),
        (OPENING + context_frame("ann") * 2, "out of turn"),
        (OPENING + b"\0\0\0\0", "not Hadoop's RPC"),
        (OPENING + b"\0\0\0\3\2\xff\xff", "cannot be read"),
        (OPENING + context_frame("ann") + call_frame("nodeHeartbeat", kind=1), "protocol buffers"),
    ],
)
def test_what_is_out_of_turn_ends_the_connection_with_a_reason(data: bytes, message: str) -> None:
    answers = headers_in(asyncio.run(exchange(data, QUICK)))
    assert [header.status for header in answers] == [2]
    assert message in answers[0].errorMsg


def test_a_request_that_cannot_be_read_is_refused_and_the_connection_goes_on() -> None:
    data = OPENING + context_frame("ann")
    data += call_frame("nodeHeartbeat", b"\xff", 1) + call_frame("nodeHeartbeat", b"", 2)
    answers = headers_in(asyncio.run(exchange(data, QUICK)))
    assert [(header.callId, header.status) for header in answers] == [(1, 1), (2, 0)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", [b"", b"hr", OPENING, OPENING + b"\0\0", OPENING + context_frame("ann")]
)
def test_a_client_that_says_no_more_is_cut_off(data: bytes) -> None:
    assert asyncio.run(exchange(data, QUICK)) == b""


def test_half_a_call_is_given_up_after_a_while() -> None:
    limits = RpcLimits(login_s=0.2, idle_s=600, frame_s=0.2)
    data = OPENING + context_frame("ann") + call_frame("nodeHeartbeat")[:-1]
    assert asyncio.run(exchange(data, limits)) == b""


def test_more_connections_than_the_limit_are_not_taken() -> None:
    async def body() -> None:
        few = RpcLimits(connections=1)
        served = serving(tracker(), None, few)
        async with served as (_, address), client() as ann, client() as bob:
            await ann.call(address, TRACKER, "nodeHeartbeat", NodeHeartbeatRequestProto())
            with pytest.raises(Unreachable):
                await bob.call(address, TRACKER, "nodeHeartbeat", NodeHeartbeatRequestProto())

    asyncio.run(body())


def test_the_last_files_of_the_process_are_left_for_others() -> None:
    async def body() -> None:
        async with serving(tracker()) as (server, address), client() as ann:
            server.highest_file = 2
            with pytest.raises(Unreachable):
                await ann.call(address, TRACKER, "nodeHeartbeat", NodeHeartbeatRequestProto())

    asyncio.run(body())


def test_a_connection_without_login_makes_room_for_a_new_one() -> None:
    async def body() -> None:
        served = serving(tracker(), None, RpcLimits(connections=2))
        async with served as (server, address), client() as ann, client() as bob:
            await ann.call(address, TRACKER, "nodeHeartbeat", NodeHeartbeatRequestProto())
            reader, writer = await asyncio.open_connection(*address)
            await until(lambda: len(server._connections) == 2)
            await bob.call(address, TRACKER, "nodeHeartbeat", NodeHeartbeatRequestProto())
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()

    asyncio.run(body())


def test_large_calls_share_their_room_and_give_it_back() -> None:
    async def body() -> None:
        limits = RpcLimits(unfinished_bytes=200_000, frame_bytes=150_000)
        large = (140_000).to_bytes(4)
        async with serving(tracker(), None, limits) as (server, address):
            _, first = await asyncio.open_connection(*address)
            first.write(OPENING + context_frame("ann") + large)
            while not server._unfinished_bytes:
                await asyncio.sleep(0)
            reader, second = await asyncio.open_connection(*address)
            second.write(OPENING + context_frame("ann") + large)
            assert "too many large calls" in headers_in(await reader.read())[0].errorMsg
            assert server._unfinished_bytes == 140_000
            first.close()
            while server._unfinished_bytes:
                await asyncio.sleep(0)
            second.close()

    asyncio.run(body())


def test_a_connection_with_many_waiting_calls_is_not_read_until_some_are_answered() -> None:
    async def body() -> None:
        started: list[asyncio.Future[None]] = []

        async def wait(turn: asyncio.Future[None]) -> Any:
            await turn
            return NodeHeartbeatResponseProto()

        def handler(context: CallContext, request: Any) -> Awaitable[Any]:
            started.append(asyncio.get_running_loop().create_future())
            return wait(started[-1])

        async with serving(tracker(handler), None, RpcLimits(calls=2)) as (_, address):
            reader, writer = await asyncio.open_connection(*address)
            calls = [call_frame("nodeHeartbeat", call_id=number) for number in range(5)]
            writer.write(OPENING + context_frame("ann") + b"".join(calls))
            await until(lambda: len(started) == 2)
            for done in range(5):
                assert len(started) == min(5, done + 2)
                started[done].set_result(None)
                length = framing.frame_length(await reader.readexactly(4))
                await reader.readexactly(length)
                await until(lambda done=done: len(started) >= min(5, done + 3))  # type: ignore[misc]
            writer.close()

    asyncio.run(body())


def test_a_client_that_takes_no_answers_is_cut_off_and_its_calls_are_not_read() -> None:
    async def body() -> None:
        served = 0

        def handler(context: CallContext, request: Any) -> Any:
            nonlocal served
            served += 1
            return NodeHeartbeatResponseProto(diagnostics_message="x" * 100_000)

        limits = RpcLimits(frame_s=0.2, login_s=1)
        async with serving(tracker(handler), None, limits) as (server, address):
            _, writer = await asyncio.open_connection(*address, limit=1)
            writer.write(OPENING + context_frame("ann") + call_frame("nodeHeartbeat") * 10_000)
            await until(lambda: bool(server._connections))
            await until(lambda: not server._connections)
            writer.transport.abort()
            assert served < 1000

    asyncio.run(body())


def test_calls_that_wait_are_answered_before_the_port_stops() -> None:
    async def body() -> None:
        turn = asyncio.Event()

        async def wait() -> Any:
            await turn.wait()
            return NodeHeartbeatResponseProto(response_id=9)

        async with serving(tracker(lambda _, __: wait())) as (server, address), client() as ann:
            call = ann.call(address, TRACKER, "nodeHeartbeat", NodeHeartbeatRequestProto())
            calling = asyncio.create_task(call)
            await until(lambda: bool(server._tasks))
            stopping = asyncio.create_task(server.stop())
            turn.set()
            assert (await calling).response_id == 9
            await stopping

    asyncio.run(body())


def test_a_server_that_is_not_there_is_unreachable() -> None:
    async def body() -> None:
        with listener() as bound:
            address = ("127.0.0.1", bound.getsockname()[1])
        async with client() as ann:
            request = RegisterNodeManagerRequestProto()
            with pytest.raises(Unreachable, match=f"127.0.0.1:{address[1]}"):
                await ann.call(address, TRACKER, "registerNodeManager", request)

    asyncio.run(body())


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_unreachable_after_the_time_out() -> None:
    async def body() -> None:
        never = asyncio.Event()

        async def wait() -> Any:
            await never.wait()

        async with serving(tracker(lambda _, __: wait())) as (_, address), client() as ann:
            request = NodeHeartbeatRequestProto()
            with pytest.raises(Unreachable, match=r"within 0\.05 s"):
                await ann.call(address, TRACKER, "nodeHeartbeat", request, timeout_s=0.05)
            never.set()

    asyncio.run(body())
