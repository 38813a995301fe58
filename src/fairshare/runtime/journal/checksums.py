"""Owns the checksums of a journal's rows.

SQLite detects inconsistent pages, but not changed bytes within a value.
"""

from zlib import crc32


def checksum(*values: int | str | bytes) -> int:
    """The CRC-32 of a row's values, which depends on their order and their boundaries.

    >>> checksum(1, 0, b"ab") == checksum(1, 0, b"ac"), checksum(12, 3) == checksum(1, 23)
    (False, False)
    """
    found = 0
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode()
        found = crc32(content, crc32(b"%d:" % len(content), found))
    return found
