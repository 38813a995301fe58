"""Frames of Hadoop's RPC, version 9: pure functions on bytes.

A connection opens with `hrpc`, the version, a service class and the authentication. After that each
side sends frames: four bytes of length, big-endian, and in them messages, each behind its length as
a varint. Source: Hadoop 3.4.1, ipc.Server.Connection, ipc.Client, ipc.RpcConstants.
"""

from struct import Struct as Layout
from typing import Any

from fairshare.errors import FairshareError
from fairshare.yarn.rpc.wire import calls
from fairshare.yarn.rpc.wire.messages import RpcRequestHeaderProto, RpcResponseHeaderProto

VERSION = 9
PREAMBLE_BYTES = 7
MAGIC = b"hrpc"
PLAIN = 0
SASL = 0xDF

CONTEXT_CALL = -3
PING_CALL = -4
SASL_CALL = -33
NO_CALL = -1
"""The call id of an answer that belongs to no call: a refused login."""

NO_RETRY = -1

PROTOCOL_BUFFERS = 2
"""The only kind of call that is served (RpcKindProto)."""

_LENGTH = Layout(">I")
_MASK = 0xFFFFFFFF
_LONGEST_VARINT = 5

_SUCCESS, _ERROR, _FATAL = 0, 1, 2
_FIRST_WITH_STATUS = 3
"""The first version whose answers have a status."""

NOT_THE_PAGES = (
    b"HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n"
    b"It looks like you are making an HTTP request to a Hadoop IPC port. This is not the correct"
    b" port for the web interface on this daemon.\r\n"
)
"""The answer to a browser, in Hadoop's words."""

_HEADER = RpcResponseHeaderProto(status=_SUCCESS, serverIpcVersionNum=VERSION)
"""The header of each answer, but for what names its call."""

# RpcErrorCodeProto
APPLICATION = 1
NO_SUCH_METHOD = 2
NO_SUCH_PROTOCOL = 3
RPC_SERVER = 4
INVALID_HEADER = 12
DESERIALIZING = 13
VERSION_MISMATCH = 14
UNAUTHORIZED = 15

_DETAILS = {
    calls.NO_SUCH_METHOD: NO_SUCH_METHOD,
    calls.NO_SUCH_PROTOCOL: NO_SUCH_PROTOCOL,
}


class Malformed(FairshareError):
    """Bytes that are not Hadoop's RPC. The message says what was expected."""


def take_varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned number at `at`, at most 32 bits, and the place behind it."""
    value = shift = 0
    for place in range(at, min(at + _LONGEST_VARINT, len(data))):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > _MASK:
                break
            return value, place + 1
        shift += 7
    raise Malformed(f"no length of a message at byte {at} of a frame of {len(data)}")


def varint(value: int) -> bytes:
    """`value`, not negative, as a varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def take_part(frame: bytes, at: int) -> tuple[bytes, int]:
    """The message at `at` of a frame, without its length, and the place behind it."""
    if at < len(frame) and frame[at] < 0x80:  # nearly always
        length, start = frame[at], at + 1
    else:
        length, start = take_varint(frame, at)
    end = start + length
    if end > len(frame):
        raise Malformed(f"a message of {length} bytes in a frame with {len(frame) - start} left")
    return frame[start:end], end


def frame_length(data: bytes | bytearray, at: int = 0) -> int:
    """The length that the four bytes at `at` announce."""
    length: int = _LENGTH.unpack_from(data, at)[0]
    return length


def frame(*parts: bytes) -> bytes:
    """A frame of these serialized messages."""
    pieces = [b""]
    total = 0
    for part in parts:
        prefix = varint(len(part))
        pieces += prefix, part
        total += len(prefix) + len(part)
    pieces[0] = _LENGTH.pack(total)
    return b"".join(pieces)


def success(call: RpcRequestHeaderProto, response: Any) -> bytes:
    """The frame that answers `call` (a RpcRequestHeaderProto) with a response message."""
    header = _HEADER
    header.callId = call.callId & _MASK
    header.clientId = call.clientId
    header.retryCount = call.retryCount
    return frame(header.SerializeToString(), response.SerializeToString())


def failure(call: RpcRequestHeaderProto, error: calls.RpcError) -> bytes:
    """The frame that refuses `call`; the connection goes on."""
    return _refusal(call.callId, call.clientId, call.retryCount, error, _ERROR, APPLICATION)


def fatal(call_id: int, error: calls.RpcError, detail: int) -> bytes:
    """The frame after which the server closes. `detail` is a number of RpcErrorCodeProto."""
    return _refusal(call_id, b"", NO_RETRY, error, _FATAL, detail)


def other_version(version: int) -> bytes:
    """What a client of another version of the RPC gets, in the form that it can read: Hadoop 1
    speaks version 4. Empty: it is not known what it could read.

    >>> other_version(4)[:12].hex()
    'ffffffffffffffff00000029'
    >>> b"cannot communicate with client version 10" in other_version(10)
    True
    """
    message = f"Server IPC version {VERSION} cannot communicate with client version {version}"
    if version >= VERSION:
        error = calls.RpcError(calls.VERSION_MISMATCH, message)
        return fatal(NO_CALL, error, VERSION_MISMATCH)
    words = b"".join(
        _LENGTH.pack(len(text)) + text.encode() for text in (calls.VERSION_MISMATCH, message)
    )
    if version >= _FIRST_WITH_STATUS:
        return _LENGTH.pack(NO_CALL & _MASK) * 2 + words  # the call, and the fatal status -1
    return b"\0\0\0\0\1" + words if version == _FIRST_WITH_STATUS - 1 else b""


def _refusal(
    call_id: int,
    client_id: bytes,
    retry_count: int,
    error: calls.RpcError,
    status: int,
    detail: int,
) -> bytes:
    header = RpcResponseHeaderProto(
        callId=call_id & _MASK,
        status=status,
        serverIpcVersionNum=VERSION,
        exceptionClassName=error.class_name,
        errorMsg=error.message,
        errorDetail=_DETAILS.get(error.class_name, detail),
        clientId=client_id,
        retryCount=retry_count,
    )
    return frame(header.SerializeToString())
