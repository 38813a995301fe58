"""The usage of queues over time, in intervals that are merged when there are too many.

The length of a simulation is not known in advance. It starts with intervals of one second; when
there are 128, pairs are merged and the interval doubles. So a report has 64 to 128 intervals,
regardless of the length.
"""

from itertools import pairwise
from typing import NamedTuple

import msgspec

from fairshare.core.model.resources import Resource, add, scale, subtract

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


Reading = tuple[int, Resource, Resource]
"""Of an amount the instant since when it is the same, its sum up to there, and the amount."""


def _sum(reading: Reading, now_ms: int) -> Resource:
    """The sum up to an instant."""
    since_ms, sum_, amount = reading
    passed_ms = now_ms - since_ms
    if not passed_ms:
        return sum_
    if len(sum_) == 2:
        return (sum_[0] + amount[0] * passed_ms, sum_[1] + amount[1] * passed_ms)
    return tuple([x + y * passed_ms for x, y in zip(sum_, amount, strict=True)])


class _Mark(NamedTuple):
    """What was read at the end of an interval. The area of an interval is the difference of two
    sums, so that two intervals are merged by leaving out the mark between them."""

    at_ms: int
    used: dict[str, Reading]
    shares: dict[str, Reading]
    total: Reading


class Usage:
    """The usage by queue from an instant on. `look_ms` is when `advance` needs the fair shares
    next, in a table that does not change afterwards."""

    def __init__(self, none: Resource, begin_ms: int = 0) -> None:
        self._none = none
        self._used: dict[str, Reading] = {}
        self._shares: dict[str, Reading] = {}
        self._total: Reading = (begin_ms, none, none)
        self._last: dict[str, Resource] = {}
        self._length_ms = FIRST_INTERVAL_MS
        self._now_ms = begin_ms
        self.look_ms = begin_ms + 1  # at 0 ms the configuration is not loaded yet
        self._marks = [_Mark(begin_ms, {}, {}, self._total)]

    @property
    def intervals(self) -> list[Interval]:
        """The intervals that are over."""
        return [
            Interval(
                begin.at_ms,
                end.at_ms - begin.at_ms,
                _areas(begin.at_ms, begin.used, end.at_ms, end.used),
                _areas(begin.at_ms, begin.shares, end.at_ms, end.shares),
                subtract(_sum(end.total, end.at_ms), _sum(begin.total, begin.at_ms)),
            )
            for begin, end in pairwise(self._marks)
        ]

    def change(self, now_ms: int, queue: str, change: Resource) -> None:
        """Change the usage of a queue from now on."""
        reading = self._used.get(queue) or (now_ms, self._none, self._none)
        self._used[queue] = (now_ms, _sum(reading, now_ms), add(reading[2], change))

    def offer(self, now_ms: int, total: Resource) -> None:
        """Change the total of the cluster from now on."""
        self._total = (now_ms, _sum(self._total, now_ms), total)

    def advance(self, now_ms: int, shares: dict[str, Resource]) -> None:
        """Advance the time to an instant. These are the shares before its decisions, as they were
        at each look that is due by then, since nothing has changed in between: what is read does
        not depend on instants at which nothing happens."""
        while self.look_ms <= now_ms:
            self._share(self.look_ms, shares)
            if self.look_ms == self._marks[-1].at_ms + self._length_ms:
                self._close()
            # At the end of the interval at the latest: what is used afterwards is of the next one.
            later_ms = self.look_ms + max(1, self._length_ms // LOOKS)
            self.look_ms = min(later_ms, self._marks[-1].at_ms + self._length_ms)

    def finish(self, now_ms: int, shares: dict[str, Resource]) -> None:
        """Advance the time, and end the current interval there."""
        self.advance(now_ms, shares)
        self._share(now_ms, shares)
        if self._now_ms > self._marks[-1].at_ms:
            self._close()

    def _share(self, now_ms: int, shares: dict[str, Resource]) -> None:
        """The shares since the last look were these."""
        before_ms = self._now_ms
        if now_ms <= before_ms:
            return
        self._now_ms = now_ms
        readings, last = self._shares, self._last
        if shares is last:
            return
        self._last = shares
        for queue in [name for name, share in shares.items() if last.get(name) is not share]:
            reading, share = readings.get(queue), shares[queue]
            if reading is None:
                readings[queue] = (before_ms, (0,) * len(share), share)
            elif reading[2] != share:
                readings[queue] = (before_ms, _sum(reading, before_ms), share)
        if len(shares) < len(readings):  # queues were removed
            for queue, reading in readings.items():
                if queue not in shares:
                    nothing = (0,) * len(reading[2])
                    readings[queue] = (before_ms, _sum(reading, before_ms), nothing)

    def _close(self) -> None:
        used, shares = self._used.copy(), self._shares.copy()
        self._marks.append(_Mark(self._now_ms, used, shares, self._total))
        if len(self._marks) > MOST_INTERVALS:
            self._length_ms *= 2
            del self._marks[1::2]


def _areas(
    begin_ms: int, before: dict[str, Reading], end_ms: int, after: dict[str, Reading]
) -> dict[str, Resource]:
    """The sums over an interval, without those of nothing."""
    areas = {}
    for queue, reading in after.items():
        earlier = before.get(queue)
        if earlier is reading:
            area = scale(reading[2], end_ms - begin_ms)
        else:
            area = _sum(reading, end_ms)
            if earlier is not None:
                area = subtract(area, _sum(earlier, begin_ms))
        if any(area):
            areas[queue] = area
    return areas
