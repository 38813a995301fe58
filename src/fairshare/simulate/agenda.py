"""Owns what will happen in a simulation: a heap of (at_ms, sequence, input).

What is due at one instant comes in the order in which it was entered. Knows no meaning of inputs.
"""

from heapq import heappop, heappush

from fairshare.model.inputs import Input


class Agenda:
    """Entries by instant. Times are absolute milliseconds; `now_ms` is what delays count from."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._heap: list[tuple[int, int, Input]] = []
        self._sequence = 0
        self._cancelled: set[int] = set()

    def __len__(self) -> int:
        return len(self._heap) - len(self._cancelled)

    def at(self, at_ms: int, given: Input) -> int:
        """Enter an input for an instant, the present one at the earliest; returns its number."""
        self._sequence += 1
        heappush(self._heap, (max(at_ms, self.now_ms), self._sequence, given))
        return self._sequence

    def after(self, delay_ms: int, given: Input) -> int:
        """Enter an input for so many milliseconds from now."""
        return self.at(self.now_ms + delay_ms, given)

    def cancel(self, number: int) -> None:
        """Take an entry out that has not been taken yet."""
        # It stays in the heap and is passed over when its time comes.
        self._cancelled.add(number)

    def next_ms(self) -> int | None:
        """The instant of the first entry; None if there is none."""
        heap, cancelled = self._heap, self._cancelled
        while heap:
            if not cancelled or heap[0][1] not in cancelled:
                return heap[0][0]
            cancelled.discard(heappop(heap)[1])
        return None

    def take(self, now_ms: int) -> list[Input]:
        """Go to an instant, and take out all that is due then."""
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
