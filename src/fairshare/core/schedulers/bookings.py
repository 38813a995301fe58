"""What bookings keep from an ask, and what they protect from preemption.

While a booking is on, what it promises and its holder does not use must stay free of all others:

    owed = max(promised - used by the holder, 0)      an ask of another needs  size <= free - owed

for each type that is promised, in sums over the cluster. A booking for a queue below that of
another one adds to it: the upper queue is promised both together. While containers are only
granted, `free - owed` never grows for any ask, so that what was refused stays refused.

Before the start of a booking, from `BookingRules.ahead_ms` on, the same holds as of its start, but
not for tasks that end by then (`backfill.ends_by`), nor for what the holder of a booking that is on
has been promised.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fairshare.core.model.applications import Attempt
from fairshare.core.model.asks import AskKey
from fairshare.core.model.bookings import Holder, Kept
from fairshare.core.model.resources import Resource, add, largest, subtract, total
from fairshare.core.schedulers.backfill import ends_by

if TYPE_CHECKING:
    from fairshare.core.model.state import ClusterState


class Promise(NamedTuple):
    """What is promised to a holder, together with what is promised to those `within` it."""

    holder: Holder
    resource: Resource
    within: tuple["Promise", ...]


Promises = tuple[Promise, ...]

NOT_THERE: Final[Holder] = "", ""
"""Of an ask that is in no queue: all promises are for others."""


def holds(holder: Holder, other: Holder) -> bool:
    """Whether a queue, or a user there, belongs to a holder.

    >>> holds(("root.a", ""), ("root.a.b", "ann")), holds(("root.a", "bob"), ("root.a", "ann"))
    (True, False)
    """
    queue, user = holder
    if user:
        return holder == other
    return other[0] == queue or other[0].startswith(f"{queue}.")


@lru_cache(maxsize=64)
def _promises(kept: tuple[Kept, ...]) -> Promises:
    own: dict[Holder, Resource] = {}
    for span in kept:
        before = own.get(span.holder)
        own[span.holder] = span.resource if before is None else add(before, span.resource)
    return _nested(own, list(own))


def _nested(own: dict[Holder, Resource], holders: list[Holder]) -> Promises:
    nested: list[Promise] = []
    for holder in holders:
        if any(other != holder and holds(other, holder) for other in holders):
            continue
        below = [other for other in holders if other != holder and holds(holder, other)]
        sums = total((own[one] for one in (holder, *below)), len(own[holder]))
        nested.append(Promise(holder, sums, _nested(own, below)))
    return tuple(nested)


def used_by(state: "ClusterState[Any, Any]", holder: Holder) -> Resource:
    """What a queue, or a user in a leaf queue, uses; nothing while there is no such queue."""
    name, user = holder
    queue = state.queues.get(name)
    if queue is None:
        return state.none
    if not user:
        used: Resource = queue.used
        return used
    attempts = queue.attempts.values()
    return total((one.used for one in attempts if one.user == user), len(state.none))


def owed(state: "ClusterState[Any, Any]", kept: Iterable[Kept], asker: Holder) -> Resource:
    """What must stay free of an ask of a user in a leaf queue, by these spans."""
    return _owed(state, _promises(tuple(kept)), asker)


def _owed(state: "ClusterState[Any, Any]", promises: Promises, asker: Holder) -> Resource:
    sums = state.none
    for promise in promises:
        below = _owed(state, promise.within, asker) if promise.within else state.none
        if not holds(promise.holder, asker):
            below = largest(below, subtract(promise.resource, used_by(state, promise.holder)))
        sums = add(sums, largest(below, state.none))
    return sums


def _around(promises: Promises, asker: Holder) -> Iterator[Promise]:
    for promise in promises:
        if holds(promise.holder, asker):
            yield promise
            yield from _around(promise.within, asker)


class Refused(NamedTuple):
    """The span that keeps an ask waiting, with what is free and what must stay so."""

    span: Kept
    free: Resource
    owed: Resource


def refusal(
    state: "ClusterState[Any, Any]", attempt: Attempt, key: AskKey, size: Resource, now_ms: int
) -> Refused | None:
    """The span that keeps a container of this size from an ask now; None: the ask may have it."""
    kept = state.kept
    asker = attempt.application.queue, attempt.user
    free = subtract(state.total, state.used)
    begun = tuple(span for span in kept if span.begun)
    wanted = [place for place, amount in enumerate(size) if amount > 0]
    refused = _refusal(state, begun, asker, free, size, wanted)
    if refused is not None or len(begun) == len(kept):
        return refused
    for promise in _around(_promises(begun), asker):
        used = used_by(state, promise.holder)
        wanted = [place for place in wanted if used[place] + size[place] > promise.resource[place]]
    for start_ms in sorted({span.from_ms for span in kept if not span.begun}):
        if not wanted or ends_by(attempt, key, now_ms, start_ms):
            continue
        then = tuple(span for span in kept if span.from_ms <= start_ms < span.until_ms)
        refused = _refusal(state, then, asker, free, size, wanted)
        if refused is not None:
            return refused
    return None


def _refusal(
    state: "ClusterState[Any, Any]",
    kept: tuple[Kept, ...],
    asker: Holder,
    free: Resource,
    size: Resource,
    wanted: list[int],
) -> Refused | None:
    if not kept:
        return None
    kept_free = owed(state, kept, asker)
    for place in wanted:
        if kept_free[place] and free[place] - kept_free[place] < size[place]:
            others = (one for one in kept if one.resource[place] and not holds(one.holder, asker))
            span = min(others, key=lambda one: one.from_ms, default=kept[0])
            return Refused(span, free, kept_free)
    return None


def protects(state: "ClusterState[Any, Any]", attempt: Attempt, size: Resource) -> bool:
    """Whether a container of an attempt is within what a booking that is on promises to its queue
    or user, so that it is not preempted."""
    begun = tuple(span for span in state.kept if span.begun)
    for promise in _around(_promises(begun), (attempt.application.queue, attempt.user)):
        used = used_by(state, promise.holder)
        for place, amount in enumerate(size):
            if amount and used[place] - amount < promise.resource[place]:
                return True
    return False
