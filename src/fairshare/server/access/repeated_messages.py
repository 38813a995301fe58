"""The summary of repeated messages, so that a caller cannot fill a log with refusals."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

Item = TypeVar("Item")

INTERVAL_S: Final = 300.0
"""How long repeats are counted before the count is reported."""

MOST_KEYS: Final = 100
"""How many callers are distinguished in one interval; all others share one key."""

OTHERS: Final = "others"


class _Count(msgspec.Struct, Generic[Item]):
    written: int
    counted: int
    last: Item


class RepeatedMessages(Generic[Item]):
    """Reports the first items of each key at once, and of the others the last one with their
    number, when `flush` is called: `report(item, repeated, key)`, with `repeated` 0 for immediate
    reports.
    """

    def __init__(self, report: Callable[[Item, int, str], None]) -> None:
        self._report = report
        self._known: dict[str, _Count[Item]] = {}

    def add(self, key: str, item: Item, at_once: int = 1) -> bool:
        """Report or count an item; True for the first counted one since `flush`, which is then
        due."""
        first = not self._known
        if key not in self._known and len(self._known) >= MOST_KEYS:
            key = OTHERS
        count = self._known.get(key)
        if count is None:
            count = self._known[key] = _Count(0, 0, item)
        if count.written < at_once:
            count.written += 1
            self._report(item, 0, key)
        else:
            count.counted += 1
            count.last = item
        return first

    def flush(self) -> None:
        """Report the counted items, and reset the counts."""
        known, self._known = self._known, {}
        for key, found in known.items():
            if found.counted:
                self._report(found.last, found.counted, key)
