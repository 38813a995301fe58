"""Owns how much work there is and when it arrives, so that the demonstration takes about a minute.

The amounts follow the speed of this machine; the figures of two runs can only be compared if both
had the same plan. Measures nothing itself.
"""

import msgspec

from fairshare.demonstration.work import primes

QUESTIONS = ("lock", "error", "import", "thread", "path", "file", "event", "buffer", "test", "node")
"""What the ad-hoc queries ask for, in turn."""


class Rates(msgspec.Struct, frozen=True):
    """What one processor does in a second, while the others are as busy."""

    numbers: float  # tried for primes
    mapped_bytes: float  # of documents, by the word count
    searched_bytes: float  # of documents, by a query


class Pace(msgspec.Struct, frozen=True):
    """How long everything takes. Work is measured in seconds of the whole machine.

    `kill_after` is the part of the word count's tasks after which one of its containers is killed.
    A task that runs again comes after those that wait, so not too early: it shall be seen.
    """

    research_s: float
    production_s: float
    production_at_s: float
    queries_at_s: float
    query_interval_s: float
    queries: int
    kill_after: float


WHOLE = Pace(
    research_s=19.0,
    production_s=12.0,
    production_at_s=5.0,
    queries_at_s=8.0,
    query_interval_s=1.3,
    queries=20,
    kill_after=0.55,
)
QUICK = Pace(
    research_s=4.5,
    production_s=2.5,
    production_at_s=1.5,
    queries_at_s=2.5,
    query_interval_s=0.9,
    queries=6,
    kill_after=0.25,
)

TASK_S = 0.15
"""What a task would take if it had the whole machine. With 12 containers at once each gets a
twelfth, so that it takes 12 * 0.15 = 1.8 s, and a container becomes free every 0.15 s."""

QUERY_TASK_S = 0.05
REDUCES = 6


class Plan(msgspec.Struct, frozen=True):
    """The work of one demonstration. Instants are seconds after its beginning."""

    pace: Pace
    processors: int
    research_tasks: int
    numbers_per_task: int
    maps: int
    reduces: int
    corpus_bytes: int
    documents: int
    query_bytes: int

    @property
    def numbers(self) -> int:
        """Primes are counted below this number."""
        return self.research_tasks * self.numbers_per_task


def wanted_bytes(rates: Rates, processors: int, pace: Pace) -> int:
    """How much text the word count should have."""
    return int(pace.production_s * processors * rates.mapped_bytes)


def plan_of(rates: Rates, processors: int, pace: Pace, corpus_bytes: int, documents: int) -> Plan:
    """The plan for a machine of this speed with so much text.

    A machine of 2 processors that each try 2,000,000 numbers a second gets tasks of
    0.15 * 2 * 2,000,000 = 600,000 numbers, and for 19 s of work 19 / 0.15 = 127 of them.
    """
    tasks = max(1, round(pace.research_s / TASK_S))
    numbers_per_task = max(1_000, int(TASK_S * processors * rates.numbers))
    numbers_per_task = min(numbers_per_task, primes.LARGEST // tasks)
    map_bytes = TASK_S * processors * rates.mapped_bytes
    return Plan(
        pace=pace,
        processors=processors,
        research_tasks=tasks,
        numbers_per_task=numbers_per_task - numbers_per_task % 2,  # so that it can be halved
        maps=min(documents, max(1, round(corpus_bytes / map_bytes))),
        reduces=REDUCES,
        corpus_bytes=corpus_bytes,
        documents=documents,
        query_bytes=int(2 * QUERY_TASK_S * processors * rates.searched_bytes),
    )
