"""Owns the form of a snapshot: a whole state as bytes, and back.

A snapshot is data: MessagePack, compressed, of what `graph.py` makes of the objects. It names no
class and no function, and whatever the bytes say, nothing is made but the kinds of `stored.py`.
A snapshot that cannot be read is a JournalError, so that the reader goes on to an older one, or to
the records: never to half a state. Knows no file and no journal.
"""

import zlib
from typing import Any, Final

import msgspec

from fairshare.errors import JournalError
from fairshare.runtime import stored
from fairshare.runtime.graph import Reader, Writer, without_collection
from fairshare.runtime.journal.protocol import Snapshot

FORM: Final = 1
"""The version of this form, which is stored beside each snapshot."""

MOST_BYTES: Final = 4 * 1024**3
"""Of a snapshot that has been unpacked: more is not a state, but an attack."""


def freeze(sequence: int, now_ms: int, parts: dict[str, Any]) -> Snapshot:
    """A snapshot of some objects by name; what they share is written once.

    They are not changed. Raises JournalError if an object is none of the stored kinds.
    """
    with without_collection():
        body = msgspec.msgpack.encode(Writer(stored.STORED).write(parts))
    return Snapshot(sequence, now_ms, FORM, zlib.compress(body, 1))


def thaw(snapshot: Snapshot) -> dict[str, Any]:
    """The objects of a snapshot, new ones. Raises JournalError if it cannot be read."""
    if snapshot.form != FORM:
        raise JournalError(
            f"the snapshot behind record {snapshot.sequence} has format {snapshot.form}, and"
            f" this version of fairshare reads format {FORM}: use the version that wrote it"
        )
    try:
        body = _unpacked(snapshot.body)
        with without_collection():
            return Reader(stored.STORED, msgspec.msgpack.decode(body)).read()
    except Exception as error:
        raise JournalError(
            f"the snapshot behind record {snapshot.sequence} cannot be read ({error!r}): it is "
            "damaged, or was written by another version of fairshare"
        ) from error


def _unpacked(body: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    found = unpacker.decompress(body, MOST_BYTES)
    if not unpacker.eof:
        raise ValueError("it is cut off, or larger than any state")
    return found
