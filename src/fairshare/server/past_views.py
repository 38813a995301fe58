"""Past states of the cluster: a bounded history in memory, empty after a start.

`PastViews` stores packed views of each moment, to show them again, and separately the few values
that a chart needs, so that a line over a day unpacks little; of applications and nodes only the
changes (`RowHistory`), so that ten thousand idle applications cost nothing. Older moments are
thinned out, and the total stays within `BUDGET_BYTES`. `watch` feeds it the views of the running
cluster.
"""

import asyncio
import time
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any, Generic, TypeVar

import msgspec

from fairshare.api.applications import ApplicationRow
from fairshare.api.nodes import Node as NodeRow
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.packing import Pattern
from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.protocol import Made, Steps
from fairshare.core.schedulers.views import QueueView
from fairshare.errors import InputError
from fairshare.server.rows import ApplicationRows, NodeRows
from fairshare.server.service import Service
from fairshare.server.slices import made_in_slices
from fairshare.server.views import ClusterView

BUDGET_BYTES = 64 * 1024 * 1024

LEAST_INTERVAL_MS = 1_000
REST_PER_COST = 49
"""After t ms of processor time for a moment, rest for 49 times as long: 2 % of a core at most."""

AGES = ((300_000, 0), (3_600_000, 10_000), (86_400_000, 60_000))
"""(age, distance) in ms: up to this age moments are at least so far apart; older ones are
forgotten."""

THINNING_INTERVAL_MS = 60_000

OVERHEAD_BYTES = 64
"""What one packed row costs beside its own bytes."""

Key = TypeVar("Key", int, str)
Row = TypeVar("Row", bound=msgspec.Struct)

_LINES = 5
_encoder = msgspec.json.Encoder()  # which knows numbers of any size, as demands may be


class PastView(msgspec.Struct, frozen=True):
    """All queues at one instant, and the cluster. Where there are many queues, each is that of some
    milliseconds before, when its turn came."""

    at_ms: int
    version: int
    cluster: ClusterView
    queues: tuple[QueueView, ...]


class Point(msgspec.Struct, frozen=True):
    """The lines of one queue at one instant, and all that the cluster had then."""

    at_ms: int
    used: Resource
    demand: Resource
    fair_share: Resource
    steady_fair_share: Resource
    guaranteed: Resource
    total: Resource


class _Kept(msgspec.Struct, frozen=True):
    at_ms: int
    total: Resource
    names: tuple[str, ...]
    numbers: bytes
    whole: bytes

    @property
    def size(self) -> int:
        return len(self.numbers) + len(self.whole)


_decoder = msgspec.json.Decoder(PastView)


class PastViews:
    """The moments that are remembered, the oldest first. `began_ms`: since when there are any.
    `owed_since` says of each queue and resource type of which the queue lacks a part of its share
    since when it has, by all moments that were added, those that are thinned out, too.

    `add` is called by one thread at a time; others may read meanwhile.
    """

    def __init__(self, began_ms: int, budget_bytes: int = BUDGET_BYTES) -> None:
        self.began_ms = began_ms
        self.budget_bytes = budget_bytes
        self.applications: RowHistory[ApplicationId, ApplicationRow] = RowHistory(ApplicationRow)
        self.nodes: RowHistory[str, NodeRow] = RowHistory(NodeRow)
        self.owed_since: dict[tuple[str, int], int] = {}
        self._kept: list[_Kept] = []
        self._size = 0
        self._thinned_ms = began_ms

    def unknown(self, at_ms: int) -> InputError:
        """The refusal of an instant of which nothing is remembered."""
        words = f"nothing is remembered of {at_ms}: this server began at {self.began_ms}"
        return InputError("unknown-moment", words)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """Bytes of all packed moments."""
        return self._size + self.applications.size + self.nodes.size

    def add(
        self,
        moment: PastView,
        applications: Mapping[ApplicationId, ApplicationRow] | None = None,
        nodes: Mapping[str, NodeRow] | None = None,
    ) -> None:
        """Keep a moment; it is later than all others."""
        self.owed_since = {
            (queue.name, place): self.owed_since.get((queue.name, place), moment.at_ms)
            for queue in moment.queues
            for place, used in enumerate(queue.used)
            if min(queue.demand[place], queue.fair_share[place]) > used
        }
        names = tuple(queue.name for queue in moment.queues)
        if self._kept and self._kept[-1].names == names:
            names = self._kept[-1].names
        kept = _Kept(
            moment.at_ms,
            moment.cluster.total,
            names,
            zlib.compress(_numbers(moment.queues), 1),
            zlib.compress(_encoder.encode(moment), 1),
        )
        self.applications.take(moment.at_ms, applications or {})
        self.nodes.take(moment.at_ms, nodes or {})
        self._kept.append(kept)
        self._size += kept.size
        if moment.at_ms - self._thinned_ms >= THINNING_INTERVAL_MS:
            self._thin_by_age(moment.at_ms)
        while self.size > self.budget_bytes and len(self._kept) > 1:
            self._thin_by_size()

    def at(self, at_ms: int) -> PastView | None:
        """The last moment not after an instant; None if no moment is that old."""
        kept = self._at(at_ms)
        return None if kept is None else _decoder.decode(zlib.decompress(kept.whole))

    def instant(self, at_ms: int) -> int | None:
        """The instant of the moment that `at` returns, which is the one for the tracks."""
        kept = self._at(at_ms)
        return None if kept is None else kept.at_ms

    def _at(self, at_ms: int) -> _Kept | None:
        place = bisect_right(self._kept, at_ms, key=lambda kept: kept.at_ms)
        return self._kept[place - 1] if place else None

    def series(self, queue: str, since_ms: int, until_ms: int, most: int) -> list[Point]:
        """The lines of a queue between two instants, `most` points at most.

        The first point is the one in force when the span began. There are no points while the queue
        did not exist.
        """
        first = bisect_right(self._kept, since_ms, key=lambda kept: kept.at_ms)
        last = bisect_right(self._kept, until_ms, key=lambda kept: kept.at_ms)
        chosen = _spread(self._kept[max(0, first - 1) : last], most)
        points = []
        for kept in chosen:
            point = _point(kept, queue)
            if point is not None:
                points.append(point)
        return points

    def _thin_by_age(self, now_ms: int) -> None:
        self._thinned_ms = now_ms
        kept: list[_Kept] = []
        for moment in self._kept:
            apart_ms = _apart_ms(now_ms - moment.at_ms)
            if apart_ms is None:
                continue
            if kept and moment.at_ms - kept[-1].at_ms < apart_ms:
                continue
            kept.append(moment)
        self._keep(kept)

    def _thin_by_size(self) -> None:
        """Drop every other moment of the older half: the past gets coarser, but not shorter."""
        half = min(max(2, len(self._kept) // 2), len(self._kept) - 1)
        self._keep(self._kept[:half:2] + self._kept[half:])
        if len(self._kept) <= 2 and self.size > self.budget_bytes:
            self._keep(self._kept[-1:])

    def _keep(self, kept: list[_Kept]) -> None:
        instants = [moment.at_ms for moment in kept]
        self.applications.thin(instants)
        self.nodes.thin(instants)
        self._kept = kept
        self._size = sum(moment.size for moment in kept)


def _apart_ms(age_ms: int) -> int | None:
    """The least distance of moments of an age; None: they are forgotten.

    >>> _apart_ms(1_000), _apart_ms(600_000), _apart_ms(90_000_000)
    (0, 10000, None)
    """
    for up_to_ms, apart_ms in AGES:
        if age_ms <= up_to_ms:
            return apart_ms
    return None


def _spread(kept: Sequence[_Kept], most: int) -> Sequence[_Kept]:
    """At most `most` moments, evenly over time, the last always among them."""
    if len(kept) <= most:
        return kept
    begin_ms, end_ms = kept[0].at_ms, kept[-1].at_ms
    width = max(1, -(-(end_ms - begin_ms + 1) // most))
    return [
        one
        for one, after in [*pairwise(kept), (kept[-1], None)]
        if after is None or (one.at_ms - begin_ms) // width != (after.at_ms - begin_ms) // width
    ]


def guaranteed(queue: QueueView) -> Resource:
    """The guarantee of a queue: its capacity, or its minimum share."""
    return queue.min_share if queue.capacity is None else queue.capacity.effective_min


def _numbers(queues: Sequence[QueueView]) -> bytes:
    numbers = array("d")
    for queue in queues:
        for line in (
            queue.used,
            queue.demand,
            queue.fair_share,
            queue.steady_fair_share,
            guaranteed(queue),
        ):
            numbers.extend(line)
    return numbers.tobytes()


def _point(kept: _Kept, queue: str) -> Point | None:
    if queue not in kept.names:
        return None
    types = len(kept.total)
    numbers = array("d")
    numbers.frombytes(zlib.decompress(kept.numbers))
    begin = kept.names.index(queue) * _LINES * types
    lines = [
        tuple(int(n) for n in numbers[at : at + types])
        for at in range(begin, begin + _LINES * types, types)
    ]
    used, demand, fair_share, steady, promised = lines
    return Point(kept.at_ms, used, demand, fair_share, steady, promised, kept.total)


_Track = tuple[Any, ...]
"""One object: instants in ascending order, each with the row that held from then on; None: it did
not exist. All but the last row are packed; that one is an object which the server has anyway. One
tuple, as nearly every application has one or two rows."""


def _size(track: _Track) -> int:
    """Its bytes beside the last row."""
    return len(track) // 2 * OVERHEAD_BYTES + sum(len(row or b"") for row in track[1:-1:2])


class RowHistory(Generic[Key, Row]):
    """All things of one kind by their key; `form` is what their rows are.

    `take` and `thin` are called by one thread; others may read meanwhile. A row that holds no more
    is packed as what distinguishes it from the first one: a row of 330 bytes then takes 20 to 60.
    """

    def __init__(self, form: type[Row]) -> None:
        self.size = 0
        self._form = form
        fields = msgspec.structs.fields(form)
        self._names = [field.name for field in fields]
        self._decoder = msgspec.json.Decoder(tuple[tuple(f.type for f in fields)])  # type: ignore[misc]
        self._tracks: dict[Key, _Track] = {}
        self._pattern: Pattern | None = None
        self._present = 0  # things of the last instant

    def __len__(self) -> int:
        return len(self._tracks)

    def take(self, at_ms: int, rows: Mapping[Key, Row]) -> None:
        """Store all objects at an instant, which is later than all others.

        Rows that are equal to those of last time cost nothing.
        """
        tracks, missing = self._tracks, self._present
        track: _Track
        for key, row in rows.items():
            track = tracks.get(key, ())
            before = track[-1] if track else None
            if before is not None:
                missing -= 1
            if before is row:
                continue
            if before == row:
                tracks[key] = (*track[:-1], row)  # which the server has; the other one goes
            else:
                self._write(key, at_ms, row)
        if missing:
            for key, track in tracks.items():
                if track[-1] is not None and key not in rows:
                    self._write(key, at_ms, None)
        self._present = len(rows)

    def _write(self, key: Key, at_ms: int, row: Row | None) -> None:
        track: _Track = self._tracks.get(key, ())
        if track and track[-1] is not None:
            content = _encoder.encode(msgspec.structs.astuple(track[-1]))
            if self._pattern is None:
                self._pattern = Pattern(content)
            packed = self._pattern.pack(content)
            self.size += len(packed)
            track = (*track[:-1], packed)
        self._tracks[key] = (*track, at_ms, row)
        self.size += OVERHEAD_BYTES

    def at(self, at_ms: int) -> dict[Key, Row]:
        """All things that were there, in the order in which they were first seen."""
        rows = {}
        for key, track in list(self._tracks.items()):
            row = self._at(track, at_ms)
            if row is not None:
                rows[key] = row
        return rows

    def one(self, key: Key, at_ms: int) -> Row | None:
        """One object at a past instant; None if it did not exist, or is not remembered."""
        return self._at(self._tracks.get(key, ()), at_ms)

    def _at(self, track: _Track, at_ms: int) -> Row | None:
        place = bisect_right(track[::2], at_ms)
        row = track[2 * place - 1] if place else None
        if type(row) is not bytes:
            return row
        assert self._pattern is not None
        values = self._decoder.decode(self._pattern.unpack(row))
        return self._form(**dict(zip(self._names, values, strict=True)))

    def thin(self, kept: Sequence[int]) -> None:
        """Only these moments are remembered from now on, the last one among them, and they stay as
        they were.

        A row that began between two of them begins with the later one, if it still held then.
        """
        tracks: dict[Key, _Track] = {}
        size = 0
        for key, track in self._tracks.items():
            thinned = _thinned(track, kept)
            if thinned is not None:
                tracks[key] = thinned
                size += _size(thinned)
        self._tracks, self.size = tracks, size


def _thinned(track: _Track, kept: Sequence[int]) -> _Track | None:
    """The track at these moments alone; None if it was never there in any of them."""
    rows: dict[int, Any] = {}
    for instant, row in zip(track[::2], track[1::2], strict=True):
        place = bisect_left(kept, instant)
        if place < len(kept):
            rows[kept[place]] = row
    while rows and rows[first := next(iter(rows))] is None:
        del rows[first]  # what was not there before the first moment need not be remembered
    return tuple(chain.from_iterable(rows.items())) or None


_Result = TypeVar("_Result")


class _Cost:
    """Processor time of the calls that it makes, in whichever thread.

    Wall time would count other requests and other processes too: on a busy machine the moments
    would then lie far apart although they cost little.
    """

    def __init__(self) -> None:
        self.ms = 0.0

    def of(self, call: Callable[[], _Result]) -> _Result:
        began_ns = time.thread_time_ns()
        try:
            return call()
        finally:
            self.ms += (time.thread_time_ns() - began_ns) / 1_000_000

    def of_steps(self, steps: Steps[Made]) -> Steps[Made]:
        while True:
            try:
                self.of(partial(next, steps))
            except StopIteration as made:
                value: Made = made.value
                return value
            yield


async def watch(
    service: Service, moments: PastViews, applications: ApplicationRows, nodes: NodeRows
) -> None:
    """Record a moment after each change, rarely enough to cost little; until the server ends.

    A thread packs each moment: 20,000 applications that are new, or whose past is thinned, take it
    most of a second, in which the loop goes on.
    """
    version = -1
    while not service.stopping:
        cost = _Cost()
        views = service.views
        version = views.version
        queues = await made_in_slices(cost.of_steps(views.queues_in_steps()))
        moment = PastView(service.now_ms(), version, views.cluster, queues)
        add = partial(moments.add, moment, *cost.of(lambda: (applications.all(), nodes.all())))
        await asyncio.to_thread(cost.of, add)
        del add  # which has the tables of rows: else they live until the next moment
        await asyncio.sleep(max(LEAST_INTERVAL_MS, REST_PER_COST * cost.ms) / 1_000)
        while not service.stopping and service.version == version:
            await service.changed(version, 3_600.0)
