"""Owns the choice of tasks that get a second attempt beside the one that runs. A pure function.

A task is a straggler when

* at least half of the tasks of its kind have succeeded, so that it is known how long one takes,
* it has run for `delay_ms` at least, and for twice the mean of those,
* it would end later than a new attempt: with p of it done after t, it needs t (1 - p) / p more, and
  a new attempt needs the mean.

Example: tasks take 10 s; one has run for 30 s and says that it is at 0.6: it needs 20 s more, so a
new attempt would be done before it. At 0.9 it needs 3.3 s, and is left alone.
"""

from collections.abc import Sequence

import msgspec

FACTOR = 2.0
MOST_AT_ONCE = 0.1
"""The part of all tasks of a kind that may have second attempts at the same time, at least one."""


class Run(msgspec.Struct, frozen=True):
    """A task that runs: since when, and how far it is by its own word (0 to 1)."""

    index: int
    started_ms: int
    progress: float


def stragglers(
    now_ms: int,
    count: int,
    durations_ms: Sequence[int],
    running: Sequence[Run],
    doubled: int,
    delay_ms: int,
) -> list[int]:
    """The tasks to try again, the one that would end last first.

    `count` tasks there are of the kind, `durations_ms` is how long those took that have succeeded,
    `doubled` how many have a second attempt now. None of `running` may have one.
    """
    if not durations_ms or 2 * len(durations_ms) < count:
        return []
    mean_ms = sum(durations_ms) / len(durations_ms)
    found = []
    for run in running:
        elapsed_ms = now_ms - run.started_ms
        if elapsed_ms < max(delay_ms, FACTOR * mean_ms):
            continue
        left_ms = elapsed_ms * (1 - run.progress) / max(run.progress, 0.001)
        if left_ms > mean_ms:
            found.append((-left_ms, run.index))
    room = max(1, int(count * MOST_AT_ONCE)) - doubled
    return [index for _, index in sorted(found)[: max(0, room)]]
