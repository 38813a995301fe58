"""Owns the usage of queues over time, in intervals that are merged when there are too many.

The length of a simulation is not known in advance. It starts with intervals of one second; when
there are 128, pairs are merged and the interval doubles. So a report has 64 to 128 intervals,
regardless of the length. Knows no event and no scheduler.
"""

import msgspec

from fairshare.model.resources import Resource, add, scale

FIRST_INTERVAL_MS = 1_000
MOST_INTERVALS = 128
LOOKS = 2
"""How often per interval the fair shares are read; in between they count as unchanged."""


class Interval(msgspec.Struct):
    """An interval from `at_ms`. `used` and `shares` are amounts times milliseconds, by queue, of
    `shares` those of all kinds of levels (`levels.py`); `total` is that of the cluster, also times
    milliseconds."""

    at_ms: int
    length_ms: int
    used: dict[str, Resource]
    shares: dict[str, Resource]
    total: Resource


class _Meter:
    """The current usage of one queue, and its sum over the current interval."""

    __slots__ = ("area", "since_ms", "used")

    def __init__(self, none: Resource, now_ms: int) -> None:
        self.used = none
        self.area = none
        self.since_ms = now_ms

    def read(self, now_ms: int) -> None:
        if now_ms > self.since_ms:
            self.area = add(self.area, scale(self.used, now_ms - self.since_ms))
            self.since_ms = now_ms


class Usage:
    """The usage by queue. `look_ms` is when `advance` needs the fair shares next."""

    def __init__(self, none: Resource) -> None:
        self._none = none
        self._meters: dict[str, _Meter] = {}
        self._total = _Meter(none, 0)
        self._shares: dict[str, Resource] = {}
        self._length_ms = FIRST_INTERVAL_MS
        self._begin_ms = 0
        self._now_ms = 0
        self.look_ms = 1  # at 0 ms the configuration is not loaded yet
        self.intervals: list[Interval] = []

    def change(self, now_ms: int, queue: str, change: Resource) -> None:
        """Change the usage of a queue from now on."""
        meter = self._meters.get(queue)
        if meter is None:
            meter = self._meters[queue] = _Meter(self._none, now_ms)
        meter.read(now_ms)
        meter.used = add(meter.used, change)

    def offer(self, now_ms: int, total: Resource) -> None:
        """Change the total of the cluster from now on."""
        self._total.read(now_ms)
        self._total.used = total

    def advance(self, now_ms: int, shares: dict[str, Resource]) -> None:
        """Advance the time to an instant. These are the shares before its decisions, as they were
        at each look that is due by then, since nothing has changed in between: what is read does
        not depend on instants at which nothing happens."""
        while self.look_ms <= now_ms:
            self._share(self.look_ms, shares)
            if self.look_ms == self._begin_ms + self._length_ms:
                self._close()
            # At the end of the interval at the latest: what is used afterwards is of the next one.
            later_ms = self.look_ms + max(1, self._length_ms // LOOKS)
            self.look_ms = min(later_ms, self._begin_ms + self._length_ms)

    def finish(self, now_ms: int, shares: dict[str, Resource]) -> None:
        """Advance the time, and end the current interval there."""
        self.advance(now_ms, shares)
        self._share(now_ms, shares)
        if self._now_ms > self._begin_ms:
            self._close()

    def _share(self, now_ms: int, shares: dict[str, Resource]) -> None:
        passed_ms = now_ms - self._now_ms
        if passed_ms <= 0:
            return
        for queue, share in shares.items():
            if any(share):
                area, before = scale(share, passed_ms), self._shares.get(queue)
                self._shares[queue] = area if before is None else add(before, area)
        self._now_ms = now_ms

    def _close(self) -> None:
        self._total.read(self._now_ms)
        total, self._total.area = self._total.area, self._none
        used = {}
        for queue, meter in self._meters.items():
            meter.read(self._now_ms)
            if any(meter.area):
                used[queue] = meter.area
                meter.area = self._none
        length_ms = self._now_ms - self._begin_ms
        self.intervals.append(Interval(self._begin_ms, length_ms, used, self._shares, total))
        self._begin_ms = self._now_ms
        self._shares = {}
        if len(self.intervals) == MOST_INTERVALS:
            self._length_ms *= 2
            pairs = zip(self.intervals[::2], self.intervals[1::2], strict=True)
            self.intervals = [_merged(first, second) for first, second in pairs]


def _merged(first: Interval, second: Interval) -> Interval:
    return Interval(
        first.at_ms,
        first.length_ms + second.length_ms,
        _sums(first.used, second.used),
        _sums(first.shares, second.shares),
        add(first.total, second.total),
    )


def _sums(first: dict[str, Resource], second: dict[str, Resource]) -> dict[str, Resource]:
    sums = dict(first)
    for name, amount in second.items():
        sums[name] = add(sums[name], amount) if name in sums else amount
    return sums
