"""Owns when a changed pools file is read again (Hadoop: PoolManager.reloadAllocsIfNecessary). Opens
no file.

Example: a file written at 9 s is seen at 10 s and is too young; it is read at the next look, more
than 10 s later.
"""

from typing import Final

LOOK_INTERVAL_MS: Final = 10_000
"""A look must be more than this after the one before."""

SETTLE_MS: Final = 5_000
"""A file must be older than this, lest it is still being written."""


class ReloadGate:
    """Two instants: the last look at the file, and the last load that went well."""

    def __init__(self, started_ms: int, loaded_ms: int | None = None) -> None:
        self.looked_ms = started_ms
        self.loaded_ms = started_ms if loaded_ms is None else loaded_ms

    def look(self, now_ms: int) -> bool:
        """Whether the file is to be looked at now; then this is the last look."""
        if now_ms <= self.looked_ms + LOOK_INTERVAL_MS:
            return False
        self.looked_ms = now_ms
        return True

    def due(self, now_ms: int, modified_ms: int) -> bool:
        """Whether a file that was looked at must be read."""
        return modified_ms > self.loaded_ms and now_ms > modified_ms + SETTLE_MS

    def loaded(self, now_ms: int) -> None:
        """A load went well. One that did not is tried again at the next look."""
        self.loaded_ms = now_ms
