"""Whatever arrives at the ports for Hadoop's clients, they go on serving and hold little memory."""

import asyncio
import contextlib
import re
import socket

import pytest

from .conftest import HADOOP, read_to_end, resident_kb

if not HADOOP:
    pytest.skip("needs the extra fairshare[hadoop]", allow_module_level=True)

from fairshare.yarn.rpc.wire import descriptors, framing, tokens
from fairshare.yarn.rpc.wire.client import RemoteError, RpcClient, Unreachable
from fairshare.yarn.rpc.wire.messages import (
    AllocateRequestProto,
    AMRMTokenIdentifierProto,
    GetClusterMetricsRequestProto,
    IpcConnectionContextProto,
    RpcRequestHeaderProto,
    RpcResponseHeaderProto,
)

OPENING = b"hrpc\x09\0\0"
MANY = 300


@pytest.fixture(scope="module")
def ports(attacked):
    log = (attacked.state / "server.log").read_text()
    line = next(one for one in log.splitlines() if "Hadoop's clients are served" in one)
    return {name: int(number) for name, number in re.findall(r"(\w+) (\d{2,5})\b", line)}


@contextlib.contextmanager
def connected(port, number=1):
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in found:
            one.settimeout(30)
            one.connect(("127.0.0.1", port))
        yield found


def context():
    header = RpcRequestHeaderProto(callId=-3, clientId=b"c" * 16)
    named = IpcConnectionContextProto(protocol=descriptors.APPLICATION_CLIENT)
    named.userInfo.effectiveUser = "ann"
    return framing.frame(header.SerializeToString(), named.SerializeToString())


def call(port, protocol, method, request, token=None):
    async def body():
        client = RpcClient("ann")
        try:
            address = ("127.0.0.1", port)
            return await client.call(address, protocol, method, request, token=token)
        finally:
            await client.close()

    return asyncio.run(body())


def nodes(ports):
    request = GetClusterMetricsRequestProto()
    port = ports["client"]
    answer = call(port, descriptors.APPLICATION_CLIENT, "getClusterMetrics", request)
    return answer.cluster_metrics.num_node_managers


def refusal(answer):
    part, _ = framing.take_part(answer[4:], 0)
    return RpcResponseHeaderProto.FromString(part)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"not the correct port"),
        (b"\x16\x03\x01\x02\0", b""),
        (b"\0" * 2000, b""),
        (b"hrpc\x08\0\0", b"cannot communicate with client version 8"),
    ],
)
def test_what_is_not_hadoops_protocol_is_closed_at_once(attacked, ports, data, words):
    for port in ports.values():
        with connected(port) as (one,):
            one.sendall(data)
            answer = read_to_end(one)
            assert words in answer if words else answer == b""
    assert nodes(ports) == 1


def test_a_frame_of_4_gb_is_refused_before_it_is_sent(attacked, ports):
    with connected(ports["client"]) as (one,):
        one.sendall(OPENING + context() + b"\xff\xff\xff\xff")
        answer = refusal(read_to_end(one))
    assert answer.status == 2
    assert "at most" in answer.errorMsg
    with connected(ports["scheduler"]) as (one,):
        one.sendall(b"hrpc\x09\0\xdf" + b"\xff\xff\xff\xff")
        assert "at most 65536" in refusal(read_to_end(one)).errorMsg


def test_silent_connections_shut_no_client_out(attacked, ports):
    with connected(ports["client"], MANY), connected(ports["scheduler"], MANY):
        assert nodes(ports) == 1


def test_large_calls_that_never_come_take_no_memory(attacked, ports):
    before_kb = resident_kb(attacked.server)
    begun = OPENING + context() + (16 * 1024 * 1024).to_bytes(4) + b" " * 100_000
    with connected(ports["client"], 100) as unfinished:
        for one in unfinished:
            with contextlib.suppress(OSError):  # the later ones are refused
                one.sendall(begun)
        assert nodes(ports) == 1
        assert resident_kb(attacked.server) < before_kb + 40 * 1024


def test_a_port_for_masters_takes_no_client_without_a_valid_token(attacked, ports):
    identifier = AMRMTokenIdentifierProto(keyId=1)
    identifier.appAttemptId.attemptId = 1
    forged = tokens.signed(tokens.AMRM_TOKEN, identifier, b"guessed!")
    request = AllocateRequestProto(response_id=0, progress=0.0)
    for token in (None, forged):
        with pytest.raises((RemoteError, Unreachable)):
            call(ports["scheduler"], descriptors.APPLICATION_MASTER, "allocate", request, token)


def test_the_log_does_not_grow_with_each_attack(attacked, ports):
    log = attacked.state / "server.log"
    before = log.stat().st_size
    for _ in range(50):
        with connected(ports["client"]) as (one,):
            one.sendall(b"GET / HTTP/1.1\r\n\r\n")
            read_to_end(one)
    assert log.stat().st_size < before + 2_000
