"""Owns how much work the applications have, so that the demonstration takes about a minute.

The amounts follow the speed of this machine; two runs can only be compared if they had the same
plan. Measures nothing itself.
"""

import msgspec

from fairshare.demonstration.machine import Rates
from fairshare.demonstration.teams import Pace
from fairshare.demonstration.work import primes

QUERY_TASK_S = 0.05
QUERY_TASKS = 2
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
    """The plan for a machine of this speed with this amount of text.

    A machine of 2 processors that each try 2,000,000 numbers a second gets tasks of
    0.15 * 2 * 2,000,000 = 600,000 numbers, and for 19 s of work 19 / 0.15 = 127 of them.
    """
    tasks = max(1, round(pace.research_s / pace.task_s))
    numbers_per_task = max(1_000, int(pace.task_s * processors * rates.numbers))
    numbers_per_task = min(numbers_per_task, primes.LARGEST // tasks)
    map_bytes = pace.task_s * processors * rates.mapped_bytes
    return Plan(
        pace=pace,
        processors=processors,
        research_tasks=tasks,
        numbers_per_task=numbers_per_task - numbers_per_task % 2,  # so that it can be halved
        maps=min(documents, max(1, round(corpus_bytes / map_bytes))),
        reduces=REDUCES,
        corpus_bytes=corpus_bytes,
        documents=documents,
        query_bytes=int(QUERY_TASKS * QUERY_TASK_S * processors * rates.searched_bytes),
    )
