"""Owns the instants at which something is due for applications, the earliest first."""

from heapq import heapify, heappop, heappush

from fairshare.model.identifiers import ApplicationId

_SLACK = 64
"""Outdated entries of the heap that are not worth making it again."""


class Instants:
    """One instant for each of some applications: `at_ms`, which others read only.

    The heap may also have outdated entries: of instants that were changed or dropped.
    """

    def __init__(self, known: dict[ApplicationId, int]) -> None:
        self.at_ms = known
        self._heap: list[tuple[int, ApplicationId]] = []
        self._rebuild()

    def set(self, number: ApplicationId, at_ms: int) -> None:
        """Set or change the instant of an application."""
        if self.at_ms.get(number) != at_ms:
            self.at_ms[number] = at_ms
            heappush(self._heap, (at_ms, number))

    def drop(self, number: ApplicationId) -> None:
        """Nothing is due for an application any more."""
        self.at_ms.pop(number, None)
        if len(self._heap) > 2 * len(self.at_ms) + _SLACK:
            self._rebuild()

    def next_ms(self) -> int | None:
        """The earliest instant; None if there is none."""
        heap = self._heap
        while heap and self.at_ms.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def take(self, now_ms: int) -> list[ApplicationId]:
        """The applications for which something is due now, in the order of their instants."""
        due: list[ApplicationId] = []
        while (next_ms := self.next_ms()) is not None and next_ms <= now_ms:
            number = heappop(self._heap)[1]
            del self.at_ms[number]
            due.append(number)
        return due

    def _rebuild(self) -> None:
        self._heap = [(at_ms, number) for number, at_ms in self.at_ms.items()]
        heapify(self._heap)
