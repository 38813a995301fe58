"""The usage of queues over time, in intervals that are merged when there are too many.

The length of a simulation is not known in advance. It starts with intervals of one second; when
there are 128, pairs are merged and the interval doubles. So a report has 64 to 128 intervals,
regardless of the length.
"""

from operator import add as plus

import msgspec

from fairshare.core.model.resources import Resource, add, scale

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
    """An amount of one queue, and its sum over the current interval so far.

    Costs where the amount changes: one that lasts is multiplied once for each interval, and where
    it lasts for several of the same length, once for all of them.
    """

    __slots__ = ("_area", "_kept", "amount", "since_ms")

    def __init__(self, amount: Resource, now_ms: int) -> None:
        self.amount = amount
        self.since_ms = now_ms
        self._area: Resource | None = None  # up to `since_ms`; None: nothing
        self._kept: tuple[Resource, int, Resource] = (amount, 0, ())

    def read(self, now_ms: int) -> None:
        """Sum up to an instant, before the amount changes."""
        passed_ms = now_ms - self.since_ms
        if passed_ms > 0:
            area, amount = self._area, self.amount
            if area is None:
                self._area = scale(amount, passed_ms)
            elif len(area) == 2:
                self._area = (area[0] + amount[0] * passed_ms, area[1] + amount[1] * passed_ms)
            else:
                self._area = tuple([x + y * passed_ms for x, y in zip(area, amount, strict=True)])
            self.since_ms = now_ms

    def take(self, now_ms: int) -> Resource:
        """The sum up to the end of the interval; the next one begins at 0."""
        if self._area is None:
            amount, passed_ms = self.amount, now_ms - self.since_ms
            kept, kept_ms, area = self._kept
            if kept is not amount or kept_ms != passed_ms:
                area = scale(amount, passed_ms)
                self._kept = amount, passed_ms, area
            self.since_ms = now_ms
            return area
        self.read(now_ms)
        area, self._area = self._area, None
        return area


class Usage:
    """The usage by queue from an instant on. `look_ms` is when `advance` needs the fair shares
    next, in a table that does not change afterwards."""

    def __init__(self, none: Resource, begin_ms: int = 0) -> None:
        self._none = none
        self._meters: dict[str, _Meter] = {}
        self._total = _Meter(none, begin_ms)
        self._shares: dict[str, _Meter] = {}
        self._last: dict[str, Resource] = {}
        self._length_ms = FIRST_INTERVAL_MS
        self._begin_ms = self._now_ms = begin_ms
        self.look_ms = begin_ms + 1  # at 0 ms the configuration is not loaded yet
        self.intervals: list[Interval] = []

    def change(self, now_ms: int, queue: str, change: Resource) -> None:
        """Change the usage of a queue from now on."""
        meter = self._meters.get(queue)
        if meter is None:
            meter = self._meters[queue] = _Meter(self._none, now_ms)
        meter.read(now_ms)
        meter.amount = add(meter.amount, change)

    def offer(self, now_ms: int, total: Resource) -> None:
        """Change the total of the cluster from now on."""
        self._total.read(now_ms)
        self._total.amount = total

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
        """The shares since the last look were these."""
        before_ms = self._now_ms
        if now_ms <= before_ms:
            return
        self._now_ms = now_ms
        meters, last = self._shares, self._last
        if shares is last:
            return
        self._last = shares
        for queue in [name for name, share in shares.items() if last.get(name) is not share]:
            meter, share = meters.get(queue), shares[queue]
            if meter is None:
                meters[queue] = _Meter(share, before_ms)
            elif meter.amount != share:
                meter.read(before_ms)
                meter.amount = share
        if len(shares) < len(meters):  # queues were removed
            for queue, meter in meters.items():
                if queue not in shares:
                    meter.read(before_ms)
                    meter.amount = (0,) * len(meter.amount)

    def _close(self) -> None:
        begin_ms, now_ms = self._begin_ms, self._now_ms
        used = _areas(self._meters, now_ms)
        shares = _areas(self._shares, now_ms)
        total = self._total.take(now_ms)
        self.intervals.append(Interval(begin_ms, now_ms - begin_ms, used, shares, total))
        self._begin_ms = now_ms
        if len(self.intervals) == MOST_INTERVALS:
            self._length_ms *= 2
            pairs = zip(self.intervals[::2], self.intervals[1::2], strict=True)
            self.intervals = [_merged(first, second) for first, second in pairs]


def _areas(meters: dict[str, _Meter], now_ms: int) -> dict[str, Resource]:
    areas = {}
    for queue, meter in meters.items():
        area = meter.take(now_ms)
        if any(area):
            areas[queue] = area
    return areas


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
        before = sums.get(name)
        if before is not None:
            amount = tuple(map(plus, before, amount))
        sums[name] = amount
    return sums
