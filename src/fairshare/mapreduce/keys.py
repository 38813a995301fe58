"""The order-preserving encoding of Python keys as bytes.

Keys are str, bytes, int, or tuples of these. The encoding contains neither tabs nor line feeds.

    str    by code points     bytes  by bytes     int  by value     tuple  entry by entry

Keys of different types are never equal; their order is bytes, int, str, tuple.
(Control characters within a string are ordered slightly differently.)
"""

from typing import Any

from fairshare.mapreduce.job import TaskFailed

Key = Any
"""str | bytes | int | tuple of keys."""

_ESCAPE = b"\x01"
_ESCAPES = (
    (b"\x01", b"\x01\x04"),
    (b"\x00", b"\x01\x01"),
    (b"\t", b"\x01\x02"),
    (b"\n", b"\x01\x03"),
)
_END = b"\x00"
"""The terminator of each entry of a tuple: lower than every byte within an entry."""

_INVERTED = bytes.maketrans(b"0123456789", b"9876543210")
_DIGITS = 4
"""The number of digits that encode the length of an int."""

_MOST_BITS = 14_000
"""Python converts at most 4300 digits at once."""


def encoded(key: Key) -> bytes:
    """The encoding of a key; raises TaskFailed for one of another type.

    >>> sorted([3, -20, 100, -3], key=encoded)
    [-20, -3, 3, 100]
    """
    kind = type(key)
    if kind is str:
        return b"s" + _escaped(key.encode("utf-8", "surrogateescape"))
    if kind is int:
        return _number(key)
    if kind is bytes:
        return b"b" + _escaped(key)
    if kind is tuple:
        return b"t" + b"".join([encoded(entry) + _END for entry in key])
    raise TaskFailed(
        f"{key!r} cannot be a key: keys are str, bytes, int, or tuples of these,"
        f" not {kind.__name__}"
    )


def decoded(data: bytes) -> Key:
    """The key of an encoding."""
    key, rest = _taken(data)
    assert not rest
    return key


def _escaped(data: bytes) -> bytes:
    if data.isalnum():
        return data
    for plain, escape in _ESCAPES:
        if plain in data:
            data = data.replace(plain, escape)
    return data


def _number(key: int) -> bytes:
    if key.bit_length() > _MOST_BITS:
        raise TaskFailed(f"an int of {key.bit_length()} bits cannot be a key")
    digits = b"%d" % abs(key)
    text = b"%0*d" % (_DIGITS, len(digits)) + digits
    return b"i-" + text.translate(_INVERTED) if key < 0 else b"i1" + text


def _taken(data: bytes) -> tuple[Key, bytes]:
    """The first key of some bytes, and the remaining bytes."""
    kind, body = data[:1], data[1:]
    if kind == b"t":
        entries = []
        while body and not body.startswith(_END):
            entry, body = _taken(body)
            entries.append(entry)
            body = body[1:]
        return tuple(entries), body
    own, end, rest = body.partition(_END)
    rest = end + rest
    if kind == b"i":
        return _number_of(own), rest
    if _ESCAPE in own:
        for plain, escape in reversed(_ESCAPES):
            own = own.replace(escape, plain)
    return (own.decode("utf-8", "surrogateescape") if kind == b"s" else own), rest


def _number_of(text: bytes) -> int:
    if text.startswith(b"-"):
        return -int(text[1:].translate(_INVERTED)[_DIGITS:])
    return int(text[1 + _DIGITS :])
