"""The clock. The only place of the runtime where the machine's clock is read.

Instants are whole milliseconds since 1970 (live) or since the start of a simulation.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """A source of the time, which never goes back."""

    def now_ms(self) -> int:
        """The instant, in milliseconds."""


class WallClock:
    """The machine's clock, made monotonic: when the machine's is set back, it runs at half speed
    until both agree again, so that timers still expire.

    `earliest_ms` is the last recorded instant, so that time does not go back over a restart.
    """

    def __init__(self, earliest_ms: int = 0) -> None:
        self._last_ns = earliest_ms * 1_000_000
        self._asked_ns = time.monotonic_ns()

    def now_ms(self) -> int:
        """The machine's time, or a little after the last answer if that is later."""
        asked_ns = time.monotonic_ns()
        slow_ns = self._last_ns + (asked_ns - self._asked_ns) // 2
        self._asked_ns = asked_ns
        self._last_ns = max(slow_ns, time.time_ns())
        return self._last_ns // 1_000_000


class VirtualClock:
    """A clock that its owner advances."""

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """The instant to which it was advanced."""
        return self._now_ms

    def advance(self, now_ms: int) -> None:
        """Advance it; raises ValueError if that would go back."""
        if now_ms < self._now_ms:
            raise ValueError(f"time does not go back from {self._now_ms} to {now_ms}")
        self._now_ms = now_ms
