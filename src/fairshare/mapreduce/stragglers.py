"""Owns the choice of tasks that get a second concurrent attempt. A pure function.

A task is a straggler when

* at least half of the tasks of its kind have succeeded, so that their mean duration is known,
* it has run for at least `delay_ms`, and for twice that mean,
* it would end later than a new attempt: with progress p after the time t, it needs t (1 - p) / p
  more, and a new attempt needs the mean.

Example: tasks take 10 s; one has run for 30 s and reports 0.6: it needs 20 s more, so that a new
attempt would end before it. At 0.9 it needs 3.3 s, and gets no second attempt.
"""

from collections.abc import Sequence

import msgspec

FACTOR = 2.0
MOST_AT_ONCE = 0.1
"""The fraction of the tasks of a kind that may have second attempts at once, at least one task."""


class Run(msgspec.Struct, frozen=True):
    """A running task: the instant of its start, and its reported progress (0 to 1)."""

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
    """The tasks that get a second attempt, the one that would end last first.

    `count` is the number of tasks of the kind, `durations_ms` are the durations of successful ones,
    `doubled` is the number of current second attempts. No task in `running` may have one.
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
