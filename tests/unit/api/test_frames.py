"""Frames of sessions: what one side encodes, the other one decodes, however it is cut."""

import pytest

from fairshare.api.frames import (
    MOST_BYTES,
    Decoder,
    Malformed,
    Message,
    accept_key,
    close_frame,
    data_frame,
    ping_frame,
    pong_frame,
    text_frame,
)

MASK = b"\x01\x80\xff\x10"


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, MOST_BYTES])
@pytest.mark.parametrize("mask", [b"", MASK])
def test_bytes_of_any_size_come_through(size, mask):
    data = (bytes(range(256)) * (size // 256 + 1))[:size]
    decoder = Decoder(masked=bool(mask))
    assert decoder.feed(data_frame(data, mask)) == [Message(data=data)]


def test_frames_may_come_in_any_pieces():
    sent = text_frame({"rows": 3}, MASK) + data_frame(b"abc", MASK) + ping_frame(MASK)
    sent += pong_frame(b"x", MASK) + close_frame(MASK)
    decoder, found = Decoder(masked=True), []
    for byte in sent:
        found += decoder.feed(bytes([byte]))
    assert found == [
        Message(said={"rows": 3}),
        Message(data=b"abc"),
        Message(ping=b""),
        Message(),
        Message(closed=True),
    ]


def test_the_parts_of_a_message_with_bytes_are_bytes():
    first, last = bytearray(data_frame(b"ab")), bytearray(data_frame(b"cd"))
    first[0], last[0] = 0x02, 0x80
    found = Decoder(masked=False).feed(bytes(first + last))
    assert b"".join(message.data for message in found) == b"abcd"


@pytest.mark.parametrize(
    "sent",
    [
        data_frame(b"a client masks", b""),
        b"\xc2\x80" + MASK,  # a bit of an extension
        b"\x82\xff" + (MOST_BYTES + 1).to_bytes(8, "big"),
        b"\x82\xff" + b"\xff" * 8,
        b"\x83\x80" + MASK,  # a kind that does not exist
        b"\x80\x80" + MASK,  # goes on with nothing
        b"\x01\x80" + MASK,  # a text in parts
        bytes((0x81, 0x82)) + b"\0\0\0\0" + b"[]",
        bytes((0x81, 0x82)) + b"\0\0\0\0" + b"{x",
        bytes((0x81, 0x82)) + b"\0\0\0\0" + b"\xff\xfe",
    ],
)
def test_everything_else_is_malformed(sent):
    with pytest.raises(Malformed):
        Decoder(masked=True).feed(sent)


def test_the_key_of_a_handshake_is_that_of_the_rfc():
    key = "dGhlIHNhbXBsZSBub25jZQ=="
    assert accept_key(key.encode()) == b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
