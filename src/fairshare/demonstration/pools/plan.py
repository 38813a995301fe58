"""Owns how much text the pools' jobs have and when they come, so that all takes about a minute.

The amounts follow the speed of this machine. Measures nothing itself.
"""

import msgspec

QUESTIONS = ("lock", "error", "import", "thread", "path", "file", "event", "buffer", "test", "node")
"""What the small jobs ask for, in turn."""


class Pace(msgspec.Struct, frozen=True):
    """How long everything takes. Work is measured in seconds of the whole machine.

    `task_s` is what a map of the large jobs would take if it had the whole machine; as one of eight
    it takes eight times as long. `sample_bytes` is what each map of the measurement reads: enough
    that the start of a task hardly counts.
    """

    research_s: float
    production_s: float
    task_s: float
    production_at_s: float
    questions_at_s: float
    question_interval_s: float
    questions: int
    sample_bytes: int


WHOLE = Pace(
    research_s=29.0,
    production_s=12.0,
    task_s=0.9,
    production_at_s=5.0,
    questions_at_s=7.0,
    question_interval_s=1.8,
    questions=10,
    sample_bytes=800_000,
)
QUICK = Pace(
    research_s=4.0,
    production_s=1.5,
    task_s=0.3,
    production_at_s=1.0,
    questions_at_s=1.5,
    question_interval_s=1.0,
    questions=3,
    sample_bytes=200_000,
)

QUESTION_BYTES = 2_000_000
"""What a small job looks through: what it takes is mostly the start of its tasks."""

QUESTION_MAPS = 2
RESEARCH_REDUCES = 4
PRODUCTION_REDUCES = 2


class Plan(msgspec.Struct, frozen=True):
    """The work of one demonstration: bytes of text, and at most how many of them for a map."""

    pace: Pace
    research_bytes: int
    production_bytes: int
    split_bytes: int


def plan_of(pace: Pace, sampled_bytes: int, took_ms: int) -> Plan:
    """The plan for a machine whose slots together have mapped so many bytes in that time.

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
