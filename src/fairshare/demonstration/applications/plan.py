"""Owns the amount of work of the applications, and the files that their programs read.

The amounts follow the speed of this machine, so that the demonstration takes about a minute; two
runs can only be compared if they had the same plan.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from fairshare.demonstration import corpus, machine
from fairshare.demonstration.corpus import Document
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


class Prepared:
    """The plan, and the documents of the word count and of the queries."""

    def __init__(self, plan: Plan, documents: Sequence[Document]) -> None:
        self.plan = plan
        self.documents = list(documents)
        self.searched = corpus.first_bytes(documents, plan.query_bytes)

    def write(self, folder: Path) -> None:
        """Write what the programs read: `exchange/splits.json` and `queries.json`."""
        exchange = folder / "exchange"
        exchange.mkdir()
        splits = corpus.splits(self.documents, self.plan.maps)
        (exchange / "splits.json").write_text(json.dumps(splits))
        halves = corpus.splits(self.searched, QUERY_TASKS)
        (folder / "queries.json").write_text(json.dumps(halves))


def prepare(
    pace: Pace, repeated: Plan | None, folder: Path, say: Callable[[str], None]
) -> Prepared:
    """Size the work for this machine, or repeat a plan if machine and Python are still the same;
    write it to the folder.

    Raises DemonstrationFailed if there is nothing to count words in.
    """
    found = corpus.installed(QUERY_TASKS)
    processors = len(machine.processors())
    plan = repeated
    documents = corpus.first_bytes(found, plan.corpus_bytes if plan else 0)
    now = (processors, corpus.size_of(documents), len(documents))
    if plan is not None and now == (plan.processors, plan.corpus_bytes, plan.documents):
        say("The work is that of the last run with the other scheduler.")
    else:
        say("Measuring how fast this machine is ...")
        rates = machine.measure(found, processors, folder / "sample")
        documents = corpus.first_bytes(found, wanted_bytes(rates, processors, pace))
        plan = plan_of(rates, processors, pace, corpus.size_of(documents), len(documents))
    prepared = Prepared(plan, documents)
    prepared.write(folder)
    return prepared
