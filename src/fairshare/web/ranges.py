"""Owns the header `Range`: which bytes of a file a caller wants (RFC 9110, section 14).

One range of bytes is served; any other value (another unit, several ranges, invalid syntax) is
ignored, as the RFC allows, and the caller gets the answer to a request without the header.
"""

import re

import msgspec

_FORM = re.compile(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.IGNORECASE)


class ByteRange(msgspec.Struct, frozen=True):
    """`limit` bytes from byte `first` on; None: all up to the end."""

    first: int
    limit: int | None


class NotSatisfiable(Exception):
    """The range contains no byte of the file."""


def read_range(header: str | None, size: int) -> ByteRange | None:
    """The range of a file of some bytes that a header asks for; None if it asks for none.

    Raises NotSatisfiable.

    >>> read_range("bytes=2-4", 10), read_range("bytes=7-", 10), read_range("bytes=-3", 10)
    (ByteRange(first=2, limit=3), ByteRange(first=7, limit=None), ByteRange(first=7, limit=3))
    >>> read_range("lines=1-2", 10), read_range("bytes=4-2", 10), read_range("bytes=0-1,5-6", 10)
    (None, None, None)
    """
    found = _FORM.fullmatch(header or "")
    if found is None:
        return None
    first, last = found.groups()
    if not first:
        if not last:
            return None
        count = min(int(last), size)
        if count == 0:
            raise NotSatisfiable
        return ByteRange(size - count, count)
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise NotSatisfiable
    return ByteRange(int(first), int(last) - int(first) + 1 if last else None)
