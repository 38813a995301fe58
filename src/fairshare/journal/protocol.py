"""Owns the contract of a journal: records in, records out, and the moment at which they are safe.

Knows nothing of where they are kept, and nothing of what is in them beyond their sequence.
"""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from fairshare.journal.record import Record


class Snapshot(msgspec.Struct, frozen=True):
    """The whole state behind record `sequence`, at `now_ms`, as bytes that a journal only keeps.

    `layout` says by which classes it was written.
    """

    sequence: int
    now_ms: int
    layout: str
    body: bytes


class Journal(Protocol):
    """The record of what happened, in order.

    `append` may buffer; after `commit` returned, everything appended before survives whatever the
    journal promises to survive. Records are numbered 1, 2, 3, ... by whoever appends.
    """

    def append(self, record: Record) -> None:
        """Add a record behind the last one."""

    def commit(self) -> None:
        """Make all that was appended safe, as one step: all of it or nothing. Raises JournalError
        (what was appended since the last commit is then lost; the caller must stop)."""

    def records(self, after: int = 0) -> Iterator[Record]:
        """The committed records behind number `after`, the oldest first.

        Raises JournalError at one that is damaged, or if the next one is no longer kept.
        """

    def close(self) -> None:
        """Let go of files and locks; what was not committed is lost. Twice is no error."""
