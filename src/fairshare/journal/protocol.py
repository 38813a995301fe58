"""Owns the contract of a journal: records in, records out, and the moment at which they are safe.

Knows nothing of where they are kept, and nothing of what is in them beyond their sequence.
"""

from collections.abc import Iterator
from typing import Protocol

from fairshare.model.events import Record


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

    def records(self) -> Iterator[Record]:
        """All committed records, the oldest first. Raises JournalError at one that is damaged."""

    def close(self) -> None:
        """Let go of files and locks; what was not committed is lost. Twice is no error."""
