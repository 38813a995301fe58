"""Owns how much text the jobs have, so that all takes about a minute.

The amounts follow the speed of this machine. Measures nothing itself.
"""

import msgspec

from fairshare.demonstration.teams import Pace

QUESTION_BYTES = 2_000_000
"""What a small job searches; the start of its tasks takes most of its time."""

QUESTION_MAPS = 2
RESEARCH_REDUCES = 4
PRODUCTION_REDUCES = 2


class Plan(msgspec.Struct, frozen=True):
    """The work of one demonstration: bytes of text, and the most of them for a map."""

    pace: Pace
    research_bytes: int
    production_bytes: int
    split_bytes: int


def plan_of(pace: Pace, sampled_bytes: int, took_ms: int) -> Plan:
    """The plan for a machine whose slots together mapped `sampled_bytes` in that time.

    With 12 MB in 2 s the whole machine maps 6 MB a second: 20 s of work are 120 MB, and a map
    of 0.9 s has 5.4 MB.
    """
    rate = 1000 * sampled_bytes / max(1, took_ms)
    return Plan(
        pace=pace,
        research_bytes=int(pace.research_s * rate),
        production_bytes=int(pace.production_s * rate),
        split_bytes=max(50_000, int(pace.task_s * rate)),
    )
