"""Any bytes are a frame's parts or Malformed; what is written is read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.yarn.rpc.wire import calls, framing
from fairshare.yarn.rpc.wire.calls import RpcError
from fairshare.yarn.rpc.wire.framing import Malformed
from fairshare.yarn.rpc.wire.messages import RpcRequestHeaderProto, RpcResponseHeaderProto


@given(st.integers(0, 0xFFFFFFFF))
def test_a_varint_is_read_as_it_was_written(value: int) -> None:
    data = framing.varint(value)
    assert framing.take_varint(data, 0) == (value, len(data))


@given(st.lists(st.binary(max_size=300), max_size=5))
def test_a_frame_has_the_parts_that_were_put_in(parts: list[bytes]) -> None:
    data = framing.frame(*parts)
    assert framing.frame_length(data) == len(data) - 4
    at, found = 4, []
    while at < len(data):
        part, at = framing.take_part(data, at)
        found.append(part)
    assert found == parts


@given(st.binary(max_size=200), st.integers(0, 220))
def test_any_bytes_are_a_part_or_malformed(data: bytes, at: int) -> None:
    try:
        part, end = framing.take_part(data, at)
    except Malformed:
        return
    assert at < end <= len(data)
    assert len(part) < end - at


def test_a_length_of_more_than_32_bits_is_malformed() -> None:
    with pytest.raises(Malformed, match="no length"):
        framing.take_varint(b"\xff\xff\xff\xff\x7f", 0)


def test_an_answer_has_the_call_id_without_its_sign() -> None:
    error = RpcError(calls.NO_SUCH_METHOD, "Unknown method")
    data = framing.failure(RpcRequestHeaderProto(callId=-33, clientId=b"c"), error)
    header = RpcResponseHeaderProto.FromString(framing.take_part(data, 4)[0])
    assert header.callId == 4294967263
    assert header.status == 1
    assert header.errorDetail == framing.NO_SUCH_METHOD
    assert header.clientId == b"c"
