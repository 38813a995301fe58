"""The cache behind each list: one row for each thing, made again only where the thing may have
changed.

`changed` says where that is: from the numbers of the last records about applications, or, for
`ComparedRows`, by a fingerprint of each thing, which are all values that its row is made of. A row
may be a frozen record, or the bytes of an answer around gaps for what changes all the time
(`cut`).py` divides the work.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Row = TypeVar("Row")

SMALL: Final = 256
"""So many rows may be cached without a look for those that are no longer needed."""


class RowCache(ABC, Generic[Key, Item, Row]):
    """The rows of one list. An unchanged row stays the same object, so that readers can compare by
    identity."""

    def __init__(self) -> None:
        self._rows: dict[Key, Row] = {}
        self._limit = SMALL

    @abstractmethod
    def key(self, item: Item) -> Key:
        """The name of an item's row."""

    @abstractmethod
    def make(self, item: Item) -> Row:
        """The row of an item as it is now."""

    @abstractmethod
    def changed(self) -> Iterable[Key] | None:
        """The names of rows that may have changed since the last call; None: all of them."""

    @abstractmethod
    def known(self, key: Key) -> bool:
        """Whether the row of this name may be needed again."""

    def current(self, items: Iterable[Item]) -> list[Row | None]:
        """The row of each item; None where it is still to be made, or to be made again."""
        rows, key = self._rows, self.key
        changed = self.changed()
        for name in list(rows) if changed is None else changed:
            rows.pop(name, None)
        return [rows.get(key(item)) for item in items]

    def renewed(self, item: Item) -> Row:
        """The row of an item as it is now, made and cached."""
        if len(self._rows) >= self._limit:
            self._rows = {key: row for key, row in self._rows.items() if self.known(key)}
            self._limit = max(SMALL, 2 * len(self._rows))
        row = self._rows[self.key(item)] = self.make(item)
        return row


class ComparedRows(RowCache[Key, Item, Row]):
    """The rows of things that have fingerprints: O(n) in things, one comparison each."""

    def __init__(self) -> None:
        super().__init__()
        self._fingerprints: dict[Key, object] = {}

    @abstractmethod
    def things(self) -> Mapping[Key, Item]:
        """All things that there are now."""

    @abstractmethod
    def fingerprint(self, item: Item) -> object:
        """A value that is cheap to compute: if it is equal to an earlier one, so is the row."""

    def renewed(self, item: Item) -> Row:
        """As for all caches."""
        self._fingerprints[self.key(item)] = self.fingerprint(item)
        return super().renewed(item)

    def changed(self) -> list[Key]:
        """The things whose fingerprints are others, and those that are gone."""
        things, fingerprint = self.things(), self.fingerprint
        found = [
            key
            for key, earlier in self._fingerprints.items()
            if (item := things.get(key)) is None or fingerprint(item) != earlier
        ]
        for key in found:
            del self._fingerprints[key]
        return found

    def known(self, key: Key) -> bool:
        """Whether the thing exists."""
        return key in self.things()

    def all(self) -> dict[Key, Row]:
        """The rows of all things as they are now."""
        things = self.things()
        rows = zip(things.items(), self.current(things.values()), strict=True)
        return {key: self.renewed(item) if row is None else row for (key, item), row in rows}


def cut(content: bytes, *gaps: tuple[bytes, bytes] | None) -> tuple[bytes, ...]:
    """The pieces of a document around its gaps, one more than there are gaps.

    A gap is what is between two markers, which stay in the pieces; an empty second marker is the
    closing brace. None: no gap, only an empty piece more. `cut(b'{"a":1,"b":2}', (b'"a":', b","))`
    is `(b'{"a":', b',"b":2}')`. Markers must not occur in what users choose: in strings, quotation
    marks are escaped with a backslash.
    """
    pieces, done = [], 0
    for gap in gaps:
        start = end = done
        if gap is not None:
            before, after = gap
            start = content.index(before, done) + len(before)
            end = content.index(after, start) if after else len(content) - 1
        pieces.append(content[done:start])
        done = end
    return *pieces, content[done:]
