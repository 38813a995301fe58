"""Small records in few bytes, as what distinguishes each of them from a pattern."""

import zlib
from typing import Final

_WINDOW: Final = -12
"""4 kB and no header; a larger window takes ten times as long to set up."""


class Pattern:
    """A typical record, with the words that most have. Packing takes 2 to 3 µs, unpacking 0.5."""

    def __init__(self, pattern: bytes) -> None:
        self._pattern = pattern

    def pack(self, content: bytes, beside: bytes = b"") -> bytes:
        """What `beside` has, which the caller keeps, takes next to nothing here.

        >>> pattern = Pattern(b'["application_1764246000000_0001","ann","root.default",1024]')
        >>> packed = pattern.pack(b'["application_1764246000000_0847","ann","root.default",2048]')
        >>> len(packed) < 20
        True
        >>> pattern.unpack(packed)
        b'["application_1764246000000_0847","ann","root.default",2048]'
        """
        packing = zlib.compressobj(1, wbits=_WINDOW, memLevel=4, zdict=beside + self._pattern)
        return packing.compress(content) + packing.flush()

    def unpack(self, packed: bytes, beside: bytes = b"") -> bytes:
        """What was packed with this pattern, and with the same `beside`."""
        return zlib.decompressobj(_WINDOW, zdict=beside + self._pattern).decompress(packed)
