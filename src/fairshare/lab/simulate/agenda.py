"""Owns the future inputs of a simulation: a heap of (at_ms, sequence, input).

Inputs of the same instant are returned in the order of insertion. Does not know their meaning.
"""

from heapq import heappop, heappush

from fairshare.core.model.inputs import Input


class Agenda:
    """Entries by instant. Times are absolute milliseconds; delays are relative to `now_ms`."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._heap: list[tuple[int, int, Input]] = []
        self._sequence = 0
        self._cancelled: set[int] = set()

    def __len__(self) -> int:
        return len(self._heap) - len(self._cancelled)

    def at(self, at_ms: int, given: Input) -> int:
        """Add an input for an instant, `now_ms` at the earliest; returns its number."""
        self._sequence += 1
        heappush(self._heap, (max(at_ms, self.now_ms), self._sequence, given))
        return self._sequence

    def after(self, delay_ms: int, given: Input) -> int:
        """Add an input for an instant `delay_ms` from now; returns its number."""
        self._sequence += 1
        heappush(self._heap, (self.now_ms + max(delay_ms, 0), self._sequence, given))
        return self._sequence

    def cancel(self, number: int) -> None:
        """Remove an entry that was not taken yet."""
        # It stays in the heap, and is skipped when its instant comes.
        self._cancelled.add(number)

    def next_ms(self) -> int | None:
        """The instant of the first entry; None if the agenda is empty."""
        heap, cancelled = self._heap, self._cancelled
        while heap:
            if not cancelled or heap[0][1] not in cancelled:
                return heap[0][0]
            cancelled.discard(heappop(heap)[1])
        return None

    def take(self, now_ms: int) -> list[Input]:
        """Advance to an instant, and remove and return all inputs due by then."""
        self.now_ms = now_ms
        heap, cancelled = self._heap, self._cancelled
        taken = []
        while heap and heap[0][0] <= now_ms:
            _, number, given = heappop(heap)
            if number in cancelled:
                cancelled.discard(number)
            else:
                taken.append(given)
        return taken
