"""Owns how what is told again and again is summed up, so that nobody fills a log by being refused.

It must not know what is told, nor what time it is.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

Item = TypeVar("Item")

INTERVAL_S: Final = 300.0
"""So long what repeats is counted before the count is told."""

MOST_KEYS: Final = 100
"""So many callers are told apart in one interval; all others are one."""

OTHERS: Final = "others"


class _Told(msgspec.Struct, Generic[Item]):
    written: int
    counted: int
    last: Item


class Repeats(Generic[Item]):
    """Tells the first ones of each key at once, and of the others the last one with their number,
    when `flush` is called: `tell(item, repeated, key)`, with `repeated` 0 for what is told at once.
    """

    def __init__(self, tell: Callable[[Item, int, str], None]) -> None:
        self._tell = tell
        self._known: dict[str, _Told[Item]] = {}

    def add(self, key: str, item: Item, at_once: int = 1) -> bool:
        """Tell or count an item; True for the first one since `flush`, which is due then."""
        first = not self._known
        if key not in self._known and len(self._known) >= MOST_KEYS:
            key = OTHERS
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _Told(0, 0, item)
        if found.written < at_once:
            found.written += 1
            self._tell(item, 0, key)
        else:
            found.counted += 1
            found.last = item
        return first

    def flush(self) -> None:
        """Tell what was counted, and begin anew."""
        known, self._known = self._known, {}
        for key, found in known.items():
            if found.counted:
                self._tell(found.last, found.counted, key)
